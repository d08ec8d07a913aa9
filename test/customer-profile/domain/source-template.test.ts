import { describe, expect, test } from "vitest";

import { parseObject } from "../../../services/customer-profile/domain/object-source.ts";
import { fillTemplate, readTemplate } from "../../../services/customer-profile/domain/source-template.ts";
import type { JsonValue } from "../../../services/customer-profile/domain/source-value.ts";

const object = parseObject(
  '{"name":"Ann","none":null,"empty":"","yes":true,"no":false,"zero":0,"tiny":0.0,"one":1,"nothing":[],"o":{"a":1,"b":"x"},' +
    '"list":[{"n":"A","of":[1,2]},{"n":"B","of":[]}],"words":["x","y","z"],"a-b":"dash","first name":"Ada","__proto__":{"p":"own"}}',
) as JsonValue;

const fill = (source: string, budget = { left: Infinity }): string | undefined => {
  const template = readTemplate(source);
  return template && fillTemplate(template, object, budget);
};

describe("a template", () => {
  test.each([
    // values and constants
    ["{{_source.name}}!", "Ann!"],
    ["{{{_source.name}}} {{& _source.name}}", "Ann Ann"],
    ["{{_source.yes}} {{_source.no}} {{_source.zero}}", "true false 0"],
    ["[{{_source.none}}{{_source.gone}}{{_source.o}}{{_source.list}}]", "[]"],
    ["{{'INDIVIDUAL'}}", "INDIVIDUAL"],
    ['{{"a"}}-{{7}}-{{true}}', "a-7-true"],
    ["{{! said of it }}{{_source.name}}", "Ann"],
    ["{{_source.a-b}} {{_source.[first name]}} {{_source.list.1.n}}", "dash Ada B"],
    ["{{_source.__proto__.p}}{{_source.constructor.name}}{{_source.name.length}}", "own"],
    ["a {{~ _source.name ~}} b", "aAnnb"],
    // conditions
    ["{{#if _source.name}}named{{/if}}", "named"],
    ["{{#if _source.yes}}INDIVIDUAL{{else}}BUSINESS{{/if}}", "INDIVIDUAL"],
    ["{{#if _source.no}}INDIVIDUAL{{else}}BUSINESS{{/if}}", "BUSINESS"],
    ["{{#if _source.gone}}1{{else if _source.empty}}2{{else if _source.one}}3{{else}}4{{/if}}", "3"],
    [
      "{{#if _source.none}}1{{/if}}{{#if _source.nothing}}2{{/if}}{{#if _source.o}}3{{/if}}{{#if _source.words}}4{{/if}}",
      "34",
    ],
    ["{{#if _source.zero}}1{{/if}}{{#if _source.tiny}}2{{/if}}{{#if _source.one}}3{{/if}}", "3"],
    ["{{#unless _source.no}}a{{else}}b{{/unless}}{{#unless _source.yes}}a{{else}}b{{/unless}}", "ab"],
    ["{{^if _source.no}}a{{/if}}", "a"],
    ["{{#if true}}a{{/if}}{{#if ''}}b{{/if}}", "a"],
    // loops
    ["{{#each _source.words}}{{this}}{{#unless @last}}, {{/unless}}{{/each}}", "x, y, z"],
    ["{{#each _source.words}}{{@index}}{{#if @first}}!{{/if}}{{.}} {{/each}}", "0!x 1y 2z "],
    ["{{#each _source.list}}{{n}}={{this.n}};{{/each}}", "A=A;B=B;"],
    ["{{#each _source.list}}{{../_source.name}}{{@root._source.one}} {{/each}}", "Ann1 Ann1 "],
    ["{{#each _source.list}}{{#each of}}{{../n}}{{this}}{{@../index}}{{else}}-{{/each}}{{/each}}", "A10A20-"],
    ["{{#each _source.o}}{{@key}}:{{this}} {{/each}}", "a:1 b:x "],
    ["{{#each _source.nothing}}x{{else}}none{{/each}}{{#each _source.gone}}x{{else}}none{{/each}}", "nonenone"],
    ["{{#each _source.name}}x{{/each}}", ""],
    ["{{#if _source.yes}}{{#each _source.words}}{{#if this}}{{this}}{{/if}}{{/each}}{{/if}}", "xyz"],
    [
      "{{#with _source.o}}{{a}}{{b}}{{../_source.name}}{{else}}-{{/with}}{{#with _source.gone}}x{{else}}-{{/with}}",
      "1xAnn-",
    ],
    ["{{#each _source.list}}{{#with of}}{{@index}}{{/with}}{{/each}}", "0"],
  ])("%s is filled with %j", (source, expected) => {
    expect(fill(source)).toBe(expected);
  });

  test.each([
    "",
    "constant",
    "{{! nothing }}",
    "{{name}}",
    "{{this}}",
    "{{@root.name}}",
    "{{@index}}",
    "{{../_source.name}}",
    "{{#each _source.list}}{{../name}}{{/each}}",
    "{{#each _source.list}}{{../../_source.name}}{{/each}}",
    "{{#each _source.list}}{{@../index}}{{/each}}",
    "{{#each _source.list as |each|}}{{each.n}}{{/each}}",
    "{{#each}}x{{/each}}",
    "{{#if _source.a _source.b}}x{{/if}}",
    "{{#if _source.zero includeZero=true}}x{{/if}}",
    "{{#if (eq _source.a 'b')}}x{{/if}}",
    "{{upper _source.name}}",
    "{{#list _source.words}}x{{/list}}",
    "{{#_source.words}}x{{/_source.words}}",
    "{{> partial}}",
    "{{#> layout}}x{{/layout}}",
    "{{* decorator}}",
    "{{undefined}}{{null}}",
    "{{{{raw}}}}{{_source.name}}{{{{/raw}}}}",
    "{{#if _source.name}}x",
    "{{_source.name}",
    "{{#if _source.name}}x{{/each}}",
  ])("%j is none", (source) => {
    expect(readTemplate(source)).toBeUndefined();
  });

  test.each([
    ["open brackets", "{{a " + "(a ".repeat(5_333)],
    ["nested brackets", `{{a ${"(a ".repeat(2_666)}${")".repeat(2_666)}}}`],
    ["brackets behind a string that ends nothing", "{{a '}}' " + "(a ".repeat(5_333)],
    ["brackets behind a name that ends nothing", "{{a.[}}] " + "(a ".repeat(5_333)],
    ["blocks", "{{#if _source.a}}".repeat(470) + "{{/if}}".repeat(470)],
    ["blocks without spaces", "{{~#eb}}".repeat(2_000)],
    ["inverted blocks", "{{^a}}".repeat(2_666)],
    ["alternatives", `{{#if _source.a}}${"{{ else if _source.b}}".repeat(700)}{{/if}}`],
  ])("of 16,000 characters of %s is none, and is not parsed", (_name, source) => {
    const beganMs = process.cpuUsage().user / 1_000;
    expect(readTemplate(source)).toBeUndefined();
    expect(process.cpuUsage().user / 1_000 - beganMs).toBeLessThan(100);
  });

  test("has 50 blocks and alternatives at most", () => {
    const nested = (count: number) => "{{#if _source.one}}".repeat(count) + "x" + "{{/if}}".repeat(count);
    expect(fill(nested(50), { left: 10_000 })).toBe("x");
    expect(readTemplate(nested(51))).toBeUndefined();
  });

  test("that loops within loops over a long list ends when the budget is spent", () => {
    const long = { list: Array.from({ length: 10_000 }, () => "") };
    const inner = "{{#each @root._source.list}}{{#each @root._source.list}}{{/each}}{{/each}}";
    const template = readTemplate(`{{#each _source.list}}${inner}{{/each}}`);
    const budget = { left: 2_048_000 };
    const beganMs = process.cpuUsage().user / 1_000;
    expect(fillTemplate(template!, long, budget)).toBe("");
    expect(budget.left).toBeLessThan(0);
    expect(process.cpuUsage().user / 1_000 - beganMs).toBeLessThan(1_000);
  });

  test("is cut where the budget is spent", () => {
    // A step for the loop, one for each of three elements, then one and a character for each part.
    const enough = { left: 8 + 3 * 8 + 3 * 9 };
    expect([fill("{{#each _source.words}}{{this}}{{/each}}", enough), enough.left]).toEqual(["xyz", 0]);
    const less = { left: 8 + 3 * 8 + 2 * 9 };
    expect(fill("{{#each _source.words}}{{this}}{{/each}}", less)).toBe("xy");
    expect(less.left).toBeLessThan(0);
  });
});
