import { createCRC64 } from "hash-wasm";
import { expect, test } from "vitest";

import { digestOf, openDigest } from "../../../services/kit/digests/digest.ts";

/** Another implementation. */
const crc64 = await createCRC64("9a6c9329ac4bc9b5");
const other = (content: Uint8Array): string => crc64.init().update(content).digest("hex");

const hex = (digest: Uint8Array): string => Buffer.from(digest).toString("hex");

const bytes = Buffer.alloc(300_000);
for (let at = 0, value = 1; at < bytes.length; at += 1) {
  value = (Math.imul(value, 1_103_515_245) + 12_345) >>> 0;
  bytes[at] = value >>> 16;
}

test("CRC64NVME of any length is that of another implementation", async () => {
  // Around steps of 8 bytes, three strands of 2 KiB, and what is taken at once.
  const lengths = [2_048, 6_143, 6_144, 6_145, 6_152, 12_287, 12_288, 65_535, 65_536, 65_537, 131_081, 300_000];
  for (let length = 0; length < 40; length += 1) lengths.push(length);
  const computed: string[] = [];
  for (const length of lengths) computed.push(hex(await digestOf("CRC64NVME", bytes.subarray(0, length))));
  expect(computed).toEqual(lengths.map((length) => other(bytes.subarray(0, length))));
});

test.each([1_000, 6_151, 7_777, 65_536, 70_001])("CRC64NVME is the same in pieces of %i bytes", async (size) => {
  const digest = await openDigest("CRC64NVME");
  for (let at = 0; at < bytes.length; at += size) digest.update(bytes.subarray(at, at + size));
  expect(hex(digest.finish())).toBe(other(bytes));
});
