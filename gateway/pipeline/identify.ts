import type { ApiBinding } from "../api-binding.ts";
import type { Dialect } from "../dialects/dialect.ts";
import type { Gateway } from "../gateway.ts";
import type { RequestHead } from "../http/request-head.ts";
import type { Identity } from "./stages.ts";

/** The parts of a gateway by which it recognizes the API of a request. */
export type Recognition = Pick<Gateway, "bindings" | "targetBinding" | "fallbackBinding" | "dialects" | "hosts">;

/** The API whose buckets may be labels of host names. */
const bucketApi = "object-storage";

/**
 * Finds the API of a request. In this order: an explicit path prefix, the first label of the host, the service name in
 * the signature's credential scope, the target header, else the fallback API.
 */
export const identify = (head: RequestHead, gateway: Recognition): Identity => {
  const { bindings } = gateway;
  const spelling = gateway.dialects.detect(head.headers, head.query);
  const prefix = firstSegment(head.rawPath);
  const prefixed = bindings.get(prefix);
  if (prefixed !== undefined) {
    const rest = head.rawPath.slice(prefix.length + 1);
    return { binding: prefixed, spelling, path: rest === "" ? "/" : rest };
  }
  const host = hostName(head.headers.host);
  const hosted = bindings.get(host.slice(0, Math.max(0, host.indexOf("."))));
  if (hosted !== undefined) return { binding: hosted, spelling, path: head.rawPath };

  const { dialect } = spelling;
  const binding =
    signedBinding(head, dialect, bindings) ?? targetedBinding(head, dialect, gateway) ?? gateway.fallbackBinding;
  const bucket = binding.api.name === bucketApi ? bucketOf(host, gateway.hosts) : undefined;
  return { binding, spelling, path: bucket === undefined ? head.rawPath : `/${bucket}${head.rawPath}` };
};

const firstSegment = (path: string): string => {
  const slash = path.indexOf("/", 1);
  return slash === -1 ? path.slice(1) : path.slice(1, slash);
};

/** The host without its port, lower case. */
const hostName = (host: string | undefined): string => (host ?? "").replace(/:\d+$/, "").toLowerCase();

/**
 * The bucket that precedes an object storage host: `photos` of `photos.localhost`, of `photos.s3.localhost`, of
 * `photos.s3.us-east-1.localhost`, and of `photos.object-storage.` before any name.
 */
const bucketOf = (host: string, hosts: readonly string[]): string | undefined => {
  const own = hosts.find((each) => host.endsWith(`.${each}`));
  if (own === undefined) return /^(.+?)\.object-storage\./.exec(host)?.[1];
  const label = host.slice(0, -own.length - 1);
  const match = /^(?:(.+)\.)?(?:object-storage|s3)(?:[.-][a-z]{2}(?:-[a-z]+)+-\d)?$/.exec(label);
  return match === null ? label : match[1];
};

/** Reads only the service name of the claim; whether the claim is well-formed and true is checked later. */
const signedBinding = (
  head: RequestHead,
  dialect: Dialect,
  bindings: ReadonlyMap<string, ApiBinding>,
): ApiBinding | undefined => {
  const credential =
    /Credential=([^,\s]+)/.exec(head.headers.authorization ?? "")?.[1] ??
    head.query.get(`${dialect.signature.queryPrefix}Credential`);
  const service = credential?.split("/").at(-2);
  if (service === undefined) return undefined;
  const api = Object.keys(dialect.signingNames).find((each) => dialect.signingNames[each]?.includes(service));
  return api === undefined ? undefined : bindings.get(api);
};

const targetedBinding = (head: RequestHead, dialect: Dialect, gateway: Recognition): ApiBinding | undefined =>
  head.headers[dialect.targetHeader] === undefined ? undefined : gateway.targetBinding;
