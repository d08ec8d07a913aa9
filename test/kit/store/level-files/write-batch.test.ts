import { expect, test } from "vitest";

import { readBatch } from "../../../../services/kit/store/level-files/write-batch.ts";

const header = "010000000000000002000000";

test("a batch has its writes, of which those without a value delete", () => {
  expect(readBatch(Buffer.from(`${header}01016102313200016201016300`, "hex"))).toEqual([
    { key: Buffer.from("a"), value: Buffer.from("12") },
    { key: Buffer.from("b"), value: undefined },
    { key: Buffer.from("c"), value: Buffer.alloc(0) },
  ]);
  expect(readBatch(Buffer.from(header, "hex"))).toEqual([]);
});

test.each([
  // what, the batch
  ["its head", header.slice(2)],
  ["a key", `${header}00026`.slice(0, -1)],
  ["a value", `${header}0101610231`],
  ["a length of a value", `${header}010161`],
])("a batch that is cut off in %s cannot be read", (_what, hex) => {
  expect(() => readBatch(Buffer.from(hex, "hex"))).toThrow(RangeError);
});
