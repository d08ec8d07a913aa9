import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";

import { ErrorReason } from "../../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault } from "../../faults.ts";
import { refusal } from "../refusal.ts";
import type { ScanJob } from "../scan-job.ts";
import type { ScanConnection, ScanExecutor, ScanListener } from "./executor.ts";
import { heapMebibytesMax, scanScript } from "./executor.ts";
import type { FromScan, Numbered, ToProcess } from "./messages.ts";

/** KiB of all memory of a process: its JavaScript objects, and as much outside of them. */
const memoryKibibytesMax = 2 * heapMebibytesMax * 1024;

/** How long a process without a scan is kept, in milliseconds. */
const restMsMax = 30_000;

/**
 * Limits what a process may have before it becomes what follows: memory ($1), time of the processor ($2), and no file
 * with its memory when it fails. Where memory is short, it is the first to be ended.
 */
const limited = `ulimit -c 0; ulimit -d "$1"; ulimit -t "$2"; echo 1000 2>/dev/null >/proc/self/oom_score_adj; shift 2; exec "$@"`;

/**
 * A process of its own, for objects whose few bytes may declare any size: what takes too much memory ends the process,
 * and no more than a thread could. Bytes are copied to it.
 */
export class ScanProcess implements ScanExecutor {
  isUsable = true;
  readonly #process: ChildProcess;
  readonly #exited: Promise<unknown>;
  #scans = 0;
  #listener: ScanListener | undefined;
  #restTimer: NodeJS.Timeout | undefined;

  /** The time of the processor is that of all its scans. */
  constructor(cpuSecondsMax: number) {
    const command = [process.execPath, `--max-old-space-size=${heapMebibytesMax}`, scanScript];
    const limits = ["-c", limited, "sh", String(memoryKibibytesMax), String(cpuSecondsMax)];
    this.#process = spawn("/bin/sh", [...limits, ...command], {
      env: {},
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      serialization: "advanced",
    });
    this.#process.unref();
    this.#process.channel?.unref();
    this.#process.on("message", ({ scan, message }: Numbered<FromScan>) => {
      // What a scan sent that was ended early is not for the next one.
      if (scan === this.#scans) this.#listener?.onMessage(message);
    });
    this.#process.on("error", (error) => this.#fail(error));
    this.#exited = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.once("exit", (code, signal) => this.#fail(failureOf(code, signal)));
  }

  begin(job: ScanJob, listener: ScanListener): ScanConnection {
    clearTimeout(this.#restTimer);
    const scan = (this.#scans += 1);
    this.#listener = listener;
    this.#send({ scan, message: { kind: "start", job } });
    return {
      send: (message) => this.#send({ scan, message }),
      close: () => {
        this.#listener = undefined;
        this.#restTimer = setTimeout(() => void this.end(), restMsMax).unref();
      },
    };
  }

  async end(): Promise<unknown> {
    this.isUsable = false;
    clearTimeout(this.#restTimer);
    if (this.#process.pid === undefined) return undefined;
    this.#process.kill("SIGKILL");
    return this.#exited;
  }

  /** A failure is told by the process's end. */
  #send(message: ToProcess): void {
    this.#process.send(message, () => {});
  }

  #fail(error: unknown): void {
    this.isUsable = false;
    this.#listener?.onFailure(error);
  }
}

/** A process that a signal ends had no memory left, or no time. */
const failureOf = (code: number | null, signal: NodeJS.Signals | null): unknown => {
  if (signal === "SIGXCPU") return fault(ErrorReason.DEADLINE);
  if (signal !== null) return refusal("OVER_MAX_PARQUET_BLOCK_SIZE");
  return new Error(`a process that scans objects ended with ${code}`);
};
