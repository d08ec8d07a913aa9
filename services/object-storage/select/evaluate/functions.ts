import { refusal } from "../refusal.ts";
import type { DatePart } from "../sql/syntax.ts";
import { parseTimestamp, Timestamp } from "../values/timestamp.ts";
import type { Value } from "../values/value.ts";
import { asNumeric, asTimestamp, compareValues } from "../values/value.ts";
import { castTo } from "./cast.ts";
import { addToDate, dateDifference, extractPart } from "./date-functions.ts";
import { characterCount, describe, plainText, substring } from "./texts.ts";
import { compileTimestampFormat } from "./timestamp-format.ts";

/** A function of values that are neither missing nor null. */
type PlainFunction = (...values: NonNullable<Value>[]) => Value;

/**
 * The functions that have null or nothing as the result if one of their values is. Throw ILLEGAL_SQL_FUNCTION_ARGUMENT
 * and what they declare.
 */
export const plainFunctions: Readonly<Record<string, PlainFunction>> = {
  LOWER: (value) => plainText("LOWER", value).toLowerCase(),
  UPPER: (value) => plainText("UPPER", value).toUpperCase(),
  CHAR_LENGTH: (value) => characterCount(plainText("CHAR_LENGTH", value)),
  CHARACTER_LENGTH: (value) => characterCount(plainText("CHARACTER_LENGTH", value)),
  SUBSTRING: (text, start, length) =>
    substring(
      plainText("SUBSTRING", text),
      integerOf("SUBSTRING", start),
      length === undefined ? undefined : integerOf("SUBSTRING", length),
    ),
  TO_TIMESTAMP: (value) => {
    const timestamp = value instanceof Timestamp ? value : parseTimestamp(plainText("TO_TIMESTAMP", value));
    if (timestamp === undefined) throw refusal("CAST_FAILED", `${describe(value)} is no timestamp`);
    return timestamp;
  },
  TO_STRING: (value, pattern) =>
    compileTimestampFormat(plainText("TO_STRING", pattern))(timestampOf("TO_STRING", value)),
};

/** A function of a part of dates; the same for missing values and null. */
export const dateFunction = (name: string, part: DatePart): PlainFunction => {
  if (name === "EXTRACT") return (value) => extractPart(part, timestampOf(name, value));
  if (name === "DATE_ADD")
    return (quantity, value) => addToDate(part, integerOf(name, quantity), timestampOf(name, value));
  return (from, to) => dateDifference(part, timestampOf(name, from), timestampOf(name, to));
};

/** The functions that null and missing values are arguments of. */
export const wholeFunctions: Readonly<Record<string, (values: readonly Value[]) => Value>> = {
  COALESCE: (values) => values.find((value) => value !== undefined && value !== null) ?? null,
  NULLIF: ([value, other]) => (compareValues(value, other) === 0 ? null : value),
};

const integerOf = (name: string, value: NonNullable<Value>): bigint => {
  const number = asNumeric(value);
  if (number === undefined) throw refusal("ILLEGAL_SQL_FUNCTION_ARGUMENT", `${name} of ${describe(value)}`);
  return castTo({ kind: "int" }, number) as bigint;
};

const timestampOf = (name: string, value: NonNullable<Value>): Timestamp => {
  const timestamp = asTimestamp(value);
  if (timestamp === undefined) throw refusal("ILLEGAL_SQL_FUNCTION_ARGUMENT", `${name} of ${describe(value)}`);
  return timestamp;
};
