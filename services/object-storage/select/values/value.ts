import type { Decimal } from "./decimal.ts";
import { compareDecimals, decimalOf, decimalOfFloat, decimalText, decimalToFloat } from "./decimal.ts";
import { compareTimestamps, parseTimestamp, Timestamp, timestampText } from "./timestamp.ts";

/**
 * A value of a query: missing (undefined), null, a Boolean, a text, an integer (bigint), a float (number), an exact
 * decimal, an instant, a list or a structure.
 */
export type Value =
  | undefined
  | null
  | boolean
  | string
  | bigint
  | number
  | Decimal
  | Timestamp
  | readonly Value[]
  | Structure;

/** The members of a JSON object or of a Parquet record, in their order. */
export type Structure = ReadonlyMap<string, Value>;

/** A number of any of the three kinds. */
export type Numeric = bigint | number | Decimal;

export const isDecimal = (value: Value): value is Decimal =>
  typeof value === "object" && value !== null && "unscaled" in value;

export const isNumeric = (value: Value): value is Numeric =>
  typeof value === "bigint" || typeof value === "number" || isDecimal(value);

/** Characters of a number: some more than the smallest float has if it is written without an exponent. */
export const numberCharactersMax = 1_200;

/** The number that a text writes: an integer, a decimal, or with an exponent a float; undefined if it writes none. */
export const numericOf = (text: string): Numeric | undefined => {
  if (text.length > numberCharactersMax) return undefined;
  const kind = numberKind(text);
  if (kind === "integer") {
    if (text.length <= 15) return BigInt(Number(text));
    return BigInt(text.startsWith("+") ? text.slice(1) : text);
  }
  if (kind === "decimal") return decimalOf(text);
  const float = kind === "float" ? Number(text) : Number.NaN;
  return Number.isFinite(float) ? float : undefined;
};

/** The number that a short text writes, as a float that no other number of so few digits is read as; NaN if none. */
export const shortNumber = (text: string): number =>
  text.length > shortDigitsMax || numberKind(text) === undefined ? Number.NaN : Number(text);

/** Texts of up to so many characters are exact as floats. */
const shortDigitsMax = 15;

/** A value as a number, if it is one or a text that writes one. */
export const asNumeric = (value: Value): Numeric | undefined => {
  if (typeof value === "string") return numericOf(value.trim());
  return isNumeric(value) ? value : undefined;
};

export const asFloat = (value: Numeric): number => (isDecimal(value) ? decimalToFloat(value) : Number(value));

/** The number as a decimal; undefined for a float that is not finite. */
export const asDecimal = (value: Numeric): Decimal | undefined => {
  if (typeof value === "bigint") return { unscaled: value, scale: 0 };
  return typeof value === "number" ? decimalOfFloat(value) : value;
};

/**
 * Compares two values: negative, 0 or positive; undefined if they cannot be compared. A text is read as what it is
 * compared with, because all fields of separated values are texts.
 */
export const compareValues = (left: Value, right: Value): number | undefined => {
  if (left === undefined || left === null || right === undefined || right === null) return undefined;
  if (typeof left === "string" && typeof right === "string") return left < right ? -1 : left > right ? 1 : 0;
  if (typeof left === "boolean" || typeof right === "boolean") return compareBooleans(left, right);
  if (left instanceof Timestamp || right instanceof Timestamp) {
    const [a, b] = [asTimestamp(left), asTimestamp(right)];
    return a === undefined || b === undefined ? undefined : compareTimestamps(a, b);
  }
  const [a, b] = [asNumeric(left), asNumeric(right)];
  if (a === undefined || b === undefined) return undefined;
  return compareNumbers(a, b);
};

const compareNumbers = (left: Numeric, right: Numeric): number => {
  if (!isDecimal(left) && !isDecimal(right)) return left < right ? -1 : left > right ? 1 : 0;
  const [a, b] = [asDecimal(left), asDecimal(right)];
  return a === undefined || b === undefined ? asFloat(left) - asFloat(right) : compareDecimals(a, b);
};

/** The Boolean that a value is or that its text writes. */
export const asBoolean = (value: Value): boolean | undefined => {
  if (typeof value === "boolean") return value;
  if (typeof value !== "string") return undefined;
  const text = value.toLowerCase();
  return text === "true" ? true : text === "false" ? false : undefined;
};

export const asTimestamp = (value: Value): Timestamp | undefined => {
  if (value instanceof Timestamp) return value;
  return typeof value === "string" ? parseTimestamp(value) : undefined;
};

/** The text of a value that is neither a list nor a structure; empty for what is missing and for null. */
export const textOf = (value: Exclude<Value, readonly Value[] | Structure>): string => {
  if (value === undefined || value === null) return "";
  if (value instanceof Timestamp) return timestampText(value);
  return isDecimal(value) ? decimalText(value) : String(value);
};

const compareBooleans = (left: Value, right: Value): number | undefined => {
  const [a, b] = [asBoolean(left), asBoolean(right)];
  return a === undefined || b === undefined ? undefined : Number(a) - Number(b);
};

/** How a text writes a number, without backtracking; undefined if it writes none. */
const numberKind = (text: string): "integer" | "decimal" | "float" | undefined => {
  const first = text.charCodeAt(0);
  let at = first === 43 || first === 45 ? 1 : 0;
  const [whole, afterWhole] = digitsFrom(text, at);
  at = afterWhole;
  let fraction = 0;
  const hasPoint = text.charCodeAt(at) === 46;
  if (hasPoint) [fraction, at] = digitsFrom(text, at + 1);
  if (whole + fraction === 0) return undefined;
  if (at === text.length) return hasPoint ? "decimal" : "integer";
  if ((text.charCodeAt(at) | 32) !== 101) return undefined;
  const sign = text.charCodeAt(at + 1);
  const [exponent, end] = digitsFrom(text, sign === 43 || sign === 45 ? at + 2 : at + 1);
  return exponent > 0 && end === text.length ? "float" : undefined;
};

/** How many digits follow a place, and the place after them. */
const digitsFrom = (text: string, from: number): [number, number] => {
  let at = from;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 48 || code > 57) break;
  }
  return [at - from, at];
};
