import type { IncomingHttpHeaders } from "node:http";

import type { QueryParameters } from "../http/query.ts";
import { brandName } from "../signature/brand.ts";
import { amzDialect } from "./amz.ts";
import type { Dialect, DialectSpelling } from "./dialect.ts";
import { spellingOf } from "./dialect.ts";
import { svcDialect } from "./svc.ts";

/** The dialects that an installation speaks. */
export interface Dialects {
  readonly all: readonly DialectSpelling[];
  /** The dialect of a request without any hint: the public one. */
  readonly fallback: DialectSpelling;
  /**
   * Finds the dialect of a request: by the algorithm of its authorization, by the algorithm in its query, or by a
   * header with a dialect's prefix. A request without any hint is in the public dialect.
   */
  detect(headers: IncomingHttpHeaders, query: QueryParameters): DialectSpelling;
}

/** The dialects with the word of the documented one. Throws if the word cannot be part of a header name. */
export const dialectsOf = (word: string): Dialects => {
  if (!/^[a-z][a-z0-9]{1,15}$/.test(word) || word === "amz" || word === "amzn")
    throw new Error(`the brand word "${word}" must be 2 to 16 lower-case letters and digits, and not amz or amzn`);
  const documented = spellingOf(svcDialect(word));
  const open = spellingOf(amzDialect);
  const all = [documented, open];
  const beginnings = all.map((spelling) => [spelling, ...beginningsOf(spelling.dialect)] as const);
  const signedIn = (authorization: string | undefined): DialectSpelling | undefined =>
    authorization === undefined
      ? undefined
      : beginnings.find(([, four, two]) => authorization.startsWith(four) || authorization.startsWith(two))?.[0];
  return {
    all,
    fallback: open,
    detect: (headers, query) =>
      signedIn(headers.authorization) ??
      all.find(({ dialect }) => query.has(`${dialect.signature.queryPrefix}Algorithm`)) ??
      findByHeader(headers, all) ??
      open,
  };
};

/** How headers with signatures of a dialect begin: those of version 4, and those of version 2. */
const beginningsOf = ({ signature }: Dialect): readonly [string, string] => [
  `${signature.keySeed}-`,
  `${brandName(signature)} `,
];

const findByHeader = (headers: IncomingHttpHeaders, all: readonly DialectSpelling[]): DialectSpelling | undefined => {
  for (const name in headers) {
    // Most headers begin with another letter, so one character is compared first.
    if (name.charCodeAt(0) !== xCode) continue;
    const found = all.find(({ dialect }) => name.startsWith(dialect.signature.headerPrefix));
    if (found !== undefined) return found;
  }
  return undefined;
};

const xCode = "x".charCodeAt(0);
