import { parseJson } from "../../kit/json/parse-json.ts";

/** A parsed JSON value; numbers keep their source text, so that no digits are lost. */
export type JsonValue = string | boolean | null | readonly JsonValue[] | { readonly [name: string]: JsonValue };

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

/** Whether a source is valid: an accessor `_source.a.b`, or text with such accessors in double braces. */
export const isReadableSource = (source: string): boolean => {
  if (accessor.test(source)) return true;
  const rest = source.replaceAll(reference, "");
  return rest !== source && !/[{}]/.test(rest);
};

/** The characters that may still be composed; below 0: a text was too long. */
export interface TextBudget {
  left: number;
}

/**
 * Reads a source from an object; undefined if the object has no value there. Only texts, numbers and booleans are read;
 * in text with accessors, a missing value is left out, and so are values that are longer than the budget.
 */
export const readSource = (source: string, object: JsonValue, budget: TextBudget): string | undefined => {
  if (accessor.test(source)) return textAt(source, object);
  const text = source.replaceAll(reference, (_whole, path: string) => {
    const value = textAt(path, object) ?? "";
    budget.left -= value.length;
    return budget.left < 0 ? "" : value;
  });
  return text.trim() === "" ? undefined : text;
};

const textAt = (path: string, object: JsonValue): string | undefined => {
  let value: JsonValue | undefined = object;
  for (const name of path.split(".").slice(1)) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as { readonly [name: string]: JsonValue })[name];
  }
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
};

// The third argument is the value's source text.
const keepNumbers = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === "number" ? (context?.source ?? String(value)) : value;

const isObject = (value: JsonValue): value is { readonly [name: string]: JsonValue } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
