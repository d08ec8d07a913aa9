import { join } from "node:path";

import type { ScanJob } from "../scan-job.ts";
import type { FromScan, ToScan } from "./messages.ts";

/** A thread or process that runs scans, one after the other. */
export interface ScanExecutor {
  /** Whether it can run another scan. */
  readonly isUsable: boolean;
  /** Begins a scan. The one before has ended. */
  begin(job: ScanJob, listener: ScanListener): ScanConnection;
  /** Ends it, also in the middle of a scan. */
  end(): Promise<unknown>;
}

/** Receives what a scan sends. */
export interface ScanListener {
  onMessage(this: void, message: FromScan): void;
  /** The executor has failed, and is usable no more. */
  onFailure(this: void, error: unknown): void;
}

/** The service's side of a scan. */
export interface ScanConnection {
  /** Sends a message; the bytes in it must not be used any more. */
  send(message: ToScan): void;
  /** Nothing is received after it. */
  close(): void;
}

/** MiB of JavaScript objects of a scan: a row group of a Parquet file is the most that one holds. */
export const heapMebibytesMax = 1024;

/** What threads and processes run: in a bundle it is next to it. */
export const scanScript = import.meta.filename.endsWith(".cjs")
  ? join(import.meta.filename, "..", "object-storage-scan.cjs")
  : join(import.meta.dirname, "scan-worker.ts");
