/** Header names that neither a target nor a connection may set. */
const strippedNames: ReadonlySet<string> = new Set([
  "a-im",
  "accept-charset",
  "accept-datetime",
  "accept-encoding",
  "cache-control",
  "connection",
  "content-encoding",
  "content-length",
  "content-md5",
  "date",
  "expect",
  "forwarded",
  "from",
  "host",
  "http2-settings",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "keep-alive",
  "max-forwards",
  "origin",
  "pragma",
  "proxy-authorization",
  "proxy-connection",
  "range",
  "referer",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
  "via",
  "warning",
]);

/** Headers that all requests to API destinations have. */
const fixedHeaders: Readonly<Record<string, string>> = {
  "user-agent": "Amazon/EventBridge/ApiDestinations",
  range: "bytes=0-1048575",
  "accept-encoding": "gzip,deflate",
};

/** A name and a value; two names may differ in case only. */
export type NamedValue = readonly [name: string, value: string];

/**
 * The headers of a request to an API destination, with lower-case names. Later groups win over earlier ones, stripped
 * names are left out, and the fixed headers cannot be changed.
 */
export const outgoingHeaders = (...groups: readonly (readonly NamedValue[])[]): Record<string, string> => {
  const given = groups
    .flat()
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !strippedNames.has(name));
  return { "content-type": "application/json; charset=utf-8", ...Object.fromEntries(given), ...fixedHeaders };
};
