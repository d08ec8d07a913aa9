import { expect, test } from "vitest";

import { parseXml } from "../../../gateway/codecs/xml-tree.ts";
import { refused } from "../support/refused.ts";

const notWellFormed = "The XML you provided was not well-formed or did not validate against our published schema.";

const nested = (depth: number): string => "<a>".repeat(depth) + "</a>".repeat(depth);
const siblings = (count: number): string => `<a>${"<b/>".repeat(count - 1)}</a>`;

test("documents at their limits are read", () => {
  expect(parseXml(nested(32)).name).toBe("a");
  expect(parseXml(siblings(100_000)).children).toHaveLength(99_999);
});

test.each([
  // what, document, problem
  ["an element too deep", nested(33), notWellFormed],
  ["an element too many", siblings(100_001), notWellFormed],
  ["a document type", "<!DOCTYPE a><a/>", "The XML you provided has a document type, which is not allowed."],
  [
    "a document type with entities",
    '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
    "The XML you provided has a document type, which is not allowed.",
  ],
  ["an entity that is not predefined", "<a>&b;</a>", notWellFormed],
  ["an element without its end", "<a><b></a>", notWellFormed],
  ["no element", "", notWellFormed],
])("%s is refused", (_name, document, problem) => {
  expect(() => parseXml(document)).toThrow(refused("MALFORMED_BODY", { problem }));
});
