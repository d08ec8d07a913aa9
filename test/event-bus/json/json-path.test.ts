import { describe, expect, test } from "vitest";

import { nestingDepth } from "../../../services/event-bus/json/json-cursor.ts";
import { readPath } from "../../../services/event-bus/json/json-path.ts";

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
