import { write as writeDescriptor, writeSync } from "node:fs";

import type { Clock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import { closeFile, openFile, openNewest, removeOldest } from "./audit-files.ts";
import type { ChainEnd } from "./audit-line.ts";
import { chainLine, chainStart } from "./audit-line.ts";

/** A decision as it is recorded. */
export interface AuditEntry {
  readonly requestId: string;
  /** The principal's ARN, or `anonymous`. */
  readonly principal: string;
  readonly accessKeyId?: string | undefined;
  readonly sourceIp?: string | undefined;
  /** The RPC that was called. */
  readonly method: string;
  /** With its prefix. */
  readonly action: string;
  readonly resource: string;
  /** How many times the call asks for the same. Unset: once. */
  readonly count?: number | undefined;
  readonly decision: "allowed" | "refused";
  readonly reason: string;
  /** The deciding statement: side, index of the policy, index of the statement, Sid. */
  readonly statement?: object | undefined;
}

/** Where decisions are recorded. */
export interface AuditLog {
  /** Never waits and never throws. A line that there is no room for is dropped and counted. */
  record(entry: AuditEntry): void;
}

interface AuditLogOptions {
  readonly directory: string;
  /** Bytes after which a new file is begun. */
  readonly fileBytesMax: number;
  /** Files that are kept, with the one that is written. */
  readonly filesMax: number;
  readonly clock: Pick<Clock, "now">;
  /** Is told when the files cannot be written. */
  readonly log: Pick<Logger, "error">;
  /** Bytes of lines that wait while the files accept none. Unset: 4 MiB. */
  readonly waitingBytesMax?: number;
  /** How long lines wait for others that are written with them, in milliseconds. Unset: 10. */
  readonly gatherMs?: number;
}

const waitingBytesDefault = 4 * 1024 * 1024;
const gatherMsDefault = 10;
const chunkBytesMax = 64 * 1024;
const retryMs = 1_000;
/** Texts of requests are cut, so that a line has a bound. */
const textLengthMax = 2_048;

/**
 * The audit log of a process: a chain of lines over files that follow each other, see the README. Lines are written
 * without waiting. Opening continues the chain of an earlier process, and names a line that it left torn. Throws if the
 * directory cannot be used.
 */
export class AuditFiles implements AuditLog {
  readonly #options: AuditLogOptions;
  readonly #waitingBytesMax: number;
  readonly #gatherMs: number;
  #descriptor: number;
  /** Of the file that is written, with the lines that wait for it. */
  #fileBytes: number;
  #end: ChainEnd;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #chunk: Buffer = Buffer.alloc(0);
  #isWriting = false;
  #isFailing = false;
  #isClosed = false;
  #gathering: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #onIdle: (() => void)[] = [];
  readonly #writeLast = (): void => this.flushSync();

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#waitingBytesMax = options.waitingBytesMax ?? waitingBytesDefault;
    this.#gatherMs = options.gatherMs ?? gatherMsDefault;
    const { descriptor, sizeBytes, end, tornBytes } = openNewest(options.directory);
    this.#descriptor = descriptor;
    this.#fileBytes = sizeBytes;
    this.#end = end ?? chainStart;
    if (tornBytes > 0) this.#push("\n");
    if (end === undefined) this.#append({ event: "chain-begun-again" });
    if (tornBytes > 0) this.#append({ event: "torn-line", bytes: tornBytes });
    process.on("exit", this.#writeLast);
    this.#write();
  }

  record(entry: AuditEntry): void {
    if (this.#isClosed) return;
    if (this.#waitingBytes > this.#waitingBytesMax) {
      this.#dropped += 1;
      return;
    }
    this.#noteDropped();
    this.#append(shortened(entry));
    if (!this.#isWriting && this.#retry === undefined) this.#writeSoon();
  }

  /** Resolves when all lines are written; they may never be, so the caller must limit its wait. */
  async flush(): Promise<void> {
    this.#noteDropped();
    if (this.#waitingBytes === 0) return;
    const idle = new Promise<void>((resolve) => this.#onIdle.push(resolve));
    this.#write();
    await idle;
  }

  /** Writes what waits without waiting, as far as the file accepts it, and closes. Records after this are lost. */
  close(): void {
    if (this.#isClosed) return;
    this.flushSync();
    this.#isClosed = true;
    clearTimeout(this.#gathering);
    clearTimeout(this.#retry);
    process.off("exit", this.#writeLast);
    if (!this.#isWriting) closeFile(this.#descriptor);
  }

  /** Writes without waiting. Lines that a thread is writing come first, so that the order stays. */
  flushSync(): void {
    if (this.#isWriting) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lastWriteMs);
    if (this.#isWriting) this.#chunk = Buffer.alloc(0);
    while (this.#take())
      try {
        this.#written(writeSync(this.#descriptor, this.#chunk));
      } catch {
        return;
      }
  }

  #append(members: object): void {
    const { line, end } = chainLine(this.#end, new Date(this.#options.clock.now()).toISOString(), members);
    this.#end = end;
    this.#push(line);
  }

  #push(text: string): void {
    this.#waiting.push(text);
    this.#waitingBytes += Buffer.byteLength(text);
  }

  /** The line about dropped ones has their place in the chain. */
  #noteDropped(): void {
    if (this.#dropped === 0) return;
    const count = this.#dropped;
    this.#dropped = 0;
    this.#append({ event: "dropped-lines", count });
  }

  /** Moves the next lines to the chunk unless it has a rest; begins a new file before them where the last is full. */
  #take(): boolean {
    if (this.#chunk.byteLength > 0) return true;
    const [first] = this.#waiting;
    if (first === undefined) return false;
    if (this.#fileBytes >= this.#options.fileBytesMax) this.#rotate(first);
    let count = 0;
    let length = 0;
    while (count < this.#waiting.length && length < Math.min(chunkBytesMax, this.#options.fileBytesMax))
      length += (this.#waiting[count++] as string).length;
    this.#chunk = Buffer.from(this.#waiting.splice(0, count).join(""));
    this.#fileBytes += this.#chunk.byteLength;
    return true;
  }

  #rotate(firstLine: string): void {
    const { directory, filesMax } = this.#options;
    const sequence = Number(/^\{"sequence":(\d+)/.exec(firstLine)?.[1]);
    // A file that cannot be begun leaves the old one in use.
    if (Number.isNaN(sequence)) return;
    try {
      const next = openFile(directory, sequence);
      closeFile(this.#descriptor);
      this.#descriptor = next;
      this.#fileBytes = 0;
      removeOldest(directory, filesMax);
    } catch (error) {
      this.#options.log.error({ err: error }, "the audit log cannot begin a new file");
    }
  }

  /** Writes at once what is much, what is left of a chunk and what a flush waits for. */
  #writeSoon(): void {
    const isUrgent = this.#chunk.byteLength > 0 || this.#onIdle.length > 0 || this.#waitingBytes >= chunkBytesMax;
    if (isUrgent) this.#write();
    // A write takes a busy process longer than ten lines, so few of them do not have one of their own.
    else if (this.#waiting.length > 0) this.#gathering ??= setTimeout(() => this.#write(), this.#gatherMs).unref();
  }

  #write(): void {
    clearTimeout(this.#gathering);
    clearTimeout(this.#retry);
    this.#gathering = undefined;
    this.#retry = undefined;
    if (this.#isWriting || this.#isClosed) return;
    if (!this.#take()) {
      for (const onIdle of this.#onIdle.splice(0)) onIdle();
      return;
    }
    this.#isWriting = true;
    writeDescriptor(this.#descriptor, this.#chunk, (error, bytes) => {
      this.#isWriting = false;
      if (this.#isClosed) return closeFile(this.#descriptor);
      if (error === null) {
        this.#isFailing = false;
        this.#written(bytes);
        this.#writeSoon();
        return;
      }
      if (!this.#isFailing)
        this.#options.log.error({ err: error }, "the audit log cannot be written; lines wait, then they are dropped");
      this.#isFailing = true;
      this.#retry = setTimeout(() => this.#write(), retryMs).unref();
    });
  }

  #written(bytes: number): void {
    this.#chunk = this.#chunk.subarray(bytes);
    this.#waitingBytes -= bytes;
  }
}

const lastWriteMs = 10;

/** The entry with texts that are not too long. */
const shortened = (entry: AuditEntry): AuditEntry => {
  const { principal, action, resource } = entry;
  if (Math.max(principal.length, action.length, resource.length) <= textLengthMax) return entry;
  return { ...entry, principal: cut(principal), action: cut(action), resource: cut(resource) };
};

const cut = (text: string): string => (text.length <= textLengthMax ? text : `${text.slice(0, textLengthMax)}…`);
