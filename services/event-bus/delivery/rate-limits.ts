import { LRUCache } from "lru-cache";

import type { ApiDestinationRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { OwnerRoom } from "../../kit/jobs/jobs.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import type { IdentifiedResource } from "../domain/arns.ts";
import { parseIdentifiedArn } from "../domain/arns.ts";
import type { RateState } from "../domain/rate-limit.ts";
import { afterRequest, atRate, requestsNow } from "../domain/rate-limit.ts";
import { findKeptApiDestination, findSharedApiDestination } from "../store/api-destination.ts";

/** Destinations whose state is in memory; the state of the least recently used one is dropped first. */
const destinationsMax = 100_000;

/** A destination's requests, and the limit that applied to the last one. */
interface LimitState extends RateState {
  readonly named: IdentifiedResource;
  readonly perSecond: number;
}

/**
 * The rate limits of API destinations. A limit is read whenever a delivery is about to start, so a changed one acts on
 * all that wait. How many requests were sent is in memory only: after a restart a destination may get a burst.
 */
export class RateLimits {
  readonly #states = new LRUCache<string, LimitState>({
    // By size, because by number the cache would reserve the memory of all of them at once.
    maxSize: destinationsMax,
    sizeCalculation: () => 1,
  });

  /** How many deliveries to a target may start now, and when more; undefined: the target has no limit. */
  async roomOf(reader: Reader, targetArn: string, nowMs: number): Promise<OwnerRoom | undefined> {
    const named = this.#nameIn(targetArn);
    const destination = named && (await findSharedApiDestination(reader, named.account, named.name));
    return this.#roomAt(targetArn, named, destination, nowMs);
  }

  /** False if the target is of a kind that has no limits. */
  mayLimit(targetArn: string): boolean {
    return this.#nameIn(targetArn) !== undefined;
  }

  /** The same if the target has a limit that is in memory; otherwise undefined. */
  roomNow(store: Pick<Store, "findKept">, targetArn: string, nowMs: number): OwnerRoom | undefined {
    const named = this.#nameIn(targetArn);
    const destination = named && findKeptApiDestination(store, named.account, named.name);
    return this.#roomAt(targetArn, named, destination, nowMs);
  }

  #nameIn(targetArn: string): IdentifiedResource | undefined {
    return this.#states.get(targetArn)?.named ?? parseIdentifiedArn(targetArn, "api-destination");
  }

  /** Undefined if the destination of the name is not, or no longer, the one that the target names. */
  #roomAt(
    targetArn: string,
    named: IdentifiedResource | undefined,
    destination: Readonly<ApiDestinationRecord> | undefined,
    nowMs: number,
  ): OwnerRoom | undefined {
    if (destination === undefined || destination.id !== named?.id) return undefined;
    const perSecond = destination.rateLimit;
    let state = this.#states.get(targetArn);
    if (state?.perSecond !== perSecond) {
      state = { ...atRate(state, perSecond, nowMs), perSecond, named };
      this.#states.set(targetArn, state);
    }
    return requestsNow(state, perSecond, nowMs);
  }

  /** A delivery to a target starts. */
  begin(targetArn: string, nowMs: number): void {
    const state = this.#states.get(targetArn);
    if (state === undefined) return;
    const { perSecond, named } = state;
    this.#states.set(targetArn, { ...afterRequest(state, perSecond, nowMs), perSecond, named });
  }
}
