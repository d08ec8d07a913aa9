import type { Clock } from "../clock/clock.ts";
import type { Ids } from "../ids/ids.ts";
import type { Logger } from "../log/log.ts";
import type { Store } from "../store/store.ts";
import type { JobHandler, JobPolicy } from "./job.ts";
import type { JobTables } from "./job-tables.ts";

/** The parts and bounds of a job queue. */
export interface JobsOptions {
  readonly store: Store;
  readonly tables: JobTables;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** The handler of each kind. */
  readonly handlers: Readonly<Record<string, JobHandler>>;
  /** How long each kind is tried; one policy for each handler. */
  readonly policy: Readonly<Record<string, JobPolicy>>;
  /** Runs at the same time. Unset: 64. */
  readonly concurrency?: number;
  /** Runs of one owner at the same time. Unset: `concurrency`. */
  readonly concurrencyPerOwner?: number;
  /** After this time another process may run the job of one that ended; longer runs renew it. Unset: 60,000. */
  readonly leaseMs?: number;
  /** Other processes run jobs of the same store. Unset: false; jobs leased before the start are taken over at once. */
  readonly isShared?: boolean;
  /** 0 <= x < 1, for jitter. Unset: Math.random. */
  readonly random?: () => number;
}
