import type { Clock } from "../clock/clock.ts";
import type { Ids } from "../ids/ids.ts";
import type { Logger } from "../log/log.ts";
import type { Store } from "../store/store.ts";
import type { Reader } from "../store/transaction.ts";
import type { JobHandler, JobPolicy } from "./job.ts";
import type { JobTables } from "./job-tables.ts";

/** The bounds of the jobs that run at the same time. */
export interface PoolBounds {
  readonly concurrency: number;
  /** Runs of one owner. */
  readonly concurrencyPerOwner: number;
  /**
   * Runs of one owner that have ended and whose end is being written, which hold no place of the owner: its next
   * jobs need not wait for the disk. They hold one of the pool. Unset: 0.
   */
  readonly endingPerOwner?: number;
  /** Whether groups leave each other places, as `GroupRooms` tells. Unset: one may have all. */
  readonly sharesPlaces?: boolean;
  /** Jobs that one cycle takes, and so many ends of runs that it writes. Jobs of all pools wait for it. Unset: 256. */
  readonly batchMax?: number;
}

/** The pool in which an owner's jobs run, and the group of owners with which it shares its turns. */
export interface OwnerPlace {
  readonly pool: string;
  readonly group: string;
}

/** How many jobs an owner may start now. */
export interface OwnerRoom {
  readonly count: number;
  /**
   * When it may start more than these, in milliseconds since 1970; infinite: when a run of it has ended. Must not be
   * infinite if the count is 0 and no job of the owner runs.
   */
  readonly againMs: number;
}

/** Decides when owners may start jobs. Jobs of an owner that may not stay where they are, untried. */
export interface OwnerGate {
  /** Changes nothing: the transaction that takes the jobs may run again. */
  roomOf(reader: Reader, owner: string, running: number, nowMs: number): Promise<OwnerRoom> | OwnerRoom;
  /** The same without a read, if that suffices now. Unset: it never does. */
  roomNow?(owner: string, running: number, nowMs: number): OwnerRoom | undefined;
  /** A job of the owner begins. */
  begin(owner: string, nowMs: number): void;
}

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
  /** Pools by name, those first whose jobs are most urgent, in place of the two members before. Unset: one pool. */
  readonly pools?: Readonly<Record<string, PoolBounds>>;
  /**
   * The place of an owner: groups of a pool take turns, and so do the owners of a group. The pool of an owner may
   * change with each end of a run. Unset: all owners are in the one pool, and each is a group.
   */
  readonly placeOf?: (owner: string) => OwnerPlace;
  /** Unset: owners are limited by their pool only. */
  readonly gate?: OwnerGate;
  /** After this time another process may run the job of one that ended; longer runs renew it. Unset: 60,000. */
  readonly leaseMs?: number;
  /** Other processes run jobs of the same store. Unset: false; jobs leased before the start are taken over at once. */
  readonly isShared?: boolean;
  /** 0 <= x < 1, for jitter. Unset: Math.random. */
  readonly random?: () => number;
}
