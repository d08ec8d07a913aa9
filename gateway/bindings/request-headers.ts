import type { DialectSpelling } from "../dialects/dialect.ts";
import type { QueryParameters } from "../http/query.ts";
import type { RequestHead } from "../http/request-head.ts";

/** The headers of a request for its bindings: by documented names, decoded. */
export interface BoundHeaders {
  /** Undefined: absent. */
  get(documented: string): string | undefined;
  /** The lower-case names that `get` may find, in the dialect; one may occur twice. */
  names(): readonly string[];
  /** All headers with a documented prefix: the name after the prefix, and the value. */
  withPrefix(documented: string): readonly (readonly [string, string])[];
}

/** Replacements of headers for the bindings, by lower-case name; undefined: the header is removed. */
export type ReplacedHeaders = ReadonlyMap<string, string | undefined>;

/** The headers of a request, and its query. */
export type HeaderSource = Pick<RequestHead, "headers" | "rawHeaders" | "query">;

/**
 * The headers of a request. Headers of the dialect may also be in the query, because signers of URLs put them there.
 */
export const boundHeaders = (
  { headers, rawHeaders, query }: HeaderSource,
  spelling: DialectSpelling,
  overrides: ReplacedHeaders,
): BoundHeaders => {
  const { headerPrefix } = spelling.dialect.signature;
  // A method asks for dozens of headers, and few requests have any of them in the query.
  const inQuery = namesWithPrefix(query, headerPrefix);
  const get = (documented: string): string | undefined => {
    const name = spelling.header(documented);
    if (overrides.has(name)) return overrides.get(name);
    const value = headers[name];
    if (value !== undefined) return decodeHeader(typeof value === "string" ? value : value.join(","));
    if (inQuery?.has(name) !== true || isPlaceholder(documented)) return undefined;
    return query.findIgnoringCase(name);
  };
  // Node.js joins repeated headers by a comma and a space; clients of such headers know a comma alone.
  const joinedValue = (name: string): string => {
    const value = String(headers[name]);
    if (!value.includes(", ")) return value;
    return rawHeaders
      .filter((_text, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name)
      .join(",");
  };
  const withPrefix = (documented: string): (readonly [string, string])[] => {
    const prefix = spelling.header(documented);
    const own = Object.keys(headers)
      .filter((name) => name.startsWith(prefix))
      .map((name) => [name.slice(prefix.length), decodeHeader(joinedValue(name))] as const);
    const others = query.all
      .filter(({ name }) => name.toLowerCase().startsWith(prefix))
      .map(({ name, value }) => [name.toLowerCase().slice(prefix.length), value] as const);
    return [...own, ...others.filter(([name]) => !own.some(([taken]) => taken === name))];
  };
  const names = (): string[] => {
    const all = Object.keys(headers);
    all.push(...overrides.keys());
    if (inQuery !== undefined) all.push(...inQuery);
    return all;
  };
  return { get, names, withPrefix };
};

/** The lower-case names of parameters with a prefix; undefined: there are none. */
const namesWithPrefix = (query: QueryParameters, prefix: string): ReadonlySet<string> | undefined => {
  let names: Set<string> | undefined;
  for (const { name } of query.all) {
    const lower = name.toLowerCase();
    if (lower.startsWith(prefix)) (names ??= new Set()).add(lower);
  }
  return names;
};

/**
 * Signers of upload URLs put the checksum of an empty body in the query, because they do not know the real one. The
 * public service ignores such parameters, and an upload could not succeed otherwise.
 */
const isPlaceholder = (documented: string): boolean =>
  documented.startsWith("x-svc-checksum-") && documented !== "x-svc-checksum-mode";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/** Node.js represents each byte of a header by one character; bytes that are UTF-8 are decoded. */
const decodeHeader = (value: string): string => {
  if (!/[\x80-\xff]/.test(value)) return value;
  try {
    return strictUtf8.decode(Buffer.from(value, "latin1"));
  } catch {
    return value;
  }
};
