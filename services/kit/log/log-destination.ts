import { constants, openSync, write as writeDescriptor, writeSync } from "node:fs";
import { isatty } from "node:tty";

/** A destination's output, and its limits while the output accepts nothing. */
export interface LogDestinationOptions {
  /** Of a file, or of a pipe, socket or terminal that does not block. */
  readonly descriptor: number;
  /** Bytes of lines that wait at most; further ones are dropped. */
  readonly waitingBytesMax: number;
  /** The line with the number of dropped lines, written once the output accepts lines again. */
  readonly droppedLine: (count: number) => string;
}

/** How soon a write is tried again on a pipe whose reader is slow, and on an output that failed. */
const busyRetryMs = 20;
const failureRetryMs = 1_000;
const chunkBytesMax = 64 * 1024;
const lastWriteMs = 10;
/** How long a line may wait for further ones. */
const gatherMs = 20;

/**
 * The output of a process's log. Writing never waits and never throws: with a full disk, or a reader that is slow or
 * gone, lines are dropped and counted, and nothing else happens.
 */
export class LogDestination {
  readonly #options: LogDestinationOptions;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  /** The unwritten rest of the lines being written. It is always written first, so that no line is cut. */
  #chunk: Buffer = Buffer.alloc(0);
  #isWriting = false;
  #retry: NodeJS.Timeout | undefined;
  #gathering: NodeJS.Timeout | undefined;
  #onIdle: (() => void)[] = [];

  constructor(options: LogDestinationOptions) {
    this.#options = options;
    process.on("exit", () => this.#writeLast());
  }

  /** A line with its line feed. */
  write(line: string): void {
    this.#add(line);
    this.#begin();
  }

  /** The same for a line that may wait a moment, so that one write serves many. */
  writeSoon(line: string): void {
    this.#add(line);
    if (this.#waitingBytes >= chunkBytesMax) this.#begin();
    else this.#gathering ??= setTimeout(() => this.#begin(), gatherMs).unref();
  }

  #add(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#waitingBytes + bytes > this.#options.waitingBytesMax) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += bytes;
  }

  #begin(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    if (!this.#isWriting && this.#retry === undefined) this.#write();
  }

  /** Calls back when all lines are written. The output may never accept them, so the caller must limit its wait. */
  flush(onIdle: () => void = () => {}): void {
    if (this.#isIdle) {
      onIdle();
      return;
    }
    this.#onIdle.push(onIdle);
    this.#begin();
  }

  /** Writes without waiting, as much as the output accepts. */
  flushSync(): void {
    // Lines that are being written already come first, so that the order stays.
    while (!this.#isWriting && this.#take())
      try {
        this.#written(writeSync(this.#options.descriptor, this.#chunk));
      } catch {
        return;
      }
  }

  /** Writes the last lines of a process that exits now. A write that runs in a thread gets a moment to end. */
  #writeLast(): void {
    if (this.#isWriting) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lastWriteMs);
      this.#chunk = Buffer.alloc(0);
      this.#isWriting = false;
    }
    this.flushSync();
  }

  get #isIdle(): boolean {
    return this.#chunk.byteLength === 0 && this.#waiting.length === 0;
  }

  /** Moves the next lines to the chunk unless it has a rest. Returns false if there are none. */
  #take(): boolean {
    if (this.#chunk.byteLength > 0) return true;
    if (this.#waiting.length === 0) return false;
    let count = 0;
    let bytes = 0;
    while (count < this.#waiting.length && bytes < chunkBytesMax) bytes += (this.#waiting[count++] as string).length;
    this.#chunk = Buffer.from(this.#waiting.splice(0, count).join(""));
    return true;
  }

  #write(): void {
    this.#retry = undefined;
    if (!this.#take()) {
      for (const onIdle of this.#onIdle.splice(0)) onIdle();
      return;
    }
    this.#isWriting = true;
    writeDescriptor(this.#options.descriptor, this.#chunk, (error, bytes) => {
      this.#isWriting = false;
      if (error === null) {
        this.#written(bytes);
        this.#write();
        return;
      }
      if (error.code === "EAGAIN") this.#retry = setTimeout(() => this.#write(), busyRetryMs);
      // A process that has nothing else to do does not wait for an output that fails.
      else this.#retry = setTimeout(() => this.#write(), failureRetryMs).unref();
    });
  }

  #written(bytes: number): void {
    this.#chunk = this.#chunk.subarray(bytes);
    this.#waitingBytes -= bytes;
    if (this.#dropped === 0) return;
    const line = this.#options.droppedLine(this.#dropped);
    this.#dropped = 0;
    this.#waiting.push(line);
    this.#waitingBytes += Buffer.byteLength(line);
  }
}

/** The descriptor of standard output, which never blocks: a reader that stops reading must not stop the process. */
export const openStandardOutput = (): number => {
  const descriptor = 1;
  // Node makes a pipe or socket non-blocking when its stream is first used.
  void process.stdout;
  if (!isatty(descriptor)) return descriptor;
  try {
    // A terminal is shared with other programs, so it is opened again, and only this opening does not block.
    return openSync(`/dev/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return descriptor;
  }
};
