import { isIPv6 } from "node:net";

import type { Clock } from "../clock/clock.ts";
import { isStillAhead } from "../clock/clock.ts";
import { growingCache } from "../collections/growing-cache.ts";
import type { Connection } from "../identity/connection.ts";
import { remoteAddressOf } from "../identity/connection.ts";

/** How long floods are counted together, and how long a peer is shut out after its last one. */
const periodMs = 60_000;

/** How long a caller that has proved itself keeps its address from being shut out. */
const provenMs = 10 * periodMs;

/** Forged tokens of one connection, each of which takes as long to verify as ten calls. */
const forgedTokensMax = 32;

/**
 * So many streams that the connections of one address reset are a flood, also of connections that are not dropped: the
 * platform drops one after some 1,200, of which each takes up to 40 µs, and many may be open at the same time.
 */
const resetsOfFlood = 400;

/** Addresses of each kind that are known; of more, those are forgotten that were met longest ago. */
const addressesMax = 10_000;

interface Floods {
  readonly sinceMs: number;
  count: number;
  /** Until when the peer is shut out. Unset: it is not. */
  outUntilMs?: number;
}

/**
 * The addresses whose connections flood, and mostly were dropped for it. To drop a connection is not enough: the next
 * one may do as much work again. An address above the limit is shut out for a minute, unless a caller has proved itself
 * from there lately: other services may have the same address as the one that floods.
 */
export class FloodingPeers {
  readonly #floodsMax: number;
  readonly #clock: Clock;
  readonly #isSpared: (address: string) => boolean;
  readonly #floods = growingCache<string, Floods>(addressesMax);
  /** Resets of each address since they were last a flood. */
  readonly #resets = growingCache<string, number>(addressesMax);
  readonly #provenAtMs = growingCache<string, number>(addressesMax);
  /** When a caller was noted last on each connection, so that not each of its calls has to find its address. */
  readonly #notedAtMs = new WeakMap<object, number>();

  /** Forged tokens of each connection on which no caller has proved itself. */
  readonly #forgedTokens = new WeakMap<object, number>();
  readonly #onOut: (() => void)[] = [];

  /**
   * `floodsPerMinuteMax`: the floods of one address in a minute before it is shut out. `isSpared`: whether it never is,
   * because it is that of a proxy, behind which everybody may be. Unset: none is spared.
   */
  constructor(floodsPerMinuteMax: number, clock: Clock, isSpared: (address: string) => boolean = () => false) {
    this.#floodsMax = floodsPerMinuteMax;
    this.#clock = clock;
    this.#isSpared = isSpared;
  }

  /** Is called when an address has been shut out. */
  whenOut(run: () => void): void {
    this.#onOut.push(run);
  }

  /** The address has flooded: mostly a connection of it was dropped for that. */
  noteFlood(address: string | undefined): void {
    if (address === undefined || this.#isSpared(address)) return;
    const nowMs = this.#clock.now();
    const peer = peerNetwork(address);
    const known = this.#floods.get(peer);
    const floods = known !== undefined && isStillAhead(endOf(known), periodMs, nowMs) ? known : begun(nowMs);
    floods.count += 1;
    this.#floods.set(peer, floods);
    if (floods.count <= this.#floodsMax || this.#isProven(peer, nowMs)) return;
    floods.outUntilMs = nowMs + periodMs;
    for (const run of this.#onOut) run();
  }

  /** A connection of the address has reset another stream, as no caller does that gives up calls now and then. */
  noteReset(address: string | undefined): void {
    if (address === undefined) return;
    const peer = peerNetwork(address);
    const count = (this.#resets.get(peer) ?? 0) + 1;
    this.#resets.set(peer, count % resetsOfFlood);
    if (count === resetsOfFlood) this.noteFlood(address);
  }

  /**
   * A token of the connection was forged. A connection with too many is dropped as one that floods, unless a valid one
   * was shown on it too: a proxy sends the calls of many callers on one connection.
   */
  noteForgery(connection: Connection): void {
    if (connection === undefined || this.#notedAtMs.has(connection)) return;
    const count = (this.#forgedTokens.get(connection) ?? 0) + 1;
    this.#forgedTokens.set(connection, count);
    if (count !== forgedTokensMax) return;
    const address = remoteAddressOf(connection);
    connection.destroy();
    this.noteFlood(address);
  }

  /** A caller on the connection has shown a valid token. */
  noteCaller(connection: Connection): void {
    if (connection === undefined) return;
    const nowMs = this.#clock.now();
    const notedAtMs = this.#notedAtMs.get(connection);
    if (notedAtMs !== undefined && isStillAhead(notedAtMs + periodMs, periodMs, nowMs)) return;
    this.#notedAtMs.set(connection, nowMs);
    const address = remoteAddressOf(connection);
    if (address !== undefined) this.#provenAtMs.set(peerNetwork(address), nowMs);
  }

  /** Whether the address of a connection has been shut out since it was opened, perhaps on another port. */
  refuses(connection: Connection): boolean {
    return this.#floods.size > 0 && this.isOut(remoteAddressOf(connection));
  }

  /** Whether connections of the address are not served now. */
  isOut(address: string | undefined): boolean {
    if (address === undefined || this.#floods.size === 0) return false;
    const peer = peerNetwork(address);
    const nowMs = this.#clock.now();
    const outUntilMs = this.#floods.get(peer)?.outUntilMs;
    return outUntilMs !== undefined && isStillAhead(outUntilMs, periodMs, nowMs) && !this.#isProven(peer, nowMs);
  }

  #isProven(peer: string, nowMs: number): boolean {
    const atMs = this.#provenAtMs.get(peer);
    return atMs !== undefined && isStillAhead(atMs + provenMs, provenMs, nowMs);
  }
}

const begun = (nowMs: number): Floods => ({ sinceMs: nowMs, count: 0 });

/** Until when further floods count together with the earlier ones. */
const endOf = ({ sinceMs, outUntilMs }: Floods): number => outUntilMs ?? sinceMs + periodMs;

/**
 * What one subscriber of the internet has: an IPv4 address, also one that is mapped into IPv6, or the first 64 bits of
 * an IPv6 address, of which he has all others.
 */
export const peerNetwork = (address: string): string => {
  if (!isIPv6(address)) return address;
  const four = /^::ffff:([0-9.]+)$/i.exec(address)?.[1];
  if (four !== undefined) return four;
  const [head = "", tail = ""] = address.split("::", 2);
  const groups = head === "" ? [] : head.split(":");
  const zeros = address.includes("::") ? 8 - groups.length - tail.split(":").length : 0;
  const all = [...groups, ...Array.from({ length: zeros }, () => "0"), ...tail.split(":")];
  return all.slice(0, 4).join(":");
};
