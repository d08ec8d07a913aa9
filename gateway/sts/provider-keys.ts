import type { CryptoKey, FlattenedJWSInput, JSONWebKeySet, JWSHeaderParameters } from "jose";
import { createLocalJWKSet, createRemoteJWKSet, customFetch } from "jose";
import { LRUCache } from "lru-cache";
import { Agent, fetch } from "undici";

import type { IdentityProvider } from "../../services/kit/accounts/accounts.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import { isStillAhead } from "../../services/kit/clock/clock.ts";
import { parseJson } from "../../services/kit/json/parse-json.ts";
import type { AddressGuard } from "../../services/kit/network/address-guard.ts";

/** Finds the key that signed a token, by the token's header. */
export type ProviderKeys = (header?: JWSHeaderParameters, token?: FlattenedJWSInput) => Promise<CryptoKey>;

/** Finds the public keys of an identity provider. Rejects with ProviderUnreachableError. */
export type FindProviderKeys = (provider: IdentityProvider) => Promise<ProviderKeys>;

/** The keys of an identity provider could not be read. The cause is for the log. */
class ProviderUnreachableError extends Error {
  override readonly name = "ProviderUnreachableError";

  constructor(cause: unknown) {
    super("the keys of the identity provider could not be read", { cause });
  }
}

const requestMsMax = 5_000;
const documentBytesMax = 256 * 1024;
/** How long a found address of keys is used, and the keys themselves. An unknown key reads them again before. */
const discoveryMsMax = 3_600_000;
const keysMsMax = 600_000;
const keysAgainMsMin = 30_000;
/** How long a provider is not asked again after a failure: anybody may show a token that makes us ask. */
const restMs = 5_000;

/** Accounts create and delete providers, so that there may have been any number of them. */
const discoveriesMax = 1_000;

/** What discovery finds of one provider. */
interface Discovery {
  readonly ask: () => Promise<ProviderKeys>;
  keys: Promise<ProviderKeys> | undefined;
  untilMs: number;
}

/**
 * Declared keys, or those that OpenID Connect discovery finds at the issuer: over addresses that the guard allows,
 * within 5 seconds, without redirects, kept for an hour (the address) and ten minutes (the keys). A failure is the
 * answer for the next 5 seconds.
 */
export const createProviderKeys = (
  guard: AddressGuard,
  clock: Clock,
): FindProviderKeys & { close(): Promise<void> } => {
  const agent = new Agent({ connect: { lookup: guard.lookup, timeout: requestMsMax } });
  const local = new WeakMap<object, ProviderKeys>();
  const discovered = new LRUCache<string, Discovery>({ max: discoveriesMax });

  /** A document of the provider, never more than its limit. */
  const read = async (url: URL, signal: AbortSignal): Promise<string> => {
    guard.check(url);
    const response = await fetch(url, {
      dispatcher: agent,
      redirect: "error",
      signal,
      headers: { accept: "application/json" },
    });
    if (!response.ok || response.body === null) throw new Error(`${url.href} answered ${response.status}`);
    const pieces: Uint8Array[] = [];
    let size = 0;
    for await (const piece of response.body as AsyncIterable<Uint8Array>) {
      size += piece.length;
      if (size > documentBytesMax) throw new Error(`${url.href} answered more than ${documentBytesMax} bytes`);
      pieces.push(piece);
    }
    return Buffer.concat(pieces).toString("utf8");
  };

  const discover = async (issuer: string): Promise<ProviderKeys> => {
    const address = new URL(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
    const document = parseJson(await read(address, AbortSignal.timeout(requestMsMax))) as {
      readonly issuer?: unknown;
      readonly jwks_uri?: unknown;
    } | null;
    if (document?.issuer !== issuer) throw new Error(`${address.href} is of another issuer`);
    if (typeof document.jwks_uri !== "string") throw new Error(`${address.href} names no keys`);
    const readKeys = restingAfterFailures(clock, read);
    return createRemoteJWKSet(new URL(document.jwks_uri), {
      timeoutDuration: requestMsMax,
      cooldownDuration: keysAgainMsMin,
      cacheMaxAge: keysMsMax,
      [customFetch]: async (url, { signal }) =>
        new Response(await readKeys(new URL(url), signal), { headers: { "content-type": "application/json" } }),
    });
  };

  const find: FindProviderKeys = async (provider) => {
    if (provider.keys !== undefined) return localKeys(local, provider.keys);
    const { issuer } = provider;
    const known = discovered.get(issuer) ?? {
      ask: restingAfterFailures(clock, () => discover(issuer)),
      keys: undefined,
      untilMs: 0,
    };
    discovered.set(issuer, known);
    const nowMs = clock.now();
    if (known.keys === undefined || !isStillAhead(known.untilMs, discoveryMsMax, nowMs)) {
      known.keys = known.ask();
      known.untilMs = nowMs + discoveryMsMax;
    }
    const { keys } = known;
    try {
      return await keys;
    } catch (error) {
      if (known.keys === keys) known.keys = undefined;
      throw new ProviderUnreachableError(error);
    }
  };
  return Object.assign(find, { close: () => agent.close() });
};

/** The same question, answered with its last failure for a while. */
const restingAfterFailures = <A extends readonly unknown[], T>(
  clock: Clock,
  ask: (...parameters: A) => Promise<T>,
): ((...parameters: A) => Promise<T>) => {
  let failed: { readonly error: unknown; readonly untilMs: number } | undefined;
  return async (...parameters) => {
    if (failed !== undefined && isStillAhead(failed.untilMs, restMs, clock.now())) throw failed.error;
    try {
      return await ask(...parameters);
    } catch (error) {
      failed = { error, untilMs: clock.now() + restMs };
      throw error;
    }
  };
};

const localKeys = (
  known: WeakMap<object, ProviderKeys>,
  declared: { readonly keys: readonly object[] },
): ProviderKeys => {
  let keys = known.get(declared);
  if (keys === undefined) {
    keys = createLocalJWKSet(declared as JSONWebKeySet);
    known.set(declared, keys);
  }
  return keys;
};
