import type { DescEnum, DescField, Message } from "@bufbuild/protobuf";
import { create, ScalarType } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { FeatureSet_FieldPresence, TimestampSchema } from "@bufbuild/protobuf/wkt";

import { TimestampFormat } from "../../gen/quartet/traits/v1/binding_pb.ts";
import type { EnumSpellings, EnumValueSpellings } from "../../services/kit/contract/spellings.ts";
import { enumSpellings } from "../../services/kit/contract/spellings.ts";
import { withoutFinalZeros } from "../../services/kit/json/decimal-digits.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";

/** A text that is not of its field's type; the message begins with "Member must". */
export class ScalarError extends Error {
  override readonly name = "ScalarError";
}

/** A text that is not a spelling of the enum. */
export class EnumTextError extends ScalarError {
  readonly text: string;

  constructor(text: string) {
    super("Member must satisfy enum value set");
    this.text = text;
  }
}

/** Reads a scalar from the text in a path, query, header or XML element. Throws ScalarError. */
export const scalarFromText = (type: ScalarType, text: string): unknown => {
  switch (type) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return booleanFromText(text.trim());
    case ScalarType.BYTES:
      return Buffer.from(text, "base64");
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return doubleFromText(text.trim());
    default:
      return integerFromText(type, text.trim());
  }
};

/** Writes a scalar as text. */
export const scalarToText = (type: ScalarType, value: unknown): string => {
  if (type === ScalarType.STRING) return value as string;
  if (type === ScalarType.BYTES) return Buffer.from(value as Uint8Array).toString("base64");
  return String(value);
};

/** Reads an enum value in either dialect's spelling. Throws EnumTextError. */
export const enumFromText = (desc: DescEnum, text: string, spelling: DialectSpelling, ignoresCase: boolean): number => {
  const spellings = enumSpellings(desc);
  const found = ignoresCase
    ? findIgnoringCase(spellings, spelling.documentedValue(text.toLowerCase()))
    : (spellings.findByText(text) ?? spellings.findByText(spelling.documentedValue(text)));
  if (found === undefined) throw new EnumTextError(text);
  return found.number;
};

const findIgnoringCase = ({ values }: EnumSpellings, text: string): EnumValueSpellings | undefined =>
  values.find((each) => each.wireValue.toLowerCase() === text || each.publicValue.toLowerCase() === text);

/** Writes an enum value; undefined if the value has no spelling, like the zero value. */
export const enumToText = (desc: DescEnum, number: number, spelling: DialectSpelling): string | undefined => {
  const found = enumSpellings(desc).findByNumber(number);
  if (found === undefined) return undefined;
  return spelling.enumValue(found);
};

/** Reads an instant in any of the three formats. Throws ScalarError. */
export const instantFromText = (text: string): Timestamp => {
  const trimmed = text.trim();
  if (/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(trimmed)) return instantFromSeconds(Number(trimmed));
  const ms = instantShape.test(trimmed) ? Date.parse(trimmed) : Number.NaN;
  if (Number.isNaN(ms)) throw new ScalarError("Member must be an instant");
  const fraction = /\.(\d{1,9})/.exec(trimmed)?.[1] ?? "";
  const seconds = Math.floor(ms / 1000);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: Number(fraction.padEnd(9, "0")) });
};

/** An instant from seconds since 1970, to the millisecond. Throws ScalarError. */
export const instantFromSeconds = (value: number): Timestamp => {
  const ms = Math.round(value * 1000);
  if (!(Math.abs(ms) <= instantMsMax)) throw new ScalarError("Member must be an instant");
  const seconds = Math.floor(ms / 1000);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1_000_000 });
};

/** Writes an instant; the formats of headers and of seconds leave its milliseconds out. */
export const instantToText = (value: Timestamp, format: TimestampFormat): string => {
  if (format === TimestampFormat.EPOCH_SECONDS) {
    const fraction = Math.floor(value.nanos / 1_000_000);
    if (value.seconds < 0n) return String(Number(value.seconds) + fraction / 1000);
    return fraction === 0
      ? String(value.seconds)
      : `${value.seconds}.${withoutFinalZeros(String(fraction).padStart(3, "0"))}`;
  }
  const secondMs = Number(value.seconds) * 1000;
  if (format === TimestampFormat.HTTP_DATE) return new Date(secondMs).toUTCString();
  if (format === TimestampFormat.DATE_TIME_OF_SECOND) return isoText(secondMs);
  return isoText(secondMs + Math.floor(value.nanos / 1_000_000));
};

const dayMs = 86_400_000;
let lastDay = Number.NaN;
let lastDayText = "";

/** As `toISOString`, whose cost shows in a listing: most instants of one are of the same few days. */
const isoText = (ms: number): string => {
  const day = Math.floor(ms / dayMs);
  if (day !== lastDay) {
    const text = new Date(ms).toISOString();
    lastDayText = text.slice(0, text.indexOf("T") + 1);
    lastDay = day;
  }
  const rest = ms - day * dayMs;
  const seconds = Math.floor(rest / 1000);
  const minutes = Math.floor(seconds / 60);
  const time = `${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}:${twoDigits(seconds % 60)}`;
  return `${lastDayText}${time}.${String(rest % 1000).padStart(3, "0")}Z`;
};

const twoDigits = (value: number): string => (value < 10 ? `0${value}` : String(value));

/** Whether the field, or each of its elements, is an instant. */
export const isInstant = (field: DescField): boolean => field.message?.typeName === TimestampSchema.typeName;

/** Sets a field of a message, also one that is a member of a oneof. */
export const setField = (message: Message, field: DescField, value: unknown): void => {
  const members = message as unknown as Record<string, unknown>;
  if (field.oneof === undefined) members[field.localName] = value;
  else members[field.oneof.localName] = { case: field.localName, value };
};

/** Reads a field of a message; undefined when it is not set. */
export const getField = (message: Message, field: DescField): unknown => {
  const members = message as unknown as Record<string, unknown>;
  if (field.oneof === undefined) return members[field.localName];
  const chosen = members[field.oneof.localName] as { case?: string; value?: unknown };
  return chosen.case === field.localName ? chosen.value : undefined;
};

/** Whether the value of a field without presence is its default, which means unset. */
export const isUnset = (field: DescField, value: unknown): boolean => {
  if (value === undefined) return true;
  if (field.fieldKind === "enum") return value === 0;
  if (field.presence === FeatureSet_FieldPresence.EXPLICIT) return false;
  return value === "" || (value instanceof Uint8Array && value.length === 0);
};

const instantMsMax = 8.64e15;
const instantShape = /^(?:\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?|[A-Z][a-z]{2},? .*)$/;

const booleanFromText = (text: string): boolean => {
  if (/^true$/i.test(text)) return true;
  if (/^false$/i.test(text)) return false;
  throw new ScalarError("Member must be true or false");
};

const doubleFromText = (text: string): number => {
  const value = Number(text);
  if (text === "" || Number.isNaN(value)) throw new ScalarError("Member must be a number");
  return value;
};

const integerFromText = (type: ScalarType, text: string): number | bigint => {
  if (!/^[+-]?\d{1,20}$/.test(text)) throw new ScalarError("Member must be a whole number");
  return integerOf(type, BigInt(text.replace("+", "")));
};

/** A whole number in the type of its field. Throws ScalarError if it is out of range. */
export const integerOf = (type: ScalarType, value: bigint): number | bigint => {
  const bounds = integerBounds[type];
  if (bounds === undefined || value < bounds.min || value > bounds.max)
    throw new ScalarError("Member must be a whole number in range");
  return bounds.isWide ? value : Number(value);
};

const narrow = { min: -(2n ** 31n), max: 2n ** 31n - 1n, isWide: false };
const unsignedNarrow = { min: 0n, max: 2n ** 32n - 1n, isWide: false };
const wide = { min: -(2n ** 63n), max: 2n ** 63n - 1n, isWide: true };
const unsignedWide = { min: 0n, max: 2n ** 64n - 1n, isWide: true };

const integerBounds: Readonly<Partial<Record<ScalarType, { min: bigint; max: bigint; isWide: boolean }>>> = {
  [ScalarType.INT32]: narrow,
  [ScalarType.SINT32]: narrow,
  [ScalarType.SFIXED32]: narrow,
  [ScalarType.UINT32]: unsignedNarrow,
  [ScalarType.FIXED32]: unsignedNarrow,
  [ScalarType.INT64]: wide,
  [ScalarType.SINT64]: wide,
  [ScalarType.SFIXED64]: wide,
  [ScalarType.UINT64]: unsignedWide,
  [ScalarType.FIXED64]: unsignedWide,
};
