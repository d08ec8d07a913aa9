import { describe, expect, test } from "vitest";

import { flattenEvent, flattenText } from "../../../services/event-bus/pattern/flatten.ts";
import { Matcher } from "../../../services/event-bus/pattern/matcher.ts";
import { parsePattern } from "../../../services/event-bus/pattern/parse.ts";

const matcherOf = (patterns: Record<string, string>): Matcher<string> =>
  new Matcher<string>().with(
    Object.entries(patterns).map(([name, source]) => ({ name, pattern: parsePattern(source), item: name })),
  );

const matches = (pattern: string, event: string): boolean => {
  const matcher = matcherOf({ it: pattern });
  return matcher.match(flattenText(event, matcher.wants)).length === 1;
};

const leaf = (alternatives: string, value: string): boolean => matches(`{"a":[${alternatives}]}`, `{"a":${value}}`);

/** Three thousand elements with one field each. */
const elementsOf = (name: string): string => Array.from({ length: 3000 }, () => `{"${name}":1}`).join();

describe("one leaf", () => {
  // alternatives | value in the event | whether it matches
  test.each([
    ['"x"', '"x"', true],
    ['"x"', '"X"', false],
    ['"x"', '"xx"', false],
    ['"\\u0078"', '"x"', true],
    ['"x"', '"\\u0078"', true],
    ['"a\\"b"', '"a\\"b"', true],
    ['""', '""', true],
    ['""', "null", false],
    ['"x","y"', '"y"', true],
    ['"10"', "10", false],
    ["10", '"10"', false],
    ["10", "10.0", true],
    ["10", "1e1", true],
    ["0", "-0.0", true],
    ["0.1", "0.10", true],
    ["12345678901234567890", "12345678901234567890", true],
    ["12345678901234567890", "12345678901234567891", false],
    ["9007199254740993", "9007199254740992", false],
    ["true", "true", true],
    ["true", "false", false],
    ["true", '"true"', false],
    ["null", "null", true],
    ["null", '""', false],
    ['"010.0.0.1"', '"10.0.0.1"', true],
    ['"::1"', '"0:0:0:0:0:0:0:1"', true],
    ['"0010.0.0.1"', '"10.0.0.0001"', true],
    ['"00010.0.0.00001"', '"10.0.0.1"', true],
    ['"000010.0.0.00001"', '"10.0.0.1"', false],
    ['"2001:00db8::1"', '"2001:DB8::1"', true],
    ['"10.0.0.1"', '"::ffff:a00:1"', true],
    ['"::ffff:a00:1"', '"::ffff:a00:0001"', true],
    ['"10.0.0.1"', '"::ffff:10.0.0.1"', false],
    ['"::ffff:10.0.0.1"', '"::ffff:10.0.0.1"', true],
    ['"::ffff:10.0.0.1"', '"::FFFF:10.0.0.1"', false],
    ['"1.2.3"', '"1.2.3"', true],
    ['{"exactly":"10.0.0.1"}', '"10.0.0.1"', true],
    ['{"exactly":"010.0.0.1"}', '"10.0.0.1"', false],
    ['{"prefix":"ab"}', '"abc"', true],
    ['{"prefix":"ab"}', '"a"', false],
    ['{"prefix":""}', '""', true],
    ['{"prefix":""}', "5", false],
    ['{"prefix":"1"}', "12", false],
    ['{"suffix":"bc"}', '"abc"', true],
    ['{"suffix":"bc"}', '"c"', false],
    ['{"suffix":""}', "null", false],
    ['{"prefix":{"equals-ignore-case":"AB"}}', '"aBc"', true],
    ['{"suffix":{"equals-ignore-case":"BC"}}', '"abC"', true],
    ['{"suffix":{"equals-ignore-case":"BC"}}', '"c"', false],
    ['{"equals-ignore-case":"Ärger"}', '"äRGER"', true],
    ['{"equals-ignore-case":"😀𐐀"}', '"😀𐐨"', true],
    ['{"equals-ignore-case":"ǅ"}', '"ǅ"', true],
    ['{"equals-ignore-case":"straße"}', '"STRASSE"', true],
    ['{"equals-ignore-case":"straße"}', '"strasse"', false],
    ['{"equals-ignore-case":"strasse"}', '"straße"', false],
    ['{"equals-ignore-case":"straẞe"}', '"STRAßE"', true],
    ['{"equals-ignore-case":"İ"}', '"i\u0307"', true],
    ['{"equals-ignore-case":"ßßSS"}', '"SSßSS"', true],
    ['{"prefix":{"equals-ignore-case":"ß"}}', '"SSx"', true],
    ['{"prefix":{"equals-ignore-case":"ß"}}', '"S"', false],
    ['{"suffix":{"equals-ignore-case":"ŉß"}}', '"xʼNSS"', true],
    ['{"suffix":{"equals-ignore-case":"ß"}}', '"xß"', true],
    ['{"anything-but":{"equals-ignore-case":"ß"}}', '"SS"', false],
    ['{"equals-ignore-case":"straße"}', '"STRAßE"', true],
    ['{"wildcard":"*"}', '""', true],
    ['{"wildcard":"*"}', "5", false],
    ['{"wildcard":"a*c"}', '"abbc"', true],
    ['{"wildcard":"a*c"}', '"ac"', true],
    ['{"wildcard":"a*a"}', '"a"', false],
    ['{"wildcard":"*b*"}', '"abc"', true],
    ['{"wildcard":"*x*y*"}', '"y-x"', false],
    ['{"wildcard":"*x*y*"}', '"x-y"', true],
    ['{"wildcard":"a\\\\*c"}', '"a*c"', true],
    ['{"wildcard":"a\\\\*c"}', '"abc"', false],
    ['{"wildcard":"a\\\\\\\\c"}', '"a\\\\c"', true],
    ['{"anything-but":"x"}', '"y"', true],
    ['{"anything-but":"x"}', '"x"', false],
    ['{"anything-but":"x"}', "null", true],
    ['{"anything-but":"x"}', "true", true],
    ['{"anything-but":"5"}', "5", true],
    ['{"anything-but":5}', "5.0", false],
    ['{"anything-but":5}', '"5"', true],
    ['{"anything-but":[1,2]}', "2", false],
    ['{"anything-but":["x","y"]}', '"z"', true],
    ['{"anything-but":{"prefix":"1"}}', "12", true],
    ['{"anything-but":{"prefix":["a","b"]}}', '"bc"', false],
    ['{"anything-but":{"suffix":"c"}}', '"bc"', false],
    ['{"anything-but":{"equals-ignore-case":["X","Y"]}}', '"y"', false],
    ['{"anything-but":{"equals-ignore-case":"X"}}', '"xx"', true],
    ['{"anything-but":{"wildcard":"*.txt"}}', '"a.txt"', false],
    ['{"anything-but":{"wildcard":"*.txt"}}', '"a.png"', true],
    ['{"numeric":["=",3.018e2]}', "301.8", true],
    ['{"numeric":[">",0,"<=",5]}', "5", true],
    ['{"numeric":[">",0,"<=",5]}', "0", false],
    ['{"numeric":[">=",0,"<",5]}', "0", true],
    ['{"numeric":[">=",0,"<",5]}', "5", false],
    ['{"numeric":["<",0]}', "-0.5", true],
    ['{"numeric":[">",0]}', '"1"', false],
    ['{"exists":true}', '"x"', true],
    ['{"exists":true}', "null", true],
    ['{"exists":true}', "{}", false],
    ['{"exists":true}', "[]", false],
    ['{"exists":true}', '{"b":1}', false],
    ['{"exists":false}', '{"b":1}', true],
    ['{"exists":false}', "null", false],
    ['{"exists":false}', "[]", true],
    ['"x",{"exists":false}', "[]", true],
    ['"x",{"exists":false}', '"x"', true],
    ['"x",{"exists":false}', '"y"', false],
    ['{"cidr":"10.0.0.0/24"}', '"10.0.0.255"', true],
    ['{"cidr":"10.0.0.77/24"}', '"10.0.0.1"', true],
    ['{"cidr":"10.0.0.0/24"}', '"10.0.1.0"', false],
    ['{"cidr":"0.0.0.0/0"}', '"no address"', false],
    ['{"cidr":"10.0.0.0/8"}', '"::ffff:10.0.0.1"', false],
    ['{"cidr":"10.0.0.0/8"}', '"::ffff:a00:1"', true],
    ['{"cidr":"::ffff:a00:1/8"}', '"10.9.9.9"', true],
    ['{"cidr":"::/0"}', '"10.0.0.1"', false],
    ['{"cidr":"::/0"}', '"::ffff:a00:1"', false],
    ['{"cidr":"0.0.0.0/0"}', '"::1"', false],
    ['{"cidr":"0.0.0.0/0"}', '"0A000001"', false],
    ['{"cidr":"2001:db8::/32"}', '"2001:db8:1::5"', true],
    ['"x"', '["y","x"]', true],
    ['"x"', '[["y",["x"]]]', true],
    ['{"anything-but":"x"}', '["x","y"]', true],
    ['{"anything-but":"x"}', '["x"]', false],
  ])("the pattern %s matches %s: %s", (alternatives, value, expected) => {
    expect(leaf(alternatives, value)).toBe(expected);
  });

  test("every value of a repeated key counts", () => {
    expect(matches('{"a":["x"]}', '{"a":"x","a":"y"}')).toBe(true);
    expect(matches('{"a":["y"]}', '{"a":"x","a":"y"}')).toBe(true);
  });
});

describe("many wildcards with a piece that may be anywhere", () => {
  const matcherOfPieces = (pieces: readonly string[]): Matcher<string> =>
    matcherOf(Object.fromEntries(pieces.map((piece) => [piece, JSON.stringify({ a: [{ wildcard: `*${piece}*` }] })])));

  test("are found by pieces of lengths that many have, and of lengths that few have", () => {
    const numbers = Array.from({ length: 100 }, (_, index) => `n${index + 100}`);
    const matcher = matcherOfPieces([...numbers, "lo", "ranges", "n105 n"]);
    const found = (text: string) => matcher.match(flattenText(JSON.stringify({ a: text }), matcher.wants));
    expect(found("n105 n198")).toEqual(["n105", "n105 n", "n198"]);
    expect(found("long oranges of n20")).toEqual(["lo", "ranges"]);
    expect(found("n10n10n100")).toEqual(["n100"]);
    expect(found("n1000 lo n1")).toEqual(["lo", "n100"]);
  });

  test("of many lengths cost about what searching for each piece costs", () => {
    const piece = (length: number): string =>
      Array.from({ length }, (_, at) => String.fromCodePoint(0x4e00 + ((at * 7_919 + length * 31) % 20_000))).join("");
    const pieces = Array.from({ length: 40 }, (_, index) => piece(100 + 12 * index));
    const matcher = matcherOfPieces(pieces);
    const text = "x".repeat(40_000);
    const event = flattenText(JSON.stringify({ a: text }), matcher.wants);
    const cpuOf = (work: () => unknown): number => {
      const before = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const searching = Math.max(...[1, 2, 3].map(() => cpuOf(() => pieces.filter((each) => text.includes(each)))));
    expect(Math.min(...[1, 2, 3].map(() => cpuOf(() => matcher.match(event))))).toBeLessThan(100 * searching);
  });
});

describe("several fields", () => {
  // pattern | event | whether it matches
  test.each([
    ['{"a":["1"],"b":["2"]}', '{"a":"1","b":"2"}', true],
    ['{"a":["1"],"b":["2"]}', '{"a":"1"}', false],
    ['{"a":{"b":["x"]}}', '{"a.b":"x"}', true],
    ['{"a.b":["x"]}', '{"a":{"b":"x"}}', true],
    ['{"":{"":{"b":["x"]}}}', '{"b":"x"}', false],
    ['{"":{"":{"b":["x"]}}}', '{"":{"":{"b":"x"}}}', true],
    ['{"":["x"]}', '{"":"x"}', true],
    ['{"":[{"exists":false}]}', '{"":{"a":"x"}}', true],
    ['{"a":["x"]}', '{"":{"a":"x"}}', false],
    ['{".a":["x"]}', '{"":{"a":"x"}}', true],
    ['{"a":["x"],"a":["y"]}', '{"a":"x"}', false],
    ['{"a":{"b":["x"]},"a.b":["y"]}', '{"a":{"b":"y"}}', true],
    ['{"a":["1"],"$or":[{"a":["2"]},{"b":["3"]}]}', '{"a":"2"}', true],
    ['{"a":["1"],"$or":[{"a":["2"]},{"b":["3"]}]}', '{"a":"1","b":"3"}', true],
    ['{"a":["1"],"$or":[{"a":["2"]},{"b":["3"]}]}', '{"a":"1"}', false],
    ['{"$or":[{"a":["2"]},{"b":["3"]}],"a":["4"]}', '{"a":"2"}', false],
    ['{"$or":[{"a":["2"]},{"b":["3"]}],"a":["4"]}', '{"a":"4"}', true],
    ['{"d":{"$or":[{"a":[{"numeric":[">",5]}]},{"b":[{"prefix":"x"}]}]}}', '{"d":{"b":"xy"}}', true],
    ['{"d":{"$or":[{"a":[1]},{"$or":[{"b":[2]},{"c":[3]}]}]}}', '{"d":{"c":3}}', true],
    ['{"a":[{"exists":false}],"b":["x"]}', '{"b":"x"}', true],
    ['{"a":[{"exists":false}],"b":["x"]}', '{"b":"x","a":1}', false],
  ])("the pattern %s matches %s: %s", (pattern, event, expected) => {
    expect(matches(pattern, event)).toBe(expected);
  });
});

describe("fields of one array element", () => {
  // pattern | event | whether it matches
  test.each([
    ['{"a":{"x":[1],"y":[2]}}', '{"a":[{"x":1,"y":2}]}', true],
    ['{"a":{"x":[1],"y":[2]}}', '{"a":[{"x":1},{"y":2}]}', false],
    ['{"a":{"x":[1]},"b":{"y":[2]}}', '{"a":[{"x":0},{"x":1}],"b":[{"y":2}]}', true],
    ['{"a":{"x":[1],"l":{"y":[2]}}}', '{"a":[{"x":1,"l":[{"y":3},{"y":2}]}]}', true],
    ['{"a":{"x":[1],"l":{"y":[2]}}}', '{"a":[{"x":1,"l":[{"y":3}]},{"l":[{"y":2}]}]}', false],
    ['{"a":{"x":[1],"l":[2]}}', '{"a":[{"x":1,"l":[3]},{"x":1,"l":[1,2]}]}', true],
    ['{"a":{"x":[1],"y":[2]}}', '{"a":[[{"x":1}],[{"y":2}]]}', false],
    ['{"a":{"b":[{"exists":false}],"c":[2]}}', '{"a":[{"b":1},{"c":2}]}', false],
    ['{"a":{"c":[{"exists":false}],"b":[1]}}', '{"a":[{"b":1},{"c":2}]}', true],
  ])("the pattern %s matches %s: %s", (pattern, event, expected) => {
    expect(matches(pattern, event)).toBe(expected);
  });

  test("stay together in an array of thousands, in time that grows with the array", () => {
    const elements = Array.from({ length: 8000 }, (_, index) => `{"x":1,"y":1,"z":1,"n":${index}}`).join();
    expect(matches('{"a":{"x":[1],"y":[1],"z":[2]}}', `{"a":[${elements}]}`)).toBe(false);
    expect(matches('{"a":{"x":[1],"y":[1],"n":[7999]}}', `{"a":[${elements}]}`)).toBe(true);
  });

  test("two arrays of thousands do not multiply", () => {
    const event = `{"a":[${elementsOf("x")}],"b":[${elementsOf("y")}],"c":[${elementsOf("z")}]}`;
    expect(matches('{"a":{"x":[1]},"b":{"y":[1]},"c":{"z":[2]}}', event)).toBe(false);
  });

  // pattern, each part of which has an element in a, b and c, none all of them
  test.each([
    '{"a":{"x":[1],"y":[2,3]},"b":{"x":[1],"y":[2,3]},"c":{"x":[1],"y":[2,3]}}',
    '{"a":{"x":[1],"y":[{"exists":false}]},"b":{"x":[1],"y":[{"exists":false}]},"c":{"x":[1],"y":[{"exists":false}]}}',
    '{"detail":{"a":{"x":[1],"y":[2,3]},"b":{"x":[1],"y":[2,3]},"c":{"x":[1],"y":[2,3]}}}',
  ])("three arrays of thousands do not multiply when each has several conditions: %s", (pattern) => {
    const arrays = ["a", "b", "c"].map((name) => `"${name}":[${elementsOf("x").replaceAll("}", ',"y":1}')}]`).join();
    expect(matches(pattern, `{${arrays}}`)).toBe(false);
    expect(matches(pattern, `{"detail":{${arrays}}}`)).toBe(false);
  });

  test("names that end with a dot are names of their own", () => {
    const pattern = '{"a":[1],"a":{"":[1],"":{"":[2]}}}';
    expect(matches(pattern, '{"a":1,"a":{"":1,"":{"":2}}}')).toBe(true);
    expect(matches(pattern, '{"a":1,"a":{"":1,"":{"":3}}}')).toBe(false);
  });
});

describe("an envelope", () => {
  const envelope = {
    id: "7bf73129-1428-4cd3-a780-95db273d1602",
    detailType: "Order Placed",
    source: "shop.orders",
    account: "123456789012",
    time: "2026-01-02T03:04:05Z",
    region: "us-east-1",
    resources: ["arn:aws:s3:::photos", "arn:aws:s3:::films"],
  };

  // pattern | whether it matches
  test.each([
    ['{"source":["shop.orders"]}', true],
    ['{"detail-type":["Order Placed"],"detail":{"state":["new"]}}', true],
    ['{"detail":{"state":["old"]}}', false],
    ['{"resources":["arn:aws:s3:::films"]}', true],
    ['{"account":["123456789012"],"region":[{"prefix":"us-"}],"version":["0"]}', true],
    ['{"replay-name":[{"exists":false}]}', true],
  ])("the pattern %s matches it: %s", (pattern, expected) => {
    const matcher = matcherOf({ it: pattern });
    const event = flattenEvent(envelope, '{"skipped":[{"deep":"]}\\\\"}],"state":"new"}', matcher.wants);
    expect(matcher.match(event)).toEqual(expected ? ["it"] : []);
  });
});

describe("a changed set of patterns", () => {
  const event = '{"n":1,"kind":"x"}';
  const found = (matcher: Matcher<string>): string[] => matcher.match(flattenText(event, matcher.wants));

  test("finds what was added, in order of names, and no longer what was removed", () => {
    const first = matcherOf({ bob: '{"kind":["x"]}', alice: '{"n":[1]}' });
    const second = first.with([], ["bob"]);
    const third = second.with([{ name: "alice", pattern: parsePattern('{"n":[2]}'), item: "alice" }]);
    expect(found(first)).toEqual(["alice", "bob"]);
    expect(found(second)).toEqual(["alice"]);
    expect(found(third)).toEqual([]);
    expect([first.size, second.size, third.size]).toEqual([2, 1, 1]);
  });

  test("a name that was removed and added again is found by its new pattern", () => {
    const matcher = matcherOf({ bob: '{"kind":["x"]}' })
      .with([], ["bob"])
      .with([{ name: "bob", pattern: parsePattern('{"n":[1]}'), item: "bob again" }]);
    expect(found(matcher)).toEqual(["bob again"]);
  });

  test("holds after hundreds of single changes", () => {
    let matcher = new Matcher<string>();
    for (let index = 0; index < 300; index += 1)
      matcher = matcher.with([
        { name: `rule-${index % 200}`, pattern: parsePattern(`{"n":[${index % 3}]}`), item: `${index}` },
      ]);
    expect(matcher.size).toBe(200);
    expect(found(matcher)).toHaveLength(67);
  });
});
