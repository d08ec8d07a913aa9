import { createHmac, timingSafeEqual } from "node:crypto";

import type { SignatureBrand } from "./brand.ts";
import { brandName } from "./brand.ts";
import type { QueryParameter } from "../http/query.ts";
import type { HeaderIndex } from "./canonical.ts";
import { headerValue } from "./canonical.ts";
import { expiresSecondsMax, unsupportedAlgorithm } from "./claim.ts";
import { ErrorReason, refusal } from "../refusal.ts";

/** Who signed what by version 2. */
interface VersionTwoSignature {
  readonly accessKeyId: string;
  /** Base64 of an HMAC-SHA-1. */
  readonly signature: string;
}

/**
 * A presigned URL of signing version 2. Some stock tools still create them by default (`aws s3 presign` of version 1,
 * boto3, `s3cmd signurl`).
 */
export interface VersionTwoClaim extends VersionTwoSignature {
  /** Seconds since 1970, as signed. */
  readonly expires: string;
}

/** The subresources and parameters that are signed with the resource. */
const signedParameters = new Set([
  "accelerate",
  "acl",
  "analytics",
  "cors",
  "defaultObjectAcl",
  "delete",
  "inventory",
  "lifecycle",
  "location",
  "logging",
  "metrics",
  "notification",
  "object-lock",
  "partNumber",
  "policy",
  "replication",
  "requestPayment",
  "response-cache-control",
  "response-content-disposition",
  "response-content-encoding",
  "response-content-language",
  "response-content-type",
  "response-expires",
  "restore",
  "select",
  "select-type",
  "storageClass",
  "tagging",
  "torrent",
  "uploadId",
  "uploads",
  "versionId",
  "versioning",
  "versions",
  "website",
]);

/** Parameters that the signature does not cover, and that do not choose another operation. */
const harmlessParameters = new Set([
  "continuation-token",
  "delimiter",
  "encoding-type",
  "fetch-owner",
  "key-marker",
  "list-type",
  "marker",
  "max-keys",
  "max-parts",
  "max-uploads",
  "part-number-marker",
  "prefix",
  "start-after",
  "upload-id-marker",
  "version-id-marker",
]);

/** `AWSAccessKeyId` in the public dialect. */
const keyParameter = (brand: SignatureBrand): string => `${brandName(brand)}AccessKeyId`;

/** The claim in a query; undefined if it is not of version 2. Throws INCOMPLETE_SIGNATURE_QUERY. */
export const readVersionTwo = (
  query: readonly QueryParameter[],
  brand: SignatureBrand,
): VersionTwoClaim | undefined => {
  const given = (name: string): string[] => query.filter((one) => one.name === name).map(({ value }) => value);
  const [keys, signatures, expiries] = [given(keyParameter(brand)), given("Signature"), given("Expires")];
  if (keys.length === 0 || signatures.length === 0) return undefined;
  const [[accessKeyId = ""], [signature = ""], [expires = ""]] = [keys, signatures, expiries];
  const isOnce = [keys, signatures, expiries].every(({ length }) => length === 1);
  if (!isOnce || !/^\d{1,12}$/.test(expires)) throw refusal(ErrorReason.INCOMPLETE_SIGNATURE_QUERY);
  return { accessKeyId, signature, expires };
};

/**
 * The signature of version 2 in a header, which older clients send (libs3, git-annex, boto 2); undefined if it is of
 * another version. Throws MALFORMED_AUTHORIZATION.
 */
export const readVersionTwoHeader = (headers: HeaderIndex, brand: SignatureBrand): VersionTwoSignature | undefined => {
  const [value = "", second] = headers.get("authorization") ?? [];
  const scheme = `${brandName(brand)} `;
  if (!value.startsWith(scheme)) return undefined;
  const [, accessKeyId, signature] = /^([^:\s]{1,128}):([A-Za-z0-9+/]{1,64}=?)$/.exec(value.slice(scheme.length)) ?? [];
  if (second !== undefined || accessKeyId === undefined || signature === undefined)
    throw refusal(ErrorReason.MALFORMED_AUTHORIZATION, {
      problem: `There must be one ${scheme}<access key id>:<signature>.`,
    });
  return { accessKeyId, signature };
};

/**
 * Which signatures of version 2 are accepted: those of links and forms, of links only such as end within a week, none,
 * or those in headers as well.
 */
export type VersionTwoRule = "accept" | "week" | "refuse" | "headers";

/** Throws UNSUPPORTED_ALGORITHM where no signature of version 2 is accepted. */
export const checkVersionTwoRule = (rule: VersionTwoRule | undefined): void => {
  if (rule === "refuse") throw unsupportedAlgorithm("Signature", "AWS");
};

/**
 * Throws EXPIRED, MALFORMED_SIGNATURE_QUERY for a link that ends later than the rule allows, and SIGNATURE_MISMATCH if
 * the signature is not of this request. `resource` is the path with its
 * bucket, percent escapes untouched: the host is not signed, so a bucket in it must be part of the resource.
 */
export const checkVersionTwoLink = (
  claim: VersionTwoClaim,
  secret: string,
  request: VersionTwoRequest & {
    readonly nowMs: number;
    /** Unset: `accept`. */
    readonly rule?: VersionTwoRule | undefined;
  },
): void => {
  const expiresMs = Number(claim.expires) * 1000;
  if (request.nowMs > expiresMs)
    throw refusal(ErrorReason.EXPIRED, {
      expires_seconds: claim.expires,
      expires: new Date(expiresMs).toISOString(),
      server_time: new Date(request.nowMs).toISOString(),
    });
  if (request.rule === "week" && expiresMs > request.nowMs + expiresSecondsMax * 1000)
    throw refusal(ErrorReason.MALFORMED_SIGNATURE_QUERY, {
      problem: `Expires must be at most ${expiresSecondsMax} seconds ahead.`,
    });
  // Signers put headers in the query, because the URL is the whole request.
  const inQuery = request.query.map(({ name, value }) => [name.toLowerCase(), bytesOf(value)] as const);
  const isCovered = request.query.every(
    ({ name }) =>
      isHarmless(name) ||
      name.toLowerCase().startsWith(request.brand.headerPrefix) ||
      ["Expires", "Signature", "content-md5", "content-type", keyParameter(request.brand)].includes(name),
  );
  checkSignature(claim, secret, { ...request, date: claim.expires, inQuery, isCovered });
};

/**
 * Throws SIGNATURE_MISMATCH if the signature in a header is not of this request. `date` is the value of the Date
 * header; empty if a header of the dialect has the time, which is signed with the others.
 */
export const checkVersionTwoHeader = (
  claim: VersionTwoSignature,
  secret: string,
  request: VersionTwoRequest & { readonly date: string },
): void => {
  const isCovered = request.query.every(({ name }) => isHarmless(name));
  checkSignature(claim, secret, { ...request, inQuery: [], isCovered });
};

/** A request with a signature of version 2. */
interface VersionTwoRequest {
  readonly method: string;
  readonly resource: string;
  readonly headers: HeaderIndex;
  readonly query: readonly QueryParameter[];
  readonly brand: SignatureBrand;
}

/** What is signed. */
interface Signed extends VersionTwoRequest {
  readonly date: string;
  /** Headers that are in the query, by their names in lower case. */
  readonly inQuery: ReadonlyArray<readonly [name: string, value: string]>;
  /** False: the query has something that the signature does not cover. */
  readonly isCovered: boolean;
}

const checkSignature = (claim: VersionTwoSignature, secret: string, signed: Signed): void => {
  const stringToSign = composeStringToSign(signed);
  if (signed.isCovered) {
    if (isSignatureOf(stringToSign, claim, secret)) return;
    // Some clients sign a bucket with a slash after it, and send it without.
    const resource = `${signed.resource}/`;
    const isBucket = !signed.resource.includes("/", 1);
    if (isBucket && isSignatureOf(composeStringToSign({ ...signed, resource }), claim, secret)) return;
  }
  throw refusal(ErrorReason.SIGNATURE_MISMATCH, {
    access_key_id: claim.accessKeyId,
    signature_provided: claim.signature,
    string_to_sign: stringToSign,
  });
};

/** A form of version 2, which boto3 still makes by default: it signs its policy and nothing else. */
export interface VersionTwoForm {
  readonly accessKeyId: string;
  /** Base64 of an HMAC-SHA-1 of the policy. */
  readonly signature: string;
}

/** The fields of a form that hold its signature of version 2, in lower case. */
export const versionTwoFields = (brand: SignatureBrand): readonly [key: string, signature: string] => [
  keyParameter(brand).toLowerCase(),
  "signature",
];

/** The signature of version 2 in the fields of a form; undefined if it has none. */
export const readVersionTwoForm = (
  fields: ReadonlyMap<string, string>,
  brand: SignatureBrand,
): VersionTwoForm | undefined => {
  const [accessKeyId, signature] = versionTwoFields(brand).map((name) => fields.get(name));
  return accessKeyId === undefined || signature === undefined ? undefined : { accessKeyId, signature };
};

/** Throws SIGNATURE_MISMATCH if the signature is not of the policy. */
export const checkVersionTwoForm = (form: VersionTwoForm, secret: string, policy: string): void => {
  if (isSignatureOf(policy, form, secret)) return;
  throw refusal(ErrorReason.SIGNATURE_MISMATCH, {
    access_key_id: form.accessKeyId,
    signature_provided: form.signature,
    string_to_sign: policy,
  });
};

const isSignatureOf = (
  stringToSign: string,
  { signature }: Pick<VersionTwoClaim, "signature">,
  secret: string,
): boolean => {
  const given = Buffer.from(signature.replaceAll(" ", "+"), "base64");
  const computed = createHmac("sha1", secret).update(stringToSign, "latin1").digest();
  return given.length === computed.length && timingSafeEqual(given, computed);
};

/** One character for each byte on the wire, as in headers and paths. */
const bytesOf = (value: string): string => Buffer.from(value, "utf8").toString("latin1");

const composeStringToSign = ({ method, resource, headers, query, brand, date, inQuery }: Signed): string => {
  const plain = (name: string): string =>
    headerValue(headers, name) ?? inQuery.find(([known]) => known === name)?.[1] ?? "";
  const lines = [...[...headers.keys()].map((name) => [name, headerValue(headers, name) ?? ""] as const), ...inQuery]
    .filter(([name]) => name.startsWith(brand.headerPrefix))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}:${value}\n`);
  const parameters = query
    .filter(({ name }) => signedParameters.has(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, value, raw }) => (value === "" && raw.endsWith("=") ? name : `${name}=${bytesOf(value)}`));
  const tail = parameters.length === 0 ? "" : `?${parameters.join("&")}`;
  return `${method}\n${plain("content-md5")}\n${plain("content-type")}\n${date}\n${lines.join("")}${resource}${tail}`;
};

/** Whether a parameter is signed, or does not choose another operation. */
const isHarmless = (name: string): boolean =>
  signedParameters.has(name) || harmlessParameters.has(name) || name === "x-id";
