import { expect, test } from "vitest";

import type { LogRecord } from "../../../../services/kit/store/level-files/log-file.ts";
import { readVersion } from "../../../../services/kit/store/level-files/version.ts";
import { edits, varint } from "./written-files.ts";

const table = (file: number, smallest: string, largest: string) => ({
  number: file,
  sizeBytes: 300,
  smallest: Buffer.from(smallest),
  largest: Buffer.from(largest),
});

const { comparator, number, compactPointer, deleted, added } = edits;

/** A manifest with one edit of several parts per record. */
const manifest = (...records: readonly Buffer[][]): LogRecord[] =>
  records.map((parts, offset) => ({ offset, payload: Buffer.concat(parts) }));

const begin = [comparator, number("logNumber", 7), number("nextFileNumber", 12), number("lastSequence", 90)];

test.each([
  ["no tables", manifest(begin), { logNumber: 7, previousLogNumber: 0, tables: [] }],
  [
    "numbers of the last edit that has them",
    manifest(begin, [number("logNumber", 8), number("previousLogNumber", 7)]),
    { logNumber: 8, previousLogNumber: 7, tables: [] },
  ],
  [
    "tables that were added and not deleted",
    manifest(begin, [added(0, 9, "a", "c"), added(0, 10, "b", "d")], [compactPointer(0, "c"), deleted(0, 9)]),
    { logNumber: 7, previousLogNumber: 0, tables: [table(10, "b", "d")] },
  ],
  [
    "a table that one edit moves to another level, whatever comes first in it",
    manifest(begin, [added(0, 9, "a", "c")], [added(1, 9, "a", "c"), deleted(0, 9)]),
    { logNumber: 7, previousLogNumber: 0, tables: [table(9, "a", "c")] },
  ],
])("a manifest is read with %s", (_what, records, version) => {
  expect(readVersion(records)).toEqual(version);
});

test.each([
  // what is wrong, the edits, the message
  ["there is none", manifest(), "the manifest has no logNumber"],
  ["no number of a log", manifest([comparator, ...begin.slice(2)]), "the manifest has no logNumber"],
  ["no number of the next file", manifest([...begin.slice(0, 2), begin[3]!]), "the manifest has no nextFileNumber"],
  ["no sequence number", manifest(begin.slice(0, 3)), "the manifest has no lastSequence"],
  ["a field that is not known", manifest([...begin, varint(8), varint(0)]), "the manifest has an unknown field 8"],
  ["an edit is cut off", manifest([...begin, varint(6), varint(0)]), /outside buffer bounds|out of range/],
  ["a key is cut off", manifest([...begin, varint(5), varint(0), varint(4)]), "the bytes are cut off"],
])("a manifest is refused: %s", (_what, records, message) => {
  expect(() => readVersion(records)).toThrow(RangeError);
  expect(() => readVersion(records)).toThrow(message);
});
