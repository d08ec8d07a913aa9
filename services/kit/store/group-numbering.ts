import type { Clock } from "../clock/clock.ts";
import type { DurableFile } from "./durable-file.ts";
import type { GroupMark } from "./group-mark.ts";

/** How long after a group its number is written to the durable file; groups in quick succession share a write. */
const writeDelayMs = 5;
/** How long after that the file is synced. */
const syncDelayMs = 1_000;

/**
 * Numbers the groups of one database and keeps the number of the last durable one in the durable file. The file lags
 * by 5 ms for a kill and by a second for a power loss, and never says more than is durable.
 */
export class GroupNumbering {
  readonly #clock: Clock;
  readonly #file: DurableFile | undefined;
  #last: GroupMark;
  #writeTimer: NodeJS.Timeout | undefined;
  #syncTimer: NodeJS.Timeout | undefined;
  #syncing: Promise<void> | undefined;
  #failure: unknown;

  /** `file` undefined: groups are not durable when they are written, so nothing is said about them. */
  constructor(clock: Clock, last: GroupMark, file?: DurableFile) {
    this.#clock = clock;
    this.#last = last;
    this.#file = file;
  }

  /** The mark of the group that is written next. Throws when the durable file could not be written. */
  next(): GroupMark {
    if (this.#failure !== undefined) throw this.#failure;
    return { number: this.#last.number + 1, timeMs: this.#clock.now() };
  }

  /** The group is durable. */
  written(group: GroupMark): void {
    this.#last = group;
    if (this.#file !== undefined) this.#writeTimer ??= setTimeout(() => this.#write(), writeDelayMs).unref();
  }

  async close(): Promise<void> {
    clearTimeout(this.#writeTimer);
    clearTimeout(this.#syncTimer);
    await this.#syncing;
    this.#file?.write(this.#last);
    await this.#file?.sync();
    this.#file?.close();
  }

  #write(): void {
    this.#writeTimer = undefined;
    this.#syncTimer ??= setTimeout(() => this.#sync(), syncDelayMs).unref();
    try {
      this.#file?.write(this.#last);
    } catch (error) {
      this.#failure = error;
    }
  }

  #sync(): void {
    this.#syncTimer = undefined;
    this.#syncing = this.#file?.sync().catch((error: unknown) => void (this.#failure = error));
  }
}
