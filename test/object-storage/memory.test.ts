import { createHash, randomBytes } from "node:crypto";

import { describe, expect, test } from "vitest";

import { rounds } from "../support/rounds.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { startProcess } from "./harness.ts";

const mebibyte = 1024 * 1024;
const objectBytes = rounds(256, 2_048) * mebibyte;
const growthBytesMax = 160 * mebibyte;

describe("a large object", () => {
  test("passes through in both directions without being held", { timeout: 120_000 }, async () => {
    const service = await startProcess(await temporaryDirectory());
    await service.client.createBucket({ bucket: "photos" });
    const piece = randomBytes(mebibyte);
    const digest = createHash("md5");
    async function* messages() {
      yield { bucket: "photos", key: "film" };
      for (let sent = 0; sent < objectBytes; sent += piece.length) {
        digest.update(piece);
        yield { body: piece };
      }
    }
    const beforeBytes = await service.peakMemoryBytes();

    const { eTag } = await service.client.putObject(messages());
    let readBytes = 0;
    for await (const { body } of service.client.getObject({ bucket: "photos", key: "film" })) readBytes += body.length;

    expect(eTag).toBe(`"${digest.digest("hex")}"`);
    expect(readBytes).toBe(objectBytes);
    expect((await service.peakMemoryBytes()) - beforeBytes).toBeLessThan(growthBytesMax);
  });
});
