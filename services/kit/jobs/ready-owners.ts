import type { OwnerPlace } from "./job-options.ts";

/** The owners of one group that may have jobs to start, the one that was served longest ago first. */
type Line = Set<string>;

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
  /** No ready job of an owner has an earlier instant; reads of its jobs begin there, past those that were deleted. */
  readonly #from = new Map<string, number>();
  /** The instant until which an owner waits; infinite: until a run of it ends. */
  readonly #waiting = new Map<string, number>();
  #nextMs = Number.POSITIVE_INFINITY;
  /** When waits were last released. */
  #releasedMs = Number.NEGATIVE_INFINITY;

  constructor(placeOf: (owner: string) => OwnerPlace) {
    this.#placeOf = placeOf;
  }

  /** Owners that have ready jobs and may not start one now. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** No owner waits for an earlier instant. */
  get nextMs(): number {
    return this.#nextMs;
  }

  /** The owner has a job that is ready since an instant. If it waits, it goes on waiting. */
  add(owner: string, sinceMs: number): void {
    this.#from.set(owner, Math.min(sinceMs, this.#from.get(owner) ?? sinceMs));
    this.#join(owner);
  }

  /** No ready job of the owner has an earlier instant than this. */
  fromOf(owner: string): number {
    return this.#from.get(owner) ?? 0;
  }

  /** The owner's jobs before an instant have been taken. */
  passed(owner: string, untilMs: number): void {
    if (this.#from.has(owner)) this.#from.set(owner, untilMs);
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
    const place = this.#places.get(owner);
    if (place !== undefined) {
      const { pool, group } = this.#placeOf(owner);
      if (pool === place.pool && group === place.group) return;
      this.#leaveLine(owner);
    } else if (!this.#waiting.delete(owner)) return;
    this.#join(owner);
  }

  /** The owner starts no job before the instant. */
  wait(owner: string, untilMs: number): void {
    this.#leaveLine(owner);
    this.#waiting.set(owner, untilMs);
    this.#nextMs = Math.min(this.#nextMs, untilMs);
  }

  /** Ends the waits whose instant has come; all if the clock was set back, so that they are determined again. */
  release(nowMs: number): void {
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
  remove(owner: string): void {
    this.#from.delete(owner);
    this.#waiting.delete(owner);
    this.#leaveLine(owner);
  }

  /** The owner and its group have been served, so all others come first. */
  moveToEnd(owner: string): void {
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

  /** The owners of a pool, group by group in the order in which they are served. */
  linesOf(pool: string): Iterator<string>[] {
    return [...(this.#lines.get(pool)?.values() ?? [])].map((line) => line.values());
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
