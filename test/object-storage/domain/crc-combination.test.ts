import { expect, test } from "vitest";

import { combineCrcs } from "../../../services/object-storage/domain/crc-combination.ts";

// The expected values are those of another implementation with numbers of any size, which took 26 seconds for the last.
test.each([
  ["CRC32", 10_000, 1, "1082086c"],
  ["CRC32C", 10_000, 1, "b32cedf0"],
  ["CRC64NVME", 10_000, 10, "4a0a36021f1fb889"],
] as const)("%s of %i parts of different sizes is combined, %i times", (algorithm, count, times, expected) => {
  const parts = Array.from({ length: count }, (_each, index) => ({
    checksum: Buffer.alloc(algorithm === "CRC64NVME" ? 8 : 4, (index % 251) + 1),
    sizeBytes: 5 * 2 ** 30 - 1 - index,
  }));
  for (let time = 0; time < times; time++)
    expect(Buffer.from(combineCrcs(algorithm, parts)).toString("hex")).toBe(expected);
});
