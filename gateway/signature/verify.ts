import type { Clock } from "../../services/kit/clock/clock.ts";
import type { AccessKeys } from "../../services/kit/identity/access-keys.ts";
import type { Caller, SignatureVersion } from "../../services/kit/identity/caller.ts";
import { anonymousCaller } from "../../services/kit/identity/caller.ts";
import type { SignatureBrand } from "./brand.ts";
import type { QueryParameter, QueryParameters } from "../http/query.ts";
import type { HeaderIndex } from "./canonical.ts";
import {
  canonicalHeaders,
  canonicalQuery,
  doubleEncodedPath,
  headerValue,
  indexHeaders,
  singleEncodedPath,
} from "./canonical.ts";
import type { SignatureClaim } from "./claim.ts";
import { brandHeader, brandParameter, checkScope, readClaim } from "./claim.ts";
import type { Payload, PayloadClaim } from "./payload.ts";
import { chunkChain, payloadHashName, payloadMismatch, payloadOf, readPayloadClaim } from "./payload.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import { findAccessKey } from "./request-key.ts";
import { basicDate, checkSkew, parseBasicInstant, skewMsMax } from "./request-time.ts";
import { signerOf } from "./signer.ts";
import type { SigningKey } from "./signing-key.ts";
import { sha256, signingKey } from "./signing-key.ts";
import type { VersionTwoRule } from "./version-two.ts";
import { headerSigner, linkSigner } from "./version-two-signer.ts";

/** What signatures of an API's requests are verified with. */
export interface SignatureRules {
  readonly brand: SignatureBrand;
  readonly accessKeys: AccessKeys;
  readonly clock: Clock;
  /** The service names that the credential scope may carry. */
  readonly signingNames: readonly string[];
  /** The service names of all APIs, for the refusal of any other. Unset: those of this one. */
  readonly servedNames?: (() => readonly string[]) | undefined;
  /** The region that the credential scope must carry. Unset: any. */
  readonly region?: string | undefined;
  /** Which signatures of version 2 are accepted. Unset: all. */
  readonly versionTwo?: VersionTwoRule | undefined;
}

/** The head of a request as it was received, and what its signature is verified with. */
export interface SignedHead extends SignatureRules {
  readonly method: string;
  /** The request target up to its question mark, percent escapes untouched. */
  readonly rawPath: string;
  readonly query: QueryParameters;
  /** `[name, value, name, value, ...]` as in `rawHeaders` of `node:http`. */
  readonly rawHeaders: readonly string[];
  /** For object storage, the path with its bucket. Unset: signatures of version 2 are refused. */
  readonly resource?: string | undefined;
  /** False for object storage, whose paths are signed as they are sent; true for all other APIs. */
  readonly doubleEncodePath: boolean;
  /** True for APIs whose clients do not declare the hash of the body. False: it must be declared. */
  readonly verifiesWholeBody: boolean;
}

/** A head of which everything is verified that needs nothing of the body. */
export interface VerifiedHead {
  /**
   * Verifies what needs the body: its hash, and the signature if the hash was not declared. The body is undefined where
   * it is not verified whole. Throws SIGNATURE_MISMATCH and PAYLOAD_MISMATCH.
   */
  withBody(body: Uint8Array | undefined): VerifiedRequest;
}

/** How a request was signed, as conditions of policies ask for it. */
export type RequestSignature = Pick<Caller, "signatureVersion" | "authType" | "signatureAgeMs">;

/** A request whose signature is valid, or one without a signature. */
export interface VerifiedRequest {
  /** `anonymousCaller` if the request is not signed. */
  readonly caller: Caller;
  readonly form: "anonymous" | SignatureClaim["form"];
  /** Undefined if the request is not signed. */
  readonly signature: RequestSignature | undefined;
  /** How to read the body: `decodeBody(payload, stream)`. */
  readonly payload: Payload;
  /** Lower case; empty if the request is not signed. */
  readonly signedHeaders: readonly string[];
}

/**
 * Verifies a request's signature in the header or in the query, as far as its head allows: all of it, unless the hash
 * of the body was not declared. Every check that needs only the request comes before the signature is computed. Throws
 * the gateway's refusals, in the order of their reasons.
 */
export const verifyHead = (request: SignedHead): VerifiedHead => {
  const { brand } = request;
  const headers = indexHeaders(request.rawHeaders);
  const query = request.query.all;
  const byHeader = headerSigner(request, headers, query);
  const claim = byHeader === undefined ? readClaim(headers, query, brand) : undefined;
  if (claim === undefined) {
    const signer = byHeader ?? linkSigner(request, headers, query) ?? nobody;
    return verifyUnchained(request, headers, signer);
  }

  checkScope(
    claim,
    {
      services: request.signingNames,
      served: request.servedNames,
      region: request.region,
      terminator: brand.terminator,
    },
    claim.region === undefined
      ? (brandHeader(headers, brand, "region-set") ?? brandParameter(query, brand, "Region-Set"))
      : undefined,
  );
  const time = readTime(claim, headers, query, brand);
  const accessKey = findAccessKey(request, claim, headers, query);
  checkTime(claim, time.ms, request.clock.now());
  checkSignedHeaders(claim, headers, brand);
  const payload = declaredPayload(request, claim, headers, query);

  const key = signingKey(accessKey, claim, brand);
  const check = (hash: string): void => checkSignature(request, claim, key, time.text, hash, headers, query);
  if (payload.hash !== undefined) check(payload.hash);
  const payloadWith = (body: Uint8Array | undefined): Payload => {
    if (body === undefined) {
      const start = { key, timestamp: time.text, scope: claim.scope, seed: claim.signature };
      const isSigned = payload.claim.kind === "chunked" && payload.claim.isSigned;
      const chain = isSigned ? chunkChain(brand, claim.region === undefined, start) : undefined;
      return payloadOf(payload.claim, headers, brand, chain);
    }
    if (payload.hash === undefined) check(sha256(body));
    checkBody(body, payload.claim);
    return { kind: "plain" };
  };
  const signature: RequestSignature = {
    signatureVersion: signatureVersionOf(claim),
    authType: claim.form === "header" ? "REST-HEADER" : "REST-QUERY-STRING",
    signatureAgeMs: Math.max(0, request.clock.now() - time.ms),
  };
  return {
    withBody: (body) => ({
      caller: signerOf(accessKey),
      form: claim.form,
      signature,
      payload: payloadWith(body),
      signedHeaders: claim.signedHeaders,
    }),
  };
};

/** The version of a signature in its public spelling; a claim without a region is asymmetric. */
export const signatureVersionOf = ({ region }: Pick<SignatureClaim, "region">): SignatureVersion =>
  region === undefined ? "AWS4-ECDSA-P256-SHA256" : "AWS4-HMAC-SHA256";

const nobody = { caller: anonymousCaller, form: "anonymous", signature: undefined } as const;

/** A request without a version 4 signature. Its chunks cannot be signed, because their chain begins with that one. */
const verifyUnchained = (
  request: SignedHead,
  headers: HeaderIndex,
  signer: Pick<VerifiedRequest, "caller" | "form" | "signature">,
): VerifiedHead => {
  const { brand } = request;
  const value = brandHeader(headers, brand, payloadHashName);
  const claim = readPayloadClaim(value, brand);
  if (claim.kind === "chunked" && claim.isSigned)
    throw refusal(ErrorReason.INVALID_PAYLOAD_HASH, {
      argument_name: brand.headerPrefix + payloadHashName,
      argument_value: value ?? "",
    });
  const verified = { ...signer, payload: payloadOf(claim, headers, brand, undefined), signedHeaders: [] };
  return {
    withBody: (body) => {
      if (body !== undefined) checkBody(body, claim);
      return verified;
    },
  };
};

interface RequestTime {
  readonly ms: number;
  /** `yyyymmddThhmmssZ`. */
  readonly text: string;
}

const readTime = (
  claim: SignatureClaim,
  headers: HeaderIndex,
  query: readonly QueryParameter[],
  brand: SignatureBrand,
): RequestTime => {
  const text =
    claim.form === "presigned"
      ? brandParameter(query, brand, "Date")
      : (brandHeader(headers, brand, "date") ?? basicDate(headerValue(headers, "date")));
  const ms = parseBasicInstant(text ?? "");
  if (text === undefined || Number.isNaN(ms)) {
    if (claim.form === "header") throw refusal(ErrorReason.MISSING_DATE);
    throw refusal(ErrorReason.MALFORMED_SIGNATURE_QUERY, {
      problem: `${brand.queryPrefix}Date must be like 20130524T000000Z.`,
    });
  }
  if (!text.startsWith(claim.date))
    throw refusal(claim.form === "header" ? ErrorReason.WRONG_SCOPE : ErrorReason.WRONG_QUERY_SCOPE, {
      part: "date",
      given: claim.date,
      expected: text.slice(0, 8),
    });
  return { ms, text };
};

const checkTime = (claim: SignatureClaim, requestMs: number, nowMs: number): void => {
  if (claim.expiresSeconds === undefined) {
    checkSkew(requestMs, nowMs);
    return;
  }
  const expiresMs = requestMs + claim.expiresSeconds * 1000;
  const details = {
    expires_seconds: String(claim.expiresSeconds),
    expires: new Date(expiresMs).toISOString(),
    server_time: new Date(nowMs).toISOString(),
  };
  if (requestMs > nowMs + skewMsMax) throw refusal(ErrorReason.NOT_YET_VALID, details);
  if (nowMs > expiresMs) throw refusal(ErrorReason.EXPIRED, details);
};

/** Up to this size a list is searched as fast as a set is made. */
const listedMax = 16;

/** The host and every header of the dialect must be signed, because they could change the request's meaning. */
const checkSignedHeaders = (claim: SignatureClaim, headers: HeaderIndex, brand: SignatureBrand): void => {
  const { signedHeaders } = claim;
  const unsigned = signedHeaders.includes("host") ? [] : ["host"];
  // Signers write the names once, so there are few; a client that repeats them must not make this slow.
  const signed = signedHeaders.length > listedMax ? new Set(signedHeaders) : undefined;
  const isSigned = (name: string): boolean => signed?.has(name) ?? signedHeaders.includes(name);
  for (const name of headers.keys()) if (name.startsWith(brand.headerPrefix) && !isSigned(name)) unsigned.push(name);
  if (unsigned.length > 0) throw refusal(ErrorReason.UNSIGNED_HEADERS, { headers_not_signed: unsigned.join(", ") });
};

/** The hash in the canonical request, undefined if it is that of a body to come, and the claim about the body. */
const declaredPayload = (
  request: SignedHead,
  claim: SignatureClaim,
  headers: HeaderIndex,
  query: readonly QueryParameter[],
): { hash: string | undefined; claim: PayloadClaim } => {
  const { brand } = request;
  const header = brand.headerPrefix + payloadHashName;
  const declared = headerValue(headers, header) ?? brandParameter(query, brand, "Content-Sha256");
  const payload = readPayloadClaim(declared, brand);
  if (payload.kind === "chunked" && payload.isSigned && payload.isAsymmetric !== (claim.region === undefined))
    throw refusal(ErrorReason.INVALID_PAYLOAD_HASH, { argument_name: header, argument_value: declared ?? "" });
  // A chunked body without a length is refused before the signature is computed.
  payloadOf(payload, headers, brand, undefined);
  if (declared !== undefined) return { hash: declared, claim: payload };
  if (request.verifiesWholeBody) return { hash: undefined, claim: payload };
  if (claim.form === "header") throw refusal(ErrorReason.MISSING_PAYLOAD_HASH, { argument_name: header });
  return { hash: "UNSIGNED-PAYLOAD", claim: payload };
};

const checkSignature = (
  request: SignedHead,
  claim: SignatureClaim,
  key: SigningKey,
  timestamp: string,
  payloadHash: string,
  headers: HeaderIndex,
  query: readonly QueryParameter[],
): void => {
  const signatureParameter = claim.form === "presigned" ? `${request.brand.queryPrefix}Signature` : undefined;
  const headerLines = canonicalHeaders(headers, claim.signedHeaders);
  const names = claim.signedHeaders.join(";");
  const compose = (path: string, queryText: string): string =>
    `${request.method}\n${path}\n${queryText}\n${headerLines}\n${names}\n${payloadHash}`;
  const stringToSign = (canonical: string, encoding: "latin1" | "utf8"): string =>
    `${claim.algorithm}\n${timestamp}\n${claim.scope}\n${sha256(Buffer.from(canonical, encoding))}`;

  const path = request.doubleEncodePath ? doubleEncodedPath(request.rawPath) : singleEncodedPath(request.rawPath);
  const canonicalQueryText = canonicalQuery(query, signatureParameter, "canonical");
  const canonical = compose(path, canonicalQueryText);
  const expected = stringToSign(canonical, "latin1");
  if (key.matches(expected, claim.signature)) return;
  // Some clients sign what they send instead of its canonical spelling, or sign header values as UTF-8
  // that they send as Latin-1. Either way the signature covers exactly this request.
  const isAscii = /^[\0-\x7f]*$/.test(canonical);
  if (!isAscii && key.matches(stringToSign(canonical, "utf8"), claim.signature)) return;
  if (!request.doubleEncodePath) {
    const queries = [canonicalQuery(query, signatureParameter, "raw")];
    if (claim.form === "header") queries.push(request.query.raw);
    for (const queryText of queries) {
      const raw = compose(request.rawPath, queryText);
      if (raw !== canonical && key.matches(stringToSign(raw, "latin1"), claim.signature)) return;
    }
    // The SDK for Java sends `//` of what it has signed as `/%2F`, which names the same object.
    if (path.includes("/%2F")) {
      const slashes = compose(path.replaceAll("/%2F", "//"), canonicalQueryText);
      if (key.matches(stringToSign(slashes, "latin1"), claim.signature)) return;
    }
  }
  throw refusal(ErrorReason.SIGNATURE_MISMATCH, {
    access_key_id: claim.accessKeyId,
    signature_provided: claim.signature,
    string_to_sign: expected,
    canonical_request: canonical,
  });
};

/** Compares a body with its declared hash. */
const checkBody = (body: Uint8Array, claim: PayloadClaim): void => {
  if (claim.kind !== "exact") return;
  const computed = sha256(body);
  if (computed !== claim.sha256) throw payloadMismatch(claim.sha256, computed);
};
