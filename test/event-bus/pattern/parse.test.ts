import { describe, expect, test } from "vitest";

import { parsePattern } from "../../../services/event-bus/pattern/parse.ts";
import { describePatternError, PatternError } from "../../../services/event-bus/pattern/pattern-error.ts";

const refusal = (source: string): string => {
  try {
    parsePattern(source);
  } catch (error) {
    if (error instanceof PatternError) return describePatternError(error, source);
    throw error;
  }
  return "accepted";
};

const tooComplex =
  "Rule is too complex - try using fewer wildcard characters or fewer repeating character sequences after a wildcard character";

const tooMany = "Rule is too complex - the combinations of its $or have more than 10000 conditions together";

/** An `$or` of this many branches. */
const branchesOf = (name: string, count: number): string =>
  `{"$or":[${Array.from({ length: count }, (_, index) => `{"${name}${index}":[1]}`).join()}]}`;

describe("parsePattern refuses", () => {
  // pattern | first line of the reason
  test.each([
    ["[]", "Filter is not an object"],
    ['"text"', "Filter is not an object"],
    ["{}", "Empty objects are not allowed"],
    ['{"a":{}}', "Empty objects are not allowed"],
    ['{"a":[]}', "Empty arrays are not allowed"],
    ['{"a":"b"}', '"a" must be an object or an array'],
    ['{"a":{"b":5}}', '"b" must be an object or an array'],
    ['{"a":[["b"]]}', "Match value must be String, number, true, false, or null"],
    ['{"a":[{}]}', "Match expression name not found"],
    ['{"a":[{"like":"x"}]}', "Unrecognized match type like"],
    ['{"a":[{"exactly":5}]}', "exact match pattern must be a string"],
    ['{"a":[{"prefix":5}]}', "prefix match pattern must be a string"],
    ['{"a":[{"prefix":["x"]}]}', "prefix match pattern must be a string"],
    ['{"a":[{"prefix":"x","suffix":"y"}]}', "Only one key allowed in match expression"],
    ['{"a":[{"prefix":{"wildcard":"x"}}]}', "Unsupported prefix pattern: wildcard"],
    ['{"a":[{"prefix":{"equals-ignore-case":5}}]}', "equals-ignore-case match pattern must be a string"],
    ['{"a":[{"suffix":5}]}', "suffix match pattern must be a string"],
    ['{"a":[{"suffix":{"equals-ignore-case":"x","prefix":"y"}}]}', "Only one key allowed in match expression"],
    ['{"a":[{"equals-ignore-case":["x"]}]}', "equals-ignore-case match pattern must be a string"],
    ['{"a":[{"wildcard":5}]}', "wildcard match pattern must be a string"],
    ['{"a":[{"wildcard":"a**b"}]}', "Consecutive wildcard characters at pos 2"],
    ['{"a":[{"wildcard":"ä**b"}]}', "Consecutive wildcard characters at pos 3"],
    ['{"a":[{"wildcard":"a\\\\b"}]}', "Invalid escape character at pos 2"],
    ['{"a":[{"wildcard":"*a*a*a*a*a*"}]}', tooComplex],
    ['{"a":[{"wildcard":"*aaaa*aaaa*"}]}', tooComplex],
    ['{"a":[{"anything-but":{"wildcard":"*a*a*a*a*a*"}}]}', tooComplex],
    ['{"a":[{"wildcard":"*a*a*a*"},{"anything-but":{"wildcard":["x","*a*a*"]}}]}', tooComplex],
    ['{"a":[{"anything-but":true}]}', "Value of anything-but must be an array or single string/number value."],
    ['{"a":[{"anything-but":null}]}', "Value of anything-but must be an array or single string/number value."],
    ['{"a":[{"anything-but":[null]}]}', "Inside anything but list, start|null|boolean is not supported."],
    ['{"a":[{"anything-but":[["x"]]}]}', "Inside anything but list, start|null|boolean is not supported."],
    [
      '{"a":[{"anything-but":["x",5]}]}',
      "Inside anything but list, either all values are number or string, mixed type is not supported",
    ],
    [
      '{"a":[{"anything-but":[]}]}',
      "Inside anything but list, either all values are number or string, mixed type is not supported",
    ],
    ['{"a":[{"anything-but":{"numeric":["=",5]}}]}', "Unsupported anything-but pattern: numeric"],
    ['{"a":[{"anything-but":{"cidr":"10.0.0.0/8"}}]}', "Unsupported anything-but pattern: cidr"],
    ['{"a":[{"anything-but":{"exists":true}}]}', "Unsupported anything-but pattern: exists"],
    ['{"a":[{"anything-but":{"prefix":""}}]}', "Null prefix/suffix not allowed"],
    ['{"a":[{"anything-but":{"suffix":["x",""]}}]}', "Null prefix/suffix not allowed"],
    ['{"a":[{"anything-but":{"prefix":5}}]}', "prefix/suffix match pattern must be a string"],
    [
      '{"a":[{"anything-but":{"equals-ignore-case":["x",5]}}]}',
      "Inside anything-but/equals-ignore-case list, number|start|null|boolean is not supported.",
    ],
    ['{"a":[{"anything-but":{"wildcard":5}}]}', "wildcard match pattern must be a string"],
    [
      '{"a":[{"anything-but":{"prefix":{"equals-ignore-case":"x"}}}]}',
      "Value of anything-but must be an array or single string/number value.",
    ],
    ['{"a":[{"numeric":">5"}]}', "Value of numeric must be an array."],
    ['{"a":[{"numeric":[5]}]}', "Invalid member in numeric match: 5"],
    ['{"a":[{"numeric":["=","5"]}]}', "Value of equals must be numeric"],
    ['{"a":[{"numeric":["<","5"]}]}', "Value of < must be numeric"],
    ['{"a":[{"numeric":["<",5,">",1]}]}', "Too many elements in numeric expression"],
    ['{"a":[{"numeric":[">",1,">",5]}]}', "Bad numeric range operator: >"],
    ['{"a":[{"numeric":[">",1,5]}]}', "Bad value in numeric range: 5"],
    ['{"a":[{"numeric":[">=",5,"<=",5]}]}', "Bottom must be less than top"],
    ['{"a":[{"numeric":["!=",5]}]}', "Unrecognized numeric range operator: !="],
    ['{"a":[{"numeric":[">",12345678901234567890]}]}', "Cannot compare number: 12345678901234567890"],
    ['{"a":[{"exists":"true"}]}', "exists match pattern must be either true or false."],
    ['{"a":[{"cidr":5}]}', "prefix match pattern must be a string"],
    ['{"a":[{"cidr":"10.0.0.0"}]}', "Malformed CIDR, one '/' required"],
    ['{"a":[{"cidr":"10.0.0.0/a"}]}', "Malformed CIDR, mask bits must be an integer"],
    ['{"a":[{"cidr":"10.0.0.0/-1"}]}', "Malformed CIDR, mask bits must not be negative"],
    ['{"a":[{"cidr":"10.0.0.256/8"}]}', "Nonstandard IP address: 10.0.0.256"],
    ['{"a":[{"cidr":"::ffff:10.0.0.0/100"}]}', "Nonstandard IP address: ::ffff:10.0.0.0"],
    ['{"a":[{"cidr":"10.0.0.0/32"}]}', "IPv4 mask bits must be < 32"],
    ['{"a":[{"cidr":"::ffff:a00:1/100"}]}', "IPv4 mask bits must be < 32"],
    ['{"a":[{"cidr":"::1/128"}]}', "IPv6 mask bits must be < 128"],
    ['{"a":["x"]', "JSON syntax error: the JSON ends too early"],
    ['{"a":["x"]} {}', 'JSON syntax error: unexpected "{"'],
    ['{"a":[01]}', 'JSON syntax error: unexpected "1"'],
    ["", "JSON syntax error: the JSON ends too early"],
  ])("%s", (pattern, reason) => {
    expect(refusal(pattern).split("\n")[0]).toBe(reason);
  });

  test("tells the place on the second line", () => {
    expect(refusal('{\n  "a": "b"\n}')).toBe('"a" must be an object or an array\n at line 2, column 11');
  });

  test.each([
    ["*a*a*a*a*a*", "11"],
    ["*ab".repeat(1300), "more than 100"],
  ])("the wildcard %.12s, with its score", (wildcard, score) => {
    expect(refusal(JSON.stringify({ a: [{ wildcard }] })).split("\n")[1]).toBe(
      ` at "a", whose complexity is ${score}, above 10`,
    );
  });

  test("an $or that multiplies to more than 1000 branches", () => {
    expect(refusal(`{"a":${branchesOf("x", 32)},"b":${branchesOf("y", 31)}}`)).toBe("accepted");
    expect(refusal(`{"a":${branchesOf("x", 32)},"b":${branchesOf("y", 32)}}`)).toBe(
      "Rule is too complex - $or makes more than 1000 combinations",
    );
  });

  // branches of the first and the second $or, fields next to them
  test.each([
    [[10, 10], 98, "accepted"],
    [[10, 10], 99, tooMany],
    [[25, 40], 8, "accepted"],
    [[25, 40], 9, tooMany],
  ])("more than 10000 conditions of all branches together: $or of %j next to %i fields", (counts, fields, answer) => {
    const ors = counts.map((count, index) => `"o${index}":${branchesOf("x", count)}`);
    const next = Array.from({ length: fields }, (_none, index) => `"${index}":[1]`);
    for (const members of [
      [...ors, ...next],
      [...next, ...ors],
    ])
      expect(refusal(`{${members.join()}}`)).toBe(answer);
  });

  test("nesting beyond 1000 levels", () => {
    const nested = `${'{"a":'.repeat(1002)}["x"]${"}".repeat(1002)}`;
    expect(refusal(nested).split("\n")[0]).toBe("JSON syntax error: more than 1000 levels are nested");
  });
});

describe("parsePattern accepts", () => {
  // pattern
  test.each([
    ['{"a":[{"exactly":"x"}]}'],
    ['{"a":[{"prefix":""},{"suffix":""},{"wildcard":"*"}]}'],
    ['{"a":[{"wildcard":"*a*a*a*a*"}]}'],
    ['{"a":[{"numeric":["=",1e300]}]}'],
    ['{"a":[{"numeric":[">",-1.5,"<=",10]}]}'],
    ['{"a":[{"anything-but":{"wildcard":["*.txt","*/lib/*"]}}]}'],
    ['{"$or":[{"a":["x"]},{"b":["y"]}]}'],
    ['{"a":["x"],"a":["y"]}'],
  ])("%s", (pattern) => {
    expect(refusal(pattern)).toBe("accepted");
  });

  test("an $or with one branch as the name of a field", () => {
    expect(refusal('{"$or":{"a":["x"]}}')).toBe("accepted");
    expect([...(parsePattern('{"$or":{"a":["x"]}}').branches[0]?.keys() ?? [])]).toEqual(["$or.a"]);
  });

  test("a reserved name inside an $or that reads as a leaf array of operators", () => {
    expect([...(parsePattern('{"$or":[{"prefix":"x"},{"suffix":"y"}]}').branches[0]?.keys() ?? [])]).toEqual(["$or"]);
  });
});
