import type { ApiDestinationRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { growingCache } from "../../kit/collections/growing-cache.ts";
import type { OwnerRoom } from "../../kit/jobs/jobs.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import type { IdentifiedResource } from "../domain/arns.ts";
import { parseIdentifiedArn } from "../domain/arns.ts";
import type { RateState } from "../domain/rate-limit.ts";
import { afterRequest, atRate, requestsNow } from "../domain/rate-limit.ts";
import { findKeptApiDestination, findSharedApiDestination } from "../store/api-destination.ts";

/** Destinations whose state is in memory; the state of the least recently used one is dropped first. */
const destinationsMax = 100_000;

/** A destination's requests, and the limit that applied to the last one. Changed in place, with each request. */
interface LimitState {
  nextMs: RateState["nextMs"];
  readonly named: IdentifiedResource;
  readonly perSecond: number;
}

/**
 * The rate limits of API destinations. A limit is read whenever a delivery is about to start, so a changed one acts on
 * all that wait. How many requests were sent is in memory only: after a restart a destination may get a burst.
 */
export class RateLimits {
  readonly #states = growingCache<string, LimitState>(destinationsMax);

  /**
   * How many deliveries to a target may start now, and when more; undefined: the target has no limit. To one whose
   * record is damaged each may start, and fails by itself: all jobs wait for this answer.
   */
  async roomOf(reader: Reader, targetArn: string, nowMs: number): Promise<OwnerRoom | undefined> {
    const named = nameIn(this.#states.get(targetArn), targetArn);
    const destination =
      named && (await findSharedApiDestination(reader, named.account, named.name).catch(undefinedIfDamaged));
    return this.#roomAt(targetArn, this.#states.get(targetArn), named, destination, nowMs);
  }

  /** The same if it is known without a read, also that the target has no limit; otherwise undefined. */
  roomNow(store: Pick<Store, "findKept">, targetArn: string, nowMs: number): OwnerRoom | "unlimited" | undefined {
    const state = this.#states.get(targetArn);
    const named = nameIn(state, targetArn);
    if (named === undefined) return "unlimited";
    const destination = findKeptApiDestination(store, named.account, named.name);
    return this.#roomAt(targetArn, state, named, destination, nowMs);
  }

  /** Undefined if the destination of the name is not, or no longer, the one that the target names. */
  #roomAt(
    targetArn: string,
    before: LimitState | undefined,
    named: IdentifiedResource | undefined,
    destination: Readonly<ApiDestinationRecord> | undefined,
    nowMs: number,
  ): OwnerRoom | undefined {
    if (named === undefined || destination?.id !== named.id) return undefined;
    const perSecond = destination.rateLimit;
    if (before?.perSecond === perSecond) return requestsNow(before, perSecond, nowMs);
    const state = { ...atRate(before, perSecond, nowMs), perSecond, named };
    this.#states.set(targetArn, state);
    return requestsNow(state, perSecond, nowMs);
  }

  /** A delivery to a target starts. */
  begin(targetArn: string, nowMs: number): void {
    const state = this.#states.get(targetArn);
    if (state !== undefined) state.nextMs = afterRequest(state, state.perSecond, nowMs).nextMs;
  }
}

/** The API destination that a target names; undefined: the target is of a kind that has no limits. */
const nameIn = (state: LimitState | undefined, targetArn: string): IdentifiedResource | undefined =>
  state?.named ?? parseIdentifiedArn(targetArn, "api-destination");
