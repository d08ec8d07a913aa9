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
