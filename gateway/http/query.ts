import { decodePercent } from "./percent.ts";

/** One parameter of a query. */
export interface QueryParameter {
  /** Decoded; a plus is a space. */
  readonly name: string;
  /** Decoded; empty for a parameter without `=`. */
  readonly value: string;
  /** As it was sent, with an `=` added where there was none. */
  readonly raw: string;
}

/** The parameters of a query, in the order in which they were sent. */
export interface QueryParameters {
  /** The whole query as it was sent, without its question mark. */
  readonly raw: string;
  readonly all: readonly QueryParameter[];
  has(name: string): boolean;
  /** The first value. */
  get(name: string): string | undefined;
  getAll(name: string): readonly string[];
  /** The first value of a parameter whose name is this lower-case one in any case. */
  findIgnoringCase(name: string): string | undefined;
}

/** Parses a query, without its question mark. Throws MALFORMED_URI. */
export const parseQuery = (raw: string): QueryParameters => {
  if (raw === "") return emptyQuery;
  const parts = raw.split("&").filter((part) => part !== "");
  return fromParameters(raw, parts.map(parseParameter));
};

const parseParameter = (part: string): QueryParameter => {
  const equals = part.indexOf("=");
  if (equals === -1) return { name: decodeQueryText(part), value: "", raw: `${part}=` };
  return { name: decodeQueryText(part.slice(0, equals)), value: decodeQueryText(part.slice(equals + 1)), raw: part };
};

const fromParameters = (raw: string, all: readonly QueryParameter[]): QueryParameters => ({
  raw,
  all,
  has: (name) => all.some((each) => each.name === name),
  get: (name) => all.find((each) => each.name === name)?.value,
  getAll: (name) => all.filter((each) => each.name === name).map(({ value }) => value),
  findIgnoringCase: (name) => all.find((each) => each.name.toLowerCase() === name)?.value,
});

const emptyQuery = fromParameters("", []);

const decodeQueryText = (text: string): string => decodePercent(text.includes("+") ? text.replaceAll("+", " ") : text);
