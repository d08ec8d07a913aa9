import type { Lease } from "./job-lease.ts";

/** Jobs that are kept of one owner, and of all owners together. */
const ownerJobsMax = 256;
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
}

/**
 * Ready jobs in memory, as the transactions that enqueued them left them. They are in the store like all others, so
 * any of them may be dropped here and found there. No job is both here and running.
 */
export class HandedJobs {
  /** By owner; the owner that was served longest ago first. No line is empty. */
  readonly #lines = new Map<string, HandedJob[]>();
  readonly #names = new Set<string>();
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  /** The owners that have jobs here. */
  get owners(): readonly string[] {
    return [...this.#lines.keys()];
  }

  countOf(owner: string): number {
    return this.#lines.get(owner)?.length ?? 0;
  }

  has(id: string, holder: string): boolean {
    return this.#names.has(nameOf(id, holder));
  }

  /** False if the job is not kept, because its owner or all together have too many. */
  add(handed: HandedJob): boolean {
    const { job, holder } = handed.lease;
    const line = this.#lines.get(job.owner) ?? [];
    if (line.length >= ownerJobsMax || this.#names.size >= jobsMax || this.#bytes + handed.bytes > bytesMax)
      return false;
    line.push(handed);
    this.#lines.set(job.owner, line);
    this.#names.add(nameOf(job.id, holder));
    this.#bytes += handed.bytes;
    return true;
  }

  /** Removes at most `count` jobs of an owner, the oldest first. Its others come after those of all other owners. */
  take(owner: string, count: number): readonly HandedJob[] {
    const line = this.#lines.get(owner);
    if (line === undefined) return [];
    const taken = line.splice(0, count);
    this.#lines.delete(owner);
    if (line.length > 0) this.#lines.set(owner, line);
    for (const each of taken) this.#forget(each);
    return taken;
  }

  /** Removes a job that was cancelled, or whose age has ended. */
  remove(id: string): void {
    for (const [owner, line] of this.#lines) {
      const index = line.findIndex(({ lease }) => lease.job.id === id);
      const [removed] = index < 0 ? [] : line.splice(index, 1);
      if (removed !== undefined) this.#forget(removed);
      if (line.length === 0) this.#lines.delete(owner);
    }
  }

  clear(): void {
    this.#lines.clear();
    this.#names.clear();
    this.#bytes = 0;
  }

  #forget({ lease, bytes }: HandedJob): void {
    this.#names.delete(nameOf(lease.job.id, lease.holder));
    this.#bytes -= bytes;
  }
}

const nameOf = (id: string, holder: string): string => `${holder} ${id}`;
