import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileOptionsSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { CurrentVersionRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import {
  ListObjectVersionsResponseSchema,
  ListObjectsV2ResponseSchema,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { MessageBytes, withEncodedLists } from "../../../services/kit/wire/message-bytes.ts";

const record = CurrentVersionRecordSchema.field;
const none = new Uint8Array(0);

describe("writes what the library writes", () => {
  test.each([
    // what, text
    ["an empty text", ""],
    ["a short one", "key-1"],
    ["one of 64 bytes", "a".repeat(64)],
    ["one of 127 bytes", "a".repeat(127)],
    ["one of 128 bytes", "a".repeat(128)],
    ["one of 20,000 bytes", "a".repeat(20_000)],
    ["one that grows the memory", "船".repeat(50_000)],
    ["a short one that is not ASCII", "a/é\u{1f600}"],
    ["control characters", "\u0000\u0001\n\u007f\u0080"],
  ])("of %s", (_what, text) => {
    const written = new MessageBytes();
    written.text(record.eTag, text);
    const expected = text === "" ? Uint8Array.of(0x1a, 0) : toBinary(CurrentVersionRecordSchema, eTagOf(text));
    expect(Buffer.compare(written.take(), expected)).toBe(0);
  });

  test.each([1, 127, 128, 16_383, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1])("of the number %i", (number) => {
    const written = new MessageBytes();
    written.integer(record.sizeBytes, number);
    const message = create(CurrentVersionRecordSchema, { sizeBytes: BigInt(number) });
    expect([...written.take()]).toEqual([...toBinary(CurrentVersionRecordSchema, message)]);
  });
});

const eTagOf = (eTag: string) => create(CurrentVersionRecordSchema, { eTag });

describe("encoded items of a list", () => {
  const encoded = (keys: readonly string[]): Uint8Array => toBinary(ListObjectsV2ResponseSchema, listOf(keys));
  const listOf = (keys: readonly string[]) =>
    create(ListObjectsV2ResponseSchema, { contents: keys.map((key) => ({ key })) });

  test("follow the other members of their message", () => {
    const message = withEncodedLists(ListObjectsV2ResponseSchema, { keyCount: 2 }, { contents: encoded(["a", "b"]) });
    const keyCount = [0x48, 2];
    const [first, second] = [
      [0x12, 3, 0x0a, 1, 0x61],
      [0x12, 3, 0x0a, 1, 0x62],
    ];
    expect([...toBinary(ListObjectsV2ResponseSchema, message)]).toEqual([keyCount, first, second].flat());
  });

  test("may be none", () => {
    const message = withEncodedLists(ListObjectsV2ResponseSchema, {}, { commonPrefixes: none });
    expect(message.$unknown).toBeUndefined();
  });

  test("may have a tag of two bytes", () => {
    const items = Uint8Array.of(0xba, 0x3e, 2, 0x1a, 0, 0xba, 0x3e, 0);
    const message = withEncodedLists(FileOptionsSchema, {}, { uninterpretedOption: items });
    expect([...toBinary(FileOptionsSchema, message)]).toEqual([...items]);
    expect(fromBinary(FileOptionsSchema, items).uninterpretedOption).toHaveLength(2);
  });

  test("may be of several lists", () => {
    const [versions, deleteMarkers] = [Uint8Array.of(0x32, 2, 0x32, 0), Uint8Array.of(0x3a, 2, 0x12, 0)];
    const message = withEncodedLists(ListObjectVersionsResponseSchema, { maxKeys: 1 }, { versions, deleteMarkers });
    const read = fromBinary(ListObjectVersionsResponseSchema, toBinary(ListObjectVersionsResponseSchema, message));
    const expected = { maxKeys: 1, versions: [{ key: "" }], deleteMarkers: [{ key: "" }] };
    expect(read).toEqual(create(ListObjectVersionsResponseSchema, expected));
  });
});
