import type { OwnerPlace, PoolBounds } from "../../kit/jobs/jobs.ts";
import { notificationPool } from "../events/notifications.ts";
import { limits } from "../limits.ts";

/** What the jobs of a pool do; `steps`: they send events to the event bus and end restores. */
type JobPool = "steps" | "copies" | "region-copies" | "indexes" | "forks" | typeof notificationPool;

/** The owner of an account's jobs of a pool. The owner of its steps is the account itself. */
export const jobOwner = (pool: Exclude<JobPool, "steps" | typeof notificationPool>, accountId: string): string =>
  `${pool}/${accountId}`;

/** The pool of an owner's jobs; accounts take turns in each, and of notifications then the destinations of each. */
export const placeOfOwner = (owner: string): OwnerPlace => {
  const [pool = "", account] = owner.split("/");
  return account === undefined ? { pool: "steps", group: owner } : { pool, group: account };
};

const bounds = (concurrency: number, concurrencyPerOwner: number): PoolBounds => ({ concurrency, concurrencyPerOwner });

/**
 * Where jobs run, so that none of one kind occupy the places of the others, and no account all places of a kind: copies
 * and forks of large buckets take long.
 */
export const jobPools: Readonly<Record<JobPool, PoolBounds>> = {
  steps: bounds(limits.runningStepsMax, limits.runningStepsPerAccountMax),
  copies: bounds(limits.runningCopiesMax, limits.runningCopiesPerAccountMax),
  "region-copies": bounds(limits.runningRegionCopiesMax, limits.runningRegionCopiesPerAccountMax),
  indexes: bounds(limits.runningIndexesMax, limits.runningIndexesPerAccountMax),
  forks: bounds(limits.runningForksMax, limits.runningForksPerAccountMax),
  [notificationPool]: bounds(limits.runningNotificationsMax, limits.runningNotificationsPerDestinationMax),
};
