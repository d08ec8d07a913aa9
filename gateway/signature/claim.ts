import { LRUCache } from "lru-cache";

import type { FaultMetadata, ServiceError } from "../../services/kit/faults/service-error.ts";
import { textTest } from "../../services/kit/policy/wildcard.ts";
import type { QueryParameter } from "../http/query.ts";
import type { HeaderIndex } from "./canonical.ts";
import { headerValue } from "./canonical.ts";
import type { SignatureBrand } from "./brand.ts";
import { asymmetricAlgorithm, brandName } from "./brand.ts";
import { ErrorReason, refusal } from "../refusal.ts";

/** The signature of a request as it claims it, before any of it is verified. */
export interface SignatureClaim {
  readonly form: "header" | "presigned";
  readonly algorithm: string;
  readonly accessKeyId: string;
  /** `yyyymmdd` of the credential scope. */
  readonly date: string;
  /** Absent if the request is signed for a set of regions. */
  readonly region: string | undefined;
  readonly service: string;
  readonly terminator: string;
  /** The credential without the access key id. */
  readonly scope: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  /** Seconds for which a presigned request is valid. */
  readonly expiresSeconds: number | undefined;
}

/** The longest validity of a presigned request: a week. */
export const expiresSecondsMax = 604_800;

/** Reads the claim in the header or the query; undefined if there is none. Throws the refusals of malformed claims. */
export const readClaim = (
  headers: HeaderIndex,
  query: readonly QueryParameter[],
  brand: SignatureBrand,
): SignatureClaim | undefined => {
  const authorization = headers.get("authorization");
  const hasQuery = isPresigned(query, brand);
  if (authorization !== undefined && hasQuery) throw refusal(ErrorReason.SEVERAL_SIGNATURES);
  if (authorization !== undefined) return readHeader(authorization, brand);
  return hasQuery ? readQuery(query, brand) : undefined;
};

/** Whether a query says that its request is presigned by version 4. */
export const isPresigned = (query: readonly QueryParameter[], brand: SignatureBrand): boolean =>
  query.some(({ name }) => isClaimParameter(name, brand));

/** The value of the header named by the brand's prefix and `name`. */
export const brandHeader = (headers: HeaderIndex, brand: SignatureBrand, name: string): string | undefined =>
  headerValue(headers, brand.headerPrefix + name);

/** The value of the parameter named by the brand's prefix and `name`; undefined unless it is sent exactly once. */
export const brandParameter = (
  query: readonly QueryParameter[],
  brand: SignatureBrand,
  name: string,
): string | undefined => {
  if (query.length === 0) return undefined;
  const given = query.filter((parameter) => parameter.name === brand.queryPrefix + name);
  return given.length === 1 ? given[0]?.value : undefined;
};

const claimParameters: readonly string[] = ["Algorithm", "Credential", "Signature"];

/** Whether a parameter says that a request is presigned. */
const isClaimParameter = (name: string, { queryPrefix }: SignatureBrand): boolean =>
  name.startsWith(queryPrefix) && claimParameters.includes(name.slice(queryPrefix.length));

/** Hexadecimal digits of the usual signature, at the end of the header. */
const signatureLength = 64;
const usualSignature = /^[0-9a-f]{64}$/;
const claimsMax = 1_000;
/** Clients sign a dozen headers. Anybody may send a claim, so none is remembered that takes more memory. */
const rememberedLengthMax = 1_024;

/** Claims by all of their header but the signature: a client's requests differ in nothing else for a day. */
const knownClaims = new WeakMap<SignatureBrand, LRUCache<string, SignatureClaim>>();

/** The one that was read last: mostly the next has the same, and to compare costs less than to find it. */
let lastClaim: { readonly brand: SignatureBrand; readonly start: string; readonly claim: SignatureClaim } | undefined;

const readHeader = (values: readonly string[], brand: SignatureBrand): SignatureClaim => {
  const [value = ""] = values;
  if (values.length !== 1) refuseHeader("There is more than one.");
  const end = value.length - signatureLength;
  const signature = value.slice(end);
  const isUsual = end <= rememberedLengthMax && value.endsWith("Signature=", end) && usualSignature.test(signature);
  if (!isUsual) return parseHeader(value, brand);
  if (lastClaim?.brand === brand && lastClaim.start.length === end && value.startsWith(lastClaim.start))
    return { ...lastClaim.claim, signature };
  let claims = knownClaims.get(brand);
  if (claims === undefined) knownClaims.set(brand, (claims = new LRUCache({ max: claimsMax })));
  const start = value.slice(0, end);
  const known = claims.get(start);
  const claim = known ?? parseHeader(value, brand);
  if (known === undefined) claims.set(start, claim);
  lastClaim = { brand, start, claim };
  return { ...claim, signature };
};

const parseHeader = (value: string, brand: SignatureBrand): SignatureClaim => {
  const space = value.indexOf(" ");
  const algorithm = space < 0 ? value : value.slice(0, space);
  if (algorithm === brandName(brand)) throw refusal(ErrorReason.SUPERSEDED_SIGNATURE, { algorithm: brand.algorithm });
  if (!isOffered(algorithm, brand)) throw unsupportedAlgorithm("Authorization", algorithm);
  const parts = new Map<string, string>();
  for (const part of value.slice(algorithm.length).split(",")) {
    const equals = part.indexOf("=");
    const name = part.slice(0, Math.max(0, equals)).trim();
    if (equals < 0 || parts.has(name)) refuseHeader("Its parts must be name=value, each name once.");
    parts.set(name, part.slice(equals + 1).trim());
  }
  const part = (name: string): string => {
    const found = parts.get(name);
    return found === undefined || found === "" ? refuseHeader(`It must have a ${name}.`) : found;
  };
  return {
    form: "header",
    algorithm,
    ...readCredential(part("Credential"), algorithm, brand, refuseHeader),
    signedHeaders: part("SignedHeaders").toLowerCase().split(";"),
    signature: part("Signature"),
    expiresSeconds: undefined,
  };
};

const readQuery = (query: readonly QueryParameter[], brand: SignatureBrand): SignatureClaim => {
  const parameter = (name: string): string => {
    const found = brandParameter(query, brand, name);
    return found === undefined || found === "" ? refuseQuery(`There must be one ${brand.queryPrefix}${name}.`) : found;
  };
  const algorithm = parameter("Algorithm");
  if (!isOffered(algorithm, brand))
    refuseQuery(`${brand.queryPrefix}Algorithm only supports "${brand.algorithm} and ${asymmetricAlgorithm(brand)}".`);
  const claim = {
    form: "presigned" as const,
    algorithm,
    ...readCredential(parameter("Credential"), algorithm, brand, refuseQuery),
    signedHeaders: parameter("SignedHeaders").toLowerCase().split(";"),
    signature: parameter("Signature"),
  };
  parameter("Date");
  const expires = parameter("Expires");
  const expiresSeconds = /^\d{1,9}$/.test(expires) ? Number(expires) : Number.NaN;
  if (!(expiresSeconds >= 1 && expiresSeconds <= expiresSecondsMax))
    refuseQuery(`${brand.queryPrefix}Expires must be a number of seconds from 1 to ${expiresSecondsMax}.`);
  return { ...claim, expiresSeconds };
};

const refuseHeader = (problem: string): never => {
  throw refusal(ErrorReason.MALFORMED_AUTHORIZATION, { problem });
};

const refuseQuery = (problem: string): never => {
  throw refusal(ErrorReason.MALFORMED_SIGNATURE_QUERY, { problem });
};

/** Whether signatures of an algorithm are verified. */
export const isOffered = (algorithm: string, brand: SignatureBrand): boolean =>
  algorithm === brand.algorithm || algorithm === asymmetricAlgorithm(brand);

/** The refusal of an algorithm, which a header or a field names. */
export const unsupportedAlgorithm = (name: string, algorithm: string): ServiceError =>
  refusal(ErrorReason.UNSUPPORTED_ALGORITHM, { argument_name: name, argument_value: algorithm });

/** Splits a credential into the access key id and its scope. */
export const readCredential = (
  credential: string,
  algorithm: string,
  brand: SignatureBrand,
  refuse: (reason: string) => never,
): Pick<SignatureClaim, "accessKeyId" | "date" | "region" | "service" | "terminator" | "scope"> => {
  const parts = credential.split("/");
  const hasRegion = algorithm === brand.algorithm;
  if (parts.length !== (hasRegion ? 5 : 4) || parts.includes(""))
    refuse(
      hasRegion
        ? `The Credential must be <access key id>/<yyyymmdd>/<region>/<service>/${brand.terminator}.`
        : `The Credential must be <access key id>/<yyyymmdd>/<service>/${brand.terminator}.`,
    );
  const [accessKeyId = "", date = ""] = parts;
  const [service = "", terminator = ""] = parts.slice(-2);
  const scope = parts.slice(1).join("/");
  return { accessKeyId, date, region: hasRegion ? parts[2] : undefined, service, terminator, scope };
};

/** The scope that a claim must have. */
export interface ExpectedScope {
  /** The names of the API that the request is for. */
  readonly services: readonly string[];
  /** The names of all APIs, one each: what a refusal of any other name lists. Unset: those of this one. */
  readonly served?: (() => readonly string[]) | undefined;
  /** Unset: any. */
  readonly region: string | undefined;
  readonly terminator: string;
}

/**
 * Throws WRONG_SCOPE, or WRONG_QUERY_SCOPE, for a claim of another terminator, date, service or region. `regionSet` is
 * the value of X-Amz-Region-Set, which requests signed for several regions have; undefined for a claim with a region.
 */
export const checkScope = (claim: SignatureClaim, expected: ExpectedScope, regionSet: string | undefined): void => {
  const refuse = (details: FaultMetadata): never => {
    throw refusal(claim.form === "header" ? ErrorReason.WRONG_SCOPE : ErrorReason.WRONG_QUERY_SCOPE, details);
  };
  if (claim.terminator !== expected.terminator)
    refuse({ part: "terminator", given: claim.terminator, expected: expected.terminator });
  if (!/^\d{8}$/.test(claim.date)) refuse({ part: "date", given: claim.date, expected: "yyyymmdd" });
  if (!expected.services.includes(claim.service))
    refuse({ part: "service", given: claim.service, expected: expectedServices(claim.service, expected) });
  if (expected.region === undefined) return;
  const { region } = expected;
  const isCovered =
    claim.region === undefined
      ? (regionSet ?? "").split(",").some((pattern) => coversRegion(pattern.trim(), region))
      : claim.region === region;
  if (!isCovered) refuse({ part: "region", given: claim.region ?? regionSet ?? "", expected: region, region });
};

/** The names of the API, or where no API has the given one, of all that are served here. */
const expectedServices = (given: string, { services, served }: ExpectedScope): string => {
  const all = served?.() ?? services;
  return (all.includes(given) ? services : all).join(" or ");
};

/** `*` matches any characters, as in `us-*`; no other character is special. */
const coversRegion = (pattern: string, region: string): boolean => !pattern.includes("?") && textTest(pattern)(region);
