import { parseJson } from "../../kit/json/parse-json.ts";
import { fillTemplate, readTemplate } from "./source-template.ts";
import type { JsonValue, TextBudget } from "./source-value.ts";
import { memberOf, textOf } from "./source-value.ts";

const accessor = /^_source((?:\.[^.\s{}]+)+)$/;
const reference = /\{\{\s*(_source(?:\.[^.\s{}]+)+)\s*\}\}/g;

/** Reads a JSON object; undefined if the text is anything else. */
export const parseObject = (text: string): { readonly [name: string]: JsonValue } | undefined => {
  let parsed: JsonValue;
  try {
    parsed = parseJson(text, keepNumbers) as JsonValue;
  } catch {
    return undefined;
  }
  return isObject(parsed) ? parsed : undefined;
};

/** Whether a source is a template that takes long to read: neither an accessor nor text with accessors alone. */
export const isTemplate = (source: string): boolean => !accessor.test(source) && !isPlain(source);

/**
 * Whether a source is valid: an accessor `_source.a.b`, text with such accessors in double braces, or a template with
 * conditions and loops.
 */
export const isReadableSource = (source: string): boolean => accessor.test(source) || readingOf(source) !== undefined;

/**
 * Reads a source from an object; undefined if the object has no value there. Only texts, numbers and booleans are read;
 * in text with accessors, a missing value is left out, and so are values that are longer than the budget.
 */
export const readSource = (source: string, object: JsonValue, budget: TextBudget): string | undefined => {
  if (accessor.test(source)) return textAt(source, object);
  const text = readingOf(source)?.(object, budget) ?? "";
  return text.trim() === "" ? undefined : text;
};

/** Composes a text from an object. */
type Reading = (object: JsonValue, budget: TextBudget) => string;

/** Sources that were read, because the same ones are used for each object. */
const readings = new Map<string, { readonly reading: Reading | undefined }>();
const readingsMax = 4_096;

/** How a source is read that is no accessor; undefined: it cannot be. */
const readingOf = (source: string): Reading | undefined => {
  let known = readings.get(source);
  if (known !== undefined) return known.reading;
  if (readings.size >= readingsMax) readings.clear();
  known = { reading: findReading(source) };
  readings.set(source, known);
  return known.reading;
};

const findReading = (source: string): Reading | undefined => {
  if (isPlain(source)) return (object, budget) => composed(source, object, budget);
  const template = readTemplate(source);
  return template && ((object, budget) => fillTemplate(template, object, budget));
};

/** Whether a text has accessors and no other expressions. These may have names that templates cannot have. */
const isPlain = (source: string): boolean => {
  const rest = source.replaceAll(reference, "");
  return rest !== source && !/[{}]/.test(rest);
};

const composed = (source: string, object: JsonValue, budget: TextBudget): string =>
  source.replaceAll(reference, (_whole, path: string) => {
    const value = textAt(path, object) ?? "";
    budget.left -= value.length;
    return budget.left < 0 ? "" : value;
  });

const textAt = (path: string, object: JsonValue): string | undefined => {
  let value: JsonValue | undefined = object;
  for (const name of path.split(".").slice(1)) value = memberOf(value, name);
  return textOf(value);
};

// The third argument is the value's source text.
const keepNumbers = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === "number" ? (context?.source ?? String(value)) : value;

const isObject = (value: JsonValue): value is { readonly [name: string]: JsonValue } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
