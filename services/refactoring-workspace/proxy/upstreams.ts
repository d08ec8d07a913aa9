import type { LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

import { LRUCache } from "lru-cache";
import type { Dispatcher } from "undici";
import { Pool } from "undici";

import type { Clock } from "../../kit/clock/clock.ts";
import type { AddressRules } from "./addresses.ts";
import { hostnameOf, resolveAllowed } from "./addresses.ts";

/** Bounds of the connections to services. Times are milliseconds. */
export interface UpstreamLimits {
  /** How long resolved addresses are used before the name is resolved again. */
  readonly resolveEveryMs: number;
  /** Connections to one origin; further requests wait for one. */
  readonly connectionsMax: number;
  /** Origins with open connections; the one unused longest is closed first. */
  readonly originsMax: number;
  readonly connectTimeoutMs: number;
  /** Longest wait for the first byte of an answer, counted from the last byte that the service took. */
  readonly firstByteTimeoutMs: number;
  /** Bytes of an answer's header. */
  readonly headerBytesMax: number;
}

export const defaultUpstreamLimits: UpstreamLimits = {
  resolveEveryMs: 60_000,
  connectionsMax: 512,
  originsMax: 1_000,
  connectTimeoutMs: 10_000,
  firstByteTimeoutMs: 60_000,
  headerBytesMax: 64 * 1024,
};

/** Connections to one origin whose name is resolved. */
export interface Upstream {
  readonly dispatcher: Dispatcher;
  /** Answers the resolved addresses, for connections outside the dispatcher. */
  readonly lookup: LookupFunction;
}

interface Entry extends Upstream {
  readonly pool: Pool;
  readonly addresses: string;
  /** Undefined for an address that needs no resolving. */
  resolvedAtMs: number | undefined;
}

/** How soon a name that could not be resolved again is tried once more; meanwhile its last addresses serve. */
const retryResolveMs = 5_000;

/**
 * The pools of connections to services, one for each origin. A pool connects only to the addresses that its name
 * resolved to; when the name resolves to others, a new pool takes over and the old one ends with its last request.
 */
export class Upstreams {
  readonly #rules: AddressRules;
  readonly #clock: Clock;
  readonly #limits: UpstreamLimits;
  readonly #entries: LRUCache<string, Entry>;
  readonly #resolving = new Map<string, Promise<Entry>>();

  constructor(rules: AddressRules, clock: Clock, limits: UpstreamLimits = defaultUpstreamLimits) {
    this.#rules = rules;
    this.#clock = clock;
    this.#limits = limits;
    this.#entries = new LRUCache({ max: limits.originsMax, dispose: (entry) => closeQuietly(entry.pool) });
  }

  /** The connections of an origin, at once when its addresses are fresh. Rejects as `resolveAllowed` does. */
  acquire(origin: string): Upstream | Promise<Upstream> {
    const entry = this.#entries.get(origin);
    if (entry !== undefined && this.#isFresh(entry)) return entry;
    let resolving = this.#resolving.get(origin);
    if (resolving === undefined) {
      resolving = this.#resolve(origin, entry).finally(() => this.#resolving.delete(origin));
      this.#resolving.set(origin, resolving);
    }
    return resolving;
  }

  /** Ends all connections at once. */
  async close(): Promise<void> {
    const pools = [...this.#entries.values()].map((entry) => entry.pool);
    await Promise.all(pools.map((pool) => pool.destroy()));
    this.#entries.clear();
  }

  #isFresh(entry: Entry): boolean {
    return entry.resolvedAtMs === undefined || this.#clock.now() - entry.resolvedAtMs < this.#limits.resolveEveryMs;
  }

  async #resolve(origin: string, known: Entry | undefined): Promise<Entry> {
    const hostname = hostnameOf(new URL(origin));
    let found: LookupAddress[];
    try {
      found = await resolveAllowed(hostname, this.#rules);
    } catch (error) {
      if (known === undefined || (error as Error).name === "AddressRefusedError") throw error;
      known.resolvedAtMs = this.#clock.now() - this.#limits.resolveEveryMs + retryResolveMs;
      return known;
    }
    const addresses = found
      .map((each) => each.address)
      .toSorted()
      .join(" ");
    const resolvedAtMs = addresses === hostname ? undefined : this.#clock.now();
    if (known?.addresses === addresses) {
      known.resolvedAtMs = resolvedAtMs;
      return known;
    }
    const entry = this.#open(origin, found, addresses, resolvedAtMs);
    this.#entries.set(origin, entry);
    return entry;
  }

  #open(origin: string, found: readonly LookupAddress[], addresses: string, resolvedAtMs: number | undefined): Entry {
    const lookup = pinnedLookup(found);
    const pool = new Pool(origin, {
      connections: this.#limits.connectionsMax,
      pipelining: 1,
      allowH2: false,
      connect: { lookup, timeout: this.#limits.connectTimeoutMs },
      headersTimeout: this.#limits.firstByteTimeoutMs,
      // An answer may pause as long as it likes: event streams do. Dead peers are found by TCP keep-alive.
      bodyTimeout: 0,
      maxHeaderSize: this.#limits.headerBytesMax,
    });
    return { pool, dispatcher: pool, lookup, addresses, resolvedAtMs };
  }
}

/** A lookup that answers the given addresses, each connection beginning with the next one. */
const pinnedLookup = (addresses: readonly LookupAddress[]): LookupFunction => {
  let next = 0;
  return (_hostname, options, callback) => {
    const start = next++ % addresses.length;
    const rotated = [...addresses.slice(start), ...addresses.slice(0, start)];
    const first = rotated[0] as LookupAddress;
    if (options.all === true) callback(null, rotated);
    else callback(null, first.address, first.family);
  };
};

const closeQuietly = (pool: Pool): void => {
  pool.close().catch(() => {});
};
