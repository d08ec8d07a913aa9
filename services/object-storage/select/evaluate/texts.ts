import { refusal, shown } from "../refusal.ts";
import { Timestamp } from "../values/timestamp.ts";
import type { Structure, Value } from "../values/value.ts";
import { isDecimal, textOf } from "../values/value.ts";

/** Characters of a text that a query makes; a record of the result is no longer. */
const charactersMax = 1024 * 1024;

/** What a message says about a value: its type, and its beginning. */
export const describe = (value: Value): string => {
  if (Array.isArray(value)) return "a list";
  if (value instanceof Map) return "a structure";
  if (value === undefined) return "a missing value";
  return shown(value === null ? "null" : textOf(value as Plain));
};

/** A value that has a text. */
type Plain = Exclude<Value, readonly Value[] | Structure>;

export const isPlain = (value: Value): value is Plain =>
  typeof value !== "object" || value === null || value instanceof Timestamp || isDecimal(value);

/** The text of a value. Throws ILLEGAL_SQL_FUNCTION_ARGUMENT for a list or structure. */
export const plainText = (name: string, value: Value): string => {
  if (typeof value === "string") return value;
  if (!isPlain(value)) throw refusal("ILLEGAL_SQL_FUNCTION_ARGUMENT", `${name} of ${describe(value)}`);
  return textOf(value);
};

/** Both texts together. Throws OVER_MAX_RECORD_SIZE. */
export const joinedText = (left: Value, right: Value): string => {
  const text = plainText("||", left) + plainText("||", right);
  if (text.length > charactersMax) throw refusal("OVER_MAX_RECORD_SIZE");
  return text;
};

/**
 * A part of a text by characters. The start counts from 1; what lies before the first character counts in the length
 * and is not there.
 */
export const substring = (text: string, start: bigint, length: bigint | undefined): string => {
  if (length !== undefined && length < 0n)
    throw refusal("EVALUATOR_INVALID_ARGUMENTS", "The length of SUBSTRING is negative.");
  const size = BigInt(text.length);
  const end = length === undefined || start + length > size + 1n ? size + 1n : start + length;
  const from = start < 1n ? 1n : start;
  if (end <= from) return "";
  const units = hasPairs(text) ? Array.from(text) : undefined;
  const [first, last] = [Number(from) - 1, Number(end) - 1];
  return units === undefined ? text.slice(first, last) : units.slice(first, last).join("");
};

export const characterCount = (text: string): bigint => BigInt(hasPairs(text) ? Array.from(text).length : text.length);

/** Whether a text has characters of two units. */
const hasPairs = (text: string): boolean => /[\ud800-\udbff]/.test(text);

/** The text without characters of a set at its beginning, its end, or both. */
export const trimmed = (text: string, side: "LEADING" | "TRAILING" | "BOTH", characters: string): string => {
  const set = new Set(characters);
  const units = hasPairs(text) || hasPairs(characters) ? Array.from(text) : text;
  let [from, to] = [0, units.length];
  if (side !== "TRAILING") while (from < to && set.has(units[from] as string)) from += 1;
  if (side !== "LEADING") while (to > from && set.has(units[to - 1] as string)) to -= 1;
  const rest = units.slice(from, to);
  return typeof rest === "string" ? rest : rest.join("");
};
