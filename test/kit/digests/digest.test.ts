import { describe, expect, test } from "vitest";

import { openDigest } from "../../../services/kit/digests/digest.ts";
import { combineCrcs } from "../../../services/object-storage/domain/crc-combination.ts";

const digestOf = async (algorithm: Parameters<typeof openDigest>[0], ...pieces: readonly string[]): Promise<Buffer> => {
  const digest = await openDigest(algorithm);
  for (const piece of pieces) digest.update(Buffer.from(piece));
  return Buffer.from(digest.finish());
};

describe("a digest", () => {
  test.each([
    // algorithm, check value of "123456789" as the algorithm's definition gives it
    ["CRC32", "cbf43926"],
    ["CRC32C", "e3069283"],
    ["CRC64NVME", "ae8b14860a799888"],
    ["MD5", "25f9e794323b453885f5181f1b624d0b"],
    ["SHA1", "f7c3bc1d808e04732adf679965ccc34ca7ae3441"],
    ["SHA256", "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"],
    ["XXHASH64", "8cb841db40e6ae83"],
  ] as const)("%s is %s, whole and in pieces", async (algorithm, value) => {
    expect((await digestOf(algorithm, "123456789")).toString("hex")).toBe(value);
    expect((await digestOf(algorithm, "1234", "", "56789")).toString("hex")).toBe(value);
  });

  test("of one object is not disturbed by another that is computed at the same time", async () => {
    const [first, second] = [await openDigest("CRC64NVME"), await openDigest("CRC64NVME")];
    first.update(Buffer.from("1234"));
    second.update(Buffer.from("something else"));
    first.update(Buffer.from("56789"));
    expect(Buffer.from(first.finish()).toString("hex")).toBe("ae8b14860a799888");
  });
});

describe("a CRC of parts", () => {
  test.each(["CRC32", "CRC32C", "CRC64NVME"] as const)("%s follows from the parts' own", async (algorithm) => {
    const parts = ["12", "", "3456", "789"];
    const checksums = await Promise.all(
      parts.map(async (part) => ({ checksum: await digestOf(algorithm, part), sizeBytes: part.length })),
    );
    expect(combineCrcs(algorithm, checksums)).toEqual(await digestOf(algorithm, "123456789"));
  });
});
