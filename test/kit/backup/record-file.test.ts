import { expect, test } from "vitest";

import {
  encodeEntry,
  RecordFileReader,
  recordFileEnd,
  recordFileStart,
} from "../../../services/kit/backup/record-file.ts";

const records = [
  { key: "\u0000\u0001a\u0000", payload: Buffer.from("two litres") },
  { key: "\u0000\u0001b\u0000", payload: Buffer.alloc(0) },
  { key: "\u0000\u0002\u00ff", payload: Buffer.alloc(100_000, 7) },
];

const file = Buffer.concat([recordFileStart(), ...records.map(encodeEntry), recordFileEnd(3)]);

const read = (content: Buffer, pieceBytes = content.byteLength) => {
  const reader = new RecordFileReader();
  const found: { key: string; payload: string }[] = [];
  for (let at = 0; at < content.byteLength; at += pieceBytes)
    for (const { key, payload } of reader.add(content.subarray(at, at + pieceBytes)))
      found.push({ key, payload: Buffer.from(payload).toString("hex") });
  return { found, count: reader.end() };
};

test("a small file has these bytes", () => {
  const content = Buffer.concat([recordFileStart(), encodeEntry({ key: "\u0000\u0001a", payload: Buffer.from("b") })]);
  expect(content.toString("latin1")).toBe(
    "quartet-records 1\n\u0000\u0000\u0000\u0003\u0000\u0000\u0000\u0001\u00a1\u00a0\u00e3\u00bf\u0000\u0001ab",
  );
});

test.each([1, 7, 4_096, file.byteLength])("records are read back in pieces of %i bytes", (pieceBytes) => {
  expect(read(file, pieceBytes)).toEqual({
    found: records.map(({ key, payload }) => ({ key, payload: payload.toString("hex") })),
    count: 3,
  });
});

const changed = (at: number): Buffer => {
  const copy = Buffer.from(file);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
};

// how the file was changed, refusal
test.each([
  ["its first bit", changed(0), "it does not begin as one"],
  ["the length of a key", changed(18), "record 1 is not as it was written"],
  ["the length of a payload", changed(25), "record 1 is not as it was written"],
  ["a checksum", changed(27), "record 1 is not as it was written"],
  ["a payload", changed(40), "record 1 is not as it was written"],
  ["the number of records", changed(file.byteLength - 1), "record 4 is not as it was written"],
  ["cut off in a record", file.subarray(0, 100), "it was cut off after 2 records"],
  ["cut off before its end", file.subarray(0, file.byteLength - 20), "it was cut off after 3 records"],
  ["one record fewer", Buffer.concat([recordFileStart(), recordFileEnd(3)]), "records are missing"],
  ["bytes after its end", Buffer.concat([file, Buffer.from("x")]), "bytes follow its end"],
  ["a record after its end", Buffer.concat([file, encodeEntry(records[0]!)]), "bytes follow its end"],
  ["nothing", Buffer.alloc(0), "it was cut off after 0 records"],
])("a changed file is refused: %s", (_what, content, refusal) => {
  for (const pieceBytes of [50, content.byteLength])
    expect(() => read(content, pieceBytes)).toThrow(`the file of records is damaged: ${refusal}`);
});
