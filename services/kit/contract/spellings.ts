import type { DescEnum, DescField } from "@bufbuild/protobuf";

import { public_name, public_value, wire_name, wire_value } from "../../../gen/quartet/traits/v1/binding_pb.ts";
import { readOption } from "./options.ts";

/** The spellings of one field in bodies. */
export interface FieldSpellings {
  /** The documented name: the PascalCase form of the field name unless a trait says otherwise. */
  readonly wireName: string;
  /** The name in the public dialect; most often the same. */
  readonly publicName: string;
  /** Every name that readers accept: both above, and the PascalCase, lowerCamel and snake_case forms. */
  readonly accepted: readonly string[];
}

/** The spellings of one enum value. */
export interface EnumValueSpellings {
  readonly number: number;
  readonly wireValue: string;
  readonly publicValue: string;
}

/** The spellings of an enum's values; the zero value (`_UNSPECIFIED`) has none. */
export interface EnumSpellings {
  readonly values: readonly EnumValueSpellings[];
  findByNumber(number: number): EnumValueSpellings | undefined;
  /** Finds a value by its wire spelling, its public spelling or its name without the enum's prefix. */
  findByText(text: string): EnumValueSpellings | undefined;
}

/** The names of members and values in one dialect, for the messages of refusals. */
export interface WireNames {
  member(field: FieldSpellings): string;
  enumValue(value: EnumValueSpellings): string;
  /** A declared value of a string member, for example `svc:kms`. */
  value(documented: string): string;
  /** An element of a list behind the list's name, counted from 0: `[0]`. */
  element(index: number): string;
}

/** The documented names, which services use. */
export const documentedNames: WireNames = {
  member: (field) => field.wireName,
  enumValue: (value) => value.wireValue,
  value: (documented) => documented,
  element: (index) => `[${index}]`,
};

const fieldCache = new WeakMap<DescField, FieldSpellings>();
const enumCache = new WeakMap<DescEnum, EnumSpellings>();

/** `default_expiration_days` -> `DefaultExpirationDays`. */
export const pascalCase = (snake: string): string =>
  snake
    .split("_")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");

/** The spellings of a field, read once. */
export const fieldSpellings = (field: DescField): FieldSpellings => {
  let spellings = fieldCache.get(field);
  if (spellings === undefined) {
    const pascal = pascalCase(field.name);
    const wireName = readOption(field, wire_name) || pascal;
    const publicName = readOption(field, public_name) || wireName;
    const lowerCamel = pascal.charAt(0).toLowerCase() + pascal.slice(1);
    const accepted = [...new Set([wireName, publicName, pascal, lowerCamel, field.name])];
    spellings = { wireName, publicName, accepted };
    fieldCache.set(field, spellings);
  }
  return spellings;
};

/** The spellings of an enum's values, read once. */
export const enumSpellings = (desc: DescEnum): EnumSpellings => {
  let spellings = enumCache.get(desc);
  if (spellings === undefined) {
    spellings = readEnum(desc);
    enumCache.set(desc, spellings);
  }
  return spellings;
};

const readEnum = (desc: DescEnum): EnumSpellings => {
  const prefix = desc.sharedPrefix?.toUpperCase() ?? "";
  const byNumber = new Map<number, EnumValueSpellings>();
  const byText = new Map<string, EnumValueSpellings>();
  for (const value of desc.values) {
    if (value.number === 0 && value.name.endsWith("UNSPECIFIED")) continue;
    const own = value.name.startsWith(prefix) ? value.name.slice(prefix.length) : value.name;
    const wireValue = readOption(value, wire_value) || own;
    const publicValue = readOption(value, public_value) || wireValue;
    const entry = { number: value.number, wireValue, publicValue };
    byNumber.set(value.number, entry);
    for (const text of [own, publicValue, wireValue]) byText.set(text, entry);
  }
  return {
    values: [...byNumber.values()],
    findByNumber: (number) => byNumber.get(number),
    findByText: (text) => byText.get(text),
  };
};
