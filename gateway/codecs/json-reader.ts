import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { create, ScalarType } from "@bufbuild/protobuf";

import type { Reading } from "../values/reading.ts";
import { hasDialectValues, valueFromText } from "../values/reading.ts";
import { instantFromSeconds, instantFromText, integerOf, isInstant, ScalarError, setField } from "../values/scalars.ts";
import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import type { ServiceError } from "../../services/kit/faults/service-error.ts";
import { malformedBody } from "../refusal.ts";
import { valuesMaxOf } from "../../services/kit/contract/values-max.ts";
import { hasMoreJsonValues } from "../../services/kit/json/json-values.ts";
import { parseJson as parseDocument } from "../../services/kit/json/parse-json.ts";

/** The deepest nesting that a document may have. */
const depthMax = 64;

/**
 * Parses the JSON of a message; whole numbers that a double cannot hold become bigints. Throws MALFORMED_BODY, also for
 * more values than a message of the type may have: they are parsed in one turn of the event loop.
 */
export const parseJson = (body: Uint8Array, desc: DescMessage): unknown => {
  const max = valuesMaxOf(desc);
  if (hasMoreJsonValues(body, max)) throw malformedBody(`The body has more than ${max} values.`);
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  try {
    return parseDocument(text, longNumber.test(text) ? exactNumber : undefined);
  } catch {
    throw malformedBody("The body is not well-formed JSON.");
  }
};

/**
 * Sets the body members of a message from a JSON object. Unknown members are ignored; null is the same as absent.
 * Throws MALFORMED_BODY for a value of another type.
 */
export const readJsonMembers = (message: Message, desc: DescMessage, value: unknown, reading: Reading): void =>
  readMembers(message, desc, value, "", 0, reading);

const longNumber = /\d{16}/;

const exactNumber = (_key: string, value: unknown, context?: { source?: string }): unknown => {
  const source = context?.source;
  const isInexact = typeof value === "number" && !Number.isSafeInteger(value) && source !== undefined;
  // No integer type has more than 20 digits, and conversion takes time that grows with the square of their number.
  return isInexact && /^-?\d{1,20}$/.test(source) ? BigInt(source) : value;
};

const readMembers = (
  message: Message,
  desc: DescMessage,
  value: unknown,
  path: string,
  depth: number,
  reading: Reading,
): void => {
  if (depth > depthMax) throw malformedBody("The body is nested too deeply.");
  if (!isObject(value)) throw mistyped(path === "" ? "The body" : `Member '${path}'`, "an object");
  const contract = messageContract(desc);
  for (const name in value) {
    const field = contract.findMember(name);
    const member = value[name];
    if (field === undefined || member === null || member === undefined) continue;
    const own = reading.spelling.member(field);
    const at = path === "" ? own : `${path}.${own}`;
    setField(message, field.desc, readMember(field, member, at, depth, reading));
  }
};

const readMember = (field: FieldContract, value: unknown, path: string, depth: number, reading: Reading): unknown => {
  const { desc } = field;
  switch (desc.fieldKind) {
    case "message":
      return readMessageField(field, desc.message, value, path, depth, reading);
    case "list":
      return readList(field, desc, value, path, depth, reading);
    case "map":
      return readMap(field, desc, value, path, depth, reading);
    default:
      return readSimple(field, value, path, reading);
  }
};

const readMessageField = (
  field: FieldContract,
  desc: DescMessage,
  value: unknown,
  path: string,
  depth: number,
  reading: Reading,
): unknown => {
  if (isInstant(field.desc)) return readInstant(value, path);
  const message = create(desc);
  const { wrapped } = messageContract(desc);
  if (wrapped === undefined) readMembers(message, desc, value, path, depth + 1, reading);
  else setField(message, wrapped.desc, readMember(wrapped, value, path, depth + 1, reading));
  return message;
};

const readList = (
  field: FieldContract,
  desc: DescField & { fieldKind: "list" },
  value: unknown,
  path: string,
  depth: number,
  reading: Reading,
): unknown[] => {
  if (!Array.isArray(value)) throw mistyped(`Member '${path}'`, "a list");
  return value.map((item: unknown, index) => readElement(field, desc, item, `${path}[${index}]`, depth, reading));
};

const readMap = (
  field: FieldContract,
  desc: DescField & { fieldKind: "map" },
  value: unknown,
  path: string,
  depth: number,
  reading: Reading,
): Record<string, unknown> => {
  if (!isObject(value)) throw mistyped(`Member '${path}'`, "an object");
  const entries = Object.keys(value)
    .filter((key) => value[key] !== null)
    .map((key) => [key, readElement(field, desc, value[key], `${path}.${key}`, depth, reading)] as const);
  // A key such as __proto__ must become an entry like any other.
  return Object.fromEntries(entries);
};

const readElement = (
  field: FieldContract,
  desc: DescField & { fieldKind: "list" | "map" },
  value: unknown,
  path: string,
  depth: number,
  reading: Reading,
): unknown => {
  if (value === null) throw mistyped(`Member '${path}'`, "a value");
  if (desc.message === undefined) return readSimple(field, value, path, reading);
  if (isInstant(desc)) return readInstant(value, path);
  const message = create(desc.message);
  const { wrapped } = messageContract(desc.message);
  if (wrapped === undefined) readMembers(message, desc.message, value, path, depth + 1, reading);
  else setField(message, wrapped.desc, readMember(wrapped, value, path, depth + 1, reading));
  return message;
};

const readSimple = (field: FieldContract, value: unknown, path: string, reading: Reading): unknown => {
  const scalar = field.desc.scalar;
  if (scalar === undefined) {
    if (typeof value !== "string") throw mistyped(`Member '${path}'`, "a string");
    // An unknown spelling is a violation; the field is the zero value until all violations are reported.
    return valueFromText(field, value, path, reading) ?? 0;
  }
  switch (scalar) {
    case ScalarType.STRING:
      if (typeof value !== "string") throw mistyped(`Member '${path}'`, "a string");
      return hasDialectValues(field) ? reading.spelling.documentedValue(value) : value;
    case ScalarType.BOOL:
      if (typeof value !== "boolean") throw mistyped(`Member '${path}'`, "true or false");
      return value;
    case ScalarType.BYTES:
      if (typeof value !== "string" || !base64.test(value)) throw mistyped(`Member '${path}'`, "base64");
      return Buffer.from(value, "base64");
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return readDouble(value, path);
    default:
      return readInteger(scalar, value, path);
  }
};

const readDouble = (value: unknown, path: string): number => {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (value === "NaN" || value === "Infinity" || value === "-Infinity") return Number(value);
  throw mistyped(`Member '${path}'`, "a number");
};

const readInteger = (scalar: ScalarType, value: unknown, path: string): unknown => {
  const isWhole = typeof value === "bigint" || (typeof value === "number" && Number.isSafeInteger(value));
  if (!isWhole) throw mistyped(`Member '${path}'`, "a whole number");
  try {
    return integerOf(scalar, BigInt(value));
  } catch {
    throw mistyped(`Member '${path}'`, "a whole number in range");
  }
};

const readInstant = (value: unknown, path: string): unknown => {
  try {
    if (typeof value === "number") return instantFromSeconds(value);
    if (typeof value === "string") return instantFromText(value);
  } catch (thrown) {
    if (!(thrown instanceof ScalarError)) throw thrown;
  }
  throw mistyped(`Member '${path}'`, "an instant");
};

const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

const mistyped = (subject: string, expected: string): ServiceError => malformedBody(`${subject} must be ${expected}.`);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
