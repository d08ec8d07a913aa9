import { describe, expect, test } from "vitest";

import { parseJson } from "../../../services/kit/json/parse-json.ts";

describe("parseJson", () => {
  test("reads a name with an escape also after a name with a backslash in its place", () => {
    expect(parseJson(String.raw`{"Attributes":{"size":"1","caf\\":"one tenant's"}}`)).toEqual({
      Attributes: { size: "1", "caf\\": "one tenant's" },
    });
    expect(parseJson(String.raw`{"Attributes":{"size":"1","caf\u00e9":"another's"}}`)).toEqual({
      Attributes: { size: "1", café: "another's" },
    });
    expect(parseJson(String.raw`{"Attributes":{"size":"1","caf\"":"a third's"}}`)).toEqual({
      Attributes: { size: "1", 'caf"': "a third's" },
    });
  });

  // document | value
  test.each<[string, unknown]>([
    [String.raw`{"\u0061":1,"b\n":2,"c\\d":[{"e\"":3}]}`, { a: 1, "b\n": 2, "c\\d": [{ 'e"': 3 }] }],
    [String.raw`{"a\u0062":1,"ab":2}`, { ab: 2 }],
    [String.raw`{"a\\":1,"a\u005c":2}`, { "a\\": 2 }],
    [String.raw`{"a":"not \"a\": name"}`, { a: 'not "a": name' }],
    [String.raw`{"\ud83d\ude00" : "x"}`, { "\u{1f600}": "x" }],
    [String.raw`"text\\"`, "text\\"],
    [String.raw`["\\", 1e3, true, null]`, ["\\", 1000, true, null]],
    ["{}", {}],
  ])("reads %s", (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  test("keeps __proto__ as a name, escaped or not", () => {
    for (const text of [String.raw`{"__pro\u0074o__":1,"x\\":2}`, String.raw`{"__proto__":1,"x\\":2}`]) {
      const parsed = parseJson(text) as object;
      expect(Object.entries(parsed)).toEqual([
        ["__proto__", 1],
        ["x\\", 2],
      ]);
      expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
    }
  });

  test("keeps the character that marks a replaced name where a document has it", () => {
    expect(parseJson('{"\ue0000":1,"a\\\\":2}')).toEqual({ "\ue0000": 1, "a\\": 2 });
    expect(parseJson(String.raw`{"\ue0000":1,"a\\":2}`)).toEqual({ "\ue0000": 1, "a\\": 2 });
    const names = ["\ue0000\ue0000", "\ue0000\ue0001\ue0000", "\ue00000\ue0000", "a\\"];
    expect(
      Object.keys(parseJson(JSON.stringify(Object.fromEntries(names.map((name) => [name, 1])))) as object),
    ).toEqual(names);
  });

  test("gives a reviver the source of numbers", () => {
    const sources: unknown[] = [];
    parseJson(String.raw`{"n\\":12345678901234567890,"m":1.50}`, (_key, value, context) => {
      if (typeof value === "number") sources.push(context?.source);
      return value;
    });
    expect(sources).toEqual(["12345678901234567890", "1.50"]);
  });

  test("reads 4 MiB of escapes in one text or one name", () => {
    const escapes = String.raw`\\`.repeat(2 * 1024 * 1024);
    const text = "\\".repeat(2 * 1024 * 1024);
    expect(parseJson(`{"n\\u0061me":"${escapes}"}`)).toEqual({ name: text });
    expect(Object.keys(parseJson(`{"${escapes}":1}`) as object)[0] === text).toBe(true);
  });

  test("reads 1 Mi of the character that marks a replaced name", () => {
    const name = "\ue000".repeat(1024 * 1024);
    expect(Object.keys(parseJson(`{"a\\\\":1,"${name}":2}`) as object)[1] === name).toBe(true);
  });

  test("fails at once for 3 MiB of quotes in a text that does not end", () => {
    const quotes = String.raw`a\"`.repeat(1024 * 1024);
    expect(() => parseJson(`{"\\u0061":1,"${quotes}`)).toThrow(SyntaxError);
    expect(() => parseJson(`{"\\u0061":1,"${quotes}\\`)).toThrow(SyntaxError);
  });

  test.each([
    String.raw`{"a\x":1}`,
    String.raw`{"a\\":}`,
    String.raw`{"a\u00e9`,
    String.raw`{"a\\" 1}`,
    String.raw`\\`,
  ])("fails for %s as JSON.parse does", (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  });
});
