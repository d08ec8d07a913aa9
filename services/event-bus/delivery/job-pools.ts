import { growingCache } from "../../kit/collections/growing-cache.ts";
import type { OwnerGate, OwnerPlace, OwnerRoom, PoolBounds } from "../../kit/jobs/jobs.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import { accountOfOwner, redriveOfOwner, targetOfOwner } from "../domain/delivery-owner.ts";
import { lettersNow } from "../domain/redrive-pace.ts";
import type { Limits } from "../limits.ts";
import { findRedrive, isRunning } from "../store/dead-letter-redrive.ts";
import type { Circuits } from "./circuits.ts";
import type { RateLimits } from "./rate-limits.ts";

/** Where the deliveries and the service's own jobs run, so that none of them can occupy the places of the others. */
export const jobPools = (
  limits: Pick<Limits, "runningDeliveriesMax" | "runningDeliveriesPerTargetMax" | "runningJobsMax">,
): Readonly<Record<PoolName, PoolBounds>> => {
  const deliveries = {
    concurrency: Math.ceil(limits.runningDeliveriesMax / 2),
    concurrencyPerOwner: limits.runningDeliveriesPerTargetMax,
    endingPerOwner: 16 * limits.runningDeliveriesPerTargetMax,
    sharesPlaces: true,
  };
  // Destinations that do not answer get their places in small steps, because all others wait for each step.
  const trial = { ...deliveries, batchMax: 16 };
  const own = { concurrency: limits.runningJobsMax, concurrencyPerOwner: Math.ceil(limits.runningJobsMax / 4) };
  const fanOuts = { concurrency: 1, concurrencyPerOwner: 1 };
  return { answering: deliveries, trial, authorizations: own, internal: own, fanOuts };
};

/**
 * `answering`: deliveries to destinations whose last attempt succeeded. `trial`: all other deliveries.
 * `authorizations`: token requests of connections. `internal`: schedules, replays, redrives and purges.
 * `fanOuts`: the enqueuing of deliveries of events that have many, one part at a time: all else waits for each.
 */
type PoolName = "answering" | "trial" | "authorizations" | "internal" | "fanOuts";

/** The parts of the name of an owner. */
interface OwnerParts {
  /** Undefined: it has no deliveries. */
  readonly target: string | undefined;
  readonly account: string;
}

/** The parts of the owners that were used last: each is asked for several times for each of its jobs. */
const parts = growingCache<string, OwnerParts>(10_000);

const ownerParts = (owner: string): OwnerParts => {
  let found = parts.get(owner);
  if (found === undefined) {
    found = { target: targetOfOwner(owner), account: accountOfOwner(owner) };
    parts.set(owner, found);
  }
  return found;
};

/** The pool of an owner's jobs; accounts take turns in each, then the destinations of an account. */
export const placeOfOwner =
  (circuits: Pick<Circuits, "isAnswering">): ((owner: string) => OwnerPlace) =>
  (owner) => {
    const { target, account: group } = ownerParts(owner);
    const place = (pool: PoolName): OwnerPlace => ({ pool, group });
    if (target !== undefined) return place(circuits.isAnswering(owner) ? "answering" : "trial");
    if (owner.startsWith("fan-out/")) return place("fanOuts");
    return place(owner.startsWith("connection/") ? "authorizations" : "internal");
  };

const unlimited = { count: Number.POSITIVE_INFINITY, againMs: Number.POSITIVE_INFINITY };

/**
 * Lets deliveries start as their destination's circuit and its rate limit allow, the steps of a redrive at its rate,
 * and all other jobs at once.
 */
export const deliveryGate = (
  store: Pick<Store, "findKept">,
  circuits: Pick<Circuits, "roomOf">,
  rates: RateLimits,
): OwnerGate => ({
  async roomOf(reader, owner, running, nowMs) {
    const { target } = ownerParts(owner);
    if (target === undefined) return roomOfRedrive(reader, owner, nowMs);
    const room = circuits.roomOf(owner, running, nowMs);
    if (room.count === 0) return room;
    const rate = await rates.roomOf(reader, target, nowMs);
    return rate !== undefined && rate.count < room.count ? rate : room;
  },
  roomNow(owner, running, nowMs) {
    const { target } = ownerParts(owner);
    if (target === undefined) return redriveOfOwner(owner) === undefined ? unlimited : undefined;
    const room = circuits.roomOf(owner, running, nowMs);
    if (room.count === 0) return room;
    const rate = rates.roomNow(store, target, nowMs);
    return rate === "unlimited" || (rate !== undefined && rate.count >= room.count) ? room : rate;
  },
  begin(owner, nowMs) {
    const { target } = ownerParts(owner);
    if (target !== undefined) rates.begin(target, nowMs);
  },
});

/** The room of an owner that has no deliveries. The step of a damaged redrive begins at once, and ends the redrive. */
const roomOfRedrive = async (reader: Reader, owner: string, nowMs: number): Promise<OwnerRoom> => {
  const named = redriveOfOwner(owner);
  const redrive = named && (await findRedrive(reader, named.account, named.name).catch(undefinedIfDamaged));
  return redrive === undefined || !isRunning(redrive) ? unlimited : lettersNow(redrive, nowMs);
};
