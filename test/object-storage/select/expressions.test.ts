import { expect, test } from "vitest";

import { jsonLines, resultOf } from "./query.ts";

/** One record with every kind of value. */
const record = JSON.stringify({
  int: 7,
  text: "Zoë",
  digits: "12",
  yes: true,
  nothing: null,
  list: [1, [2, 3]],
  inner: { A: 1, b: "x" },
  day: "2024-02-29T",
}).replace(/\}$/, ',"dec":2.50,"float":1e2}');

/** The value of an expression of that record, as JSON; `{}` if it is missing. */
const valueOf = async (expression: string): Promise<string> => {
  const result = await resultOf(`SELECT ${expression} AS v FROM S3Object s`, record, {
    input: jsonLines,
    output: { json: {} },
  });
  return result.replace(/^\{"v":(.*)\}\n$/s, "$1").replace("{}\n", "missing");
};

test.each([
  // expression, value
  ["1", "1"],
  ["-5", "-5"],
  ["- -5", "5"],
  ["1.50", "1.50"],
  [".5", "0.5"],
  ["1e3", "1000"],
  ["'it''s'", `"it's"`],
  ["TRUE", "true"],
  ["NULL", "null"],
  ["MISSING", "missing"],
  ["s.int", "7"],
  ["S3Object.int", "7"],
  ["INT", "7"],
  ['"INT"', "missing"],
  ["s.inner.a", "1"],
  ['s.inner."a"', "missing"],
  ["s['text']", '"Zoë"'],
  ["s.list[1][0]", "2"],
  ["s.list[9]", "missing"],
  ["s.text.none", "missing"],
  ["s.inner", '{"A":1,"b":"x"}'],
  ["s.list", "[1,[2,3]]"],
  ["s.nope", "missing"],
])("the value of %s is %s", async (expression, value) => {
  expect(await valueOf(expression)).toBe(value);
});

test.each([
  // expression, value
  ["1 + 2 * 3", "7"],
  ["(1 + 2) * 3", "9"],
  ["7 / 2", "3"],
  ["-7 / 2", "-3"],
  ["7 % 4", "3"],
  ["7 / 2.0", "3.5"],
  ["10.0 / 3", "3.3333333333333333333333333333333333333"],
  ["0.1 + 0.2", "0.3"],
  ["s.dec * 2", "5.00"],
  ["s.float / 8", "12.5"],
  ["s.digits + 1", "13"],
  ["10 - 2 - 3", "5"],
  ["5.5 % 2", "1.5"],
  ["s.nothing + 1", "null"],
  ["s.nope + 1", "missing"],
  ["'a' || 'b' || 1", '"ab1"'],
  ["s.nothing || 'b'", "null"],
  ["9223372036854775806 + 1", "9223372036854775807"],
])("%s is %s", async (expression, value) => {
  expect(await valueOf(expression)).toBe(value);
});

test.each([
  // condition, value
  ["1 < 2", "true"],
  ["1 = 1.0", "true"],
  ["1 <> 2", "true"],
  ["2 != 2", "false"],
  ["s.dec >= 2.5", "true"],
  ["s.digits > 9", "true"],
  ["s.digits = 12", "true"],
  ["'10' < '9'", "true"],
  ["s.text = 1", "false"],
  ["s.text <> 1", "true"],
  ["s.text > 1", "null"],
  ["s.yes = 'TRUE'", "true"],
  ["s.nothing = NULL", "null"],
  ["s.nope = 1", "null"],
  ["TO_TIMESTAMP('2024-03-01T') > s.day", "true"],
  ["TO_TIMESTAMP('2024-01-01T01:00+01:00') = TO_TIMESTAMP('2024-01-01T00:00Z')", "true"],
  ["90071992547409931 = 90071992547409930", "false"],
  ["TRUE AND NULL", "null"],
  ["FALSE AND NULL", "false"],
  ["TRUE OR NULL", "true"],
  ["FALSE OR NULL", "null"],
  ["NOT FALSE", "true"],
  ["NOT NULL", "null"],
  ["NOT 1 = 2 AND TRUE", "true"],
  ["FALSE AND FALSE OR TRUE", "true"],
  ["5 BETWEEN 5 AND 6", "true"],
  ["4 NOT BETWEEN 5 AND 6", "true"],
  ["4 BETWEEN 5 AND NULL", "false"],
  ["6 BETWEEN 5 AND NULL", "null"],
  ["s.int IN (1, 7)", "true"],
  ["s.int NOT IN (1, 2)", "true"],
  ["s.int IN (1, NULL)", "null"],
  ["s.nothing IS NULL", "true"],
  ["s.nope IS NULL", "true"],
  ["s.nothing IS MISSING", "false"],
  ["s.nope IS MISSING", "true"],
  ["s.int IS NOT NULL", "true"],
  ["s.yes IS TRUE", "true"],
  ["s.yes IS NOT FALSE", "true"],
])("the condition %s is %s", async (expression, value) => {
  expect(await valueOf(expression)).toBe(value);
});

test.each([
  // text, pattern, escape, whether it matches
  ["abc", "abc", "", "true"],
  ["abc", "ab", "", "false"],
  ["abc", "a%", "", "true"],
  ["abc", "%c", "", "true"],
  ["abc", "%b%", "", "true"],
  ["abc", "a_c", "", "true"],
  ["ac", "a_c", "", "false"],
  ["a😀c", "a_c", "", "true"],
  ["😀", "__", "", "false"],
  ["abab", "%ab", "", "true"],
  ["aXbXc", "a%b%c", "", "true"],
  ["aXcXb", "a%b%c", "", "false"],
  ["ab", "ab%b", "", "false"],
  ["abcabd", "%a_d", "", "true"],
  ["", "%", "", "true"],
  ["", "_", "", "false"],
  ["10%", "10!%", "!", "true"],
  ["100", "10!%", "!", "false"],
  ["a_b", String.raw`a\_b`, "\\", "true"],
  ["a!b", "a!!b", "!", "true"],
  [".*", ".*", "", "true"],
  ["xx", ".*", "", "false"],
])("'%s' LIKE '%s' ESCAPE '%s' is %s", async (text, pattern, escape, value) => {
  expect(await valueOf(`'${text}' LIKE '${pattern}'${escape === "" ? "" : ` ESCAPE '${escape}'`}`)).toBe(value);
});

test.each([
  // call, value
  ["LOWER('AÉ')", '"aé"'],
  ["UPPER(s.text)", '"ZOË"'],
  ["CHAR_LENGTH(s.text)", "3"],
  ["CHARACTER_LENGTH('😀a')", "2"],
  ["TRIM('  a b ')", '"a b"'],
  ["TRIM(LEADING FROM ' a ')", '"a "'],
  ["TRIM(TRAILING 'xy' FROM 'axyx')", '"a"'],
  ["TRIM(BOTH '12' FROM '1112211foobar22211122')", '"foobar"'],
  ["SUBSTRING('123456789', 0)", '"123456789"'],
  ["SUBSTRING('123456789', 1)", '"123456789"'],
  ["SUBSTRING('123456789', 2)", '"23456789"'],
  ["SUBSTRING('123456789', -4)", '"123456789"'],
  ["SUBSTRING('123456789', 0, 999)", '"123456789"'],
  ["SUBSTRING('123456789', 1, 5)", '"12345"'],
  ["SUBSTRING('123456789', -1, 4)", '"12"'],
  ["SUBSTRING('a😀bc' FROM 2 FOR 2)", '"😀b"'],
  ["SUBSTRING('abc', 9)", '""'],
  ["COALESCE(s.nope, s.nothing, s.int)", "7"],
  ["COALESCE(NULL)", "null"],
  ["NULLIF(s.int, 7)", "null"],
  ["NULLIF(s.int, 8)", "7"],
  ["LOWER(s.nothing)", "null"],
  ["LOWER(s.nope)", "missing"],
  ["CASE s.int WHEN 1 THEN 'one' WHEN 7 THEN 'seven' END", '"seven"'],
  ["CASE WHEN s.int > 9 THEN 'many' ELSE 'few' END", '"few"'],
  ["CASE WHEN NULL THEN 1 END", "null"],
  ["CAST('12' AS INT)", "12"],
  ["CAST('-12.9' AS INTEGER)", "-12"],
  ["CAST(s.yes AS INT)", "1"],
  ["CAST('1.5' AS FLOAT)", "1.5"],
  ["CAST('1.005' AS DECIMAL(5, 2))", "1.01"],
  ["CAST(2 AS DECIMAL(5, 2))", "2.00"],
  ["CAST(' 1.10 ' AS NUMERIC)", "1.10"],
  ["CAST(1.50 AS STRING)", '"1.50"'],
  ["CAST('abcdef' AS VARCHAR(3))", '"abc"'],
  ["CAST('TRUE' AS BOOL)", "true"],
  ["CAST(0 AS BOOL)", "false"],
  ["CAST('2024-01-02T03:04:05Z' AS TIMESTAMP)", '"2024-01-02T03:04:05Z"'],
  ["CAST(NULL AS INT)", "null"],
])("%s is %s", async (expression, value) => {
  expect(await valueOf(expression)).toBe(value);
});

test.each([
  // call, value
  ["UTCNOW()", '"2026-02-03T04:05:06.007Z"'],
  ["TO_TIMESTAMP('2007T')", '"2007T"'],
  ["TO_TIMESTAMP('2007-02-23T12:14:33.079-08:00')", '"2007-02-23T12:14:33.079-08:00"'],
  ["EXTRACT(YEAR FROM TO_TIMESTAMP('2010-01-01T'))", "2010"],
  ["EXTRACT(MONTH FROM TO_TIMESTAMP('2010T'))", "1"],
  ["EXTRACT(HOUR FROM TO_TIMESTAMP('2017-01-02T03:04:05+07:08'))", "3"],
  ["EXTRACT(SECOND FROM TO_TIMESTAMP('2017-01-02T03:04:05.25Z'))", "5.25"],
  ["EXTRACT(TIMEZONE_HOUR FROM TO_TIMESTAMP('2017-01-02T03:04:05+07:08'))", "7"],
  ["EXTRACT(TIMEZONE_MINUTE FROM TO_TIMESTAMP('2017-01-02T03:04:05+07:08'))", "8"],
  ["DATE_ADD(YEAR, 5, TO_TIMESTAMP('2010-01-01T'))", '"2015-01-01T"'],
  ["DATE_ADD(MONTH, 1, TO_TIMESTAMP('2010T'))", '"2010-02T"'],
  ["DATE_ADD(MONTH, 13, TO_TIMESTAMP('2010T'))", '"2011-02T"'],
  ["DATE_ADD(MONTH, 1, TO_TIMESTAMP('2024-01-31T'))", '"2024-02-29T"'],
  ["DATE_ADD(DAY, -1, TO_TIMESTAMP('2017-01-10T05:30:00Z'))", '"2017-01-09T05:30:00Z"'],
  ["DATE_ADD(HOUR, 1, TO_TIMESTAMP('2017T'))", '"2017-01-01T01:00Z"'],
  ["DATE_ADD(SECOND, 1, TO_TIMESTAMP('2017-01-02T03:04:05.006Z'))", '"2017-01-02T03:04:06.006Z"'],
  ["DATE_DIFF(YEAR, TO_TIMESTAMP('2010-01-01T'), TO_TIMESTAMP('2011-01-01T'))", "1"],
  ["DATE_DIFF(YEAR, TO_TIMESTAMP('2010T'), TO_TIMESTAMP('2010-05T'))", "0"],
  ["DATE_DIFF(MONTH, TO_TIMESTAMP('2010T'), TO_TIMESTAMP('2011T'))", "12"],
  ["DATE_DIFF(MONTH, TO_TIMESTAMP('2011T'), TO_TIMESTAMP('2010T'))", "-12"],
  ["DATE_DIFF(DAY, TO_TIMESTAMP('2010-01-01T23:00Z'), TO_TIMESTAMP('2010-01-02T01:00Z'))", "0"],
  ["TO_STRING(TO_TIMESTAMP('1969-07-20T20:18Z'), 'MMMM d, y')", '"July 20, 1969"'],
  ["TO_STRING(TO_TIMESTAMP('1969-07-20T20:18Z'), 'MMM d, yyyy')", '"Jul 20, 1969"'],
  ["TO_STRING(TO_TIMESTAMP('1969-07-20T20:18Z'), 'M-d-yy')", '"7-20-69"'],
  ["TO_STRING(TO_TIMESTAMP('1969-07-20T20:18Z'), 'MMMM d, y h:m a')", '"July 20, 1969 8:18 PM"'],
  [`TO_STRING(TO_TIMESTAMP('1969-07-20T20:18Z'), 'y-MM-dd''T''H:m:ssX')`, '"1969-07-20T20:18:00Z"'],
  [`TO_STRING(TO_TIMESTAMP('1969-07-20T20:18+08:00'), 'HH:mm XXXX xxx SSS')`, '"20:18 +0800 +08:00 000"'],
])("%s is %s", async (expression, value) => {
  expect(await valueOf(expression)).toBe(value);
});
