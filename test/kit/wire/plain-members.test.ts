import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { CurrentVersionRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { PlainMembers } from "../../../services/kit/wire/plain-members.ts";

const { eTag, sizeBytes, storageClass, restore } = CurrentVersionRecordSchema.field;
const bytes = (...parts: (number | string | readonly number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === "number" ? Buffer.from([part]) : Buffer.from(part))));

describe("finds the members of plain messages", () => {
  test("by their numbers in the descriptor", () => {
    const members = new PlainMembers(CurrentVersionRecordSchema);
    const record = create(CurrentVersionRecordSchema, {
      eTag: "a".repeat(200),
      sizeBytes: 5_000_000_000n,
      storageClass: "STANDARD",
    });
    expect(members.find(toBinary(CurrentVersionRecordSchema, record))).toBe(true);
    expect(members.text(eTag)).toBe("a".repeat(200));
    expect(members.integer(sizeBytes)).toBe(5_000_000_000);
    expect(members.text(storageClass)).toBe("STANDARD");
    expect(members.has(restore)).toBe(false);
  });

  test("and nothing of the message before", () => {
    const members = new PlainMembers(CurrentVersionRecordSchema);
    members.find(bytes(0x1a, 1, "a", 0x20, 7));
    expect(members.find(bytes(0x1a, 1, "b"))).toBe(true);
    expect(members.text(eTag)).toBe("b");
    expect([members.has(sizeBytes), members.integer(sizeBytes)]).toEqual([false, 0]);
    expect([members.startOf(sizeBytes), members.endOf(sizeBytes)]).toEqual([-1, -1]);
  });

  test.each([
    // what, bytes of size_bytes, number
    ["zero", [0], 0],
    ["the greatest of 49 bits", [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], 562_949_953_421_311],
    ["one of 50 bits", [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1], undefined],
    ["-1", [255, 255, 255, 255, 255, 255, 255, 255, 255, 1], undefined],
  ])("with the number %s", (_what, varint, number) => {
    const members = new PlainMembers(CurrentVersionRecordSchema);
    expect(members.find(bytes(0x20, varint))).toBe(true);
    expect(members.integer(sizeBytes)).toBe(number);
  });
});

describe("with the wanted members named", () => {
  const wanted = () => new PlainMembers(CurrentVersionRecordSchema, [eTag, sizeBytes]);

  test.each([
    // what, bytes
    ["a text that is not ASCII", bytes(0x0a, 2, "é", 0x1a, 1, "a", 0x20, 7)],
    ["one several times", bytes(0x10, 1, 0x10, 2, 0x1a, 1, "a", 0x20, 7)],
    ["one that the type does not declare", bytes(0x1a, 1, "a", 0x20, 7, 0x78, 1)],
    ["one with a tag of two bytes", bytes(0x1a, 1, "a", 0x20, 7, 0xf8, 0x7f, 1)],
    ["one of another type", bytes(0x0a, 1, "x", 0x1a, 1, "a", 0x20, 7)],
  ])("passes over others: %s", (_what, message) => {
    const members = wanted();
    expect(members.find(message)).toBe(true);
    expect([members.text(eTag), members.integer(sizeBytes)]).toEqual(["a", 7]);
    expect(members.has(storageClass)).toBe(false);
  });

  test.each([
    // what, bytes
    ["a wanted one twice", bytes(0x1a, 1, "a", 0x1a, 1, "b")],
    ["a wanted one that is not ASCII", bytes(0x1a, 2, "é")],
    ["a wanted one before another", bytes(0x20, 7, 0x10, 1)],
    ["wanted ones in another order", bytes(0x20, 7, 0x1a, 1, "a")],
    ["a group", bytes(0x13, 0x14, 0x1a, 1, "a")],
    ["a number of 32 bits", bytes(0x15, 1, 2, 3, 4)],
    ["the number 0", bytes(0x02, 0)],
    ["the number 2,048", bytes(0x80, 0x80, 0x01, 1)],
    ["one that ends early", bytes(0x1a, 1, "a", 0x2a, 3, "ab")],
    ["half a tag", bytes(0x1a, 1, "a", 0x80)],
  ])("a message is still not plain with %s", (_what, message) => {
    expect(wanted().find(message)).toBe(false);
  });
});

test.each([
  // what, bytes
  ["a member that the type does not declare", bytes(0x1a, 1, "a", 0x78, 1)],
  ["a member with a tag of two bytes", bytes(0x1a, 1, "a", 0xf8, 0x01, 1)],
  ["a member twice", bytes(0x1a, 1, "a", 0x1a, 1, "b")],
  ["members in another order", bytes(0x20, 7, 0x1a, 1, "a")],
  ["a number where a text is declared", bytes(0x18, 1)],
  ["a text where a number is declared", bytes(0x22, 1, "a")],
  ["a group", bytes(0x1b, 0x1c)],
  ["the number 0 of a member", bytes(0x02, 0)],
  ["a text that is not ASCII", bytes(0x1a, 2, "é")],
  ["a text that ends early", bytes(0x1a, 3, "ab")],
  ["a length that ends early", bytes(0x1a, 0x81)],
  ["a tag without a value", bytes(0x20)],
  ["a text without a length", bytes(0x1a)],
  ["a number that ends early", bytes(0x20, 0x80)],
  [
    "a number of eleven bytes",
    bytes(
      0x20,
      Array.from({ length: 10 }, () => 0x80),
      1,
    ),
  ],
  ["a text of 16 KiB", bytes(0x1a, [0x80, 0x80, 0x01], "a".repeat(16_384))],
])("a message is not plain with %s", (_what, message) => {
  expect(new PlainMembers(CurrentVersionRecordSchema).find(message)).toBe(false);
});
