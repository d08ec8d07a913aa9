import type { ProxiedClient } from "./proxied-client.ts";

/** Header fields of one message as received: name, value, name, value. */
export type RawHeaders = readonly string[];

/** Fields that concern one connection only (RFC 9110 section 7.6.1) and are never passed on. */
const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Fields that the proxy sets itself. */
const rewritten = new Set([
  "expect",
  "host",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-proto",
]);

/** Fields that are kept even if `Connection` names them, because the message could not be read without them. */
const framing = new Set(["content-length", "content-type", "content-encoding", "host"]);

/** The proxy's name in `Via`. */
const viaName = "quartet";

/** How many of our proxies a request may have passed; one more is a loop. */
export const proxyHopsMax = 8;

/** How many of our proxies a request has passed. */
export const countProxyHops = (via: string | undefined): number =>
  via === undefined ? 0 : via.split(",").filter((hop) => hop.trim().split(/\s+/)[1] === viaName).length;

/** The request fields for a service of this host: all end-to-end fields as received, Host, Via and X-Forwarded-*. */
export const requestHeaders = (raw: RawHeaders, host: string, client: ProxiedClient): string[] => {
  const kept = endToEnd(raw, (name) => rewritten.has(name));
  kept.push("host", host, "via", `1.1 ${viaName}`);
  for (const [name, value] of clientFields(raw, client)) kept.push(name.toLowerCase(), value);
  return kept;
};

/** The request fields for a function: all as received, and X-Forwarded-*. */
export const functionHeaders = (raw: RawHeaders, client: ProxiedClient): string[] => {
  const kept: string[] = [];
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    if (!name.toLowerCase().startsWith(clientPrefix) || !rewritten.has(name.toLowerCase()))
      kept.push(name, raw[index + 1] as string);
  }
  return [...kept, ...clientFields(raw, client).flat()];
};

const clientPrefix = "x-forwarded-";

/** What is said of the client. Its address follows those of the proxies before. */
const clientFields = (
  raw: RawHeaders,
  { peerAddress, host, port, protocol }: ProxiedClient,
): readonly (readonly [string, string])[] => {
  const before: string[] = [];
  for (let index = 0; index < raw.length; index += 2)
    if (raw[index]?.toLowerCase() === "x-forwarded-for") before.push(raw[index + 1] as string);
  return [
    ["X-Forwarded-For", [...before, peerAddress].join(", ")],
    ["X-Forwarded-Host", host],
    ["X-Forwarded-Port", String(port)],
    ["X-Forwarded-Proto", protocol],
  ];
};

/** The response fields for the client: all end-to-end fields as received. */
export const responseHeaders = (raw: RawHeaders): string[] => endToEnd(raw, () => false);

/** The trailers for the client, without fields that concern framing (RFC 9110 section 6.5.1). */
export const sentTrailers = (
  trailers: Readonly<Record<string, string | readonly string[] | number | undefined>>,
): [string, string][] =>
  Object.entries(trailers).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    if (value === undefined || framing.has(lower) || hopByHop.has(lower)) return [];
    return [value].flat().map((each): [string, string] => [name, String(each)]);
  });

/**
 * The bytes of a reason that was decoded as UTF-8, one character each; a space replaces what a status line may not
 * contain.
 */
export const sentReason = (text: string): string =>
  Buffer.from(text, "utf8")
    .toString("latin1")
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, " ");

const endToEnd = (raw: RawHeaders, isDropped: (name: string) => boolean): string[] => {
  const named = connectionOptions(raw);
  const kept: string[] = [];
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    const lower = name.toLowerCase();
    if (!hopByHop.has(lower) && !named?.has(lower) && !isDropped(lower)) kept.push(name, raw[index + 1] as string);
  }
  return kept;
};

const connectionOptions = (raw: RawHeaders): ReadonlySet<string> | undefined => {
  let named: Set<string> | undefined;
  for (let index = 0; index < raw.length; index += 2) {
    if (raw[index]?.toLowerCase() !== "connection") continue;
    for (const option of (raw[index + 1] as string).toLowerCase().split(",")) {
      const name = option.trim();
      if (name !== "" && !framing.has(name)) (named ??= new Set()).add(name);
    }
  }
  return named;
};
