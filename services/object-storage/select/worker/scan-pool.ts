import { ErrorReason } from "../../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault } from "../../faults.ts";
import { refusal } from "../refusal.ts";
import type { ScannedObject } from "../scanned-object.ts";
import type { ScanJob } from "../scan-job.ts";
import type { ScanExecutor } from "./executor.ts";
import type { ScanProgress } from "./running-scan.ts";
import { RunningScan } from "./running-scan.ts";
import { ScanPlaces } from "./scan-places.ts";
import type { ScanPlacesOptions } from "./scan-places.ts";
import { ScanProcess } from "./scan-process.ts";
import { ScanThread } from "./scan-thread.ts";

/** How scans are limited. Each runs in a thread of its own, or in a process. */
export interface ScanPoolOptions extends ScanPlacesOptions {
  /** How long a scan may take, in milliseconds. */
  readonly timeLimitMs: number;
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
  readonly #places: ScanPlaces;

  constructor(options: ScanPoolOptions) {
    this.#options = options;
    this.#places = new ScanPlaces(options);
  }

  /**
   * Runs an account's query over an object. Throws SELECT_BUSY, also when another account's turn has come, the refusals
   * of the scan, what reading the object throws, and DEADLINE if it takes too long, also for want of a reader.
   */
  async *run(
    accountId: string,
    job: ScanJob,
    object: ScannedObject,
    signal: AbortSignal,
  ): AsyncGenerator<ScanProgress> {
    const place = await this.#places.enter(accountId, signal);
    const leave = (): void => this.#places.leave(place);
    if (signal.aborted) {
      leave();
      throw signal.reason;
    }
    const idle = this.#idle[job.input.kind === "parquet" ? "process" : "thread"];
    const executor = usable(idle) ?? this.#start(job);
    let ended: Promise<unknown> | undefined;
    const running = new RunningScan(executor, job, (isWhole) => {
      if (isWhole && executor.isUsable) {
        idle.push(executor);
        leave();
      } else ended = executor.end().finally(leave);
    });
    place.onTakenBack = () => running.fail(refusal("SELECT_BUSY"));
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

  #start(job: ScanJob): ScanExecutor {
    if (job.input.kind !== "parquet") return new ScanThread();
    return new ScanProcess(Math.ceil((this.#options.timeLimitMs * processCpuFactor) / 1000));
  }
}

const usable = (idle: ScanExecutor[]): ScanExecutor | undefined => {
  for (let executor = idle.pop(); executor !== undefined; executor = idle.pop()) if (executor.isUsable) return executor;
  return undefined;
};
