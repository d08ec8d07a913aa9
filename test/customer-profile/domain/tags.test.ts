import { expect, test } from "vitest";

import { findReservedTagKey, tagsWith, tagsWithout } from "../../../services/customer-profile/domain/tags.ts";

test.each([
  [{ team: "a" }, undefined],
  [{ team: "a", "aws:x": "b" }, "aws:x"],
  [{ "SVC:x": "b" }, "SVC:x"],
  [{ "laws:x": "b" }, undefined],
])("the reserved key of %j is %s", (tags, expected) => {
  expect(findReservedTagKey(tags)).toBe(expected);
});

test("adding keeps other tags and replaces the value of an existing one", () => {
  expect(tagsWith({ a: "1", b: "2" }, { b: "3", c: "4" })).toEqual({ a: "1", b: "3", c: "4" });
});

test("removing keeps other tags and minds no missing key", () => {
  expect(tagsWithout({ a: "1", b: "2" }, ["b", "z"])).toEqual({ a: "1" });
});
