import { describe, expect, test } from "vitest";

import { parseQuery } from "../../../gateway/http/query.ts";
import { refused } from "../support/refused.ts";

describe("parseQuery", () => {
  test.each([
    // as it was sent, names, values, each as it was sent
    ["", [], [], []],
    ["acl", ["acl"], [""], ["acl="]],
    ["&&a=1&", ["a"], ["1"], ["a=1"]],
    ["b=2&a=1&a=3", ["b", "a", "a"], ["2", "1", "3"], ["b=2", "a=1", "a=3"]],
    ["a=b=c", ["a"], ["b=c"], ["a=b=c"]],
    ["a+b=c+%2B%20d", ["a b"], ["c + d"], ["a+b=c+%2B%20d"]],
    ["%C3%BC=%c3%bc", ["ü"], ["ü"], ["%C3%BC=%c3%bc"]],
    ["\u00c3\u00bc=1", ["ü"], ["1"], ["\u00c3\u00bc=1"]],
    ["__proto__=1", ["__proto__"], ["1"], ["__proto__=1"]],
  ])("%s", (sent, names, values, raw) => {
    const query = parseQuery(sent);
    expect(query.raw).toBe(sent);
    expect(query.all.map((each) => each.name)).toEqual(names);
    expect(query.all.map((each) => each.value)).toEqual(values);
    expect(query.all.map((each) => each.raw)).toEqual(raw);
  });

  test("finds the first parameter of a name, and any case of it only if asked", () => {
    const query = parseQuery("X-Amz-Acl=a&max-keys=1&max-keys=2");
    expect([query.get("max-keys"), query.getAll("max-keys"), query.get("MAX-KEYS")]).toEqual([
      "1",
      ["1", "2"],
      undefined,
    ]);
    expect([query.has("x-amz-acl"), query.findIgnoringCase("x-amz-acl")]).toEqual([false, "a"]);
  });

  test.each(["x=%zz", "%FF", "a=%", "\u00ff=1"])("refuses %s, which is not UTF-8", (sent) => {
    expect(() => parseQuery(sent)).toThrow(refused("MALFORMED_URI"));
  });
});
