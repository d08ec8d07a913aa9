/** Header fields of one message as they came: name, value, name, value. */
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

/** Fields that the proxy writes itself. */
const rewritten = new Set([
  "expect",
  "host",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-proto",
]);

/** Fields that stay although `Connection` names them, because the message could not be read without them. */
const framing = new Set(["content-length", "content-type", "content-encoding", "host"]);

/** What the proxy tells a service about the request that it passes on. */
export interface ForwardedFacts {
  /** The Host header for the service. */
  readonly host: string;
  /** The address from which the request came. */
  readonly clientAddress: string;
  /** The Host header as the client sent it. */
  readonly clientHost: string;
  /** The port on which the request came in. */
  readonly port: number;
}

/** The name with which the proxy stands in `Via`. */
const viaName = "quartet";

/** How many proxies of ours a request may have passed; one more is a circle. */
export const proxyHopsMax = 8;

/** How many proxies of ours a request has passed. */
export const countProxyHops = (via: string | undefined): number =>
  via === undefined ? 0 : via.split(",").filter((hop) => hop.trim().split(/\s+/)[1] === viaName).length;

/** The request fields for the service: all end-to-end ones as they came, then Host, Via and X-Forwarded-*. */
export const requestHeaders = (raw: RawHeaders, facts: ForwardedFacts): string[] => {
  const kept = endToEnd(raw, (name) => rewritten.has(name));
  const came = (wanted: string): string[] => {
    const values: string[] = [];
    for (let index = 0; index < raw.length; index += 2)
      if (raw[index]?.toLowerCase() === wanted) values.push(raw[index + 1] as string);
    return values;
  };
  kept.push("host", facts.host, "via", `1.1 ${viaName}`);
  kept.push("x-forwarded-for", [...came("x-forwarded-for"), facts.clientAddress].join(", "));
  kept.push("x-forwarded-host", facts.clientHost, "x-forwarded-port", String(facts.port), "x-forwarded-proto", "http");
  return kept;
};

/** The response fields for the client: all end-to-end ones as they came. */
export const responseHeaders = (raw: RawHeaders): string[] => endToEnd(raw, () => false);

/** The same of trailers, which say nothing about how the message is read (RFC 9110 section 6.5.1). */
export const sentTrailers = (
  trailers: Readonly<Record<string, string | readonly string[] | number | undefined>>,
): [string, string][] =>
  Object.entries(trailers).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    if (value === undefined || framing.has(lower) || hopByHop.has(lower)) return [];
    return [value].flat().map((each): [string, string] => [name, String(each)]);
  });

/** A reason that was read as UTF-8 as the bytes that it came in, one character each; what no line may hold is a space. */
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
