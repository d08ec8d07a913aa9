import { setImmediate as turn } from "node:timers/promises";

import type { Store } from "../store/store.ts";
import type { GroupRooms } from "./group-rooms.ts";
import type { HandedJob, HandedJobs } from "./handed-jobs.ts";
import type { Job } from "./job.ts";
import type { Lease } from "./job-lease.ts";
import type { OwnerRoom, PoolBounds } from "./job-options.ts";
import type { OwnerRooms } from "./owner-rooms.ts";
import type { ReadyOwners } from "./ready-owners.ts";
import type { RunningJobs } from "./running-jobs.ts";

/** Jobs that start in one turn of the event loop. */
const startsMax = 64;

/** About the memory that a job needs besides its payload and its memo. */
const jobBytes = 512;

/**
 * The part of a pool's places that jobs may take out of turn while others wait in the store; of the rest, all owners
 * get their shares in turn.
 */
const poolShare = 0.75;

/** Jobs that may wait in memory for a place of their pool: each run that ends has their owners looked at. */
const waitingMax = 256;

/**
 * The jobs of an owner in the store after which others of it wait in memory. With fewer, an owner that has jobs all the
 * time would have one in the store all the time, and so all that follow would be stored and read as well.
 */
const backlogMax = 1_024;

/** The parts of a runner on which the handing depends. */
interface HandingParts {
  readonly store: Store;
  readonly pools: ReadonlyMap<string, PoolBounds>;
  readonly owners: ReadyOwners;
  readonly running: RunningJobs;
  readonly handed: HandedJobs;
  readonly rooms: OwnerRooms;
  readonly groups: GroupRooms;
  readonly nowMs: () => number;
  /** Whether jobs may start now, and all owners that have jobs in the store are known. */
  readonly mayStart: () => boolean;
  readonly knows: (kind: string) => boolean;
  readonly begin: (lease: Lease, pool: string) => void;
  /** A job is to be moved to those in the store. */
  readonly leave: (handed: HandedJob) => void;
}

/**
 * Starts jobs right after the commit of the transaction that enqueued them, without reading them: the jobs of an owner
 * without a backlog do not wait while those of others are read. They start only where the owner has room and its pool
 * has places to spare; otherwise they leave, and get their turn with all jobs in the store. After a short backlog of
 * their owner they wait until it has begun.
 */
export class JobHanding {
  readonly #parts: HandingParts;

  constructor(parts: HandingParts) {
    this.#parts = parts;
  }

  /** Whether a job that is ready may soon start from memory. */
  mayAdd(job: Pick<Job, "owner" | "kind" | "payload" | "memo">): boolean {
    const { pools, owners, handed, knows, mayStart } = this.#parts;
    // A pool whose jobs are taken in small steps does not start many in one.
    if (pools.get(owners.poolOf(job.owner))?.batchMax !== undefined) return false;
    if (!mayStart() || !knows(job.kind)) return false;
    if ((owners.backlogOf(job.owner)?.count ?? 0) > backlogMax || owners.isWaiting(job.owner)) return false;
    return handed.hasRoom(job.owner, bytesOf(job));
  }

  /** A new job starts as soon as it may, or leaves. */
  add(lease: Lease, readyMs: number): void {
    const { owners, handed, leave } = this.#parts;
    const job = { lease, readyMs, bytes: bytesOf(lease.job), after: owners.backlogOf(lease.job.owner) };
    if (!this.mayAdd(lease.job) || !handed.add(job)) leave(job);
  }

  /** Starts what may start now. */
  async step(): Promise<void> {
    const { store, pools, owners, handed, rooms, nowMs, mayStart } = this.#parts;
    if (handed.isEmpty || !mayStart()) return;
    // The jobs of a transaction are added one by one, and the first does not start before the last is here.
    await Promise.resolve();
    let left = startsMax;
    for (let before = Number.POSITIVE_INFINITY; left > 0 && left < before;) {
      before = left;
      for (const owner of handed.owners) {
        if (left <= 0) break;
        const pool = owners.poolOf(owner);
        const bounds = pools.get(pool) as PoolBounds;
        if (this.#isAfterOthers(owner, bounds)) continue;
        const room =
          rooms.roomNow(owner, bounds, nowMs()) ??
          (await store.read((reader) => rooms.roomOf(reader, owner, bounds, nowMs())));
        left -= this.#startOf(owner, pool, room, left);
      }
    }
    if (left > 0) return;
    await turn();
    await this.step();
  }

  /** Whether an owner's jobs go on waiting for those in the store. If that may be long, they leave. */
  #isAfterOthers(owner: string, { batchMax }: PoolBounds): boolean {
    const { owners, handed } = this.#parts;
    const backlog = owners.backlogOf(owner);
    // Jobs that came before this backlog began do not wait for it.
    if (backlog === undefined || handed.firstOf(owner)?.after !== backlog) return false;
    if (batchMax !== undefined || backlog.count > backlogMax || owners.isWaiting(owner)) this.#leave(owner);
    return true;
  }

  /** Starts at most `count` jobs of an owner in a pool; returns how many. */
  #startOf(owner: string, pool: string, room: OwnerRoom, count: number): number {
    const { pools, owners, running, groups, handed, nowMs, begin, leave } = this.#parts;
    const bounds = pools.get(pool) as PoolBounds;
    // Then nobody waits for the places that are kept for jobs in the store.
    const isAlone = !owners.hasAny(pool);
    const spare = Math.min(
      Math.ceil(bounds.concurrency * (isAlone ? 1 : poolShare)) - running.countIn(pool),
      groups.roomOf(pool, owners.groupOf(owner)),
    );
    const mayWait = isAlone && handed.count <= waitingMax;
    if (bounds.batchMax !== undefined || (spare <= 0 && !mayWait)) return this.#leave(owner);
    // A lone owner still gets all places, and none gets far ahead.
    const share = Math.ceil(spare / 4);
    const taken = handed.take(owner, Math.min(count, share, room.count));
    for (const each of taken)
      if (running.mayBegin(each.lease, nowMs())) begin(each.lease, pool);
      else leave(each);
    // Without an instant at which there is more room, the owner goes on when a run of it ends.
    if (taken.length === room.count && Number.isFinite(room.againMs)) this.#leave(owner);
    return taken.length;
  }

  #leave(owner: string): number {
    const { handed, leave } = this.#parts;
    for (const each of handed.take(owner, Number.POSITIVE_INFINITY)) leave(each);
    return 0;
  }
}

/** About the memory that a job needs. */
const bytesOf = ({ payload, memo }: Pick<Job, "payload" | "memo">): number =>
  jobBytes + payload.byteLength + (memo?.bytes ?? 0);
