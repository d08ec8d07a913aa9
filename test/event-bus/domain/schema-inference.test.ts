import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";

import { eventSchemaText, toJsonSchema } from "../../../services/event-bus/domain/schema-document.ts";
import type { Shape } from "../../../services/event-bus/domain/schema-inference.ts";
import { isSameShape, merge, observe, shapeLimits } from "../../../services/event-bus/domain/schema-inference.ts";
import { parseJson } from "../../../services/kit/json/parse-json.ts";
import { seededRandom } from "../../kit/store/seeded-random.ts";
import { rounds } from "../../support/rounds.ts";
import { documentOf } from "../json/generated-json.ts";

/** The schema of values that were observed one after the other. */
const schemaOf = (...values: unknown[]): unknown =>
  toJsonSchema(values.map((value) => observe(value)).reduce((one, other) => merge(one, other)));

const comment = "More was seen here than is kept.";

describe("the schema of values", () => {
  // values | schema
  test.each<[unknown[], object]>([
    [[{}], { type: "object" }],
    [[{ n: 1 }], { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }],
    [[1, 2.5], { type: "number" }],
    [[1, "a", null, true], { type: ["null", "boolean", "integer", "string"] }],
    [["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678+01:00"], { type: "string", format: "date-time" }],
    [["2026-01-02T03:04:05Z", null], { type: ["null", "string"], format: "date-time" }],
    [["2026-01-02T03:04:05Z", "soon"], { type: "string" }],
    [["2026-02-30T03:04:05Z"], { type: "string" }],
    [["2028-02-29T03:04:05Z"], { type: "string", format: "date-time" }],
    [["2026-12-31T23:59:60Z"], { type: "string" }],
    [[[]], { type: "array" }],
    [[[1], [null]], { type: "array", items: { type: ["null", "integer"] } }],
    [
      [[{ a: 1, b: 1 }, { a: 2 }]],
      {
        type: "array",
        items: {
          type: "object",
          properties: { a: { type: "integer" }, b: { type: "integer" } },
          required: ["a"],
        },
      },
    ],
    [
      [{ a: 1, b: "x" }, { a: 1 }, { a: null, b: "y" }],
      {
        type: "object",
        properties: { a: { type: ["null", "integer"] }, b: { type: "string" } },
        required: ["a"],
      },
    ],
    [
      [{ buyer: { name: "Ada" } }, { buyer: null }],
      {
        type: "object",
        properties: {
          buyer: { type: ["null", "object"], properties: { name: { type: "string" } }, required: ["name"] },
        },
        required: ["buyer"],
      },
    ],
    [
      [[1], { a: 1 }],
      {
        type: ["object", "array"],
        properties: { a: { type: "integer" } },
        required: ["a"],
        items: { type: "integer" },
      },
    ],
    [
      [parseJson('{"__proto__":1}')],
      { type: "object", properties: parseJson('{"__proto__":{"type":"integer"}}'), required: ["__proto__"] },
    ],
  ])("%j is inferred", (values, schema) => {
    expect(schemaOf(...values)).toEqual(schema);
    expect(schemaOf(...values.toReversed(), ...values)).toEqual(schema);
  });

  test("names of more than 128 characters and broken ones are left out, and their object is open", () => {
    const open = { type: "object", additionalProperties: true, $comment: comment };
    expect(schemaOf({ ["a".repeat(129)]: 1 })).toEqual(open);
    expect(schemaOf({ "\ud800": 1 })).toEqual(open);
    expect(schemaOf({ ["a".repeat(128)]: 1 })).toMatchObject({ required: ["a".repeat(128)] });
  });

  test("the ninth level is left out, and the eighth is open", () => {
    let [value, schema]: [unknown, object] = [
      { a: 1 },
      { type: "object", additionalProperties: true, $comment: comment },
    ];
    for (let level = 0; level < 8; level += 1) {
      value = { a: value };
      schema = { type: "object", properties: { a: schema }, required: ["a"] };
    }
    expect(schemaOf(value)).toEqual(schema);
  });

  test("the first 500 places are kept, the upper levels before the lower ones", () => {
    const wide = Object.fromEntries(Array.from({ length: 499 }, (_, n) => [`n${String(n).padStart(3, "0")}`, 1]));
    const shape = observe({ ...wide, z: { b: 1, a: [1] } });
    expect([shape.properties.size, shape.isOpen]).toEqual([500, false]);
    expect(toJsonSchema(shape)).toMatchObject({
      properties: { z: { type: "object", additionalProperties: true, $comment: comment } },
    });
    const wider = merge(shape, observe({ ...wide, a: 1 }));
    expect([wider.properties.size, wider.isOpen, wider.properties.has("z")]).toEqual([500, true, false]);
  });

  test("a large list of objects with names of their own is observed in a moment", () => {
    const items = Array.from({ length: 20_000 }, (_, n) => ({ [`k${n}`]: n }));
    const before = process.cpuUsage();
    const shape = observe({ items });
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
    expect(shape.properties.get("items")?.items?.properties.size).toBe(498);
  });

  test("a large object with names of its own at each level costs what is kept of it", () => {
    const wide = (inner: unknown) => Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, inner]));
    const value = wide(wide({ a: [{ b: 1 }] }));
    const before = process.cpuUsage();
    const shape = observe(value);
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
    expect([shape.properties.size, shape.isOpen, [...shape.properties.keys()].slice(0, 3)]).toEqual([
      500,
      true,
      ["k0", "k1", "k10"],
    ]);
  });

  test("of an event is that of its envelope", () => {
    expect(parseJson(eventSchemaText("shop", "Sale", observe({ n: 1 })))).toEqual({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "Sale",
      type: "object",
      properties: {
        version: { const: "0" },
        id: { type: "string" },
        "detail-type": { const: "Sale" },
        source: { const: "shop" },
        account: { type: "string" },
        time: { type: "string", format: "date-time" },
        region: { type: "string" },
        resources: { type: "array", items: { type: "string" } },
        detail: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
      },
      required: ["version", "id", "detail-type", "source", "account", "time", "region", "resources", "detail"],
    });
  });
});

describe("generated values", () => {
  const random = seededRandom(11);
  const tight = { depthMax: 3, placesMax: 6, nameLengthMax: 3 };
  const shown = (shape: Shape): string => JSON.stringify([shape.isOptional, toJsonSchema(shape)]);

  test.each([
    ["within the limits", shapeLimits],
    ["beyond the limits", tight],
  ])("%s are merged in any order, in any groups and repeatedly to the same shape", (_name, limits) => {
    const differing = [];
    for (let round = 0; round < rounds(1_000, 50_000); round += 1) {
      const values = [0, 1, 2].map(() => parseJson(documentOf(random)));
      const [a, b, c] = values.map((value) => observe(value, limits)) as [Shape, Shape, Shape];
      const join = (one: Shape, other: Shape): Shape => merge(one, other, limits);
      const all = join(join(a, b), c);
      for (const same of [join(a, join(b, c)), join(join(c, a), b), join(all, b), join(all, all)])
        if (!isSameShape(all, same) || shown(all) !== shown(same)) differing.push(values);
    }
    expect(differing).toEqual([]);
  });

  test("are valid by the schema of all of them, also beyond the limits", () => {
    const ajv = new Ajv2020({ strict: false, formats: { "date-time": true } });
    const invalid: unknown[] = [];
    for (let round = 0; round < rounds(300, 10_000); round += 1) {
      const limits = random.pick([shapeLimits, tight]);
      const values = Array.from({ length: 4 }, () => parseJson(documentOf(random)));
      const shape = values.map((value) => observe(value, limits)).reduce((one, other) => merge(one, other, limits));
      const schema = toJsonSchema(shape);
      const isValid = ajv.compile(schema);
      invalid.push(...values.filter((value) => !isValid(value)));
      ajv.removeSchema(schema);
    }
    expect(invalid).toEqual([]);
  });
});
