import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { ApiBinding } from "../api-binding.ts";
import type { Dialect } from "../dialects/dialect.ts";
import type { Gateway } from "../gateway.ts";
import type { RequestHead } from "../http/request-head.ts";
import { payloadHashName } from "../signature/payload.ts";
import type { Identity } from "./stages.ts";

/** The parts of a gateway by which it recognizes the API of a request. */
export type Recognition = Pick<Gateway, "bindings" | "targetBinding" | "fallbackBinding" | "dialects" | "hosts">;

/**
 * Finds the API of a request. In this order: an explicit path prefix, the first label of the host, the service name in
 * the signature's credential scope, the target header, a form or a version that names an API of the query protocol
 * whose requests need no signature, else the fallback API. The names of query APIs can be buckets, so they are no
 * prefixes. A request that is signed for a service which is not here is identified as one of an API whose refusals its
 * client can read.
 */
export const identify = (head: RequestHead, gateway: Recognition): Identity => {
  const { bindings } = gateway;
  const spelling = gateway.dialects.detect(head.headers, head.query);
  const prefix = firstSegment(head.rawPath);
  const prefixed = bindings.get(prefix);
  if (prefixed !== undefined && prefixed.api.protocol !== Protocol.QUERY) {
    const rest = head.rawPath.slice(prefix.length + 1);
    return { binding: prefixed, spelling, path: rest === "" ? "/" : rest };
  }
  const host = knownHost(head.headers.host);
  const hosted = bindings.get(host.label);
  if (hosted !== undefined && hosted.api.protocol !== Protocol.QUERY)
    return { binding: hosted, spelling, path: head.rawPath };

  const { dialect } = spelling;
  const service = signedService(head, dialect);
  const binding =
    signedBinding(service, dialect, bindings) ??
    targetedBinding(head, dialect, gateway) ??
    unsignedQueryBinding(head, bindings) ??
    (service === undefined ? undefined : absentServiceBinding(head, dialect, bindings)) ??
    gateway.fallbackBinding;
  // Where a method has a path of its own, the host names no bucket: clients put the route of an answer there.
  const hasHeader = (name: string): boolean => head.headers[spelling.header(name)] !== undefined;
  const isFixed = binding.routes.isFixedPath({ method: head.method, path: head.rawPath, hasHeader });
  const segment = binding.api.hasVirtualHosts && !isFixed ? knownSegment(host, binding, gateway) : undefined;
  return { binding, spelling, path: segment === undefined ? head.rawPath : `/${segment}${head.rawPath}` };
};

const firstSegment = (path: string): string => {
  const slash = path.indexOf("/", 1);
  return slash === -1 ? path.slice(1) : path.slice(1, slash);
};

/** What a Host header says. */
interface HostHeader {
  readonly header: string | undefined;
  /** Without its port, lower case. */
  readonly name: string;
  /** The first of several labels; empty if there is only one. */
  readonly label: string;
  /** What its bucket was found to be last, and by which API and gateway. */
  segment:
    | { readonly binding: ApiBinding; readonly gateway: Recognition; readonly found: string | undefined }
    | undefined;
}

/** That of the last request: mostly the next one has the same, and to compare costs less than to read it. */
let lastHost: HostHeader = { header: undefined, name: "", label: "", segment: undefined };

const knownHost = (header: string | undefined): HostHeader => {
  if (header !== lastHost.header) {
    const name = (header ?? "").replace(/:\d+$/, "").toLowerCase();
    lastHost = { header, name, label: name.slice(0, Math.max(0, name.indexOf("."))), segment: undefined };
  }
  return lastHost;
};

const knownSegment = (host: HostHeader, binding: ApiBinding, gateway: Recognition): string | undefined => {
  if (host.segment?.binding !== binding || host.segment.gateway !== gateway)
    host.segment = { binding, gateway, found: hostSegment(host.name, binding, gateway) };
  return host.segment.found;
};

/** The most characters of a host in the domain name system. A longer one names no region. */
const hostLengthMax = 253;

/** The labels that name an API in hosts: its own name and the signing name of each dialect, also for acceleration. */
const namesOf = ({ api }: ApiBinding, { dialects }: Recognition): string[] =>
  [...new Set([api.name, ...dialects.all.flatMap(({ dialect }) => dialect.signingNames[api.name]?.[0] ?? [])])].flatMap(
    (name) => [name, `${name}-accelerate`, `${name}-accelerate.dualstack`],
  );

/**
 * The first segment of the path that precedes a host of the API: `photos` of `photos.localhost`, of
 * `photos.s3.localhost`, of `photos.s3.us-east-1.localhost`, and of `photos.object-storage.` before any name.
 */
const hostSegment = (host: string, binding: ApiBinding, gateway: Recognition): string | undefined => {
  const own = gateway.hosts.find((each) => host.endsWith(`.${each}`));
  if (own === undefined) {
    const end = host.indexOf(`.${binding.api.name}.`);
    return end < 1 ? undefined : host.slice(0, end);
  }
  const names = namesOf(binding, gateway);
  const label = host.slice(0, -own.length - 1);
  const withoutRegion = label.length > hostLengthMax ? label : label.replace(/[.-][a-z]{2}(?:-[a-z]+)+-\d$/, "");
  if (names.includes(withoutRegion)) return undefined;
  const name = names.find((each) => withoutRegion.endsWith(`.${each}`));
  return name === undefined ? label : withoutRegion.slice(0, -name.length - 1);
};

/** Reads only the service name of the claim; whether the claim is well-formed and true is checked later. */
const signedService = ({ headers, query }: RequestHead, { signature }: Dialect): string | undefined =>
  headerService(headers.authorization ?? "") ?? serviceIn(query.get(`${signature.queryPrefix}Credential`));

/** The longest beginning of a header that is remembered. */
const rememberedLengthMax = 512;

/** The last header up to the end of its credential, with the service that it names. */
let lastCredential: { readonly start: string; readonly service: string | undefined } | undefined;

const headerService = (authorization: string): string | undefined => {
  if (lastCredential !== undefined && authorization.startsWith(lastCredential.start)) return lastCredential.service;
  const match = /Credential=([^,\s]+)[,\s]/.exec(authorization);
  if (match === null) return serviceIn(/Credential=([^,\s]+)/.exec(authorization)?.[1]);
  const service = serviceIn(match[1]);
  const start = authorization.slice(0, match.index + match[0].length);
  if (start.length <= rememberedLengthMax) lastCredential = { start, service };
  return service;
};

const serviceIn = (credential: string | undefined): string | undefined => credential?.split("/").at(-2);

const signedBinding = (
  service: string | undefined,
  dialect: Dialect,
  bindings: ReadonlyMap<string, ApiBinding>,
): ApiBinding | undefined => {
  const api = service === undefined ? undefined : apiNamed(service, dialect);
  return api === undefined ? undefined : bindings.get(api);
};

/**
 * The API with the protocol of a service that is not here: forms are of the query protocol, anything else is JSON.
 * Undefined: it may be the fallback API, whose clients alone send the hash of the payload in a header.
 */
const absentServiceBinding = (
  { headers }: RequestHead,
  { signature }: Dialect,
  bindings: ReadonlyMap<string, ApiBinding>,
): ApiBinding | undefined => {
  if (headers.authorization === undefined || headers[signature.headerPrefix + payloadHashName] !== undefined)
    return undefined;
  const isForm = headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true;
  const protocol = isForm ? Protocol.QUERY : Protocol.REST_JSON;
  return [...bindings.values()].find(({ api }) => api.protocol === protocol);
};

/** The API that a service name in a credential scope is for. */
const apiNamed = (service: string, { signingNames }: Dialect): string | undefined => {
  for (const api in signingNames) if (signingNames[api]?.includes(service) === true) return api;
  return undefined;
};

const targetedBinding = (head: RequestHead, dialect: Dialect, gateway: Recognition): ApiBinding | undefined =>
  head.headers[dialect.targetHeader] === undefined ? undefined : gateway.targetBinding;

/** The API of an unsigned request in the query protocol: `POST /` with a form, or `GET /` with the API's version. */
const unsignedQueryBinding = (
  { headers, method, rawPath, query }: RequestHead,
  bindings: ReadonlyMap<string, ApiBinding>,
): ApiBinding | undefined => {
  if (rawPath !== "/" || headers.authorization !== undefined) return undefined;
  const isForm = method === "POST" && headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true;
  const version = query.has("Action") ? query.get("Version") : undefined;
  for (const binding of bindings.values())
    if (binding.api.protocol === Protocol.QUERY && binding.api.hasAnonymousCallers)
      if (isForm || binding.api.version === version) return binding;
  return undefined;
};
