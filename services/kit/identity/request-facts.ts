import type { IncomingHttpHeaders } from "node:http";

import type { RequestFacts } from "./caller.ts";

/**
 * The facts of one request travel as headers next to the token, so that the token stays the same for all requests of a
 * caller. They are not signed: whoever presents the token says them, and the client has chosen most of them itself. So
 * they serve conditions, and names in events and logs, and nothing else.
 */
const names = {
  userAgent: "x-quartet-user-agent",
  referer: "x-quartet-referer",
  signatureAge: "x-quartet-signature-age",
  form: "x-quartet-form",
} as const;

/** The headers of the facts. */
export const requestFactNames: readonly string[] = Object.values(names);

/** Longer texts of clients are cut. */
const textLengthMax = 1_024;

/** The facts as headers of a call. Characters other than printable ASCII become question marks. */
export const requestFactHeaders = (facts: RequestFacts): Record<string, string> => {
  const headers: Record<string, string> = {};
  if (facts.userAgent !== undefined) headers[names.userAgent] = printable(facts.userAgent);
  if (facts.referer !== undefined) headers[names.referer] = printable(facts.referer);
  if (facts.signatureAgeMs !== undefined) headers[names.signatureAge] = String(facts.signatureAgeMs);
  if (facts.isForm === true) headers[names.form] = "1";
  return headers;
};

/** Reads the facts from the headers of a call; undefined if it has none. */
export const readRequestFacts = (headers: IncomingHttpHeaders): RequestFacts | undefined => {
  const userAgent = textIn(headers[names.userAgent]);
  const referer = textIn(headers[names.referer]);
  const age = headers[names.signatureAge];
  const hasAge = typeof age === "string" && /^\d{1,15}$/.test(age);
  const isForm = headers[names.form] === "1";
  if (userAgent === undefined && referer === undefined && !hasAge && !isForm) return undefined;
  return {
    ...(userAgent === undefined ? {} : { userAgent }),
    ...(referer === undefined ? {} : { referer }),
    ...(hasAge ? { signatureAgeMs: Number(age) } : {}),
    ...(isForm ? { isForm } : {}),
  };
};

const textIn = (value: string | string[] | undefined): string | undefined =>
  typeof value === "string" ? value.slice(0, textLengthMax) : undefined;

const printable = (text: string): string => {
  const cut = text.length > textLengthMax ? text.slice(0, textLengthMax) : text;
  return /^[\x20-\x7e]*$/.test(cut) ? cut : cut.replaceAll(/[^\x20-\x7e]/g, "?");
};
