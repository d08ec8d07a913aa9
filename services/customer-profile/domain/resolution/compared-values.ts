import { normalize } from "../normalization.ts";
import { addressFields, emailPaths, phonePaths } from "../profile-fields.ts";
import type { ProfileState } from "../profile-state.ts";

/** What of a profile is compared with other profiles, in normal forms. Empty: the profile does not say. */
export interface ComparedValues {
  readonly emails: ReadonlySet<string>;
  readonly phones: ReadonlySet<string>;
  /** First and last name; of a profile that lacks one of them, none. */
  readonly names: ReadonlySet<string>;
  readonly birthDates: ReadonlySet<string>;
  /** The first line with the postal code, and the first line with the city, of each address. */
  readonly addresses: ReadonlySet<string>;
}

/** The values of a profile that are compared. */
export const comparedValuesOf = ({ fields }: ProfileState): ComparedValues => {
  const textAt = (path: string): string => fields.get(path)?.value.trim() ?? "";
  const normalAt = (paths: readonly string[], normalized: (text: string) => string) =>
    new Set(paths.map(textAt).filter(isSaid).map(normalized).filter(isSaid));
  const [first, last] = [textAt("FirstName"), textAt("LastName")];
  return {
    emails: normalAt(emailPaths, (text) => normalize("EMAIL_ADDRESS", text)),
    phones: normalAt(phonePaths, (text) => normalize("PHONE_NUMBER", text)),
    names: new Set(first === "" || last === "" ? [] : [normalize("NAME", `${first} ${last}`)]),
    birthDates: normalAt(["BirthDate"], normalDate),
    addresses: new Set(addressFields.flatMap(({ path }) => addressesAt((line) => textAt(`${path}.${line}`)))),
  };
};

const isSaid = (text: string): boolean => text !== "";

/**
 * A date as its three numbers in the order of their size, because systems write the same date in different orders; so
 * two dates are equal as well that differ only in which of two small numbers is the day. Other texts compare as names.
 */
const normalDate = (text: string): string => {
  const [, year, month, day] = /^(\d{4})(\d{2})(\d{2})$/.exec(text) ?? [];
  const parts = year === undefined ? /^(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,4})(?:T.*)?$/.exec(text)?.slice(1) : undefined;
  const numbers = year === undefined ? parts : [year, month, day];
  if (numbers === undefined) return normalize("NAME", text);
  return numbers
    .map(Number)
    .toSorted((a, b) => a - b)
    .join("-");
};

const addressesAt = (lineOf: (line: string) => string): readonly string[] => {
  const street = letters(lineOf("Address1"));
  const [postalCode, city] = [letters(lineOf("PostalCode")), letters(lineOf("City"))];
  if (street === "") return [];
  return [
    ...(postalCode === "" ? [] : [`${street}|postal|${postalCode}`]),
    ...(city === "" ? [] : [`${street}|city|${city}`]),
  ];
};

/** The letters and digits of a line, without case: punctuation and spaces differ from writer to writer. */
const letters = (text: string): string => normalize("NAME", text).replace(/[^\p{L}\p{M}\p{N}]/gu, "");

/**
 * The values that two profiles must share at least one of to be compared at all: any that can make them a match. Each
 * is a text of its own.
 */
export const sharedKeysOf = ({ emails, phones, names, birthDates, addresses }: ComparedValues): string[][] => [
  ...[...emails].map((email) => ["email", email]),
  ...[...phones].map((phone) => ["phone", phone]),
  ...[...names].flatMap((name) => [
    ...[...birthDates].map((date) => ["name-birth-date", name, date]),
    ...[...addresses].map((address) => ["name-address", name, address]),
  ]),
];
