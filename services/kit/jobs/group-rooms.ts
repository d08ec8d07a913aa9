import type { PoolBounds } from "./job-options.ts";
import type { ReadyOwners } from "./ready-owners.ts";
import type { RunningJobs } from "./running-jobs.ts";

/**
 * How many jobs the groups of a pool may start, where they share its places: together with all that run, and with half
 * of its own, what a group starts must fit. So a group that is alone has two thirds of the places, however many owners
 * it has, and one that comes later has half of what is left at once, or at least one.
 */
export class GroupRooms {
  readonly #pools: ReadonlyMap<string, PoolBounds>;
  readonly #running: Pick<RunningJobs, "countIn" | "countOfGroup">;
  readonly #owners: Pick<ReadyOwners, "groupsOf">;

  constructor(
    pools: ReadonlyMap<string, PoolBounds>,
    running: Pick<RunningJobs, "countIn" | "countOfGroup">,
    owners: Pick<ReadyOwners, "groupsOf">,
  ) {
    this.#pools = pools;
    this.#running = running;
    this.#owners = owners;
  }

  /** The jobs that a group may start in a pool, once so many have begun there and so many of these are its own. */
  roomOf(pool: string, group: string, begun = 0, own = 0): number {
    const { concurrency, sharesPlaces } = this.#pools.get(pool) as PoolBounds;
    const left = Math.max(0, concurrency - this.#running.countIn(pool) - begun);
    if (sharesPlaces !== true) return left;
    const held = this.#running.countOfGroup(pool, group) + own;
    return Math.max(Math.floor((2 * left - held) / 3), held === 0 ? Math.min(left, 1) : 0);
  }

  /** Whether a group of the pool that may have ready jobs may start one. */
  hasAny(pool: string): boolean {
    for (const group of this.#owners.groupsOf(pool)) if (this.roomOf(pool, group) > 0) return true;
    return false;
  }
}
