import { StoreCorruptionError } from "../store/errors.ts";
import type { Transaction } from "../store/transaction.ts";
import type { Instants } from "./due-instants.ts";
import { earlierOf, never } from "./due-instants.ts";
import type { GroupRooms } from "./group-rooms.ts";
import { expiredReason } from "./job.ts";
import type { HandedJob } from "./handed-jobs.ts";
import type { JobsOptions, PoolBounds } from "./job-options.ts";
import type { Expired, JobQueue } from "./job-queue.ts";
import { nextInstants } from "./job-reads.ts";
import { JobTaking } from "./job-taking.ts";
import type { Ended } from "./ended-runs.ts";
import type { OwnerRooms } from "./owner-rooms.ts";
import type { ReadyOwners } from "./ready-owners.ts";
import type { Readied } from "./readied-jobs.ts";
import { endsAlone } from "./run-ends.ts";
import type { Running, RunningJobs } from "./running-jobs.ts";

/** The results of one cycle. */
export interface Cycle {
  readonly renewed: readonly Running[];
  readonly lost: readonly Running[];
  readonly expired: readonly Expired[];
  /** The jobs that this cycle made ready. */
  readonly readied: Readonly<Readied>;
  readonly untilMs: number;
  /** The first entries that remain in each table; undefined if the cycle did not read them. */
  readonly found: Instants | undefined;
  /** The earliest entries that the cycle itself added to each table. */
  readonly added: Instants;
}

/** What a cycle has moved from one queue to the next. */
type Moved = Pick<Cycle, "found" | "readied" | "expired">;

const unmoved: Moved = { found: undefined, readied: new Map(), expired: [] };

/** The number of jobs that one transaction moves from one queue to the next; jobs of all pools wait for it. */
const movedMax = 64;
/** The number of jobs that one transaction ends because of their age, each with writes of its policy. */
const expiredMax = 20;

/** The parts of a runner on which its cycles depend; a cycle only reads them. */
interface CycleParts {
  readonly runner: string;
  readonly leaseMs: number;
  readonly pools: ReadonlyMap<string, PoolBounds>;
  readonly owners: ReadyOwners;
  readonly running: RunningJobs;
  readonly rooms: OwnerRooms;
  readonly groups: GroupRooms;
}

/** What one cycle is to do. */
interface CycleFacts {
  readonly nowMs: number;
  /** Where the reads of each table begin. */
  readonly bounds: Instants;
  /** Something may be due or too old. */
  readonly isMoving: boolean;
  /** New jobs that are moved to the others, because they do not remain in memory. */
  readonly leaving: readonly HandedJob[];
  /** Jobs that another runner leased are made ready, whenever their leases end. */
  readonly mustReclaimAll: boolean;
}

/** The transactions of a runner: cycles, which write ends of runs and move jobs, and the taking of jobs. */
export class JobCycle {
  readonly #queue: JobQueue;
  readonly #options: Pick<JobsOptions, "policy" | "handlers" | "tables" | "log">;
  readonly #parts: CycleParts;
  /** Jobs too old to run for whose end a damaged record is needed. */
  readonly #alone = new Set<string>();

  constructor(
    queue: JobQueue,
    options: Pick<JobsOptions, "policy" | "handlers" | "tables" | "log">,
    parts: CycleParts,
  ) {
    this.#queue = queue;
    this.#options = options;
    this.#parts = parts;
  }

  /** The writes of one cycle. May run several times, so it changes nothing but its transaction. */
  async write(tx: Transaction, ended: readonly Ended[], facts: CycleFacts): Promise<Cycle> {
    const { nowMs } = facts;
    const untilMs = nowMs + this.#parts.leaseMs;
    const gone = new Set<Running>();
    let added = never;
    for (const { running, back, apply } of ended) {
      gone.add(running);
      if (back === undefined) {
        // Most ends read nothing, and waiting for them costs more than they do.
        const held = this.#queue.finish(tx, running.lease);
        const applied = (held === true || (await held)) && apply?.(tx);
        if (applied instanceof Promise) await applied;
      } else if ((await this.#queue.giveBack(tx, running.lease, back)) && !back.isReady)
        added = earlierOf(added, { scheduledMs: back.atMs });
      if (back !== undefined && running.lease.isNew) added = earlierOf(added, { expiringMs: running.lease.expiresMs });
    }
    for (const { lease } of facts.leaving)
      if ((await this.#queue.settle(tx, lease.job.id)) !== undefined)
        added = earlierOf(added, { expiringMs: lease.expiresMs });
    const { renewed, lost } = await this.#renew(tx, gone, nowMs, untilMs);
    const moved = facts.isMoving ? await this.#move(tx, facts) : unmoved;
    if (renewed.length > 0) added = earlierOf(added, { leasedMs: untilMs });
    return { renewed, lost, untilMs, ...moved, added };
  }

  /** Renews the leases of which less than half remains. */
  async #renew(tx: Transaction, gone: ReadonlySet<Running>, nowMs: number, untilMs: number) {
    const renewed: Running[] = [];
    const lost: Running[] = [];
    if (nowMs < this.#parts.running.renewMs) return { renewed, lost };
    for (const running of this.#parts.running) {
      if (gone.has(running) || running.untilMs - nowMs > this.#parts.leaseMs / 2) continue;
      const isHeld = await this.#queue.renew(tx, running.lease, untilMs);
      (isHeld ? renewed : lost).push(running);
    }
    return { renewed, lost };
  }

  /** Makes due jobs and jobs of ended leases ready, and ends those that are too old. */
  async #move(tx: Transaction, facts: CycleFacts): Promise<Moved> {
    const { bounds, mustReclaimAll } = facts;
    const readied: Readied = new Map();
    const exceptRunner = mustReclaimAll ? this.#parts.runner : undefined;
    const reclaimed = await this.#queue.reclaim(tx, facts, movedMax, readied, exceptRunner);
    await this.#queue.promote(tx, facts, movedMax, readied);
    const expired = await this.#queue.expire(tx, facts, expiredMax, this.#parts.running);
    for (const each of expired) await this.#giveUp(tx, each);
    const found = await nextInstants(this.#options.tables, tx.snapshot, bounds);
    // Leases of another runner are taken over before they end.
    if (mustReclaimAll && reclaimed === movedMax) return { found: { ...found, leasedMs: 0 }, readied, expired };
    return { found, readied, expired };
  }

  /**
   * Does what the kind of a job does when it is given up. Where a damaged record is needed for that, this cycle fails,
   * and the next one ends the job without it: it would hold up all others.
   */
  async #giveUp(tx: Transaction, { job, attempts }: Expired): Promise<void> {
    if (this.#alone.has(job.id)) {
      tx.afterCommit(() => this.#alone.delete(job.id));
      return;
    }
    try {
      await this.#options.policy[job.kind]?.onExhausted?.(tx, job, expiredReason, attempts);
    } catch (error) {
      if (error instanceof StoreCorruptionError) {
        this.#options.log.error({ err: error, id: job.id, kind: job.kind }, endsAlone);
        this.#alone.add(job.id);
      }
      throw error;
    }
  }

  /** Takes jobs, which in a queue of one process writes nothing. May run several times. */
  async take(tx: Transaction, nowMs: number): Promise<JobTaking> {
    const { runner, leaseMs, pools, owners, running, rooms, groups } = this.#parts;
    const taking = new JobTaking(this.#queue, tx, {
      runner,
      nowMs,
      untilMs: nowMs + leaseMs,
      running,
      pools,
      runningIn: (pool) => running.countIn(pool),
      linesOf: (pool) => owners.linesOf(pool),
      roomOfGroup: (pool, group, begun, own) => groups.roomOf(pool, group, begun, own),
      fromOf: (owner) => owners.fromOf(owner),
      roomOf: (owner, bounds) => rooms.roomOf(tx.snapshot, owner, bounds, nowMs),
      knows: (kind) => Object.hasOwn(this.#options.handlers, kind),
    });
    await taking.take();
    return taking;
  }
}
