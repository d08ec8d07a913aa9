import type { Clock } from "../../services/kit/clock/clock.ts";
import type { AccessKeys } from "../../services/kit/identity/access-keys.ts";
import { callerOf } from "../../services/kit/identity/access-keys.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";
import type { QueryParameter } from "../http/query.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { SignatureBrand } from "./brand.ts";
import type { HeaderIndex } from "./canonical.ts";
import { headerValue } from "./canonical.ts";
import { brandHeader, isPresigned, unsupportedAlgorithm } from "./claim.ts";
import { findAccessKey } from "./request-key.ts";
import { checkSkew, parseBasicInstant } from "./request-time.ts";
import type { VersionTwoRule } from "./version-two.ts";
import {
  checkVersionTwoHeader,
  checkVersionTwoLink,
  checkVersionTwoRule,
  readVersionTwo,
  readVersionTwoHeader,
} from "./version-two.ts";

/** The head of a request, and what a signature of version 2 is verified with. */
interface VersionTwoHead {
  readonly method: string;
  /** Unset: the API accepts none. */
  readonly resource?: string | undefined;
  readonly brand: SignatureBrand;
  readonly accessKeys: AccessKeys;
  readonly clock: Clock;
  readonly versionTwo?: VersionTwoRule | undefined;
}

/** Who signed a request, and how. */
interface Signer {
  readonly caller: Caller;
  readonly form: "header" | "presigned";
  readonly signature: Pick<Caller, "signatureVersion" | "authType" | "signatureAgeMs">;
}

/**
 * The signer of a request with a signature of version 2 in its header, where the rule accepts them. Undefined: it has
 * none that is accepted. Throws, in this order, MALFORMED_AUTHORIZATION, SEVERAL_SIGNATURES, MISSING_DATE, the refusals
 * of keys, CLOCK_SKEW and SIGNATURE_MISMATCH.
 */
export const headerSigner = (
  request: VersionTwoHead,
  headers: HeaderIndex,
  query: readonly QueryParameter[],
): Signer | undefined => {
  const { method, resource, brand } = request;
  if (request.versionTwo !== "headers" || resource === undefined) return undefined;
  const claim = readVersionTwoHeader(headers, brand);
  if (claim === undefined) return undefined;
  if (isPresigned(query, brand) || readVersionTwo(query, brand) !== undefined)
    throw refusal(ErrorReason.SEVERAL_SIGNATURES);
  const ownDate = brandHeader(headers, brand, "date");
  const date = headerValue(headers, "date") ?? "";
  const requestMs = instantOf(ownDate ?? date);
  const nowMs = request.clock.now();
  const accessKey = findAccessKey(request, claim, headers, query);
  checkSkew(requestMs, nowMs);
  const signed = { method, resource, headers, query, brand, date: ownDate === undefined ? date : "" };
  checkVersionTwoHeader(claim, accessKey.secretAccessKey, signed);
  return {
    caller: callerOf(accessKey),
    form: "header",
    signature: { signatureVersion: "AWS", authType: "REST-HEADER", signatureAgeMs: Math.max(0, nowMs - requestMs) },
  };
};

/** The signer of a presigned URL of version 2; undefined: the request is none. Throws the refusals of its signature. */
export const linkSigner = (
  request: VersionTwoHead,
  headers: HeaderIndex,
  query: readonly QueryParameter[],
): Signer | undefined => {
  const link = readVersionTwo(query, request.brand);
  if (link === undefined) return undefined;
  const { method, resource, brand, versionTwo: rule } = request;
  if (resource === undefined) throw unsupportedAlgorithm("Signature", "AWS");
  checkVersionTwoRule(rule);
  const accessKey = findAccessKey(request, link, headers, query);
  const nowMs = request.clock.now();
  checkVersionTwoLink(link, accessKey.secretAccessKey, { method, resource, headers, query, brand, nowMs, rule });
  return {
    caller: callerOf(accessKey),
    form: "presigned",
    signature: { signatureVersion: "AWS", authType: "REST-QUERY-STRING" },
  };
};

/** A date of HTTP or of mail with its zone. */
const zoned = /(?:GMT|UTC|[+-]\d{4})$/;

/** The milliseconds of a header with a time. Throws MISSING_DATE. */
const instantOf = (text: string): number => {
  const ms = zoned.test(text) ? Date.parse(text) : parseBasicInstant(text);
  if (Number.isNaN(ms)) throw refusal(ErrorReason.MISSING_DATE);
  return ms;
};
