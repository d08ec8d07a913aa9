import { describe, expect, test } from "vitest";

import { nestingDepth } from "../../../services/event-bus/json/json-cursor.ts";
import { PathReader, PathsTooCostlyError, readPath } from "../../../services/event-bus/json/json-path.ts";

const json =
  ' { "id" : "e-1", "detail-type":"Order \\"Placed\\"", "n": 1.50, "detail": {"a":{"b" : [1, {"c":"x,]}"}] },"empty":{}}, "list":[] , "n": 2e3 } ';

describe("readPath", () => {
  // path | spelling of the value
  test.each([
    ["$.id", '"e-1"'],
    ["$.detail-type", '"Order \\"Placed\\""'],
    ["$.n", "2e3"],
    ["$.detail.a.b", '[1, {"c":"x,]}"}]'],
    ["$.detail.a.b[0]", "1"],
    ["$.detail.a.b[1].c", '"x,]}"'],
    ["$.detail.empty", "{}"],
    ["$.list", "[]"],
    ["$.list[0]", undefined],
    ["$.missing", undefined],
    ["$.id.deeper", undefined],
    ["$.detail[0]", undefined],
    ["detail", undefined],
    ["$..id", undefined],
    ["$.detail['a']", undefined],
    ["$.detail.a.b[*]", '[1,{"c":"x,]}"}]'],
    ["$.detail.a.b[*].c", '["x,]}"]'],
    ["$.detail.*.b", '[[1, {"c":"x,]}"}]]'],
    ["$.detail.*.*[1].c", '["x,]}"]'],
    ["$.detail[*][*]", '[[1, {"c":"x,]}"}]]'],
    ["$.list[*]", "[]"],
    ["$.list[*].a", "[]"],
    ["$.detail.empty.*", "[]"],
    ["$.id[*]", undefined],
    ["$.missing[*]", undefined],
    ["$.list[**]", undefined],
  ])("%s names %s", (path, expected) => {
    expect(readPath(json, path)).toBe(expected);
  });

  test("$ names the whole text", () => {
    expect(readPath(json, "$")).toBe(json.trim());
  });
});

describe("PathReader", () => {
  const long = "x".repeat(100);
  const items = Array.from({ length: 40 }, (_, index) => ({ id: index, text: `${long}${index}`, list: [index, long] }));
  const members = items.map((item, index) => `"m${index}":${JSON.stringify(item)}`).join();
  const crowded = ` { "items" : ${JSON.stringify(items)} , "members":{${members},"m7":"again"}} `;

  test("reads the same as a reader for each path, however often and in any order", () => {
    const paths = items.flatMap((_, index) => [
      `$.items[${index}].text`,
      `$.members.m${index}.list[1]`,
      `$.members.m${index}`,
      `$.items[${39 - index}]`,
      "$.items[40]",
      "$.items[*].list[0]",
      "$.members.*.id",
      "$.members.missing",
    ]);
    const reader = new PathReader(crowded);
    expect(paths.map((path) => reader.read(path))).toEqual(paths.map((path) => readPath(crowded, path)));
    expect(reader.read("$.members.m7")).toBe('"again"');
    expect(reader.read("$.items[3].list[0]")).toBe("3");
  });

  const nested = (inner: string): string => `${'{"a":'.repeat(120)}${inner}${"}".repeat(120)}`;
  const hundred = (path: (index: number) => string): string[] => Array.from({ length: 100 }, (_, index) => path(index));
  const numbers = `[${"1,".repeat(119_999)}1]`;
  const wide = JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 1])));

  // what | text | paths
  test.each([
    ["through many levels", nested(numbers), hundred((index) => `$${".a".repeat(120 - index)}`)],
    ["past a text of many escapes", nested(`"${'\\"'.repeat(120_000)}"`), hundred(() => `$${".a".repeat(120)}`)],
    ["to members of a wide object", wide, hundred((index) => `$.k${19_999 - index}`)],
    ["to elements of a long list", numbers, hundred((index) => `$[${119_999 - index}]`)],
  ])("passes a long value once for 100 paths %s", (_, text, paths) => {
    const reader = new PathReader(text, 12 * text.length);
    for (const path of paths) expect(reader.read(path)).not.toBeUndefined();
  });

  // what | text | paths
  test.each([
    ["parts of a long list", `[${"{},".repeat(80_000)}{}]`, hundred((index) => `$[*].k${index}`)],
    ["parts of many levels", nested(numbers), hundred((index) => `$${".*".repeat(120 - index)}[*]`)],
    ["a long name", nested(`{"${'\\"'.repeat(120_000)}":1}`), hundred((index) => `$${".a".repeat(120)}.b${index}`)],
  ])("gives up paths that pass %s too often", (_, text, paths) => {
    const reader = new PathReader(text);
    expect(() => paths.map((path) => reader.read(path))).toThrow(PathsTooCostlyError);
  });
});

describe("nestingDepth", () => {
  test.each([
    ["5", 0],
    ['"[{"', 0],
    ["{}", 1],
    ['{"a":[{"b":"\\"]["}],"c":{}}', 3],
  ])("%s is %i levels deep", (text, depth) => {
    expect(nestingDepth(text)).toBe(depth);
  });
});
