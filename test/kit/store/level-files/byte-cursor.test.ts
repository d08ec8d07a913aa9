import { expect, test } from "vitest";

import { ByteCursor } from "../../../../services/kit/store/level-files/byte-cursor.ts";

const cursorOf = (hex: string): ByteCursor => new ByteCursor(Buffer.from(hex, "hex"));

test.each([
  // bytes, the number
  ["00", 0],
  ["7f", 127],
  ["8001", 128],
  ["ffffffff07", 2_147_483_647],
  ["ffffffffffffff0f", Number.MAX_SAFE_INTEGER],
])("the bytes %s are the number %i", (hex, value) => {
  const cursor = cursorOf(hex);
  expect([cursor.varint(), cursor.isAtEnd]).toEqual([value, true]);
});

test("single bytes and counted bytes follow each other", () => {
  const cursor = cursorOf("050361626300");
  expect([cursor.byte(), cursor.lengthPrefixed().toString()]).toEqual([5, "abc"]);
  expect(cursor.isAtEnd).toBe(false);
  expect(cursor.take(1)).toEqual(Buffer.alloc(1));
  expect([cursor.isAtEnd, cursor.take(0).byteLength]).toEqual([true, 0]);
});

test.each<[string, string, (cursor: ByteCursor) => unknown]>([
  // what, bytes, how they are read
  ["a byte of none", "", (cursor) => cursor.byte()],
  ["a number that does not end", "8080", (cursor) => cursor.varint()],
  ["a number above 2^53-1", "8080808080808010", (cursor) => cursor.varint()],
  ["a number without end", "ff".repeat(1_000), (cursor) => cursor.varint()],
  ["more bytes than there are", "0000", (cursor) => cursor.take(3)],
  ["counted bytes that are cut off", "036162", (cursor) => cursor.lengthPrefixed()],
])("%s cannot be read", (_what, hex, read) => {
  expect(() => read(cursorOf(hex))).toThrow(RangeError);
});
