import type { Lease } from "./job-lease.ts";
import type { Backlog } from "./ready-owners.ts";

/** Jobs that are kept of one owner, and of all owners together. */
const ownerJobsMax = 1_024;
const jobsMax = 4_096;
/** Memory that their payloads and memos may need. */
const bytesMax = 16 * 1024 * 1024;

/** A job that is ready and was not read from the store. */
export interface HandedJob {
  readonly lease: Lease;
  /** Since when it is ready, in milliseconds since 1970. */
  readonly readyMs: number;
  /** About the memory that the job needs. */
  readonly bytes: number;
  /** The jobs of its owner in the store that come first. */
  readonly after: Backlog | undefined;
}

/**
 * New jobs in memory, as the transactions that enqueued them left them. One that does not remain here until it begins
 * is to be moved to the other jobs in the store, where it is found. No job is both here and running.
 */
export class HandedJobs {
  /** By owner; the owner that was served longest ago first. No line is empty. */
  readonly #lines = new Map<string, HandedJob[]>();
  /** The bytes of each line. */
  readonly #bytesOf = new Map<string, number>();
  #count = 0;
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  /** The owners that have jobs here. */
  get owners(): readonly string[] {
    return [...this.#lines.keys()];
  }

  get count(): number {
    return this.#count;
  }

  /** The job of an owner that came first. */
  firstOf(owner: string): HandedJob | undefined {
    return this.#lines.get(owner)?.[0];
  }

  /** The earliest end of the age of a job here; infinite: none has an age. */
  get expiresMs(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const line of this.#lines.values()) for (const { lease } of line) first = Math.min(first, lease.expiresMs);
    return first;
  }

  /** Whether one more job of an owner has room. An owner has at most as much as is left for all others. */
  hasRoom(owner: string, bytes: number): boolean {
    const count = this.#lines.get(owner)?.length ?? 0;
    const ownBytes = this.#bytesOf.get(owner) ?? 0;
    return count < Math.min(ownerJobsMax, jobsMax - this.#count) && ownBytes + bytes <= bytesMax - this.#bytes;
  }

  /** False if the job is not kept, because its owner or all together have too many. */
  add(handed: HandedJob): boolean {
    const { job } = handed.lease;
    if (!this.hasRoom(job.owner, handed.bytes)) return false;
    const line = this.#lines.get(job.owner) ?? [];
    line.push(handed);
    this.#lines.set(job.owner, line);
    this.#account(handed, 1);
    return true;
  }

  /** Removes at most `count` jobs of an owner, the oldest first. Its others come after those of all other owners. */
  take(owner: string, count: number): readonly HandedJob[] {
    const line = this.#lines.get(owner);
    if (line === undefined || count <= 0) return [];
    const taken = line.splice(0, count);
    this.#lines.delete(owner);
    if (line.length > 0) this.#lines.set(owner, line);
    for (const each of taken) this.#account(each, -1);
    return taken;
  }

  has(id: string): boolean {
    for (const line of this.#lines.values()) if (line.some(({ lease }) => lease.job.id === id)) return true;
    return false;
  }

  /** Removes the jobs whose age has ended, and returns them. */
  takeExpired(nowMs: number): readonly HandedJob[] {
    return this.#takeAll(({ lease }) => lease.expiresMs <= nowMs);
  }

  /** Removes a job that was cancelled, or whose age has ended. */
  remove(id: string): void {
    this.#takeAll(({ lease }) => lease.job.id === id);
  }

  #takeAll(isTaken: (handed: HandedJob) => boolean): HandedJob[] {
    const all: HandedJob[] = [];
    for (const [owner, line] of this.#lines) {
      const { taken = [], kept } = Object.groupBy(line, (each) => (isTaken(each) ? "taken" : "kept"));
      if (taken.length === 0) continue;
      if (kept === undefined) this.#lines.delete(owner);
      else this.#lines.set(owner, kept);
      for (const each of taken) this.#account(each, -1);
      all.push(...taken);
    }
    return all;
  }

  clear(): void {
    this.#lines.clear();
    this.#bytesOf.clear();
    this.#count = 0;
    this.#bytes = 0;
  }

  /** A job came, or went. */
  #account({ lease, bytes }: HandedJob, by: 1 | -1): void {
    const { owner } = lease.job;
    this.#count += by;
    this.#bytes += by * bytes;
    if (this.#lines.has(owner)) this.#bytesOf.set(owner, (this.#bytesOf.get(owner) ?? 0) + by * bytes);
    else this.#bytesOf.delete(owner);
  }
}
