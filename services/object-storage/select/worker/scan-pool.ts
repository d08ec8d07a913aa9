import { ErrorReason } from "../../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault } from "../../faults.ts";
import { refusal } from "../refusal.ts";
import type { ScannedObject } from "../scanned-object.ts";
import type { ScanJob } from "../scan-job.ts";
import type { ScanExecutor } from "./executor.ts";
import type { ScanProgress } from "./running-scan.ts";
import { RunningScan } from "./running-scan.ts";
import { ScanProcess } from "./scan-process.ts";
import { ScanThread } from "./scan-thread.ts";

/** How scans are limited. */
export interface ScanPoolOptions {
  /** Scans that run at the same time, each in a thread of its own, or in a process. */
  readonly threads: number;
  /** How long a scan may take, in milliseconds. */
  readonly timeLimitMs: number;
  /** Scans that wait for each thread; more are refused. Unset: 16. */
  readonly waitingPerThread?: number;
}

/** Times the limit of a scan that a process may use of the processor: its garbage is collected by several threads. */
const processCpuFactor = 4;

/**
 * Runs scans in threads, so that none blocks the service, and those of Parquet files in processes, so that none ends
 * it: a few bytes of such a file may declare any size. Both are started when they are needed and are used again; one
 * whose scan is given up in the middle is ended, because nothing else stops it.
 */
export class ScanPool {
  readonly #options: ScanPoolOptions;
  readonly #idle: Readonly<Record<"thread" | "process", ScanExecutor[]>> = { thread: [], process: [] };
  readonly #waiting = new Set<() => void>();
  #busy = 0;

  constructor(options: ScanPoolOptions) {
    this.#options = options;
  }

  /**
   * Runs a query over an object. Throws SELECT_BUSY, the refusals of the scan, what reading the object throws, and
   * DEADLINE if it takes too long, also because the result is not taken.
   */
  async *run(job: ScanJob, object: ScannedObject, signal: AbortSignal): AsyncGenerator<ScanProgress> {
    await this.#enter(signal);
    const idle = this.#idle[job.input.kind === "parquet" ? "process" : "thread"];
    const executor = usable(idle) ?? this.#start(job);
    let ended: Promise<unknown> | undefined;
    const running = new RunningScan(executor, job, (isWhole) => {
      if (isWhole && executor.isUsable) {
        idle.push(executor);
        this.#leave();
      } else ended = executor.end().finally(() => this.#leave());
    });
    const giveUp = (): void => running.fail(signal.reason);
    // Also while nobody takes the result: others may wait for the thread.
    const timer = setTimeout(() => running.fail(fault(ErrorReason.DEADLINE)), this.#options.timeLimitMs);
    timer.unref();
    signal.addEventListener("abort", giveUp);
    try {
      yield* running.progress(object);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
      giveUp();
      await ended;
    }
  }

  /** Ends all threads and processes that rest. Those that work end with their calls. */
  async close(): Promise<void> {
    const resting = [...this.#idle.thread.splice(0), ...this.#idle.process.splice(0)];
    await Promise.all(resting.map((executor) => executor.end()));
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { threads, waitingPerThread = 16 } = this.#options;
    if (this.#busy < threads) {
      this.#busy += 1;
      return;
    }
    if (this.#waiting.size >= threads * waitingPerThread) throw refusal("SELECT_BUSY");
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      this.#waiting.delete(resolve);
      reject(signal.reason as Error);
    };
    this.#waiting.add(resolve);
    signal.addEventListener("abort", onAbort);
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
    if (!signal.aborted) return;
    this.#leave();
    throw signal.reason;
  }

  #start(job: ScanJob): ScanExecutor {
    if (job.input.kind !== "parquet") return new ScanThread();
    return new ScanProcess(Math.ceil((this.#options.timeLimitMs * processCpuFactor) / 1000));
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#busy -= 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}

const usable = (idle: ScanExecutor[]): ScanExecutor | undefined => {
  for (let executor = idle.pop(); executor !== undefined; executor = idle.pop()) if (executor.isUsable) return executor;
  return undefined;
};
