import type { Store } from "../store/store.ts";
import type { ReadyFrom } from "./job-lease.ts";
import type { OwnerPlace } from "./job-options.ts";
import { listOwners } from "./job-reads.ts";
import type { JobTables } from "./job-tables.ts";
import type { JobTaking } from "./job-taking.ts";

/** The number of owners that are read at a time when their jobs are looked for. */
const ownersPageMax = 1_000;

/** All owners that have ready jobs in the store. */
export async function* listReadyOwners(store: Store, tables: JobTables): AsyncGenerator<string, void> {
  let last: string | undefined;
  for (;;) {
    const after = last;
    const owners = await store.read((reader) => listOwners(tables, reader, after, ownersPageMax));
    yield* owners;
    last = owners.at(-1);
    if (owners.length < ownersPageMax) return;
  }
}

/** What the taking of jobs found out about owners. */
type TakenOwners = Pick<JobTaking, "leases" | "passed" | "served" | "drained" | "waits">;

/** The owners of one group that may have jobs to start, the one that was served longest ago first. */
type Line = Set<string>;

/** The ready jobs of an owner in the store, from the first one until none is left. */
export interface Backlog {
  /** About how many they are, seldom fewer; infinite while some of them were found, because these are not counted. */
  count: number;
  /** When the last of those were found, in milliseconds since 1970. Undefined: none were, or all have been taken. */
  foundMs: number | undefined;
  /** The number of jobs that came after those. */
  later: number;
}

/**
 * The owners with ready jobs, in memory: those that may start one, by pool and group, and those that wait for an
 * instant or for the end of a run of theirs. It may name an owner without jobs, but never lacks one that has some. A
 * cycle's cost therefore depends on the owners that it serves, not on those that wait nor on the number of their jobs.
 */
export class ReadyOwners {
  readonly #placeOf: (owner: string) => OwnerPlace;
  /** By pool, then by group; the group that was served longest ago first. No line is empty. */
  readonly #lines = new Map<string, Map<string, Line>>();
  readonly #places = new Map<string, OwnerPlace>();
  /** Reads of an owner's jobs begin there, past those that run or were deleted. */
  readonly #from = new Map<string, ReadyFrom>();
  readonly #backlogs = new Map<string, Backlog>();
  /** The instant until which an owner waits; infinite: until a run of it ends. */
  readonly #waiting = new Map<string, number>();
  #nextMs = Number.POSITIVE_INFINITY;
  /**
   * Owners that got a ready job or whose run ended since the taking began, which it may not have seen, with the
   * earliest instant of these jobs.
   */
  readonly #changed = new Map<string, number>();
  /** When waits were last released. */
  #releasedMs = Number.NEGATIVE_INFINITY;

  constructor(placeOf: (owner: string) => OwnerPlace) {
    this.#placeOf = placeOf;
  }

  /** True if no owner may have ready jobs in the store. */
  get isEmpty(): boolean {
    return this.#places.size === 0 && this.#waiting.size === 0;
  }

  /** The jobs that the owner may have in the store; undefined: it has none. */
  backlogOf(owner: string): Backlog | undefined {
    return this.#backlogs.get(owner);
  }

  /** True if the owner starts no job before an instant, whatever ends. */
  isWaiting(owner: string): boolean {
    return Number.isFinite(this.#waiting.get(owner));
  }

  /** The pool in which the next job of an owner runs. */
  poolOf(owner: string): string {
    return this.#placeOf(owner).pool;
  }

  /** The group of an owner. */
  groupOf(owner: string): string {
    return this.#placeOf(owner).group;
  }

  /** Owners that have ready jobs and may not start one now. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** No owner waits for an earlier instant. */
  get nextMs(): number {
    return this.#nextMs;
  }

  /** The owner has so many more jobs, ready since an instant or later. If it waits, it goes on waiting. */
  add(owner: string, sinceMs: number, count = 1): void {
    this.#change(owner, sinceMs);
    this.#enter(owner, sinceMs, count);
  }

  /** The owner has jobs in the store at this instant, ready since any other. */
  find(owner: string, nowMs: number): void {
    this.#enter(owner, 0, 0);
    this.#backlogs.set(owner, { count: Number.POSITIVE_INFINITY, foundMs: nowMs, later: 0 });
  }

  #enter(owner: string, sinceMs: number, count: number): void {
    const backlog = this.#backlogs.get(owner);
    if (backlog === undefined) this.#backlogs.set(owner, { count, foundMs: undefined, later: 0 });
    else if (backlog.foundMs === undefined) backlog.count += count;
    else backlog.later += count;
    const from = this.#from.get(owner);
    if (from === undefined || sinceMs <= from.atMs) this.#from.set(owner, { atMs: sinceMs });
    this.#join(owner);
  }

  #change(owner: string, sinceMs: number): void {
    this.#changed.set(owner, Math.min(sinceMs, this.#changed.get(owner) ?? sinceMs));
  }

  /** Jobs are about to be taken, of owners whose waits have ended as well. */
  beginTaking(nowMs: number): void {
    this.#changed.clear();
    this.#release(nowMs);
  }

  /** What the taking of jobs found out about owners holds, unless they have changed since it began. */
  settle(taken: TakenOwners): void {
    for (const { lease } of taken.leases) {
      const backlog = this.#backlogs.get(lease.job.owner);
      if (backlog !== undefined) backlog.count = Math.max(0, backlog.count - 1);
    }
    for (const [owner, { atMs }] of taken.passed) this.#countAfter(owner, atMs);
    for (const [owner, from] of taken.passed) {
      const changedMs = this.#changed.get(owner);
      this.#pass(owner, changedMs !== undefined && changedMs <= from.atMs ? { atMs: changedMs } : from);
    }
    for (const owner of taken.served) this.#moveToEnd(owner);
    for (const owner of taken.drained) if (!this.#changed.has(owner)) this.#remove(owner);
    for (const [owner, untilMs] of taken.waits) if (!this.#changed.has(owner)) this.#wait(owner, untilMs);
  }

  /** All jobs of the owner that are ready since an instant or earlier have been taken. */
  #countAfter(owner: string, atMs: number): void {
    const backlog = this.#backlogs.get(owner);
    if (backlog?.foundMs === undefined || atMs <= backlog.foundMs) return;
    backlog.count = backlog.later;
    backlog.foundMs = undefined;
  }

  /** All ready jobs of the owner that do not run are there or after it. */
  fromOf(owner: string): ReadyFrom {
    return this.#from.get(owner) ?? { atMs: 0 };
  }

  /** The owner's jobs before this have been taken. */
  #pass(owner: string, from: ReadyFrom): void {
    if (this.#from.has(owner)) this.#from.set(owner, from);
  }

  #join(owner: string): void {
    if (this.#waiting.has(owner) || this.#places.has(owner)) return;
    const place = this.#placeOf(owner);
    this.#places.set(owner, place);
    const groups = this.#lines.get(place.pool) ?? new Map<string, Line>();
    this.#lines.set(place.pool, groups);
    const line = groups.get(place.group) ?? new Set<string>();
    groups.set(place.group, line);
    line.add(owner);
  }

  /** A run of the owner has ended: it waits no longer, and its place is determined again. */
  reconsider(owner: string): void {
    this.#change(owner, Number.POSITIVE_INFINITY);
    const place = this.#places.get(owner);
    if (place !== undefined) {
      const { pool, group } = this.#placeOf(owner);
      if (pool === place.pool && group === place.group) return;
      this.#leaveLine(owner);
    } else if (!this.#waiting.delete(owner)) return;
    this.#join(owner);
  }

  /** The owner starts no job before the instant. */
  #wait(owner: string, untilMs: number): void {
    this.#leaveLine(owner);
    this.#waiting.set(owner, untilMs);
    this.#nextMs = Math.min(this.#nextMs, untilMs);
  }

  /** Ends the waits whose instant has come; all if the clock was set back, so that they are determined again. */
  #release(nowMs: number): void {
    const isSetBack = nowMs < this.#releasedMs;
    this.#releasedMs = nowMs;
    if (nowMs < this.#nextMs && !isSetBack) return;
    this.#nextMs = Number.POSITIVE_INFINITY;
    for (const [owner, untilMs] of this.#waiting) {
      if (untilMs > nowMs && !isSetBack) this.#nextMs = Math.min(this.#nextMs, untilMs);
      else {
        this.#waiting.delete(owner);
        this.#join(owner);
      }
    }
  }

  /** The owner has no ready job. */
  #remove(owner: string): void {
    this.#from.delete(owner);
    this.#backlogs.delete(owner);
    this.#waiting.delete(owner);
    this.#leaveLine(owner);
  }

  /** The owner and its group have been served, so all others come first. */
  #moveToEnd(owner: string): void {
    const place = this.#places.get(owner);
    const groups = place && this.#lines.get(place.pool);
    const line = place && groups?.get(place.group);
    if (place === undefined || groups === undefined || line === undefined) return;
    line.delete(owner);
    line.add(owner);
    groups.delete(place.group);
    groups.set(place.group, line);
  }

  /** True if an owner of the pool may have a job to start. */
  hasAny(pool: string): boolean {
    return (this.#lines.get(pool)?.size ?? 0) > 0;
  }

  /** The groups of a pool with owners that may have jobs to start, in the order in which they are served. */
  groupsOf(pool: string): Iterable<string> {
    return this.#lines.get(pool)?.keys() ?? [];
  }

  /** The owners of a pool by group, in the order in which they are served. */
  linesOf(pool: string): (readonly [group: string, owners: Iterator<string>])[] {
    return [...(this.#lines.get(pool) ?? [])].map(([group, line]) => [group, line.values()]);
  }

  #leaveLine(owner: string): void {
    const place = this.#places.get(owner);
    if (place === undefined) return;
    this.#places.delete(owner);
    const groups = this.#lines.get(place.pool);
    const line = groups?.get(place.group);
    line?.delete(owner);
    if (line?.size === 0) groups?.delete(place.group);
  }
}
