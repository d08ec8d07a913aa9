import { expect, test } from "vitest";

import { findReservedTagKey, tagsWith, tagsWithout } from "../../../services/kit/tags/tags.ts";

// keys | the reserved one
test.each([
  [["team"], undefined],
  [["team", "aws:x"], { key: "aws:x", prefix: "aws:" }],
  [["SVC:x"], { key: "SVC:x", prefix: "svc:" }],
  [["laws:x"], undefined],
  [[], undefined],
])("the reserved key among %j is %j", (keys, expected) => {
  expect(findReservedTagKey(keys)).toEqual(expected);
});

test("adding keeps other tags and replaces the value of an existing one", () => {
  expect(tagsWith({ a: "1", b: "2" }, { b: "3", c: "4" })).toEqual({ a: "1", b: "3", c: "4" });
});

test("removing keeps other tags and ignores missing keys", () => {
  expect(tagsWithout({ a: "1", b: "2" }, ["b", "z"])).toEqual({ a: "1" });
});
