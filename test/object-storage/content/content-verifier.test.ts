import { expect, test } from "vitest";

import { openContentVerifier } from "../../../services/object-storage/content/content-verifier.ts";
import type { ChecksumRequest } from "../../../services/object-storage/domain/expected-checksums.ts";
import { planChecksums } from "../../../services/object-storage/domain/expected-checksums.ts";

const crc32 = { checksumCrc32: "J2drRA==" };
const sha1 = { checksumSha1: "QJrnidrWdaYfjIcFrnU6Cm8au8E=" };
const wrongCrc32 = { checksumCrc32: "AAAAAA==" };
const multiple = "Expecting a single x-svc-checksum- header. Multiple checksum Types are not allowed.";
const other = "The checksum in the trailer is not the one that the headers name.";

/** The algorithm that is checked at the end of the content "Emma", or the refusal. */
const finished = async (head: ChecksumRequest, trailer: ChecksumRequest, sizeBytes?: number): Promise<unknown> => {
  const expectation = { checksums: planChecksums(head), sizeBytes, sizeBytesMax: 4 };
  const verifier = await openContentVerifier(expectation, true);
  try {
    for (const piece of ["Em", "ma"]) verifier.add(Buffer.from(piece));
    return verifier.finish(trailer).checksum.algorithm;
  } catch (thrown) {
    const { facts, metadata } = thrown as { facts: { reason: string }; metadata: Record<string, string> };
    return metadata["explanation"] ?? facts.reason;
  }
};

test.each([
  // the head of the request, its trailer, the algorithm or the refusal
  [{}, {}, "CRC64NVME"],
  [{}, crc32, "CRC32"],
  [crc32, {}, "CRC32"],
  [{ checksumAlgorithm: "SHA1" }, sha1, "SHA1"],
  [{ contentMd5: "RTU2fy85taLrruAJLxhKeQ==" }, {}, "CRC64NVME"],
  [{ contentMd5: "AAAAAAAAAAAAAAAAAAAAAA==" }, {}, "BAD_DIGEST"],
  [crc32, crc32, multiple],
  [{}, sha1, other],
  [{ checksumAlgorithm: "SHA1" }, crc32, other],
  [{}, wrongCrc32, "BAD_DIGEST"],
  [wrongCrc32, {}, "BAD_DIGEST"],
])("content with %j in its head and %j in its trailer: %s", async (head, trailer, expected) => {
  expect(await finished(head, trailer)).toBe(expected);
});

test.each([
  // the declared size, the algorithm or the refusal
  [3, "INCOMPLETE_BODY"],
  [4, "CRC64NVME"],
  [5, "INCOMPLETE_BODY"],
])("content of 4 bytes whose head says %d: %s", async (sizeBytes, expected) => {
  expect(await finished({}, {}, sizeBytes)).toBe(expected);
});

test.each([
  // the head of the request, whether a trailer may come, what is computed
  [{}, true, ["CRC64NVME", "CRC32"]],
  [{}, false, ["CRC64NVME"]],
  [crc32, true, ["CRC32"]],
  [{ checksumAlgorithm: "SHA1" }, true, ["SHA1"]],
])("of content with %j in its head, where a trailer may come: %s, is computed: %s", async (head, may, expected) => {
  const expectation = { checksums: planChecksums(head), sizeBytes: undefined, sizeBytesMax: 4 };
  const verifier = await openContentVerifier(expectation, may);
  verifier.add(Buffer.from("Emma"));
  expect([...verifier.finish({}).computed.keys()]).toEqual(expected);
});
