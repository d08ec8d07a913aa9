import { describe, expect, test } from "vitest";

import { isReadableSource, parseObject, readSource } from "../../../services/customer-profile/domain/object-source.ts";

describe("an object", () => {
  test.each(["[]", "null", "1", '"text"', "{", "", '{"a":1}x'])("is not the text %s", (text) => {
    expect(parseObject(text)).toBeUndefined();
  });

  test("keeps numbers as they were written", () => {
    expect(parseObject('{"id":12345678901234567890.10,"n":[7.0]}')).toEqual({
      id: "12345678901234567890.10",
      n: ["7.0"],
    });
  });
});

describe("a source", () => {
  const object = parseObject(
    '{"a":{"b":"Ann","n":7.50,"t":true,"none":null,"empty":"","o":{}},"list":[{"c":"first"}],"__proto__":{"x":"own"}}',
  );
  test.each([
    // source, the text that it reads
    ["_source.a.b", "Ann"],
    ["_source.a.n", "7.50"],
    ["_source.a.t", "true"],
    ["_source.list.0.c", "first"],
    ["_source.__proto__.x", "own"],
    ["_source.a.none", undefined],
    ["_source.a.empty", undefined],
    ["_source.a.o", undefined],
    ["_source.a.b.length", undefined],
    ["_source.constructor.name", undefined],
    ["_source.list.length", undefined],
    ["{{_source.a.b}} #{{ _source.a.n }}", "Ann #7.50"],
    ["{{_source.a.none}} {{_source.x}}", undefined],
    ["{{#if _source.a.t}}person{{else}}firm{{/if}}", "person"],
    ["{{#if _source.a.none}}person{{/if}} ", undefined],
    ["{{#each _source.list}}{{c}}{{/each}}", "first"],
  ])("%s reads %s", (source, expected) => {
    expect(readSource(source, object ?? {}, { left: Infinity })).toBe(expected);
  });

  test.each([
    ["_source.a", true],
    ["{{_source.a}}", true],
    ["No. {{_source.a}}", true],
    ["_source", false],
    ["_source.", false],
    ["a.b", false],
    ["constant", false],
    ["{{_source.(a)}}", true],
    ["{{#if _source.a}}x{{/if}}", true],
    ["{{#if _source.a}}x", false],
    ["{{_source.a}} {{other}}", false],
  ])("%s can be read: %s", (source, expected) => {
    expect(isReadableSource(source)).toBe(expected);
  });
});
