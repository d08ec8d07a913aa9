import type { IncomingHttpHeaders } from "node:http";

import type { Dialects } from "../dialects/dialects.ts";
import type { Dialect, Spelling } from "../dialects/dialect.ts";
import type { QueryParameters } from "../http/query.ts";

/** A request's line and headers, before anything is believed. */
export interface RequestHead {
  readonly method: string;
  /** The request target up to its question mark, escapes untouched. */
  readonly rawPath: string;
  readonly rawQuery: string;
  readonly query: QueryParameters;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
}

/** Which API a request is for, and how it is spelled. */
export interface Identity {
  readonly api: string;
  readonly spelling: Spelling;
  /** The path inside the API: an explicit prefix is cut off, a bucket in the host name put in front. */
  readonly path: string;
}

/** What an installation answers to. */
export interface IdentifyOptions {
  /** API names, for example `object-storage`. */
  readonly apis: ReadonlySet<string>;
  /** The API that is reached by a target header; undefined: none is. */
  readonly targetApi: string | undefined;
  readonly dialects: Dialects;
  /** Host names of the gateway itself, lower case; what stands before one of them names an API or a bucket. */
  readonly hosts: readonly string[];
}

/** The API that takes what no other claims, and the one whose buckets stand in host names. */
const bucketApi = "object-storage";

/**
 * Finds the API of a request. In this order: an explicit path prefix, the first label of the host, the service name in
 * the signature's credential scope, the target header, else object storage.
 */
export const identify = (head: RequestHead, options: IdentifyOptions): Identity => {
  const spelling = options.dialects.detect(head.headers, head.query);
  const prefix = firstSegment(head.rawPath);
  if (options.apis.has(prefix)) {
    const rest = head.rawPath.slice(prefix.length + 1);
    return { api: prefix, spelling, path: rest === "" ? "/" : rest };
  }
  const host = hostName(head.headers.host);
  const label = host.slice(0, Math.max(0, host.indexOf(".")));
  if (options.apis.has(label)) return { api: label, spelling, path: head.rawPath };

  const api = signedApi(head, spelling.dialect) ?? targetedApi(head, spelling.dialect, options) ?? bucketApi;
  const bucket = api === bucketApi ? bucketOf(host, options.hosts) : undefined;
  return { api, spelling, path: bucket === undefined ? head.rawPath : `/${bucket}${head.rawPath}` };
};

const firstSegment = (path: string): string => {
  const slash = path.indexOf("/", 1);
  return slash === -1 ? path.slice(1) : path.slice(1, slash);
};

/** The host without its port, lower case. */
const hostName = (host: string | undefined): string => (host ?? "").replace(/:\d+$/, "").toLowerCase();

/**
 * The bucket in front of an object storage host: `photos` of `photos.localhost`, of `photos.s3.localhost`, of
 * `photos.s3.us-east-1.localhost`, and of `photos.object-storage.` before any name.
 */
const bucketOf = (host: string, hosts: readonly string[]): string | undefined => {
  const own = hosts.find((each) => host.endsWith(`.${each}`));
  if (own === undefined) return /^(.+?)\.object-storage\./.exec(host)?.[1];
  const label = host.slice(0, -own.length - 1);
  const match = /^(?:(.+)\.)?(?:object-storage|s3)(?:[.-][a-z]{2}(?:-[a-z]+)+-\d)?$/.exec(label);
  return match === null ? label : match[1];
};

/** Only the service name is looked for here; whether the claim is well-formed and true is found out later. */
const signedApi = (head: RequestHead, dialect: Dialect): string | undefined => {
  const credential =
    /Credential=([^,\s]+)/.exec(head.headers.authorization ?? "")?.[1] ??
    head.query.get(`${dialect.signature.queryPrefix}Credential`);
  const service = credential?.split("/").at(-2);
  if (service === undefined) return undefined;
  return Object.keys(dialect.signingNames).find((api) => dialect.signingNames[api]?.includes(service));
};

const targetedApi = (head: RequestHead, dialect: Dialect, options: IdentifyOptions): string | undefined =>
  head.headers[dialect.targetHeader] === undefined ? undefined : options.targetApi;
