import { describe, expect, test } from "vitest";

import { conditionTest, operatorNames, parseCondition } from "../../../services/kit/policy/condition.ts";
import { MatchingWork } from "../../../services/kit/policy/matching-work.ts";
import { asWritten } from "../../../services/kit/policy/spelling.ts";

type Given = readonly string[] | undefined;
type Row = readonly [operator: string, policy: readonly string[], given: Given, isSatisfied: boolean];

/** The key of each row is `k`; undefined as given means that the request has no such key. */
const rows: readonly Row[] = [
  ["StringEquals", ["a"], ["a"], true],
  ["StringEquals", ["a"], ["A"], false],
  ["StringEquals", ["a", "b"], ["b"], true],
  ["StringEquals", ["a*"], ["ab"], false],
  ["StringEquals", ["a"], undefined, false],
  ["StringEqualsIfExists", ["a"], undefined, true],
  ["StringEqualsIfExists", ["a"], ["b"], false],
  ["StringNotEquals", ["a"], ["b"], true],
  ["StringNotEquals", ["a", "b"], ["b"], false],
  ["StringNotEquals", ["a"], undefined, true],
  ["StringEqualsIgnoreCase", ["ABC"], ["abc"], true],
  ["StringEqualsIgnoreCase", ["ABC"], ["abd"], false],
  ["StringNotEqualsIgnoreCase", ["ABC"], ["abc"], false],
  ["StringNotEqualsIgnoreCase", ["ABC"], ["abd"], true],
  ["StringLike", ["a*c"], ["abbc"], true],
  ["StringLike", ["a*c"], ["abbd"], false],
  ["StringLike", ["a?c"], ["abc"], true],
  ["StringLike", ["a?c"], ["ac"], false],
  ["StringLike", ["*"], [""], true],
  ["StringLike", ["x", "a*"], ["ab"], true],
  ["StringLike", ["A*"], ["ab"], false],
  ["StringLike", ["*a*a*a*b"], ["aaaaaaaaaaaaaaaaaaaa"], false],
  ["StringNotLike", ["a*"], ["ab"], false],
  ["StringNotLike", ["a*"], ["ba"], true],
  ["NumericEquals", ["10"], ["10.0"], true],
  ["NumericEquals", ["10"], ["11"], false],
  ["NumericEquals", ["10"], ["ten"], false],
  ["NumericEquals", ["1e2"], ["100"], true],
  ["NumericNotEquals", ["10"], ["11"], true],
  ["NumericNotEquals", ["10"], ["10"], false],
  ["NumericLessThan", ["10"], ["9"], true],
  ["NumericLessThan", ["10"], ["10"], false],
  ["NumericLessThan", ["-1"], ["-2"], true],
  ["NumericLessThanEquals", ["10"], ["10"], true],
  ["NumericLessThanEquals", ["10"], ["10.5"], false],
  ["NumericGreaterThan", ["10"], ["11"], true],
  ["NumericGreaterThan", ["10"], ["10"], false],
  ["NumericGreaterThan", ["9"], ["10"], true],
  ["NumericGreaterThanEquals", ["10"], ["10"], true],
  ["NumericGreaterThanEquals", ["10"], ["9"], false],
  ["NumericLessThan", ["10"], undefined, false],
  ["NumericLessThanIfExists", ["10"], undefined, true],
  ["DateEquals", ["2026-01-02T00:00:00Z"], ["2026-01-02"], true],
  ["DateEquals", ["2026-01-02T00:00:00Z"], ["2026-01-03"], false],
  ["DateEquals", ["1767312000"], ["2026-01-02T00:00:00Z"], true],
  ["DateNotEquals", ["2026-01-02"], ["2026-01-03"], true],
  ["DateNotEquals", ["2026-01-02"], ["2026-01-02T00:00:00Z"], false],
  ["DateLessThan", ["2026-01-02"], ["2026-01-01T23:59:59Z"], true],
  ["DateLessThan", ["2026-01-02"], ["2026-01-02"], false],
  ["DateLessThanEquals", ["2026-01-02"], ["2026-01-02"], true],
  ["DateLessThanEquals", ["2026-01-02"], ["2026-01-02T00:00:01Z"], false],
  ["DateGreaterThan", ["2026-01-02"], ["2026-01-02T00:00:01Z"], true],
  ["DateGreaterThan", ["2026-01-02"], ["2026-01-02"], false],
  ["DateGreaterThan", ["2026-01-02T02:00:00+02:00"], ["2026-01-02T00:00:01Z"], true],
  ["DateGreaterThanEquals", ["2026-01-02"], ["2026-01-02"], true],
  ["DateGreaterThanEquals", ["2026-01-02"], ["2026-01-01"], false],
  ["DateLessThan", ["2026-01-02"], ["yesterday"], false],
  ["Bool", ["true"], ["true"], true],
  ["Bool", ["true"], ["TRUE"], true],
  ["Bool", ["true"], ["false"], false],
  ["Bool", ["false"], undefined, false],
  ["BoolIfExists", ["false"], undefined, true],
  ["BinaryEquals", ["aGk="], ["aGk="], true],
  ["BinaryEquals", ["aGk="], ["aGk"], true],
  ["BinaryEquals", ["aGk="], ["aG8="], false],
  ["IpAddress", ["10.0.0.0/8"], ["10.1.2.3"], true],
  ["IpAddress", ["10.0.0.0/8"], ["11.1.2.3"], false],
  ["IpAddress", ["10.1.2.3"], ["10.1.2.3"], true],
  ["IpAddress", ["10.1.2.3"], ["10.1.2.4"], false],
  ["IpAddress", ["2001:db8::/32"], ["2001:db8:1::1"], true],
  ["IpAddress", ["2001:db8::/32"], ["2001:db9::1"], false],
  ["IpAddress", ["0.0.0.0/0"], ["::1"], false],
  ["IpAddress", ["10.0.0.0/8"], ["not an address"], false],
  ["NotIpAddress", ["10.0.0.0/8"], ["11.1.2.3"], true],
  ["NotIpAddress", ["10.0.0.0/8"], ["10.1.2.3"], false],
  ["NotIpAddress", ["10.0.0.0/8", "11.0.0.0/8"], ["11.1.2.3"], false],
  ["NotIpAddress", ["10.0.0.0/8"], undefined, true],
  ["ArnEquals", ["arn:aws:sns:us-east-1:111122223333:topic"], ["arn:aws:sns:us-east-1:111122223333:topic"], true],
  ["ArnEquals", ["arn:aws:sns:*:111122223333:*"], ["arn:aws:sns:us-east-1:111122223333:topic"], true],
  ["ArnEquals", ["arn:aws:sns:*:topic"], ["arn:aws:sns:us-east-1:111122223333:topic"], false],
  ["ArnLike", ["arn:aws:s3:::b*"], ["arn:aws:s3:::bucket/a:b"], true],
  ["ArnLike", ["arn:aws:s3:::b*"], ["arn:aws:s3:::other"], false],
  ["ArnLike", ["arn:aws:s3:::b?"], ["arn:aws:s3:::bc"], true],
  ["ArnNotEquals", ["arn:aws:s3:::b"], ["arn:aws:s3:::c"], true],
  ["ArnNotEquals", ["arn:aws:s3:::b"], ["arn:aws:s3:::b"], false],
  ["ArnNotLike", ["arn:aws:s3:::b*"], ["arn:aws:s3:::bc"], false],
  ["ArnNotLike", ["arn:aws:s3:::b*"], ["arn:aws:s3:::c"], true],
  ["Null", ["true"], undefined, true],
  ["Null", ["true"], ["a"], false],
  ["Null", ["false"], ["a"], true],
  ["Null", ["false"], undefined, false],
  ["ForAnyValue:StringEquals", ["a", "b"], ["c", "b"], true],
  ["ForAnyValue:StringEquals", ["a", "b"], ["c", "d"], false],
  ["ForAnyValue:StringEquals", ["a"], undefined, false],
  ["ForAnyValue:StringEquals", ["a"], [], false],
  ["ForAnyValue:StringNotEquals", ["a"], ["a", "b"], true],
  ["ForAnyValue:StringNotEquals", ["a"], ["a"], false],
  ["ForAnyValue:StringNotEquals", ["a"], undefined, false],
  ["ForAnyValue:StringLike", ["a*"], ["x", "ab"], true],
  ["ForAnyValue:StringEqualsIfExists", ["a"], undefined, true],
  ["ForAnyValue:NumericLessThan", ["5"], ["9", "4"], true],
  ["ForAnyValue:IpAddress", ["10.0.0.0/8"], ["9.0.0.1", "10.0.0.1"], true],
  ["ForAllValues:StringEquals", ["a", "b"], ["a", "b", "a"], true],
  ["ForAllValues:StringEquals", ["a", "b"], ["a", "c"], false],
  ["ForAllValues:StringEquals", ["a"], undefined, true],
  ["ForAllValues:StringEquals", ["a"], [], true],
  ["ForAllValues:StringNotEquals", ["a"], ["b", "c"], true],
  ["ForAllValues:StringNotEquals", ["a"], ["b", "a"], false],
  ["ForAllValues:StringLike", ["a*"], ["ab", "ac"], true],
  ["ForAllValues:StringLike", ["a*"], ["ab", "bc"], false],
  ["ForAllValues:ArnLike", ["arn:aws:s3:::a*"], ["arn:aws:s3:::ab"], true],
  ["StringEquals", ["b"], ["a", "b"], true],
  ["StringNotEquals", ["b"], ["a", "b"], false],
];

describe("a condition", () => {
  test.each(rows)("%s %j of a request with %j is %s", (operator, policy, given, expected) => {
    const condition = parseCondition(operator, "K", policy);
    const context = new Map(given === undefined ? [] : [["k", given]]);
    const holds = typeof condition === "string" ? undefined : conditionTest(condition, asWritten);
    expect(holds?.(context, new MatchingWork())).toBe(expected);
  });

  test("has rows for each operator", () => {
    const seen = new Set(rows.map(([operator]) => operator.replace(/^.*:/, "").replace(/IfExists$/, "")));
    expect([...seen].toSorted()).toEqual([...operatorNames].toSorted());
  });

  // operator, policy values, what is said
  test.each([
    ["StringMatches", ["a"], '"StringMatches" is not an operator'],
    ["ForSomeValues:StringEquals", ["a"], '"ForSomeValues:StringEquals" is not an operator'],
    ["StringEquals", [], "at least one value is needed"],
    ["NumericEquals", ["ten"], '"ten" is not a number'],
    ["DateLessThan", ["tomorrow"], '"tomorrow" is not an instant'],
    ["Bool", ["yes"], '"yes" is neither true nor false'],
    ["BinaryEquals", ["#"], '"#" is not base64'],
    ["IpAddress", ["10.0.0.0/33"], '"10.0.0.0/33" is not an address or network'],
    ["IpAddress", ["10.0.0"], '"10.0.0" is not an address or network'],
    ["IpAddress", ["10.0.0.0/8/9"], '"10.0.0.0/8/9" is not an address or network'],
    ["Null", ["a"], '"a" is neither true nor false'],
    ["NullIfExists", ["true"], "Null takes no quantifier and no IfExists"],
    ["ForAllValues:Null", ["true"], "Null takes no quantifier and no IfExists"],
  ])("refuses %s %j", (operator, policy, said) => {
    expect(parseCondition(operator, "k", policy)).toBe(said);
  });
});
