import { decodePercent } from "./percent.ts";

/** The parameters of a query, decoded, in the order in which they came. */
export interface QueryParameters {
  has(name: string): boolean;
  /** The first value; a parameter without `=` has the empty one. */
  get(name: string): string | undefined;
  getAll(name: string): readonly string[];
  /** Finds a parameter whatever the case of its name. */
  findIgnoringCase(name: string): string | undefined;
  entries(): readonly (readonly [string, string])[];
}

/** Reads a raw query, without its question mark; a plus is a space. Throws MalformedUriError. */
export const parseQuery = (rawQuery: string): QueryParameters => {
  if (rawQuery === "") return emptyQuery;
  const entries = rawQuery
    .split("&")
    .filter((part) => part !== "")
    .map((part): readonly [string, string] => {
      const equals = part.indexOf("=");
      return equals === -1
        ? [decodeQueryText(part), ""]
        : [decodeQueryText(part.slice(0, equals)), decodeQueryText(part.slice(equals + 1))];
    });
  return fromEntries(entries);
};

const fromEntries = (entries: readonly (readonly [string, string])[]): QueryParameters => ({
  has: (name) => entries.some(([own]) => own === name),
  get: (name) => entries.find(([own]) => own === name)?.[1],
  getAll: (name) => entries.filter(([own]) => own === name).map(([, value]) => value),
  findIgnoringCase: (name) => entries.find(([own]) => own.toLowerCase() === name)?.[1],
  entries: () => entries,
});

const emptyQuery = fromEntries([]);

const decodeQueryText = (text: string): string => decodePercent(text.includes("+") ? text.replaceAll("+", " ") : text);
