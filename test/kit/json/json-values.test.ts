import { expect, test } from "vitest";

import { hasMoreJsonValues } from "../../../services/kit/json/json-values.ts";

const padding = " ".repeat(100);

test.each([
  // document, its values
  ["null", 1],
  ["[]", 2],
  ["[1]", 2],
  ["[1,2,3]", 4],
  // An empty list or object counts twice.
  ['{"a":1,"b":[{},{}]}', 7],
  ['"[,{"', 1],
  [String.raw`["\",[{","\\",","]`, 4],
  [String.raw`["a\\\"],[","b"]`, 3],
  ['["ü,","🜁{"]', 3],
  // What does not end is left to who parses it.
  ['["a', 2],
  [String.raw`["a\ `, 2],
])("%s has %i values", (document, count) => {
  // Of fewer bytes than values nothing is counted.
  const bytes = Buffer.from(document + padding);
  expect([hasMoreJsonValues(bytes, count - 1), hasMoreJsonValues(bytes, count)]).toEqual([true, false]);
});

test("a document of fewer bytes than values is not looked at", () => {
  expect(hasMoreJsonValues(Buffer.from("[,,,,]"), 6)).toBe(false);
});
