import { LRUCache } from "lru-cache";

import type { Clock } from "../../kit/clock/clock.ts";
import type { RateState } from "../domain/rate-limit.ts";
import { reserveSlot } from "../domain/rate-limit.ts";

/** Destinations whose state is in memory; the state of the least recently used one is dropped first. */
const destinationsMax = 10_000;

/** Spaces the requests to each destination. The state is in memory only and is lost at a restart. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #states = new LRUCache<string, RateState>({ max: destinationsMax });

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.now();
  }

  /**
   * Returns "now" if a request may be sent now, otherwise the instant at which it may (milliseconds since 1970).
   * `slotMs` is the instant that was assigned to this request before; one from before the start of the process does not
   * count.
   */
  reserve(destination: string, perSecond: number, slotMs: number | undefined): "now" | number {
    const nowMs = this.#clock.now();
    if (slotMs !== undefined && slotMs >= this.#startedMs) return slotMs <= nowMs ? "now" : slotMs;
    const reserved = reserveSlot(this.#states.get(destination), perSecond, nowMs);
    this.#states.set(destination, reserved.state);
    return reserved.slotMs <= nowMs ? "now" : reserved.slotMs;
  }
}
