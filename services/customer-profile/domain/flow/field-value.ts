import { parseJson } from "../../../kit/json/parse-json.ts";

/** A number whose digits a JavaScript number does not have: `JSON.stringify` writes it as it was read. */
export interface ExactNumber {
  readonly rawJSON: string;
}

/** The value of a field: what JSON has. */
export type FieldValue =
  | string
  | number
  | boolean
  | null
  | ExactNumber
  | readonly FieldValue[]
  | { readonly [name: string]: FieldValue };

/** The fields of one record by their names. */
export type FlowRecord = ReadonlyMap<string, FieldValue>;

declare const JSON: {
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
  stringify(value: unknown): string;
};

/** The record of a JSON object; undefined if the text is anything else. */
export const recordOfJson = (text: string): FlowRecord | undefined => {
  let parsed: FieldValue;
  try {
    parsed = parseJson(text, keepDigits) as FieldValue;
  } catch {
    return undefined;
  }
  return isMembers(parsed) ? new Map(Object.entries(parsed)) : undefined;
};

const keepDigits = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === "number" && context?.source !== undefined && context.source !== String(value)
    ? JSON.rawJSON(context.source)
    : value;

/** The JSON text of an object with these fields; those that are null are left out. */
export const jsonOfRecord = (record: FlowRecord): string =>
  JSON.stringify(Object.fromEntries([...record].filter(([, value]) => value !== null)));

/** Whether a value has members by names. */
const isMembers = (value: FieldValue | undefined): value is { readonly [name: string]: FieldValue } =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);

/** Whether a value has values in it. */
export const isNested = (value: FieldValue): boolean =>
  typeof value === "object" && value !== null && !JSON.isRawJSON(value);

/** The value at a path of names in a record; undefined: there is none. */
export const valueAt = (record: FlowRecord, path: readonly string[]): FieldValue | undefined => {
  const [first = "", ...rest] = path;
  let value = record.get(first);
  for (const name of rest) {
    if (!isMembers(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
};

/** The text of a value; undefined: it has none. */
export const textOf = (value: FieldValue | undefined): string | undefined => {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  return JSON.isRawJSON(value) ? value.rawJSON : JSON.stringify(value);
};

const numberShape = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?$/;
/** Longer numbers are texts. */
const numberCharactersMax = 400;

/** The number that a value is or that its text writes; undefined: none. */
export const numberOf = (value: FieldValue | undefined): number | undefined => {
  if (typeof value === "number") return value;
  if (value === undefined || value === null || typeof value === "boolean" || isNested(value)) return undefined;
  const text = (textOf(value) ?? "").trim();
  if (text.length > numberCharactersMax || !numberShape.test(text)) return undefined;
  const number = Number(text);
  return Number.isFinite(number) ? number : undefined;
};

const exactShape = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;

/** The number that a value is or writes, with all of its digits; undefined: none. */
export const exactNumberOf = (value: FieldValue): number | ExactNumber | undefined => {
  const number = numberOf(value);
  if (number === undefined || typeof value === "number") return number;
  const text = (textOf(value) ?? "").trim();
  return exactShape.test(text) && text !== String(number) ? JSON.rawJSON(text) : number;
};

const numericTypes = /^(?:number|integer|int|bigint|long|short|byte|float|double|decimal)$/i;
const timeTypes = /^(?:date|datetime|timestamp)$/i;

/** Whether a data type is one of numbers, or of truth values. */
export const isNumeric = (dataType: string): boolean => numericTypes.test(dataType);
export const isBoolean = (dataType: string): boolean => /^boolean$/i.test(dataType);

/**
 * Compares two values as values of a data type, or, if there is none, as numbers where both are, else as texts. Below
 * 0: the first is less. Undefined: one is no value of the type.
 */
export const compareValues = (first: FieldValue, second: FieldValue, dataType: string): number | undefined => {
  const isUntyped = dataType === "";
  if (isUntyped || isNumeric(dataType)) {
    const [a, b] = [numberOf(first), numberOf(second)];
    if (a !== undefined && b !== undefined) return a - b;
    if (!isUntyped) return undefined;
  }
  if (timeTypes.test(dataType)) {
    const [a, b] = [instantOf(first), instantOf(second)];
    return a === undefined || b === undefined ? undefined : a - b;
  }
  const [a, b] = [textOf(first), textOf(second)];
  if (a === undefined || b === undefined) return undefined;
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
};

const isoShape = /^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]{4,18}(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?$/;

/** Milliseconds since 1970: a number is one, a text is in ISO 8601, in UTC unless it says otherwise. */
const instantOf = (value: FieldValue): number | undefined => {
  const number = numberOf(value);
  if (number !== undefined) return number;
  const text = textOf(value)?.trim() ?? "";
  if (!isoShape.test(text)) return undefined;
  const hasZone = text.length === 10 || /(?:Z|[+-][0-9]{2}:?[0-9]{2})$/.test(text);
  const ms = Date.parse(hasZone ? text.replace(" ", "T") : `${text.replace(" ", "T")}Z`);
  return Number.isNaN(ms) ? undefined : ms;
};
