import type { JWTPayload } from "jose";

import type { AuthType, Caller, SignatureVersion } from "./caller.ts";
import { isAccountId } from "./caller.ts";
import type { CallingService } from "./calling-service.ts";
import { readCallingService } from "./calling-service.ts";
import type { OwnPolicies } from "./identity-policies.ts";
import {
  areTooLargeToCarry,
  boundedPoliciesOf,
  carriedPoliciesOf,
  packPolicies,
  policiesDigest,
  unpackPolicies,
} from "./identity-policies.ts";
import { UnauthenticatedError } from "./unauthenticated-error.ts";

/** The claims of a token about its caller. */
interface CallerClaims {
  readonly sub: string;
  readonly account: string;
  readonly role_path?: string;
  readonly federated_by?: string;
  readonly root: boolean;
  readonly anonymous: boolean;
  /**
   * Exactly one of these six is present, so that a reader of only some of them refuses the others. The last three are
   * of a principal with a permissions boundary, which is the first of the list.
   */
  readonly policies?: readonly string[];
  readonly policies_packed?: string;
  readonly policies_digest?: string;
  readonly bounded_policies?: readonly string[];
  readonly bounded_policies_packed?: string;
  readonly bounded_policies_digest?: string;
  readonly canonical_user_id?: string;
  readonly preauthorized?: boolean;
  readonly access_key_id?: string;
  readonly token_borne?: boolean;
  readonly source_ip?: string;
  readonly secure_transport?: boolean;
  readonly tls_version?: string;
  readonly signature_version?: string;
  readonly auth_type?: string;
  readonly principal_tags?: Readonly<Record<string, string>>;
  /** At most one of these two. */
  readonly session_policies?: readonly string[];
  readonly session_policies_packed?: string;
  /** These two in milliseconds. */
  readonly token_issue_time?: number;
  readonly session_end?: number;
  readonly source_identity?: string;
  readonly transitive_tag_keys?: readonly string[];
  readonly service?: CallingService;
}

/** A caller as the claims of a token. */
export const toClaims = (caller: Caller): CallerClaims => ({
  sub: caller.principalArn,
  account: caller.accountId,
  ...(caller.rolePath === undefined ? {} : { role_path: caller.rolePath }),
  ...(caller.federatedBy === undefined ? {} : { federated_by: caller.federatedBy }),
  root: caller.isRoot,
  anonymous: caller.isAnonymous,
  ...policyClaims(caller),
  ...(caller.canonicalUserId === undefined ? {} : { canonical_user_id: caller.canonicalUserId }),
  ...(caller.isPreauthorized === true ? { preauthorized: true } : {}),
  ...(caller.accessKeyId === undefined ? {} : { access_key_id: caller.accessKeyId }),
  ...(caller.isTokenBorne === true ? { token_borne: true } : {}),
  ...(caller.sourceIp === undefined ? {} : { source_ip: caller.sourceIp }),
  ...(caller.isSecureTransport === undefined ? {} : { secure_transport: caller.isSecureTransport }),
  ...(caller.tlsVersion === undefined ? {} : { tls_version: caller.tlsVersion }),
  ...(caller.signatureVersion === undefined ? {} : { signature_version: caller.signatureVersion }),
  ...(caller.authType === undefined ? {} : { auth_type: caller.authType }),
  ...(caller.principalTags === undefined ? {} : { principal_tags: caller.principalTags }),
  ...(caller.sessionPolicies === undefined ? {} : sessionPolicyClaims(caller.sessionPolicies)),
  ...(caller.tokenIssueTimeMs === undefined ? {} : { token_issue_time: caller.tokenIssueTimeMs }),
  ...(caller.sessionEndMs === undefined ? {} : { session_end: caller.sessionEndMs }),
  ...(caller.sourceIdentity === undefined ? {} : { source_identity: caller.sourceIdentity }),
  ...(caller.transitiveTagKeys === undefined ? {} : { transitive_tag_keys: caller.transitiveTagKeys }),
  ...(caller.service === undefined ? {} : { service: caller.service }),
});

type PolicyClaims = Pick<CallerClaims, "policies" | "policies_packed" | "policies_digest">;
type BoundedClaims = Pick<CallerClaims, "bounded_policies" | "bounded_policies_packed" | "bounded_policies_digest">;

const policyClaims = (caller: Caller): PolicyClaims | BoundedClaims => {
  const all = carriedPoliciesOf(caller);
  const isBounded = caller.permissionsBoundary !== undefined;
  if (areTooLargeToCarry(all)) {
    const digest = policiesDigest(all);
    return isBounded ? { bounded_policies_digest: digest } : { policies_digest: digest };
  }
  const packed = packPolicies(all);
  if (packed === undefined) return isBounded ? { bounded_policies: all } : { policies: all };
  return isBounded ? { bounded_policies_packed: packed } : { policies_packed: packed };
};

const sessionPolicyClaims = (
  policies: readonly string[],
): Pick<CallerClaims, "session_policies" | "session_policies_packed"> => {
  const packed = packPolicies(policies);
  return packed === undefined ? { session_policies: policies } : { session_policies_packed: packed };
};

/**
 * The caller of a token with these policies and this boundary. A signed token may come from a version that writes other
 * claims, so their shapes are checked. Throws UnauthenticatedError.
 */
export const fromClaims = (payload: JWTPayload, issuer: string, own: OwnPolicies): Caller => {
  const { policies, permissionsBoundary } = own;
  const { sub, account, root, anonymous, preauthorized, token_borne: isTokenBorne } = payload;
  const {
    role_path: rolePath,
    federated_by: federatedBy,
    canonical_user_id: canonicalUserId,
    access_key_id: accessKeyId,
    source_ip: sourceIp,
  } = payload;
  const isWellFormed =
    typeof sub === "string" &&
    typeof account === "string" &&
    typeof root === "boolean" &&
    typeof anonymous === "boolean" &&
    (preauthorized === undefined || preauthorized === true) &&
    (isTokenBorne === undefined || isTokenBorne === true) &&
    isOptionalText(rolePath) &&
    isOptionalText(federatedBy) &&
    isOptionalText(canonicalUserId) &&
    isOptionalText(accessKeyId) &&
    isOptionalText(sourceIp);
  if (!isWellFormed) throw new UnauthenticatedError("malformed");
  const service = readCallingService(payload["service"]);
  const isNobodys = account === "" && !root && sub === (service?.name ?? "") && anonymous === (service === undefined);
  const isConsistent = anonymous || service !== undefined ? isNobodys : isAccountId(account) && sub !== "";
  const isLimitedOnly = permissionsBoundary !== undefined && (anonymous || root);
  if (!isConsistent || isLimitedOnly || (service !== undefined && carriedPoliciesOf(own).length > 0))
    throw new UnauthenticatedError("malformed");
  return {
    accountId: account,
    principalArn: sub,
    isRoot: root,
    isAnonymous: anonymous,
    policies,
    issuer,
    ...(permissionsBoundary === undefined ? {} : { permissionsBoundary }),
    ...(rolePath === undefined ? {} : { rolePath }),
    ...(federatedBy === undefined ? {} : { federatedBy }),
    ...(canonicalUserId === undefined ? {} : { canonicalUserId }),
    ...(preauthorized === undefined ? {} : { isPreauthorized: true }),
    ...(accessKeyId === undefined ? {} : { accessKeyId }),
    ...(isTokenBorne === undefined ? {} : { isTokenBorne: true }),
    ...(sourceIp === undefined ? {} : { sourceIp }),
    ...originOf(payload),
    ...sessionOf(payload),
    ...(service === undefined ? {} : { service }),
  };
};

const signatureVersions: readonly unknown[] = ["AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256", "AWS"];
const authTypes: readonly unknown[] = ["REST-HEADER", "REST-QUERY-STRING", "POST"];

/** How the original request was sent. */
const originOf = (
  payload: JWTPayload,
): Pick<Caller, "isSecureTransport" | "tlsVersion" | "signatureVersion" | "authType"> => {
  const { secure_transport: isSecureTransport, tls_version: tlsVersion } = payload;
  const { signature_version: version, auth_type: authType } = payload;
  const isWellFormed =
    (isSecureTransport === undefined || typeof isSecureTransport === "boolean") &&
    isOptionalText(tlsVersion) &&
    (version === undefined || signatureVersions.includes(version)) &&
    (authType === undefined || authTypes.includes(authType));
  if (!isWellFormed) throw new UnauthenticatedError("malformed");
  return {
    ...(isSecureTransport === undefined ? {} : { isSecureTransport }),
    ...(tlsVersion === undefined ? {} : { tlsVersion }),
    ...(version === undefined ? {} : { signatureVersion: version as SignatureVersion }),
    ...(authType === undefined ? {} : { authType: authType as AuthType }),
  };
};

type SessionMembers = Pick<
  Caller,
  "principalTags" | "sessionPolicies" | "tokenIssueTimeMs" | "sessionEndMs" | "sourceIdentity" | "transitiveTagKeys"
>;

/** The tags and the session of the principal. */
const sessionOf = (payload: JWTPayload): SessionMembers => {
  const { principal_tags: tags } = payload;
  const sessionPolicies = carriedPolicies(payload["session_policies"], payload["session_policies_packed"]);
  const { token_issue_time: tokenIssueTimeMs, session_end: sessionEndMs, source_identity: sourceIdentity } = payload;
  const { transitive_tag_keys: transitiveTagKeys } = payload;
  const isWellFormed =
    (tags === undefined || isTextMap(tags)) &&
    (sessionPolicies === undefined || isTexts(sessionPolicies)) &&
    isOptionalInstant(tokenIssueTimeMs) &&
    isOptionalInstant(sessionEndMs) &&
    isOptionalText(sourceIdentity) &&
    (transitiveTagKeys === undefined || isTexts(transitiveTagKeys));
  if (!isWellFormed) throw new UnauthenticatedError("malformed");
  return {
    ...(tags === undefined ? {} : { principalTags: tags }),
    ...(sessionPolicies === undefined ? {} : { sessionPolicies }),
    ...(tokenIssueTimeMs === undefined ? {} : { tokenIssueTimeMs }),
    ...(sessionEndMs === undefined ? {} : { sessionEndMs }),
    ...(sourceIdentity === undefined ? {} : { sourceIdentity }),
    ...(transitiveTagKeys === undefined ? {} : { transitiveTagKeys }),
  };
};

/**
 * Finds a list of identity policies, after a boundary if there is one, by its digest; the token names the principal
 * that has it by its ARN. What it throws is the refusal of the token, which is not kept.
 */
export type FindPolicies = (
  digest: string,
  principalArn: string,
) => readonly string[] | undefined | Promise<readonly string[] | undefined>;

/**
 * The identity policies of a token, and its boundary. Refuses a caller whose policies are not found: with fewer
 * policies it might be denied less. Throws UnauthenticatedError.
 */
export const policiesOf = async (payload: JWTPayload, findPolicies: FindPolicies | undefined): Promise<OwnPolicies> => {
  const { sub, federated_by: principalArn = sub } = payload;
  const { policies: plain, policies_packed: packed, policies_digest: digest } = payload;
  const bounded = boundedClaims.map((name) => payload[name]);
  const isBounded = bounded.some((claim) => claim !== undefined);
  if (isBounded && [plain, packed, digest].some((claim) => claim !== undefined))
    throw new UnauthenticatedError("malformed");
  const claims = isBounded ? bounded : [plain, packed, digest];
  const all = await listOf(claims, typeof principalArn === "string" ? principalArn : "", findPolicies);
  if (!isBounded) return { policies: all };
  const own = boundedPoliciesOf(all);
  if (own === undefined) throw new UnauthenticatedError("malformed");
  return own;
};

const boundedClaims = ["bounded_policies", "bounded_policies_packed", "bounded_policies_digest"] as const;

/** The one list that claims carry or name: as it is, packed, or by its digest. Throws UnauthenticatedError. */
const listOf = async (
  [plain, packed, digest]: readonly unknown[],
  principalArn: string,
  findPolicies: FindPolicies | undefined,
): Promise<readonly string[]> => {
  const policies = carriedPolicies(plain, packed);
  if (digest === undefined && isTexts(policies)) return policies;
  if (typeof digest !== "string" || policies !== undefined) throw new UnauthenticatedError("malformed");
  const found = await findPolicies?.(digest, principalArn);
  if (found === undefined) throw new UnauthenticatedError("unresolved");
  return found;
};

/** The policies of a token as they are or unpacked; undefined: it has neither claim. Throws for one with both. */
const carriedPolicies = (plain: unknown, packed: unknown): unknown => {
  if (packed === undefined) return plain;
  const policies = typeof packed === "string" && plain === undefined ? unpackPolicies(packed) : undefined;
  if (policies === undefined) throw new UnauthenticatedError("malformed");
  return policies;
};

const isOptionalText = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === "string";

const isOptionalInstant = (value: unknown): value is number | undefined =>
  value === undefined || Number.isSafeInteger(value);

const isTextMap = (value: unknown): value is Record<string, string> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && isTexts(Object.values(value));

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === "string");
