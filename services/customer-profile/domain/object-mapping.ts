import type { ObjectTypeField, ObjectTypeKeys } from "../../../gen/quartet/customerprofile/v1/object_type_pb.ts";
import { limits } from "../limits.ts";
import type { Comparison } from "./normalization.ts";
import type { JsonValue } from "./source-value.ts";
import { readSource } from "./object-source.ts";
import { targetPath } from "./object-target.ts";
import type { ProfileValues } from "./profile-values.ts";
import type { SearchKey } from "./search-key.ts";
import { searchKey } from "./search-key.ts";

/** The part of an object type that describes how its objects are read. */
export interface ObjectMapping {
  readonly fields: Readonly<Record<string, ObjectTypeField>>;
  readonly keys: Readonly<Record<string, ObjectTypeKeys>>;
}

/** A search key of an object, with the identifiers by which its type says what it is for. */
export interface ObjectKey {
  readonly key: SearchKey;
  readonly identifiers: ReadonlySet<string>;
}

/** The values and keys of an object, by the mapping of its type. */
export interface MappedObject {
  /** Values for the profile, by path. */
  readonly values: ProfileValues;
  /** Its keys, in the order of their names, without those of which a field is missing. */
  readonly keys: readonly ObjectKey[];
  /** The values of its unique key; undefined if one of its fields is missing. */
  readonly unique: readonly string[] | undefined;
}

/** Reads an object by the mapping of its type; undefined if its keys and composed texts are too long together. */
export const mapObject = (mapping: ObjectMapping, object: JsonValue): MappedObject | undefined => {
  const budget = { left: limits.composedCharactersMax };
  const texts = new Map<string, string>();
  for (const [name, field] of Object.entries(mapping.fields)) {
    const text = field.source === undefined ? undefined : readSource(field.source, object, budget);
    if (budget.left < 0) return undefined;
    if (text !== undefined) texts.set(name, text);
  }
  const keys: ObjectKey[] = [];
  let unique: readonly string[] | undefined;
  for (const [name, uses] of Object.entries(mapping.keys).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    for (const use of uses.items) {
      const values = fieldNamesOf(name, use.fieldNames).map((field) => texts.get(field));
      if (!values.every((value) => value !== undefined)) continue;
      for (const value of values) budget.left -= value.length;
      if (budget.left < 0) return undefined;
      const identifiers = new Set(use.standardIdentifiers);
      if (identifiers.has("UNIQUE")) unique = values;
      keys.push({ key: keyOf(name, values, use.fieldNames, mapping), identifiers });
    }
  return { values: profileValuesOf(mapping, texts), keys, unique };
};

/** The fields of a key; a key that names none consists of the field with its own name. */
export const fieldNamesOf = (keyName: string, fieldNames: readonly string[]): readonly string[] =>
  fieldNames.length === 0 ? [keyName] : fieldNames;

/** Separates the values of a key of several fields. */
const valueSeparator = "|";

const keyOf = (
  name: string,
  values: readonly string[],
  fieldNames: readonly string[],
  mapping: ObjectMapping,
): SearchKey => {
  const [field] = fieldNamesOf(name, fieldNames);
  const comparison = values.length === 1 ? comparisonOf(mapping.fields[field ?? ""]) : "STRING";
  return searchKey(name, values.join(valueSeparator), comparison);
};

const comparisonOf = (field: ObjectTypeField | undefined): Comparison =>
  (field?.contentType as Comparison | undefined) ?? "STRING";

/**
 * The values for the profile. An object without a field that has a target results in an inferred profile: with its
 * first e-mail address and its first phone number, in the order of field names.
 */
const profileValuesOf = (mapping: ObjectMapping, texts: ReadonlyMap<string, string>): ProfileValues => {
  const values = new Map<string, string>();
  for (const [name, text] of texts) {
    const path = targetPath(mapping.fields[name]?.target);
    if (path !== undefined) values.set(path, text);
  }
  if (values.size > 0) return values;
  const firstOf = (comparison: Comparison) =>
    [...texts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .find(([name]) => comparisonOf(mapping.fields[name]) === comparison)?.[1];
  const emailAddress = firstOf("EMAIL_ADDRESS");
  const phoneNumber = firstOf("PHONE_NUMBER");
  if (emailAddress !== undefined) values.set("EmailAddress", emailAddress);
  if (phoneNumber !== undefined) values.set("PhoneNumber", phoneNumber);
  return values;
};
