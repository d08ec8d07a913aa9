import { mkdirSync, statfsSync } from "node:fs";
import { join } from "node:path";

import type { Logger } from "../log/log.ts";
import { Ballast } from "./ballast.ts";
import { writeBufferBytes } from "./level-engine.ts";

/** How the room on a disk is kept. */
export interface DiskSpaceOptions {
  /** On the disk in question; the ballast file lies in it. Created where it is missing. */
  readonly directory: string;
  /** With less free than this, calls that store something are refused. */
  readonly freeBytesMin: number;
  /** The same as a share of the file system; the larger of both counts. */
  readonly freePercentMin: number;
  /** The size of the ballast file; 0: none. */
  readonly ballastBytes: number;
  readonly log: Logger;
}

/** Asking the system for the free space takes 5 µs, so its answer is used for this long. */
const lookMs = 5;
const tendMs = 1_000;

/**
 * The room that LevelDB itself needs to move its log into a table. If it has less, it takes no change any more until it
 * is opened again.
 */
const databaseBytes = writeBufferBytes + 8 * 1024 * 1024;

/** The room on the disk that holds a service's data. */
export class DiskSpace {
  readonly #options: DiskSpaceOptions;
  readonly #ballast: Ballast;
  readonly #timer: NodeJS.Timeout;
  #freeBytes = 0;
  #totalBytes = 0;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #wasLow = false;
  #holding: Promise<void> | undefined;

  /** Releases the ballast if the disk is low, so that a database can be opened; `tend` writes it again. */
  constructor(options: DiskSpaceOptions) {
    this.#options = options;
    mkdirSync(options.directory, { recursive: true });
    this.#ballast = new Ballast(join(options.directory, "ballast"), options.ballastBytes);
    if (this.isLow) this.#ballast.release();
    this.#timer = setInterval(() => this.tend(), tendMs).unref();
  }

  /** Bytes that are free, as of 5 ms ago at most. */
  get freeBytes(): number {
    if (performance.now() - this.#lookedMs > lookMs) this.#look();
    return this.#freeBytes;
  }

  /** Whether less is free than should be. */
  get isLow(): boolean {
    const { freeBytesMin, freePercentMin } = this.#options;
    return this.freeBytes < Math.max(freeBytesMin, (this.#totalBytes * freePercentMin) / 100);
  }

  /** Whether the database can write this much and still has the room that it needs itself. */
  readonly hasRoomFor = (bytes: number): boolean => {
    // A group is written to the log and later to a table.
    const neededBytes = databaseBytes + 2 * bytes;
    if (this.freeBytes >= neededBytes) return true;
    this.#release();
    return this.freeBytes >= neededBytes;
  };

  /** Releases the ballast or writes it again, and logs when the disk becomes low or has room again. */
  tend(): void {
    const { freeBytes, isLow } = this;
    if (isLow !== this.#wasLow) {
      this.#wasLow = isLow;
      if (isLow) this.#options.log.warn({ freeBytes }, "the disk is low: only reads and deletions are served");
      else this.#options.log.info({ freeBytes }, "the disk has room again");
    }
    const { isHeld, bytes } = this.#ballast;
    if (freeBytes < databaseBytes) this.#release();
    // As much must remain free that it is not released again at once.
    else if (!isHeld && bytes > 0 && freeBytes >= bytes + 2 * databaseBytes) this.#hold();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#holding;
  }

  #release(): void {
    if (!this.#ballast.isHeld) return;
    this.#ballast.release();
    this.#look();
    this.#options.log.warn({ freeBytes: this.#freeBytes }, "the disk is full: the ballast was released");
  }

  #hold(): void {
    this.#holding ??= this.#ballast
      .hold()
      .catch((error: unknown) => this.#options.log.warn({ err: error }, "the ballast cannot be written"))
      .finally(() => (this.#holding = undefined));
  }

  #look(): void {
    const { bavail, blocks, bsize } = statfsSync(this.#options.directory);
    this.#freeBytes = bavail * bsize;
    this.#totalBytes = blocks * bsize;
    this.#lookedMs = performance.now();
  }
}
