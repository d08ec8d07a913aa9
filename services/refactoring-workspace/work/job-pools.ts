import type { OwnerPlace, PoolBounds } from "../../kit/jobs/jobs.ts";
import { limits } from "../limits.ts";

/** What the jobs of a pool do: they check services, release network resources, or remove statements of policies. */
type JobPool = "checks" | "releases" | "permissions";

/** The owner of an account's jobs of a pool. */
export const jobOwner = (pool: JobPool, accountId: string): string => `${pool}/${accountId}`;

/** The pool of an owner's jobs; accounts take turns in each. */
export const placeOfOwner = (owner: string): OwnerPlace => {
  const [pool = "", account] = owner.split("/");
  // Jobs of earlier versions have an application or an environment as their owner.
  return account === undefined ? { pool: "checks", group: owner } : { pool, group: account };
};

const bounds = (concurrency: number, concurrencyPerOwner: number): PoolBounds => ({ concurrency, concurrencyPerOwner });

/**
 * Where jobs run, so that none of one kind occupy the places of the others, and no account all places of a kind: a
 * check of a service that does not answer takes a quarter of a minute.
 */
export const jobPools: Readonly<Record<JobPool, PoolBounds>> = {
  checks: bounds(limits.runningChecksMax, limits.runningChecksPerAccountMax),
  releases: bounds(limits.runningReleasesMax, limits.runningReleasesPerAccountMax),
  permissions: bounds(limits.runningPermissionsMax, limits.runningPermissionsPerAccountMax),
};
