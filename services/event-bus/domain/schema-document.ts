import type { Shape } from "./schema-inference.ts";
import { seen } from "./schema-inference.ts";

/** The names of the types in JSON Schema, with the bits for which each is written. */
const typeNames: readonly (readonly [name: string, bits: number])[] = [
  ["null", seen.null],
  ["boolean", seen.boolean],
  ["integer", seen.integer],
  ["number", seen.fraction],
  ["string", seen.dateTime | seen.text],
  ["object", seen.object],
  ["array", seen.list],
];

/** Marks the places of a document that do not show all that was seen. */
const openComment = "More was seen here than is kept.";

/** The JSON Schema (draft 2020-12) of a shape, without `$schema`. */
export const toJsonSchema = (shape: Shape): object => {
  const { types, properties, items, isOpen } = shape;
  const isObject = (types & seen.object) !== 0;
  const required = [...properties].filter(([, { isOptional }]) => !isOptional).map(([name]) => name);
  // A fraction was seen, so any number is expected.
  const shown = (types & seen.fraction) === 0 ? types : types & ~seen.integer;
  const names = typeNames.filter(([, bits]) => (shown & bits) !== 0).map(([name]) => name);
  return {
    type: names.length === 1 ? names[0] : names,
    ...((types & (seen.dateTime | seen.text)) === seen.dateTime && { format: "date-time" }),
    ...(properties.size > 0 && {
      properties: Object.fromEntries([...properties].map(([name, property]) => [name, toJsonSchema(property)])),
    }),
    ...(required.length > 0 && { required }),
    ...(items !== undefined && { items: toJsonSchema(items) }),
    ...(isOpen && isObject && { additionalProperties: true }),
    ...(isOpen && { $comment: openComment }),
  };
};

/** The JSON Schema document of the events of a source and detail type, as rules and targets see them. */
export const eventSchemaText = (source: string, detailType: string, detail: Shape): string => {
  const string = { type: "string" };
  const properties = {
    version: { const: "0" },
    id: string,
    "detail-type": { const: detailType },
    source: { const: source },
    account: string,
    time: { type: "string", format: "date-time" },
    region: string,
    resources: { type: "array", items: string },
    detail: toJsonSchema(detail),
  };
  return JSON.stringify({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: detailType,
    type: "object",
    properties,
    required: Object.keys(properties),
  });
};
