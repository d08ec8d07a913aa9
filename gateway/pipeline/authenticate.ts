import type { Socket } from "node:net";

import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { Caller, RequestFacts } from "../../services/kit/identity/caller.ts";
import type { ConnectionFacts } from "../../services/kit/identity/connection.ts";
import { connectionFacts } from "../../services/kit/identity/connection.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { servedNames } from "../dialects/dialect.ts";
import type { Gateway } from "../gateway.ts";
import type { RequestHead } from "../http/request-head.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import { isItsOwnCanonicalPath } from "../signature/canonical.ts";
import type { RequestSignature, SignatureRules } from "../signature/verify.ts";
import { verifyHead } from "../signature/verify.ts";
import type { HttpExchange } from "./exchange.ts";
import type { AuthenticatedRequest, Identity } from "./stages.ts";

/**
 * Verifies a request's signature. Whatever needs only the head is verified before anything of the body is read. Clients
 * of the JSON APIs sign the hash of the body without sending it, so their bodies are read then. The JSON APIs refuse
 * requests without a signature, and paths with dots or empty segments: their canonical path, which is signed, omits
 * those segments, so the signature would be valid for another path, too. Object storage has anonymous callers, and its
 * bodies stay unread. Throws, or rejects with, the gateway's refusals; nothing is waited for where no body is read.
 */
export const authenticate = (
  gateway: Gateway,
  exchange: HttpExchange,
  head: RequestHead,
  identity: Identity,
): AuthenticatedRequest | Promise<AuthenticatedRequest> => {
  const { dialect } = identity.spelling;
  const { api } = identity.binding;
  const isXml = api.protocol === Protocol.REST_XML;
  const isSigned =
    head.headers.authorization !== undefined || head.query.has(`${dialect.signature.queryPrefix}Signature`);
  if (!api.hasAnonymousCallers && !isSigned) throw refusal(ErrorReason.MISSING_AUTHENTICATION);
  if (!isXml && !isItsOwnCanonicalPath(head.rawPath)) throw refusal(ErrorReason.NONCANONICAL_PATH);

  const verified = verifyHead({
    method: head.method,
    rawPath: head.rawPath,
    query: head.query,
    rawHeaders: head.rawHeaders,
    ...signatureRules(gateway, dialect, api.name),
    resource: isXml ? identity.path : undefined,
    doubleEncodePath: !isXml,
    verifiesWholeBody: !isXml,
  });
  const conclude = (body: Buffer | undefined): AuthenticatedRequest => {
    const { caller, signature, payload, signedHeaders } = verified.withBody(body);
    noteUse(gateway, caller, identity);
    // A link may be in anybody's hands.
    if (signature?.authType === "REST-HEADER") gateway.noteCaller?.(exchange.request.socket);
    return { caller: withOrigin(caller, exchange, signature), payload, signedHeaders, body };
  };
  return isXml ? conclude(undefined) : exchange.body.readWhole().then(conclude);
};

/** What signatures of requests for an API are verified with, in the dialect that they are sent in. */
export const signatureRules = (
  gateway: Pick<Gateway, "accessKeys" | "clock" | "region" | "versionTwo">,
  dialect: Dialect,
  api: string,
): SignatureRules => ({
  brand: dialect.signature,
  accessKeys: gateway.accessKeys,
  clock: gateway.clock,
  signingNames: dialect.signingNames[api] ?? [],
  servedNames: () => servedNames(dialect),
  region: gateway.region,
  versionTwo: gateway.versionTwo,
});

/** Remembers that a key was used, for which API. */
export const noteUse = (
  gateway: Pick<Gateway, "noteKeyUse" | "region">,
  { accountId, accessKeyId }: Caller,
  { binding, spelling }: Pick<Identity, "binding" | "spelling">,
): void => {
  if (gateway.noteKeyUse === undefined || accessKeyId === undefined) return;
  const service = spelling.dialect.signingNames[binding.api.name]?.[0] ?? binding.api.name;
  gateway.noteKeyUse({ accountId, accessKeyId, service, region: gateway.region ?? "N/A" });
};

/** The caller with what policies may ask for of the request: how it was sent and how it was signed. */
export const withOrigin = (
  caller: Caller,
  { request, forwarded }: Pick<HttpExchange, "request" | "forwarded">,
  signature: RequestSignature | undefined,
): Caller => {
  const { "user-agent": userAgent, referer } = request.headers;
  const facts: RequestFacts = {
    ...(userAgent === undefined ? {} : { userAgent }),
    ...(referer === undefined ? {} : { referer }),
    ...(signature?.signatureAgeMs === undefined ? {} : { signatureAgeMs: signature.signatureAgeMs }),
  };
  const connected =
    forwarded === undefined
      ? connectedCaller(caller, request.socket, signature)
      : callerFrom(caller, forwarded, signature);
  return { ...connected, ...facts };
};

/** What was made of a caller for the last request of a connection. */
interface ConnectedCaller {
  readonly caller: Caller;
  readonly signature: RequestSignature | undefined;
  readonly connected: Caller;
}

const lastCallers = new WeakMap<Socket, ConnectedCaller>();

/** The caller with all that is the same for the requests of a connection that it signs in the same way. */
const connectedCaller = (caller: Caller, socket: Socket, signature: RequestSignature | undefined): Caller => {
  const last = lastCallers.get(socket);
  const isSame =
    last?.caller === caller &&
    last.signature?.signatureVersion === signature?.signatureVersion &&
    last.signature?.authType === signature?.authType;
  if (isSame) return last.connected;
  const connected = callerFrom(caller, connectionFacts(socket), signature);
  lastCallers.set(socket, { caller, signature, connected });
  return connected;
};

const callerFrom = (
  caller: Caller,
  origin: ConnectionFacts,
  { signatureVersion, authType }: Partial<RequestSignature> = {},
): Caller => ({
  ...caller,
  ...origin,
  ...(signatureVersion === undefined ? {} : { signatureVersion }),
  ...(authType === undefined ? {} : { authType }),
});
