import { describe, expect, test } from "vitest";

import { jsonOfRecord } from "../../../../../services/customer-profile/domain/flow/field-value.ts";
import { CsvRecords } from "../../../../../services/customer-profile/domain/flow/records/csv-records.ts";
import { JsonArray, JsonLines } from "../../../../../services/customer-profile/domain/flow/records/json-records.ts";
import { formatOf } from "../../../../../services/customer-profile/domain/flow/records/object-format.ts";
import type {
  RecordReader,
  SourceRecord,
} from "../../../../../services/customer-profile/domain/flow/records/source-record.ts";

const readers = {
  csv: (names?: readonly string[], offset?: number) => new CsvRecords(names, offset),
  lines: (_names?: readonly string[], offset?: number) => new JsonLines(offset),
  array: (_names?: readonly string[], offset?: number) => new JsonArray(offset),
};

/** All records of a text that comes in pieces of a length; the last one says why the object ended early. */
const readAll = (reader: RecordReader, text: string | Buffer, pieceBytes: number): SourceRecord[] => {
  const bytes = Buffer.from(text);
  const found: SourceRecord[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) found.push(...reader.push(bytes.subarray(at, at + pieceBytes)));
  found.push(...reader.end());
  return found;
};

const shown = ({ record, problem }: SourceRecord): string => (record === undefined ? problem : jsonOfRecord(record));

describe.each([1, 2, 3, 7, 1_000])("in pieces of %d bytes", (pieceBytes) => {
  test.each<[keyof typeof readers, string, string[]]>([
    // format, object, records
    ["csv", "a,b\n1,2\n3,4", ['{"a":"1","b":"2"}', '{"a":"3","b":"4"}']],
    ["csv", "\ufeffa,b\r\n1,2\r\n", ['{"a":"1","b":"2"}']],
    ["csv", 'a,b\n"x, ""y""\nz",2\n', ['{"a":"x, \\"y\\"\\nz","b":"2"}']],
    ["csv", 'a,b,c\n,"",x\n1\n\n', ['{"b":"","c":"x"}', '{"a":"1"}']],
    ["csv", 'a\n5" pipe\n"é😀"\n', ['{"a":"5\\" pipe"}', '{"a":"é😀"}']],
    ["csv", "a,b\n1,2,3\n4,5\n", ["it has more than 2 fields", '{"a":"4","b":"5"}']],
    ["csv", 'a\n"x"y\n2\n', ["a quote between quotes is not doubled, or a quoted field has no end", '{"a":"2"}']],
    ["csv", "a,b\n", []],
    ["csv", "", []],
    ["csv", "__proto__,constructor\n1,2", ['{"__proto__":"1","constructor":"2"}']],
    ["lines", '{"a":1}\n\n {"a":"\\n"} \r\n{"b":2}', ['{"a":1}', '{"a":"\\n"}', '{"b":2}']],
    [
      "lines",
      '{"a":1}\n{"a":\n[1]\n{"b":2}\n',
      ['{"a":1}', ...Array<string>(2).fill("it is no JSON object in UTF-8"), '{"b":2}'],
    ],
    ["array", ' [{"a":1}, {"b":"]},["},\n{"c":{"d":[{}]}}]\n', ['{"a":1}', '{"b":"]},["}', '{"c":{"d":[{}]}}']],
    [
      "array",
      '[{"a":"\\\\\\""},2,"x",null]',
      ['{"a":"\\\\\\""}', ...Array<string>(3).fill("it is no JSON object in UTF-8")],
    ],
    ["array", "[]", []],
  ])("%s %j", (format, object, records) => {
    expect(readAll(readers[format](), object, pieceBytes).map(shown)).toEqual(records);
  });

  test.each<[keyof typeof readers, string, string]>([
    ["csv", 'a\n"x\n', "a quoted field has no end"],
    ["csv", "a,b,a\n1,2,3\n", "its first line has a name twice: a"],
    ["array", '[{"a":1}', "its JSON array has no end"],
    ["array", '[{"a":1}] x', "something follows its JSON array"],
    ["array", '{"a":1}', "something follows its JSON array"],
    ["array", "[}", "a bracket of its JSON array closes what is not open"],
  ])("%s %j is not readable: %s", (format, object, problem) => {
    expect(() => readAll(readers[format](), object, pieceBytes)).toThrow(problem);
  });

  test.each<[keyof typeof readers, string]>([
    ["csv", 'a,b\r\n1,"x\ny"\r\n\r\n3,4\n5,6'],
    ["lines", '{"a":1}\n{"a":"é"}\n\n{"a":3}'],
    ["array", '[{"a":1}, {"a":[2]}\n,{"a":3}]'],
  ])("%s goes on after each record", (format, object) => {
    const whole = readAll(readers[format](), object, pieceBytes);
    for (const [index, { endBytes }] of whole.entries()) {
      const rest = readAll(readers[format](["a", "b"], endBytes), Buffer.from(object).subarray(endBytes), pieceBytes);
      expect(rest).toEqual(whole.slice(index + 1));
    }
  });
});

describe("a hostile object", () => {
  test.each<[keyof typeof readers, string, string]>([
    ["csv", "x", "a record has more than 1048576 bytes"],
    ["csv", '"', "a record has more than 1048576 bytes"],
    ["lines", "x", "a record has more than 1048576 bytes"],
    ["lines", "[", "a record has more than 1048576 bytes"],
  ])("of %s %j without an end is given up after 1 MiB", (format, text, problem) => {
    const reader = readers[format]();
    const piece = Buffer.from(text.repeat(65_536 / text.length));
    let pieces = 0;
    const push = (): void => {
      for (; pieces < 16_384; pieces++) Array.from(reader.push(piece));
      Array.from(reader.end());
    };
    expect(push).toThrow(problem);
    expect(pieces).toBeLessThanOrEqual(17);
  });

  test.each([
    [",", "its first line: it has more than 16384 fields"],
    ["a,", "its first line: it has more than 16384 fields"],
    ["a,".repeat(3), "its first line has a name twice"],
  ])("of csv with the names %j again and again is given up", (text, problem) => {
    const names = text.length > 2 ? text : text.repeat(400_000);
    expect(() => Array.from(new CsvRecords().push(Buffer.from(`${names}\n`)))).toThrow(problem);
  });

  test("of csv with as many long names as there may be is read in the time that their length takes", () => {
    const names = Array.from({ length: 16_384 }, (_, each) => `${"x".repeat(50)}${100_000 + each}`);
    const before = process.threadCpuUsage();
    expect(Array.from(new CsvRecords().push(Buffer.from(`${names.join(",")}\n`)))).toEqual([]);
    expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(500);
  });

  test("is not parsed if it has more values than a record may have", () => {
    const listOf = (count: number): string => `{"a":[${"1,".repeat(count - 1)}1]}`;
    const [most, tooMany] = readAll(new JsonLines(), `${listOf(19_998)}\n${listOf(20_000)}\n`, 65_536);
    expect([most?.problem, tooMany?.problem]).toEqual(["", "it has more than 20000 values"]);
    const before = process.threadCpuUsage();
    const lists = `{"a":[${"[],".repeat(340_000)}[]]}\n`;
    expect(readAll(new JsonLines(), lists.repeat(3), 65_536).map(shown)).toEqual(
      Array<string>(3).fill("it has more than 20000 values"),
    );
    expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(200);
  });

  test("is read in time that grows with its length only", () => {
    const deep = `${'{"a":'.repeat(19_999)}1${"}".repeat(19_999)}`;
    expect(readAll(new JsonLines(), deep, 65_536).map(shown)).toEqual(["it is no JSON object in UTF-8"]);
    const items = `[${"1,".repeat(200_000)}1]`;
    expect(readAll(new JsonArray(), items, 65_536)).toHaveLength(200_001);
  });
});

test.each<[string, string, string, object | string]>([
  // key, content type, content encoding, format
  ["in/a.csv", "binary/octet-stream", "", { records: "csv", isGzipped: false }],
  ["in/A.CSV.GZ", "", "", { records: "csv", isGzipped: true }],
  ["a.ndjson", "text/plain", "gzip", { records: "json", isGzipped: true }],
  ["a", "text/csv; charset=utf-8", "", { records: "csv", isGzipped: false }],
  ["a.txt", "application/json", "", { records: "json", isGzipped: false }],
  ["a.parquet", "text/csv", "", "flows read CSV and JSON, not Parquet"],
])("the object %s of type %s", (key, contentType, encoding, format) => {
  expect(formatOf(key, contentType, encoding)).toEqual(format);
});
