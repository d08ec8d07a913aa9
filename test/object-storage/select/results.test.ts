import { expect, test } from "vitest";

import { jsonLines, resultOf, runQuery } from "./query.ts";

const people = "id,name,city\n1,Ann,Rome\n2,Bob,Paris\n3,Cid,Rome\n";

test.each([
  // query, records of the result
  ["SELECT * FROM S3Object", ["1,Ann,Rome", "2,Bob,Paris", "3,Cid,Rome"]],
  ["SELECT s.* FROM S3Object s", ["1,Ann,Rome", "2,Bob,Paris", "3,Cid,Rome"]],
  ["select s.name from s3object as s where s.city = 'Rome';", ["Ann", "Cid"]],
  ["SELECT _2, _1 FROM S3Object[*] LIMIT 2", ["Ann,1", "Bob,2"]],
  ["SELECT id FROM S3Object LIMIT 0", []],
  ["SELECT id FROM S3Object WHERE city IS NULL", []],
  ["SELECT id -- the number\n FROM S3Object /* all */ WHERE id > 2", ["3"]],
  ["SELECT COUNT(*), COUNT(city), SUM(id), MIN(id), MAX(id) FROM S3Object", ["3,3,6,1,3"]],
  ["SELECT AVG(CAST(id AS INT)), AVG(CAST(id AS FLOAT)) FROM S3Object WHERE id < 3", ["1.5,1.5"]],
  ["SELECT SUM(id) / COUNT(*) FROM S3Object", ["2"]],
  ["SELECT SUM(id), COUNT(*), MIN(id) FROM S3Object WHERE city = 'Oslo'", [",0,"]],
  ["SELECT COUNT(*) FROM S3Object LIMIT 0", []],
])("%s has the records %j", async (query, records) => {
  expect(await resultOf(query, people)).toBe(records.map((record) => `${record}\n`).join(""));
});

test.each([
  // how the object is written, content, records as JSON
  [{}, "a,b\n1,2\n", ['{"_1":"a","_2":"b"}', '{"_1":"1","_2":"2"}']],
  [{ fileHeaderInfo: "IGNORE" }, "a,b\n1,2\n", ['{"_1":"1","_2":"2"}']],
  [{ fileHeaderInfo: "USE" }, "a,b\n1,2,3\n4\n", ['{"a":"1","b":"2","_3":"3"}', '{"a":"4"}']],
  [{}, "a,b\r\n1,\r\n", ['{"_1":"a","_2":"b"}', '{"_1":"1","_2":""}']],
  [{}, "\n\na\n\r\n", ['{"_1":"a"}']],
  [{}, "#no\na\n#no", ['{"_1":"a"}']],
  [{ comments: "!" }, "#yes\n!no\n", ['{"_1":"#yes"}']],
  [{}, '"a ""b"" c","d,e",""', ['{"_1":"a \\"b\\" c","_2":"d,e","_3":""}']],
  [{}, '"a",\n"b"\r\n', ['{"_1":"a","_2":""}', '{"_1":"b"}']],
  [{ quoteEscapeCharacter: "\\" }, String.raw`"a \"b\" \\ c",d`, [String.raw`{"_1":"a \"b\" \\ c","_2":"d"}`]],
  [{ allowQuotedRecordDelimiter: true }, '"a\nb",c\n', ['{"_1":"a\\nb","_2":"c"}']],
  [{ quoteCharacter: "'" }, `'a,b',"c\n`, ['{"_1":"a,b","_2":"\\"c"}']],
  [{ fieldDelimiter: "\t", recordDelimiter: ";" }, "a\tb;c\n;", ['{"_1":"a","_2":"b"}', '{"_1":"c\\n"}']],
  [{ fieldDelimiter: "||", recordDelimiter: "é" }, "a||b|éc", ['{"_1":"a","_2":"b|"}', '{"_1":"c"}']],
  [{}, "Zoë,😀\n", ['{"_1":"Zoë","_2":"😀"}']],
])("separated values written as %o, %j, are read", async (csv, content, records) => {
  const expected = records.map((record) => `${record}\n`).join("");
  for (const pieceBytes of [1, 2, 1000]) {
    const options = { input: { csv }, output: { json: {} }, pieceBytes };
    expect(await resultOf("SELECT * FROM S3Object", content, options)).toBe(expected);
  }
});

const document = `{"Rules":[{"id":"1"},{"expr":"y > x"},{"id":"2","expr":"z = {}]"}],"created":"now","deep":{"Rules":[{"id":"no"}]}}
[[1,2],[3]] "text" 4.20 null`;

/** What is found in values from which the path leads to nothing: a missing record in each. */
const missing = (count: number): string[] => Array.from({ length: count }, () => "{}");

test.each([
  // query, records of the result
  ["SELECT id FROM S3Object[*].Rules[*].id", ['{"id":"1"}', "{}", '{"id":"2"}', ...missing(4)]],
  ["SELECT id FROM S3Object[*].Rules[*].id WHERE id IS NOT MISSING", ['{"id":"1"}', '{"id":"2"}']],
  [
    "SELECT * FROM S3Object[*].Rules[*] r",
    ['{"id":"1"}', '{"expr":"y > x"}', '{"id":"2","expr":"z = {}]"}', ...missing(4)],
  ],
  ["SELECT r.expr FROM S3Object[*].rules[1] r", ['{"expr":"y > x"}', ...missing(4)]],
  ["SELECT * FROM S3Object[*].Rules[3]", missing(5)],
  ['SELECT * FROM S3Object[*]."rules"[1] r', missing(5)],
  ["SELECT * FROM S3Object[*].deep.*[0] r", ['{"id":"no"}', ...missing(4)]],
  ["SELECT * FROM S3Object[*].deep.Rules[*].id.*", missing(5)],
  ["SELECT COUNT(*) FROM S3Object[*].deep.Rules[0]", ['{"_1":5}']],
  [
    "SELECT * FROM S3Object[*].Rules[*] LIMIT 4",
    ['{"id":"1"}', '{"expr":"y > x"}', '{"id":"2","expr":"z = {}]"}', "{}"],
  ],
  ["SELECT s.deep.Rules[0].id FROM S3Object s LIMIT 1", ['{"id":"no"}']],
  ["SELECT * FROM S3Object[*][*][*]", ["{}", ...["1", "2", "3"].map((value) => `{"_1":${value}}`), ...missing(3)]],
  [
    "SELECT s FROM S3Object s WHERE s.created IS MISSING",
    ['{"s":[[1,2],[3]]}', '{"s":"text"}', '{"s":4.20}', '{"s":null}'],
  ],
])("of a JSON document %s finds %j", async (query, records) => {
  const expected = records.map((record) => `${record}\n`).join("");
  for (const pieceBytes of [1, 3, 1000]) {
    const options = { input: { json: { type: "DOCUMENT" } }, output: { json: {} }, pieceBytes };
    expect(await resultOf(query, document, options)).toBe(expected);
  }
});

test.each([
  // settings of the result, the record
  [{ csv: {} }, 'a,"b,c","d""e","f\ng",,7,1.50,"{""x"":1}"\n'],
  [{ csv: { quoteFields: "ALWAYS" } }, '"a","b,c","d""e","f\ng","","7","1.50","{""x"":1}"\n'],
  [{ csv: { fieldDelimiter: "\t", recordDelimiter: "!\n" } }, 'a\tb,c\t"d""e"\t"f\ng"\t\t7\t1.50\t"{""x"":1}"!\n'],
  [{ csv: { quoteCharacter: "'", quoteEscapeCharacter: "\\" } }, `a,'b,c',d"e,'f\ng',,7,1.50,{"x":1}\n`],
  [{ json: {} }, '{"_1":"a","_2":"b,c","_3":"d\\"e","_4":"f\\ng","_5":null,"_6":7,"_7":1.50,"o":{"x":1}}\n'],
  [
    { json: { recordDelimiter: "," } },
    '{"_1":"a","_2":"b,c","_3":"d\\"e","_4":"f\\ng","_5":null,"_6":7,"_7":1.50,"o":{"x":1}},',
  ],
])("a result written as %o is %j", async (output, record) => {
  const query = `SELECT 'a', 'b,c', 'd"e', 'f\ng', NULL, 7, 1.50, o FROM S3Object`;
  expect(await resultOf(query, '{"o":{"x":1}}', { input: jsonLines, output })).toBe(record);
});

const table = "a,b\nccc,1\nddd,2\neee,3\n";

test.each([
  // range, header, records; the records begin at the bytes 0, 4, 10 and 16
  [{ start: 0n, end: 0n }, "NONE", ["a,b"]],
  [{ start: 0n, end: 4n }, "NONE", ["a,b", "ccc,1"]],
  [{ start: 4n, end: 4n }, "NONE", ["ccc,1"]],
  [{ start: 5n, end: 9n }, "NONE", []],
  [{ start: 5n, end: 10n }, "NONE", ["ddd,2"]],
  [{ start: 11n }, "NONE", ["eee,3"]],
  [{ end: 6n }, "NONE", ["eee,3"]],
  [{ end: 5n }, "NONE", []],
  [{ end: 100n }, "NONE", ["a,b", "ccc,1", "ddd,2", "eee,3"]],
  [{ start: 0n, end: 9n }, "USE", ["ccc,1"]],
  [{ start: 10n, end: 10n }, "USE", ["ddd,2"]],
])("in the range %o with the header %s there are %j", async (range, fileHeaderInfo, records) => {
  const expected = records.map((record) => `${record}\n`).join("");
  for (const pieceBytes of [1, 4, 1000]) {
    const options = { input: { csv: { fileHeaderInfo } }, range, pieceBytes };
    expect(await resultOf("SELECT * FROM S3Object", table, options)).toBe(expected);
  }
});

test("the ranges of an object find each record once, however it is cut", async () => {
  const lines = Array.from({ length: 200 }, (_each, index) => `{"n":${index * index}}`);
  const content = lines.join("\n");
  for (const step of [1n, 7n, 64n, 1000n]) {
    const found: string[] = [];
    for (let start = 0n; start < content.length; start += step) {
      const range = { start, end: start + step - 1n };
      found.push(await resultOf("SELECT * FROM S3Object", content, { input: jsonLines, output: { json: {} }, range }));
    }
    expect(found.join("")).toBe(`${content}\n`);
  }
});

test("a column named in a range is that of the header at the beginning of the object", async () => {
  const range = { start: 10n, end: 10n };
  const { text, figures } = await runQuery("SELECT b FROM S3Object WHERE a = 'ddd'", table, { range });
  expect(text).toBe("2\n");
  expect(figures).toEqual({ scannedBytes: 15, processedBytes: 6, returnedBytes: 2 });
});

test("no more is read of an object than the limit needs", async () => {
  const content = "x\n".repeat(1000);
  const { text, figures } = await runQuery("SELECT * FROM S3Object LIMIT 2", content, { input: { csv: {} } });
  expect(text).toBe("x\nx\n");
  expect(figures).toEqual({ scannedBytes: 5, processedBytes: 5, returnedBytes: 4 });
});

test("an empty object has no records, and aggregate functions have a result", async () => {
  expect(await resultOf("SELECT name FROM S3Object", "")).toBe("");
  expect(await resultOf("SELECT COUNT(name) FROM S3Object", "")).toBe("0\n");
});
