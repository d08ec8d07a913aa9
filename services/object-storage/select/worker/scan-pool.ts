import { join } from "node:path";
import type { MessagePort, Transferable } from "node:worker_threads";
import { MessageChannel, Worker } from "node:worker_threads";

import { ErrorReason } from "../../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault } from "../../faults.ts";
import { refusal } from "../refusal.ts";
import type { ScanFigures, ScannedObject } from "../scan.ts";
import type { ScanJob } from "../scan-job.ts";
import type { FromScan, ToScan } from "./messages.ts";

/** How scans are limited. */
export interface ScanPoolOptions {
  /** Scans that run at the same time, each in a thread of its own. */
  readonly threads: number;
  /** How long a scan may take, in milliseconds. */
  readonly timeLimitMs: number;
  /** Scans that wait for each thread; more are refused. Unset: 16. */
  readonly waitingPerThread?: number;
}

/** A piece of a result, or only the figures so far; the last one has the final figures. */
export interface ScanProgress {
  readonly result: Uint8Array | undefined;
  readonly figures: ScanFigures;
  readonly isEnd: boolean;
}

/** MiB of JavaScript objects of a thread: a row group of a Parquet file is the most that one holds. */
const threadMebibytesMax = 1024;

/** The script of the threads: in a bundle it is next to it. */
const script = import.meta.filename.endsWith(".cjs")
  ? join(import.meta.filename, "..", "object-storage-scan.cjs")
  : join(import.meta.dirname, "scan-worker.ts");

/**
 * Runs scans in threads, so that none blocks the service. Threads are started when they are needed and are used again;
 * one whose scan is given up in the middle is ended, because nothing else stops it.
 */
export class ScanPool {
  readonly #options: ScanPoolOptions;
  readonly #idle: Worker[] = [];
  readonly #waiting: (() => void)[] = [];
  #busy = 0;

  constructor(options: ScanPoolOptions) {
    this.#options = options;
  }

  /**
   * Runs a query over an object. Throws SELECT_BUSY, the refusals of the scan, what reading the object throws, the
   * signal's reason, and DEADLINE if it takes too long.
   */
  async *run(job: ScanJob, object: ScannedObject, signal: AbortSignal): AsyncGenerator<ScanProgress> {
    await this.#enter(signal);
    const worker = this.#idle.pop() ?? this.#startWorker();
    const running = new ScanInThread(worker, job, this.#options.timeLimitMs, signal);
    try {
      yield* running.progress(object);
    } finally {
      running.close();
      if (running.hasEnded) this.#idle.push(worker);
      else await worker.terminate();
      this.#leave();
    }
  }

  /** Ends all threads that rest. Those that work end with their calls. */
  async close(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((worker) => worker.terminate()));
  }

  async #enter(signal: AbortSignal): Promise<void> {
    const { threads, waitingPerThread = 16 } = this.#options;
    if (this.#busy < threads) {
      this.#busy += 1;
      return;
    }
    if (this.#waiting.length >= threads * waitingPerThread) throw refusal("SELECT_BUSY");
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (): void => {
      const index = this.#waiting.indexOf(resolve);
      if (index !== -1) this.#waiting.splice(index, 1);
      reject(signal.reason);
    };
    this.#waiting.push(resolve);
    signal.addEventListener("abort", giveUp);
    if (signal.aborted) giveUp();
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  #startWorker(): Worker {
    const worker = new Worker(script, {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: threadMebibytesMax },
    });
    worker.unref();
    // Its scan is told; one that fails while it rests is used no more.
    worker.on("error", () => {
      const index = this.#idle.indexOf(worker);
      if (index !== -1) this.#idle.splice(index, 1);
    });
    return worker;
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#busy -= 1;
    else next();
  }
}

/** The service's side of one scan. */
class ScanInThread {
  /** Whether the thread has nothing to do any more. */
  hasEnded = false;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #signal: AbortSignal;
  readonly #messages: FromScan[] = [];
  readonly #timer: NodeJS.Timeout;
  #failure: unknown;
  #hasFailed = false;
  #onChange: (() => void) | undefined;

  constructor(worker: Worker, job: ScanJob, timeLimitMs: number, signal: AbortSignal) {
    const { port1, port2 } = new MessageChannel();
    this.#worker = worker;
    this.#port = port1;
    this.#signal = signal;
    this.#timer = setTimeout(() => this.#fail(fault(ErrorReason.DEADLINE)), timeLimitMs);
    this.#timer.unref();
    port1.on("message", (message: FromScan) => {
      this.#messages.push(message);
      this.#onChange?.();
    });
    worker.on("error", this.#onError);
    signal.addEventListener("abort", this.#onAbort);
    worker.postMessage({ job, port: port2 }, [port2]);
    if (signal.aborted) this.#onAbort();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#port.close();
    this.#worker.off("error", this.#onError);
    this.#signal.removeEventListener("abort", this.#onAbort);
  }

  async *progress(object: ScannedObject): AsyncGenerator<ScanProgress> {
    let pieces: AsyncIterator<Uint8Array> | undefined;
    let reading = 0;
    try {
      for (;;) {
        const message = await this.#next();
        switch (message.kind) {
          case "begin":
            await pieces?.return?.();
            pieces = object.pieces(message.from)[Symbol.asyncIterator]();
            reading = message.reading;
            await this.#sendPiece(reading, pieces);
            break;
          case "more":
            if (message.reading === reading) await this.#sendPiece(reading, pieces);
            break;
          case "read":
            this.#send({ kind: "part", bytes: ownBytes(await object.read(message.start, message.end)) });
            break;
          case "result":
            yield { result: message.bytes, figures: message.figures, isEnd: false };
            this.#send({ kind: "taken" });
            break;
          case "figures":
            yield { result: undefined, figures: message.figures, isEnd: false };
            break;
          case "end":
            this.hasEnded = true;
            yield { result: undefined, figures: message.figures, isEnd: true };
            return;
          case "refused":
            this.hasEnded = true;
            throw fault(message.reason as ErrorReason, message.metadata);
          case "defect":
            throw new Error(`a scan failed: ${message.message}`);
        }
      }
    } finally {
      await pieces?.return?.();
    }
  }

  async #sendPiece(reading: number, pieces: AsyncIterator<Uint8Array> | undefined): Promise<void> {
    const next = await pieces?.next();
    const bytes = next === undefined || next.done === true ? undefined : ownBytes(next.value);
    this.#send({ kind: "piece", reading, bytes });
  }

  /** The bytes are not copied again. */
  #send(message: ToScan): void {
    const bytes = message.kind === "taken" ? undefined : message.bytes;
    const transferred: Transferable[] = bytes === undefined ? [] : [bytes.buffer as ArrayBuffer];
    this.#port.postMessage(message, transferred);
  }

  async #next(): Promise<FromScan> {
    for (;;) {
      if (this.#hasFailed) throw this.#failure;
      const message = this.#messages.shift();
      if (message !== undefined) return message;
      await new Promise<void>((resolve) => (this.#onChange = resolve));
    }
  }

  readonly #onError = (error: Error): void => {
    const isMemory = (error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY";
    this.#fail(isMemory ? refusal("OVER_MAX_PARQUET_BLOCK_SIZE") : error);
  };

  readonly #onAbort = (): void => this.#fail(this.#signal.reason);

  #fail(failure: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#failure = failure;
    this.#onChange?.();
  }
}

/** Pieces are parts of larger buffers, which the thread must not receive. */
const ownBytes = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);
