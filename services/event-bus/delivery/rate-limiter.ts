import { LRUCache } from "lru-cache";

import type { Clock } from "../../kit/clock/clock.ts";
import type { RateState } from "../domain/rate-limit.ts";
import { reserveSlot } from "../domain/rate-limit.ts";

/** Destinations whose state is kept; one that was not used for longest begins anew. */
const destinationsMax = 10_000;

/** Spaces the requests to each destination. The state is in memory; a restart begins anew. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #states = new LRUCache<string, RateState>({ max: destinationsMax });

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.now();
  }

  /**
   * Whether a request may be made now, or at which instant (milliseconds since 1970). `slotMs` is the instant that this
   * request was given before and has waited for; one given before the start of the process no longer counts.
   */
  take(destination: string, perSecond: number, slotMs: number | undefined): "now" | number {
    const nowMs = this.#clock.now();
    if (slotMs !== undefined && slotMs >= this.#startedMs) return slotMs <= nowMs ? "now" : slotMs;
    const reserved = reserveSlot(this.#states.get(destination), perSecond, nowMs);
    this.#states.set(destination, reserved.state);
    return reserved.slotMs <= nowMs ? "now" : reserved.slotMs;
  }
}
