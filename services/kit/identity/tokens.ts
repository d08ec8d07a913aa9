import type { KeyObject } from "node:crypto";
import { hash } from "node:crypto";

import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, SignJWT } from "jose";
import type { JWTPayload } from "jose";
import { LRUCache } from "lru-cache";

import type { Clock } from "../clock/clock.ts";
import { isStillAhead } from "../clock/clock.ts";
import type { Caller } from "./caller.ts";
import { carriedPoliciesOf, policiesDigest } from "./identity-policies.ts";
import type { KeyPair, PublicKeys, SignatureAlgorithm } from "./key-files.ts";
import { algorithmOf, keyId, readPublicKeys } from "./key-files.ts";
import type { FindPolicies } from "./token-claims.ts";
import { fromClaims, policiesOf, toClaims } from "./token-claims.ts";
import { ForgedTokenError, UnauthenticatedError } from "./unauthenticated-error.ts";

/** Issues the tokens with which one process calls the others. */
export interface Minter {
  /**
   * A token that names the caller, for calls of the audience: the process that is called, or several. The same caller
   * gets the same token until shortly before it expires. Identity policies of more than 8 KiB together, a boundary
   * included, are named by their digest.
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

/** Of 10 KiB of policies and 6 KiB of the session's, in base64, and the rest. */
export const tokenBytesMax = 24 * 1024;
const cachedTokensMax = 10_000;
/** Characters of cached tokens, and of what they are found by or say. */
const cachedCharactersMax = 32 * 1024 * 1024;
/**
 * What so many characters count in a cache: at least their share of all, if it has the most tokens. A cache that is
 * told the number of its entries would take the memory of all of them at once.
 */
const sizeOf = (characters: number): number => Math.max(characters, Math.ceil(cachedCharactersMax / cachedTokensMax));
/** Tokens with a wrong signature that are remembered by their digests. */
const forgedTokensMax = 1_000;

const reloadIntervalMs = 1_000;

/** A key pair that signs tokens; its name is the issuer. */
export type TokenKeyPair = Pick<KeyPair, "name" | "privateKey" | "publicKey">;

/** What a token says next to its caller. */
interface TokenTerms {
  readonly audience: string | readonly string[];
  readonly issuedSeconds: number;
  readonly lifetimeSeconds: number;
  /** Claims that nobody here reads. Unset: none. */
  readonly furtherClaims?: JWTPayload;
}

/** Signs a token about a caller. Throws RangeError for a lifetime that no verifier accepts. */
export const signToken = async (
  keyPair: TokenKeyPair,
  caller: Caller,
  { audience, issuedSeconds, lifetimeSeconds, furtherClaims = {} }: TokenTerms,
): Promise<string> => {
  assertLifetime(lifetimeSeconds * 1000);
  const alg = algorithmOf(keyPair.publicKey);
  if (alg === undefined) throw new Error(`${keyPair.name} has a key with which no token is signed`);
  return new SignJWT({ ...furtherClaims, ...toClaims(caller) })
    .setProtectedHeader({ alg, kid: keyId(keyPair.publicKey) })
    .setIssuer(keyPair.name)
    .setAudience(typeof audience === "string" ? audience : [...audience])
    .setIssuedAt(issuedSeconds)
    .setExpirationTime(issuedSeconds + lifetimeSeconds)
    .sign(keyPair.privateKey);
};

const assertLifetime = (lifetimeMs: number): void => {
  if (lifetimeMs > tokenLifetimeMsMax) throw new RangeError(`a token lasts at most ${tokenLifetimeMsMax} ms`);
};

interface MinterOptions {
  /** The key pair of this process. */
  readonly keyPair: TokenKeyPair;
  readonly clock: Clock;
  /** At most 15 minutes. Unset: 5. */
  readonly lifetimeMs?: number;
}

/** Makes the minter of one process. Throws RangeError for a lifetime that no verifier accepts. */
export const createMinter = (options: MinterOptions): Minter => {
  const { keyPair, clock, lifetimeMs = tokenLifetimeMs } = options;
  assertLifetime(lifetimeMs);
  // A fifth of the lifetime is left for the call itself and for clocks that differ.
  const renewalMs = lifetimeMs * 0.8;
  const minted = new LRUCache<string, MintedToken>({ maxSize: cachedCharactersMax });
  // Mostly a call has the caller of the one before, and to compare costs less than to write a key and to find it.
  let last: { readonly members: readonly unknown[]; readonly minted: MintedToken } | undefined;
  return {
    mint: (caller, audience) => {
      const nowMs = clock.now();
      const isFresh = ({ renewAtMs }: MintedToken): boolean => isStillAhead(renewAtMs, renewalMs, nowMs);
      const members = tokenMembers(caller, audience);
      if (last !== undefined && areSame(members, last.members) && isFresh(last.minted)) return last.minted.token;
      const cacheKey = JSON.stringify(members);
      let found = minted.get(cacheKey);
      if (found === undefined || !isFresh(found)) {
        const token = signToken(keyPair, caller, {
          audience,
          issuedSeconds: Math.floor(nowMs / 1000),
          lifetimeSeconds: Math.floor(lifetimeMs / 1000),
        });
        found = { token, renewAtMs: nowMs + renewalMs };
        minted.set(cacheKey, found, { size: sizeOf(cacheKey.length + carriedLengthOf(caller)) });
        token.catch(() => {
          minted.delete(cacheKey);
          last = undefined;
        });
      }
      last = { members, minted: found };
      return found.token;
    },
  };
};

interface MintedToken {
  readonly token: Promise<string>;
  readonly renewAtMs: number;
}

/** About the characters of a token. */
const carriedLengthOf = (caller: Caller): number => {
  const all = [...carriedPoliciesOf(caller), ...(caller.sessionPolicies ?? [])];
  const sum = all.reduce((length, policy) => length + policy.length, 0);
  return Math.min(tokenBytesMax, sum);
};

const areSame = (one: readonly unknown[], other: readonly unknown[]): boolean => {
  for (let at = 0; at < one.length; at += 1) if (one[at] !== other[at]) return false;
  return true;
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

export const createVerifier = (options: VerifierOptions): Verifier => {
  const { clock } = options;
  const audience = typeof options.audience === "string" ? options.audience : [...options.audience];
  const verified = new LRUCache<string, { caller: Caller; expiresAtMs: number }>({ maxSize: cachedCharactersMax });
  const forged = new LRUCache<string, true>({ max: forgedTokensMax });
  const findKey = keyFinder(options.publicKeys, clock, () => verified.clear());
  const read = async (token: string): Promise<{ caller: Caller; expiresAtMs: number }> => {
    const { alg, kid } = readHeader(token);
    const key = await findKey(kid);
    // The algorithm is the key's: what the token says of it is compared and never followed.
    if (key === undefined || key.algorithm !== alg) throw new UnauthenticatedError("untrusted");
    // Verifying a signature of ES384 takes more than all else, so what can be refused without it is.
    checkTerms(decodeJwt(token), { issuer: key.issuer, audience, nowMs: clock.now() });
    const digest = hash("sha256", token, "base64");
    if (forged.has(digest)) throw new UnauthenticatedError("untrusted");
    const { payload } = await jwtVerify(token, key.publicKey, {
      algorithms: [key.algorithm],
      issuer: key.issuer,
      audience,
      currentDate: new Date(clock.now()),
      requiredClaims: ["iat", "exp"],
    }).catch((error: unknown) => {
      // A key id is made of the key, so no other key will ever fit the token.
      if (error instanceof errors.JWSSignatureVerificationFailed) forged.set(digest, true);
      throw error;
    });
    const own = await policiesOf(payload, options.findPolicies);
    return { caller: fromClaims(payload, key.issuer, own), expiresAtMs: (payload.exp ?? 0) * 1000 };
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
      // What it says takes as much as the token itself.
      verified.set(token, fresh, { size: sizeOf(2 * token.length) });
      return fresh.caller;
    },
  };
};

interface ExpectedTerms {
  readonly issuer: string;
  readonly audience: string | readonly string[];
  readonly nowMs: number;
}

/**
 * Throws for a token of another issuer or for other processes, one whose time has passed, that lives longer than any
 * minter makes one, or that was made in the future.
 */
const checkTerms = (claims: JWTPayload, { issuer, audience, nowMs }: ExpectedTerms): void => {
  const { iss, aud = [], iat, exp } = claims;
  if (iss !== issuer || typeof iat !== "number" || typeof exp !== "number") throw new UnauthenticatedError("untrusted");
  if (![audience].flat().some((name) => [aud].flat().includes(name))) throw new UnauthenticatedError("audience");
  if (exp <= Math.floor(nowMs / 1000)) throw new UnauthenticatedError("expired");
  const isAhead = iat * 1000 > nowMs + clockDifferenceMsMax;
  if (isAhead || (exp - iat) * 1000 > tokenLifetimeMsMax) throw new UnauthenticatedError("untrusted");
};

interface IssuerKey {
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly algorithm: SignatureAlgorithm;
}

/**
 * Finds keys by id. For an unknown id a directory is read again, at most once a second, whatever the calls. Throws what
 * the last reading did.
 */
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
  let last: Promise<void> = Promise.resolve();
  const load = async (): Promise<void> => {
    const next = byKeyId(await readPublicKeys(source));
    if ([...known.keys()].some((kid) => !next.has(kid))) onChange();
    known = next;
  };
  return async (kid) => {
    if (known.has(kid)) return known.get(kid);
    if (loading === undefined && Math.abs(clock.now() - loadedAtMs) >= reloadIntervalMs) {
      loadedAtMs = clock.now();
      last = loading = load().finally(() => (loading = undefined));
    }
    await last;
    return known.get(kid);
  };
};

const byKeyId = (keys: PublicKeys): Map<string, IssuerKey> =>
  new Map(
    [...keys].flatMap(([issuer, publicKey]) => {
      const algorithm = algorithmOf(publicKey);
      return algorithm === undefined ? [] : [[keyId(publicKey), { issuer, publicKey, algorithm }]];
    }),
  );

const readHeader = (token: string): { readonly alg: string; readonly kid: string } => {
  const { alg, kid } = decodeProtectedHeader(token);
  if (alg === undefined || !algorithms.has(alg) || typeof kid !== "string") throw new UnauthenticatedError("malformed");
  return { alg, kid };
};

const algorithms: ReadonlySet<string> = new Set<SignatureAlgorithm>(["EdDSA", "ES384"]);

/**
 * All that a token says. Policies count by their digests, which are known: writing them out would cost more than the
 * rest of a call.
 */
const tokenMembers = (caller: Caller, audience: string | readonly string[]): readonly unknown[] => [
  audience,
  caller.principalArn,
  caller.rolePath,
  caller.federatedBy,
  caller.accountId,
  caller.isRoot,
  caller.isAnonymous,
  policiesDigest(carriedPoliciesOf(caller)),
  caller.permissionsBoundary !== undefined,
  caller.canonicalUserId,
  caller.isPreauthorized,
  caller.accessKeyId,
  caller.isTokenBorne,
  caller.sourceIp,
  caller.isSecureTransport,
  caller.tlsVersion,
  caller.signatureVersion,
  caller.authType,
  caller.principalTags,
  caller.sessionPolicies && policiesDigest(caller.sessionPolicies),
  caller.tokenIssueTimeMs,
  caller.sessionEndMs,
  caller.sourceIdentity,
  caller.transitiveTagKeys,
  caller.service,
];

const toUnauthenticated = (error: unknown): unknown => {
  if (error instanceof errors.JWTExpired) return new UnauthenticatedError("expired");
  if (error instanceof errors.JWSSignatureVerificationFailed) return new ForgedTokenError();
  if (error instanceof errors.JWTClaimValidationFailed)
    return new UnauthenticatedError(error.claim === "aud" ? "audience" : "untrusted");
  if (error instanceof errors.JOSEError || error instanceof TypeError) return new UnauthenticatedError("malformed");
  return error;
};
