import type { JobDone } from "./job.ts";
import type { Ending } from "./job-counts.ts";
import type { PoolBounds } from "./job-options.ts";
import type { GiveBack } from "./job-lease.ts";
import { batchMaxDefault } from "./job-taking.ts";
import type { Running } from "./running-jobs.ts";

/** A run that has ended and whose end is not yet written. */
export interface Ended {
  readonly running: Running;
  /** Undefined: the job is done. */
  readonly back: GiveBack | undefined;
  /** How the run is counted once this is written. Undefined: not at all. */
  readonly ending: Ending | undefined;
  /** What is written with the end of a job that is done. Unset: nothing. */
  readonly apply?: JobDone["apply"];
}

/** The ends of runs that are to be written, by pool. */
export class EndedRuns {
  readonly #pools: ReadonlyMap<string, PoolBounds>;
  readonly #ended = new Map<string, Ended[]>();

  constructor(pools: ReadonlyMap<string, PoolBounds>) {
    this.#pools = pools;
    for (const pool of pools.keys()) this.#ended.set(pool, []);
  }

  get isEmpty(): boolean {
    for (const ends of this.#ended.values()) if (ends.length > 0) return false;
    return true;
  }

  add(ended: Ended): void {
    this.#ended.get(ended.running.pool)?.push(ended);
  }

  /** Removes the ends that the next cycle writes. */
  take(): Ended[] {
    return [...this.#ended].flatMap(([pool, ends]) =>
      ends.splice(0, this.#pools.get(pool)?.batchMax ?? batchMaxDefault),
    );
  }

  /** Puts back ends that were taken and not written; they come first again. */
  restore(taken: readonly Ended[]): void {
    for (const [pool, ends] of this.#ended) ends.unshift(...taken.filter(({ running }) => running.pool === pool));
  }
}
