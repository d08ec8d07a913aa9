import { expect, test } from "vitest";

import { statementRanges } from "../../../services/kit/policy/statement-ranges.ts";

const lines = `{
  "Version": "2012-10-17",
  "Statement": [
    { "Effect": "Allow", "Action": "s3:Get*", "Resource": "*" },
    {
      "Sid": "} Statement",
      "Effect": "Deny", "Action": "*", "Resource": ["a", "b"],
      "Condition": { "Bool": { "aws:SecureTransport": "false" } }
    }
  ],
  "Id": "last"
}`;

// the document, where each of its statements begins and ends: lines and columns
test.for<[string, string, number[][]]>([
  [
    "a list over several lines",
    lines,
    [
      [4, 5, 4, 64],
      [5, 5, 9, 6],
    ],
  ],
  [
    "a list in one line",
    '{"Version":"2012-10-17","Statement":[{"Effect":"Allow"},{"Sid":"ü"}]}',
    [
      [1, 38, 1, 56],
      [1, 57, 1, 68],
    ],
  ],
  ["a statement alone", '{"Statement": {"Action": ["s3:Get\\"}"]}, "Id": "x"}', [[1, 15, 1, 40]]],
  [
    "a member of the same name further down",
    '{"Id":"Statement","Statement":{"Sid":"Statement","Resource":{}}}',
    [[1, 31, 1, 64]],
  ],
  ["no list", '{"Version":"2012-10-17"}', []],
])("the statements are found in %s", ([, document, expected]) => {
  const found = statementRanges(document).map(({ start, end }) => [start.line, start.column, end.line, end.column]);
  expect(found).toEqual(expected);
});
