import { LRUCache } from "lru-cache";
import type { Dispatcher } from "undici";
import { Pool } from "undici";

import type { Clock } from "../../kit/clock/clock.ts";
import { isStillAhead } from "../../kit/clock/clock.ts";
import { hostnameOf } from "../../kit/network/private-addresses.ts";
import type { Connector } from "./service-connections.ts";
import { connectorOn } from "./service-connections.ts";
import type { PathFinder, ServicePath } from "./service-network.ts";

/** Limits of the connections to services. Times are milliseconds. */
export interface UpstreamLimits {
  /** How long resolved addresses are used before the name is resolved again. */
  readonly resolveEveryMs: number;
  /** Connections to one origin; further requests wait for one. */
  readonly connectionsMax: number;
  /** Requests that wait for a connection to one origin; further ones get 503. */
  readonly waitingMax: number;
  /** Longest wait for a connection. */
  readonly waitMsMax: number;
  /** Origins with open connections; the least recently used is closed first. */
  readonly originsMax: number;
  readonly connectTimeoutMs: number;
  /** Longest wait for the first byte of an answer, after the last byte of the request. */
  readonly firstByteTimeoutMs: number;
  /** Largest header of an answer in bytes. */
  readonly headerBytesMax: number;
}

export const defaultUpstreamLimits: UpstreamLimits = {
  resolveEveryMs: 60_000,
  connectionsMax: 512,
  waitingMax: 10_000,
  waitMsMax: 30_000,
  originsMax: 1_000,
  connectTimeoutMs: 10_000,
  firstByteTimeoutMs: 60_000,
  headerBytesMax: 64 * 1024,
};

/** Connections to one origin whose name is resolved. */
export interface Upstream {
  readonly dispatcher: Dispatcher;
  /** Opens connections of its own, outside of the dispatcher. */
  readonly connect: Connector;
  readonly queue: ConnectionQueue;
}

/** The requests that wait for one of the connections to an origin. */
export interface ConnectionQueue {
  readonly waitMsMax: number;
  readonly waitingMax: number;
  waiting: number;
  /** Whether requests wait because all connections are in use, and not for a new one to be made. */
  readonly isFull: () => boolean;
}

/** The origin of a service, and the private link of its application. */
interface UpstreamTarget {
  readonly origin: string;
  readonly privateLink: string | undefined;
}

interface Entry extends Upstream {
  readonly pool: Pool;
  readonly path: ServicePath;
  /** The addresses of the path in a fixed order. */
  readonly addresses: string;
  /** From this instant on, the name is resolved again while requests continue. Infinite for an address. */
  refreshAtMs: number;
  /** From this instant on, requests wait until the name is resolved. */
  staleAtMs: number;
}

/** Delay until a name that could not be resolved is tried again; until then its last addresses are used. */
const retryResolveMs = 5_000;
/** A name in use is resolved again ahead of time, in this last share of the time that its addresses are used. */
const resolveAheadShare = 0.25;
/** How long a request waits until a name is resolved again before it uses the last addresses. */
const resolveWaitMs = 2_000;

/**
 * The pools of connections to services, one for each origin and private link. A pool connects only to the
 * addresses that its name resolved to; if the name resolves to others, or other authorities are trusted, a new pool
 * replaces it, and the old one ends with its last request.
 */
export class Upstreams {
  readonly #network: PathFinder;
  readonly #clock: Clock;
  readonly #limits: UpstreamLimits;
  readonly #entries: LRUCache<string, Entry>;
  readonly #resolving = new Map<string, Promise<Entry>>();

  constructor(network: PathFinder, clock: Clock, limits: UpstreamLimits = defaultUpstreamLimits) {
    this.#network = network;
    this.#clock = clock;
    this.#limits = limits;
    this.#entries = new LRUCache({ max: limits.originsMax, dispose: (entry) => closeQuietly(entry.pool) });
  }

  /**
   * The connections to an origin for applications with a private link, or without one: at once while its addresses are
   * fresh, else after its name is resolved. A name in use is resolved ahead of time, so that requests seldom wait for
   * it. Rejects as `ServiceNetwork.pathTo` does.
   */
  acquire(origin: string, privateLink?: string): Upstream | Promise<Upstream> {
    const key = privateLink === undefined ? origin : `${privateLink} ${origin}`;
    const entry = this.#entries.get(key);
    if (entry === undefined) return this.#resolveOnce(key, { origin, privateLink }, undefined);
    const nowMs = this.#clock.now();
    if (this.#isFresh(entry, nowMs)) return entry;
    const resolving = this.#resolveOnce(key, { origin, privateLink }, entry);
    if (!isStillAhead(entry.staleAtMs, this.#resolvedMsMax, nowMs)) return orAfter(resolving, resolveWaitMs, entry);
    // A request that needs the outcome resolves again and gets the same failure.
    resolving.catch(() => {});
    return entry;
  }

  /** Whether the name need not be resolved again. A clock that was set back ends this as well. */
  #isFresh({ refreshAtMs }: Entry, nowMs: number): boolean {
    return refreshAtMs === Number.POSITIVE_INFINITY || isStillAhead(refreshAtMs, this.#resolvedMsMax, nowMs);
  }

  /** The longest time for which resolved addresses are used. */
  get #resolvedMsMax(): number {
    return this.#limits.resolveEveryMs + retryResolveMs;
  }

  /** Ends all connections at once. */
  async close(): Promise<void> {
    const pools = [...this.#entries.values()].map((entry) => entry.pool);
    await Promise.all(pools.map((pool) => pool.destroy()));
    this.#entries.clear();
  }

  #resolveOnce(key: string, target: UpstreamTarget, known: Entry | undefined): Promise<Entry> {
    let resolving = this.#resolving.get(key);
    if (resolving === undefined) {
      resolving = this.#resolve(key, target, known).finally(() => this.#resolving.delete(key));
      this.#resolving.set(key, resolving);
    }
    return resolving;
  }

  async #resolve(key: string, target: UpstreamTarget, found: Entry | undefined): Promise<Entry> {
    const url = new URL(target.origin);
    // Meanwhile its connections may have been closed for those of another origin.
    const isKept = (): boolean => found !== undefined && this.#entries.peek(key) === found;
    let path: ServicePath;
    try {
      path = await this.#network.pathTo(url, target.privateLink);
    } catch (error) {
      const known = isKept() ? found : undefined;
      if (known === undefined || (error as Error).name === "AddressRefusedError") throw error;
      known.refreshAtMs = this.#clock.now() + retryResolveMs;
      known.staleAtMs = known.refreshAtMs + this.#limits.resolveEveryMs;
      return known;
    }
    const addresses = path.addresses
      .map((each) => each.address)
      .toSorted()
      .join(" ");
    const isAddress = addresses === hostnameOf(url);
    const staleAtMs = isAddress ? Infinity : this.#clock.now() + this.#limits.resolveEveryMs;
    const refreshAtMs = staleAtMs - (isAddress ? 0 : this.#limits.resolveEveryMs * resolveAheadShare);
    const known = isKept() ? found : undefined;
    if (known?.addresses === addresses && isSameWay(known.path, path))
      return Object.assign(known, { refreshAtMs, staleAtMs });
    const entry = { ...this.#open(target.origin, path), path, addresses, refreshAtMs, staleAtMs };
    this.#entries.set(key, entry);
    return entry;
  }

  #open(origin: string, path: ServicePath): Upstream & { readonly pool: Pool } {
    const connect = connectorOn(path, this.#limits.connectTimeoutMs);
    const pool = new Pool(origin, {
      connections: this.#limits.connectionsMax,
      pipelining: 1,
      allowH2: false,
      connect,
      headersTimeout: this.#limits.firstByteTimeoutMs,
      // An answer may pause for any time, as event streams do. Dead peers are detected by TCP keep-alive.
      bodyTimeout: 0,
      maxHeaderSize: this.#limits.headerBytesMax,
    });
    const { waitMsMax, waitingMax } = this.#limits;
    const isFull = () => pool.stats.queued > 0;
    return { pool, dispatcher: pool, connect, queue: { waitMsMax, waitingMax, waiting: 0, isFull } };
  }
}

const isSameWay = (one: ServicePath, other: ServicePath): boolean =>
  one.httpProxy === other.httpProxy && one.secureContext === other.secureContext;

/** The outcome of the promise, or the value if that takes too long. */
const orAfter = async <T>(promise: Promise<T>, limitMs: number, value: T): Promise<T> => {
  const { promise: late, resolve } = Promise.withResolvers<T>();
  const timer = setTimeout(() => resolve(value), limitMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
};

const closeQuietly = (pool: Pool): void => {
  pool.close().catch(() => {});
};
