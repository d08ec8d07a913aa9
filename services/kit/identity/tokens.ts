import type { KeyObject } from "node:crypto";

import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from "jose";
import type { JWTPayload } from "jose";
import { LRUCache } from "lru-cache";

import type { Clock } from "../clock/clock.ts";
import { isStillAhead } from "../clock/clock.ts";
import type { AuthType, Caller, SignatureVersion } from "./caller.ts";
import { isAccountId } from "./caller.ts";
import { areTooLargeToCarry, packPolicies, policiesDigest, unpackPolicies } from "./identity-policies.ts";
import type { KeyPair, PublicKeys } from "./key-files.ts";
import { keyId, readPublicKeys } from "./key-files.ts";
import { UnauthenticatedError } from "./unauthenticated-error.ts";

/** Issues the tokens with which one process calls the others. */
export interface Minter {
  /**
   * A token that names the caller, for calls of the audience: the process that is called, or several. The same caller
   * gets the same token until shortly before it expires. Identity policies of more than 8 KiB together are named by
   * their digest.
   */
  mint(caller: Caller, audience: string | readonly string[]): Promise<string>;
}

/** Verifies tokens. */
export interface Verifier {
  /** The token's caller; `issuer` is the process that signed it. Throws UnauthenticatedError. */
  verify(token: string): Promise<Caller>;
}

/** The lifetime of a token unless its minter sets another. */
export const tokenLifetimeMs = 5 * 60_000;

/** The longest life of a token; one that claims more is refused. */
export const tokenLifetimeMsMax = 15 * 60_000;

/** How far the clock of another machine may be ahead. */
const clockDifferenceMsMax = 5_000;

/** A verified token whose end is further ahead was made in the future: the clock was set back. */
const keptMsMax = tokenLifetimeMsMax + clockDifferenceMsMax;

const algorithm = "EdDSA";
/** Of 10 KiB of policies and 6 KiB of the session's, in base64, and the rest. */
const tokenBytesMax = 24 * 1024;
const cachedTokensMax = 10_000;
const reloadIntervalMs = 1_000;

interface MinterOptions {
  /** The key pair of this process; its name is the issuer. */
  readonly keyPair: Pick<KeyPair, "name" | "privateKey" | "publicKey">;
  readonly clock: Clock;
  /** At most 15 minutes. Unset: 5. */
  readonly lifetimeMs?: number;
}

/** Makes the minter of one process. Throws RangeError for a lifetime that no verifier accepts. */
export const createMinter = (options: MinterOptions): Minter => {
  const { keyPair, clock, lifetimeMs = tokenLifetimeMs } = options;
  if (lifetimeMs > tokenLifetimeMsMax) throw new RangeError(`a token lasts at most ${tokenLifetimeMsMax} ms`);
  // A fifth of the lifetime is left for the call itself and for clocks that differ.
  const renewalMs = lifetimeMs * 0.8;
  const kid = keyId(keyPair.publicKey);
  const minted = new LRUCache<string, { token: Promise<string>; renewAtMs: number }>({ max: cachedTokensMax });
  const sign = (caller: Caller, audience: string | readonly string[], nowSeconds: number): Promise<string> =>
    new SignJWT({ ...toClaims(caller) })
      .setProtectedHeader({ alg: algorithm, kid })
      .setIssuer(keyPair.name)
      .setAudience(typeof audience === "string" ? audience : [...audience])
      .setIssuedAt(nowSeconds)
      .setExpirationTime(nowSeconds + Math.floor(lifetimeMs / 1000))
      .sign(keyPair.privateKey);
  return {
    mint: (caller, audience) => {
      const nowMs = clock.now();
      const cacheKey = cacheKeyOf(caller, audience);
      const known = minted.get(cacheKey);
      if (known !== undefined && isStillAhead(known.renewAtMs, renewalMs, nowMs)) return known.token;
      const token = sign(caller, audience, Math.floor(nowMs / 1000));
      minted.set(cacheKey, { token, renewAtMs: nowMs + renewalMs });
      token.catch(() => minted.delete(cacheKey));
      return token;
    },
  };
};

interface VerifierOptions {
  /** The keys, or a directory of `<issuer>.public.pem` files, which is read again for an unknown issuer or key. */
  readonly publicKeys: string | PublicKeys;
  readonly clock: Clock;
  /** The process that is called: a token for another one is refused, so that no callee can use it elsewhere. */
  readonly audience: string | readonly string[];
  /**
   * The identity policies with this digest. Unset, or undefined for a digest: tokens that refer to them are refused.
   */
  readonly findPolicies?: FindPolicies;
}

/** Finds a list of identity policies by its digest. What it throws is the refusal of the token, which is not kept. */
type FindPolicies = (digest: string) => readonly string[] | undefined | Promise<readonly string[] | undefined>;

export const createVerifier = (options: VerifierOptions): Verifier => {
  const { clock } = options;
  const audience = typeof options.audience === "string" ? options.audience : [...options.audience];
  const verified = new LRUCache<string, { caller: Caller; expiresAtMs: number }>({ max: cachedTokensMax });
  const findKey = keyFinder(options.publicKeys, clock, () => verified.clear());
  const read = async (token: string): Promise<{ caller: Caller; expiresAtMs: number }> => {
    const key = await findKey(readKeyId(token));
    if (key === undefined) throw new UnauthenticatedError("untrusted");
    const { payload } = await jwtVerify(token, key.publicKey, {
      algorithms: [algorithm],
      issuer: key.issuer,
      audience,
      currentDate: new Date(clock.now()),
      requiredClaims: ["iat", "exp"],
    });
    checkLifetime(payload, clock.now());
    const policies = await policiesOf(payload, options.findPolicies);
    return { caller: fromClaims(payload, key.issuer, policies), expiresAtMs: (payload.exp ?? 0) * 1000 };
  };
  return {
    verify: async (token) => {
      const known = verified.get(token);
      if (known !== undefined) {
        if (isStillAhead(known.expiresAtMs, keptMsMax, clock.now())) return known.caller;
        verified.delete(token);
        throw new UnauthenticatedError("expired");
      }
      if (token.length > tokenBytesMax) throw new UnauthenticatedError("malformed");
      const fresh = await read(token).catch((error: unknown) => {
        throw toUnauthenticated(error);
      });
      verified.set(token, fresh);
      return fresh.caller;
    },
  };
};

/** Throws for a token that lives longer than any minter makes one, or that was made in the future. */
const checkLifetime = ({ iat = 0, exp = 0 }: JWTPayload, nowMs: number): void => {
  const isAhead = iat * 1000 > nowMs + clockDifferenceMsMax;
  if (isAhead || (exp - iat) * 1000 > tokenLifetimeMsMax) throw new UnauthenticatedError("untrusted");
};

interface IssuerKey {
  readonly issuer: string;
  readonly publicKey: KeyObject;
}

/** Finds keys by id. For an unknown id a directory is read again, at most once a second, whatever the calls. */
const keyFinder = (
  source: string | PublicKeys,
  clock: Clock,
  onChange: () => void,
): ((kid: string) => Promise<IssuerKey | undefined>) => {
  if (typeof source !== "string") {
    const known = byKeyId(source);
    return async (kid) => known.get(kid);
  }
  let known = new Map<string, IssuerKey>();
  let loadedAtMs = Number.NEGATIVE_INFINITY;
  let loading: Promise<void> | undefined;
  const load = async (): Promise<void> => {
    try {
      const next = byKeyId(await readPublicKeys(source));
      if ([...known.keys()].some((kid) => !next.has(kid))) onChange();
      known = next;
      loadedAtMs = clock.now();
    } finally {
      loading = undefined;
    }
  };
  return async (kid) => {
    if (!known.has(kid) && Math.abs(clock.now() - loadedAtMs) >= reloadIntervalMs) await (loading ??= load());
    return known.get(kid);
  };
};

const byKeyId = (keys: PublicKeys): Map<string, IssuerKey> =>
  new Map([...keys].map(([issuer, publicKey]) => [keyId(publicKey), { issuer, publicKey }]));

const readKeyId = (token: string): string => {
  const { alg, kid } = decodeProtectedHeader(token);
  if (alg !== algorithm || typeof kid !== "string") throw new UnauthenticatedError("malformed");
  return kid;
};

/** Policies count by their digests, which are known: writing them out would cost more than the rest of a call. */
const cacheKeyOf = (caller: Caller, audience: string | readonly string[]): string =>
  JSON.stringify([
    audience,
    caller.principalArn,
    caller.accountId,
    caller.isRoot,
    caller.isAnonymous,
    policiesDigest(caller.policies),
    caller.canonicalUserId,
    caller.isPreauthorized,
    caller.accessKeyId,
    caller.sourceIp,
    caller.isSecureTransport,
    caller.signatureVersion,
    caller.authType,
    caller.principalTags,
    caller.sessionPolicies && policiesDigest(caller.sessionPolicies),
    caller.tokenIssueTimeMs,
    caller.sourceIdentity,
    caller.transitiveTagKeys,
  ]);

/** The claims of a token about its caller. */
interface CallerClaims {
  readonly sub: string;
  readonly account: string;
  readonly root: boolean;
  readonly anonymous: boolean;
  /** Exactly one of these three is present, so that a reader of only some of them refuses the others. */
  readonly policies?: readonly string[];
  readonly policies_packed?: string;
  readonly policies_digest?: string;
  readonly canonical_user_id?: string;
  readonly preauthorized?: boolean;
  readonly access_key_id?: string;
  readonly source_ip?: string;
  readonly secure_transport?: boolean;
  readonly signature_version?: string;
  readonly auth_type?: string;
  readonly principal_tags?: Readonly<Record<string, string>>;
  /** At most one of these two. */
  readonly session_policies?: readonly string[];
  readonly session_policies_packed?: string;
  /** Milliseconds. */
  readonly token_issue_time?: number;
  readonly source_identity?: string;
  readonly transitive_tag_keys?: readonly string[];
}

const toClaims = (caller: Caller): CallerClaims => ({
  sub: caller.principalArn,
  account: caller.accountId,
  root: caller.isRoot,
  anonymous: caller.isAnonymous,
  ...policyClaims(caller.policies),
  ...(caller.canonicalUserId === undefined ? {} : { canonical_user_id: caller.canonicalUserId }),
  ...(caller.isPreauthorized === true ? { preauthorized: true } : {}),
  ...(caller.accessKeyId === undefined ? {} : { access_key_id: caller.accessKeyId }),
  ...(caller.sourceIp === undefined ? {} : { source_ip: caller.sourceIp }),
  ...(caller.isSecureTransport === undefined ? {} : { secure_transport: caller.isSecureTransport }),
  ...(caller.signatureVersion === undefined ? {} : { signature_version: caller.signatureVersion }),
  ...(caller.authType === undefined ? {} : { auth_type: caller.authType }),
  ...(caller.principalTags === undefined ? {} : { principal_tags: caller.principalTags }),
  ...(caller.sessionPolicies === undefined ? {} : sessionPolicyClaims(caller.sessionPolicies)),
  ...(caller.tokenIssueTimeMs === undefined ? {} : { token_issue_time: caller.tokenIssueTimeMs }),
  ...(caller.sourceIdentity === undefined ? {} : { source_identity: caller.sourceIdentity }),
  ...(caller.transitiveTagKeys === undefined ? {} : { transitive_tag_keys: caller.transitiveTagKeys }),
});

const policyClaims = (
  policies: readonly string[],
): Pick<CallerClaims, "policies" | "policies_packed" | "policies_digest"> => {
  if (areTooLargeToCarry(policies)) return { policies_digest: policiesDigest(policies) };
  const packed = packPolicies(policies);
  return packed === undefined ? { policies } : { policies_packed: packed };
};

const sessionPolicyClaims = (
  policies: readonly string[],
): Pick<CallerClaims, "session_policies" | "session_policies_packed"> => {
  const packed = packPolicies(policies);
  return packed === undefined ? { session_policies: policies } : { session_policies_packed: packed };
};

/** A signed token may come from a version that writes other claims, so their shapes are checked. */
const fromClaims = (payload: JWTPayload, issuer: string, policies: readonly string[]): Caller => {
  const { sub, account, root, anonymous, preauthorized } = payload;
  const { canonical_user_id: canonicalUserId, access_key_id: accessKeyId, source_ip: sourceIp } = payload;
  const isWellFormed =
    typeof sub === "string" &&
    typeof account === "string" &&
    typeof root === "boolean" &&
    typeof anonymous === "boolean" &&
    (preauthorized === undefined || preauthorized === true) &&
    isOptionalText(canonicalUserId) &&
    isOptionalText(accessKeyId) &&
    isOptionalText(sourceIp);
  if (!isWellFormed) throw new UnauthenticatedError("malformed");
  const isConsistent = anonymous ? account === "" && sub === "" && !root : isAccountId(account) && sub !== "";
  if (!isConsistent) throw new UnauthenticatedError("malformed");
  return {
    accountId: account,
    principalArn: sub,
    isRoot: root,
    isAnonymous: anonymous,
    policies,
    issuer,
    ...(canonicalUserId === undefined ? {} : { canonicalUserId }),
    ...(preauthorized === undefined ? {} : { isPreauthorized: true }),
    ...(accessKeyId === undefined ? {} : { accessKeyId }),
    ...(sourceIp === undefined ? {} : { sourceIp }),
    ...originOf(payload),
    ...sessionOf(payload),
  };
};

const signatureVersions: readonly unknown[] = ["AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256", "AWS"];
const authTypes: readonly unknown[] = ["REST-HEADER", "REST-QUERY-STRING", "POST"];

/** How the original request was sent. */
const originOf = (payload: JWTPayload): Pick<Caller, "isSecureTransport" | "signatureVersion" | "authType"> => {
  const { secure_transport: isSecureTransport, signature_version: version, auth_type: authType } = payload;
  const isWellFormed =
    (isSecureTransport === undefined || typeof isSecureTransport === "boolean") &&
    (version === undefined || signatureVersions.includes(version)) &&
    (authType === undefined || authTypes.includes(authType));
  if (!isWellFormed) throw new UnauthenticatedError("malformed");
  return {
    ...(isSecureTransport === undefined ? {} : { isSecureTransport }),
    ...(version === undefined ? {} : { signatureVersion: version as SignatureVersion }),
    ...(authType === undefined ? {} : { authType: authType as AuthType }),
  };
};

type SessionMembers = Pick<
  Caller,
  "principalTags" | "sessionPolicies" | "tokenIssueTimeMs" | "sourceIdentity" | "transitiveTagKeys"
>;

/** The tags and the session of the principal. */
const sessionOf = (payload: JWTPayload): SessionMembers => {
  const { principal_tags: tags } = payload;
  const sessionPolicies = carriedPolicies(payload["session_policies"], payload["session_policies_packed"]);
  const { token_issue_time: tokenIssueTimeMs, source_identity: sourceIdentity } = payload;
  const { transitive_tag_keys: transitiveTagKeys } = payload;
  const isWellFormed =
    (tags === undefined || isTextMap(tags)) &&
    (sessionPolicies === undefined || isTexts(sessionPolicies)) &&
    (tokenIssueTimeMs === undefined || Number.isSafeInteger(tokenIssueTimeMs)) &&
    isOptionalText(sourceIdentity) &&
    (transitiveTagKeys === undefined || isTexts(transitiveTagKeys));
  if (!isWellFormed) throw new UnauthenticatedError("malformed");
  return {
    ...(tags === undefined ? {} : { principalTags: tags }),
    ...(sessionPolicies === undefined ? {} : { sessionPolicies }),
    ...(tokenIssueTimeMs === undefined ? {} : { tokenIssueTimeMs: tokenIssueTimeMs as number }),
    ...(sourceIdentity === undefined ? {} : { sourceIdentity }),
    ...(transitiveTagKeys === undefined ? {} : { transitiveTagKeys }),
  };
};

/** Refuses a caller whose policies are not found: with fewer policies it might be denied less. */
const policiesOf = async (payload: JWTPayload, findPolicies: FindPolicies | undefined): Promise<readonly string[]> => {
  const { policies_digest: digest } = payload;
  const policies = carriedPolicies(payload["policies"], payload["policies_packed"]);
  if (digest === undefined && isTexts(policies)) return policies;
  if (typeof digest !== "string" || policies !== undefined) throw new UnauthenticatedError("malformed");
  const found = await findPolicies?.(digest);
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

const isTextMap = (value: unknown): value is Record<string, string> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && isTexts(Object.values(value));

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === "string");

const toUnauthenticated = (error: unknown): unknown => {
  if (error instanceof errors.JWTExpired) return new UnauthenticatedError("expired");
  if (error instanceof errors.JWSSignatureVerificationFailed) return new UnauthenticatedError("untrusted");
  if (error instanceof errors.JWTClaimValidationFailed) return new UnauthenticatedError("untrusted");
  if (error instanceof errors.JOSEError || error instanceof TypeError) return new UnauthenticatedError("malformed");
  return error;
};
