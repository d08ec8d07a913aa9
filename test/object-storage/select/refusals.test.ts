import { expect, test } from "vitest";

import { jsonLines, resultOf } from "./query.ts";

const csv = "id,name,NAME,Name2\n1,Ann,x,y\n";

test.each([
  // query, reason
  ["", "PARSE_EXPECTED_KEYWORD"],
  ["UPDATE S3Object", "PARSE_EXPECTED_KEYWORD"],
  ["SELECT @ FROM S3Object", "LEXER_INVALID_CHAR"],
  ["SELECT 'a FROM S3Object", "LEXER_INVALID_LITERAL"],
  ["SELECT 1a FROM S3Object", "LEXER_INVALID_LITERAL"],
  [`SELECT ${"9".repeat(1201)} FROM S3Object`, "LEXER_INVALID_LITERAL"],
  ["SELECT /* FROM S3Object", "LEXER_INVALID_LITERAL"],
  ["SELECT `2024T` FROM S3Object", "LEXER_INVALID_ION_LITERAL"],
  ["SELECT FROM S3Object", "PARSE_EMPTY_SELECT"],
  ["SELECT id", "PARSE_SELECT_MISSING_FROM"],
  ["SELECT id FROM", "PARSE_UNEXPECTED_TOKEN"],
  ["SELECT id name x FROM S3Object", "PARSE_UNEXPECTED_TOKEN"],
  ["SELECT id AS FROM S3Object", "PARSE_EXPECTED_IDENT_FOR_ALIAS"],
  ["SELECT *, id FROM S3Object", "PARSE_ASTERISK_IS_NOT_ALONE_IN_SELECT_LIST"],
  ["SELECT id, s.* FROM S3Object s", "PARSE_ASTERISK_IS_NOT_ALONE_IN_SELECT_LIST"],
  ["SELECT id FROM customers", "EVALUATOR_BINDING_DOES_NOT_EXIST"],
  ["SELECT id FROM S3Object WHERE", "PARSE_UNEXPECTED_TERM"],
  ["SELECT id FROM S3Object WHERE id = ", "PARSE_UNEXPECTED_TERM"],
  ["SELECT id FROM S3Object WHERE id IS 1", "PARSE_EXPECTED_KEYWORD"],
  ["SELECT (id FROM S3Object", "PARSE_UNEXPECTED_TOKEN"],
  ["SELECT CASE id END FROM S3Object", "PARSE_EXPECTED_KEYWORD"],
  ["SELECT CAST(id AS BLOB) FROM S3Object", "PARSE_EXPECTED_TYPE_NAME"],
  ["SELECT CAST(id AS DECIMAL(99, 2)) FROM S3Object", "PARSE_INVALID_TYPE_PARAM"],
  ["SELECT id FROM S3Object LIMIT many", "PARSE_EXPECTED_NUMBER"],
  ["SELECT id FROM S3Object LIMIT 1.5", "PARSE_EXPECTED_NUMBER"],
  ["SELECT EXTRACT(CENTURY FROM UTCNOW()) FROM S3Object", "PARSE_EXPECTED_DATE_PART"],
  ["SELECT SUM(*) FROM S3Object", "PARSE_UNSUPPORTED_CALL_WITH_STAR"],
  ["SELECT SUM(id, name) FROM S3Object", "PARSE_NON_UNARY_AGGREGATE_FUNCTION_CALL"],
  ["SELECT COUNT() FROM S3Object", "PARSE_NON_UNARY_AGGREGATE_FUNCTION_CALL"],
  ["SELECT DISTINCT id FROM S3Object", "PARSE_UNSUPPORTED_SYNTAX"],
  ["SELECT id FROM S3Object GROUP BY id", "PARSE_UNSUPPORTED_SYNTAX"],
  ["SELECT id FROM S3Object a, S3Object b", "PARSE_UNSUPPORTED_SYNTAX"],
  ["SELECT s.*.id FROM S3Object s", "PARSE_UNSUPPORTED_SYNTAX"],
  [`SELECT ${"(".repeat(1000)}id FROM S3Object`, "PARSE_UNSUPPORTED_SYNTAX"],
  [`SELECT ${"NOT ".repeat(1000)}id FROM S3Object`, "PARSE_UNSUPPORTED_SYNTAX"],
  [`SELECT id${" = id".repeat(102)} FROM S3Object`, "PARSE_UNSUPPORTED_SYNTAX"],
  [`SELECT id FROM S3Object WHERE id${" IS NULL".repeat(25_000)}`, "PARSE_UNSUPPORTED_SYNTAX"],
  ["SELECT REVERSE(id) FROM S3Object", "UNSUPPORTED_FUNCTION"],
  ["SELECT toString(id) FROM S3Object", "UNSUPPORTED_FUNCTION"],
  ["SELECT NULLIF(id) FROM S3Object", "EVALUATOR_INVALID_ARGUMENTS"],
  ["SELECT COUNT(*), id FROM S3Object", "UNSUPPORTED_SQL_STRUCTURE"],
  ["SELECT SUM(COUNT(*)) FROM S3Object", "UNSUPPORTED_SQL_STRUCTURE"],
  ["SELECT id FROM S3Object WHERE COUNT(*) > 1", "UNSUPPORTED_SQL_STRUCTURE"],
  ["SELECT id FROM S3Object[*].path", "INVALID_KEY_PATH"],
  ["SELECT id.x FROM S3Object", "INVALID_KEY_PATH"],
  ["SELECT _0 FROM S3Object", "INVALID_COLUMN_INDEX"],
  ["SELECT age FROM S3Object", "MISSING_HEADERS"],
  ['SELECT "ID" FROM S3Object', "MISSING_HEADERS"],
  ["SELECT nAmE FROM S3Object", "AMBIGUOUS_FIELD_NAME"],
  ["SELECT id FROM S3Object WHERE id LIKE 'a!b' ESCAPE '!'", "LIKE_INVALID_INPUTS"],
  ["SELECT id FROM S3Object WHERE id LIKE 'a!' ESCAPE '!'", "LIKE_INVALID_INPUTS"],
  ["SELECT id FROM S3Object WHERE id LIKE 'a' ESCAPE 'no'", "LIKE_INVALID_INPUTS"],
  ["SELECT id FROM S3Object WHERE 1 LIKE 'a'", "LIKE_INVALID_INPUTS"],
  [`SELECT id FROM S3Object WHERE name LIKE '${"_".repeat(1025)}'`, "LIKE_INVALID_INPUTS"],
  ["SELECT CAST(name AS INT) FROM S3Object", "CAST_FAILED"],
  ["SELECT CAST('2024-02-30T' AS TIMESTAMP) FROM S3Object", "CAST_FAILED"],
  ["SELECT 9223372036854775807 + id FROM S3Object", "INTEGER_OVERFLOW"],
  [
    `SELECT ${Array.from({ length: 200 }, () => `${"9".repeat(1198)}.0`).join(" * ")} FROM S3Object`,
    "INTEGER_OVERFLOW",
  ],
  ["SELECT id / 0 FROM S3Object", "EVALUATOR_INVALID_ARGUMENTS"],
  ["SELECT SUBSTRING(name, 1, -1) FROM S3Object", "EVALUATOR_INVALID_ARGUMENTS"],
  ["SELECT DATE_ADD(YEAR, 9999, UTCNOW()) FROM S3Object", "EVALUATOR_INVALID_ARGUMENTS"],
  ["SELECT name + 1 FROM S3Object", "ILLEGAL_SQL_FUNCTION_ARGUMENT"],
  ["SELECT SUM(name) FROM S3Object", "ILLEGAL_SQL_FUNCTION_ARGUMENT"],
  ["SELECT MAX(name) FROM S3Object", "ILLEGAL_SQL_FUNCTION_ARGUMENT"],
  ["SELECT EXTRACT(DAY FROM name) FROM S3Object", "ILLEGAL_SQL_FUNCTION_ARGUMENT"],
  ["SELECT TO_STRING(UTCNOW(), 'QQ') FROM S3Object", "EVALUATOR_INVALID_TIMESTAMP_FORMAT_PATTERN"],
  [`SELECT id FROM S3Object WHERE id = '${"x".repeat(256 * 1024)}'`, "EXPRESSION_TOO_LONG"],
])("%.70s is refused with %s", async (query, reason) => {
  expect(await resultOf(query, csv)).toMatch(new RegExp(`^${reason}: `));
});

test.each([
  // content, how it is written, reason
  ['a\n"b"c\n', {}, "CSV_UNESCAPED_QUOTE"],
  ['a\n"b\n', {}, "CSV_PARSING_ERROR"],
  ['a\n"b\n', { allowQuotedRecordDelimiter: true }, "CSV_PARSING_ERROR"],
  [Buffer.from("a\n\u00e9\n", "latin1"), {}, "INVALID_TEXT_ENCODING"],
  [`a\n${"b".repeat(1024 * 1024 + 1)}\n`, {}, "OVER_MAX_RECORD_SIZE"],
  [`a\n${",".repeat(16_384)}\n`, {}, "OVER_MAX_COLUMN"],
  ["a", { fileHeaderInfo: "SOME" }, "INVALID_FILE_HEADER_INFO"],
  ["a", { fieldDelimiter: "abc" }, "INVALID_REQUEST_PARAMETER"],
  ["a", { quoteCharacter: "é" }, "INVALID_REQUEST_PARAMETER"],
  ["a", { fieldDelimiter: "\n" }, "INVALID_REQUEST_PARAMETER"],
])("separated values that begin with %.10j, written as %o, are refused with %s", async (content, csvInput, reason) => {
  const options = { input: { csv: csvInput }, pieceBytes: 100_000 };
  expect(await resultOf("SELECT * FROM S3Object", content, options)).toMatch(new RegExp(`^${reason}: `));
});

test.each([
  // content, reason
  ['{"a":1', "JSON_PARSING_ERROR"],
  ['{"a":1]', "JSON_PARSING_ERROR"],
  ['{"a" 1}', "JSON_PARSING_ERROR"],
  ["{a:1}", "JSON_PARSING_ERROR"],
  ['{"a":01}', "JSON_PARSING_ERROR"],
  ['{"a":1.}', "JSON_PARSING_ERROR"],
  ['{"a":"\\x"}', "JSON_PARSING_ERROR"],
  ['{"a":1e999}', "JSON_PARSING_ERROR"],
  ["nul", "JSON_PARSING_ERROR"],
  [",", "JSON_PARSING_ERROR"],
  ["[".repeat(1000), "JSON_PARSING_ERROR"],
  [`{"a":${"9".repeat(1201)}}`, "JSON_PARSING_ERROR"],
  [Buffer.from('{"a":"\u00e9"}', "latin1"), "INVALID_TEXT_ENCODING"],
  [`{"a":"${"b".repeat(1024 * 1024)}"}`, "OVER_MAX_RECORD_SIZE"],
])("JSON that begins with %.20j is refused with %s", async (content, reason) => {
  const options = { input: jsonLines, output: { json: {} }, pieceBytes: 100_000 };
  expect(await resultOf("SELECT * FROM S3Object", content, options)).toMatch(new RegExp(`^${reason}: `));
});

test.each([
  // members that differ, reason; in the order of refusal
  [{ input: {} }, "OBJECT_SERIALIZATION_CONFLICT"],
  [{ input: { csv: {}, json: { type: "LINES" } } }, "OBJECT_SERIALIZATION_CONFLICT"],
  [{ output: {} }, "OBJECT_SERIALIZATION_CONFLICT"],
  [{ input: { csv: {}, compressionType: "LZMA" } }, "INVALID_COMPRESSION_FORMAT"],
  [{ input: { parquet: {}, compressionType: "GZIP" } }, "INVALID_COMPRESSION_FORMAT"],
  [{ input: { json: { type: "TREE" } } }, "INVALID_JSON_TYPE"],
  [{ output: { csv: { quoteFields: "NEVER" } } }, "INVALID_QUOTE_FIELDS"],
  [{ output: { json: { recordDelimiter: "abc" } } }, "INVALID_REQUEST_PARAMETER"],
  [{ input: { csv: {}, compressionType: "GZIP" }, range: { end: 1n } }, "UNSUPPORTED_SCAN_RANGE_INPUT"],
  [{ input: { csv: { allowQuotedRecordDelimiter: true } }, range: { end: 1n } }, "UNSUPPORTED_SCAN_RANGE_INPUT"],
  [{ input: { json: { type: "DOCUMENT" } }, range: { end: 1n } }, "UNSUPPORTED_SCAN_RANGE_INPUT"],
  [{ range: { start: -1n } }, "INVALID_SCAN_RANGE"],
  [{ range: { start: 2n, end: 1n } }, "INVALID_SCAN_RANGE"],
  [{ range: { start: 1000n } }, "INVALID_SCAN_RANGE"],
])("a query with %o is refused with %s", async (options, reason) => {
  expect(await resultOf("SELECT * FROM S3Object", csv, options)).toMatch(new RegExp(`^${reason}: `));
});
