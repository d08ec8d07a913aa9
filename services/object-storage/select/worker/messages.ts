import type { MessagePort } from "node:worker_threads";

import type { ScanFigures } from "../scanned-object.ts";
import type { ScanJob } from "../scan-job.ts";

/** Begins a scan in a thread; all else of it is sent over the port. */
export interface StartMessage {
  readonly job: ScanJob;
  readonly port: MessagePort;
}

/** What is sent to and from a process: the messages of its scans, of which each has a number. */
export interface Numbered<T> {
  readonly scan: number;
  readonly message: T;
}

/** What a process receives: a job begins the scan. */
export type ToProcess = Numbered<ToScan | { readonly kind: "start"; readonly job: ScanJob }>;

/** What the service sends to a scan. */
export type ToScan =
  /** The next piece of a reading; undefined: there are no more. */
  | { readonly kind: "piece"; readonly reading: number; readonly bytes: Uint8Array | undefined }
  /** A piece of the result was sent on. */
  | { readonly kind: "taken" };

/** What a scan sends to the service. */
export type FromScan =
  /** Asks for the first piece of a part of the object: a reading, which replaces the one before. */
  | { readonly kind: "begin"; readonly reading: number; readonly from: number; readonly to: number }
  /** Asks for the next piece of a reading. */
  | { readonly kind: "more"; readonly reading: number }
  | { readonly kind: "result"; readonly bytes: Uint8Array; readonly figures: ScanFigures }
  /** The figures while nothing is found. */
  | { readonly kind: "figures"; readonly figures: ScanFigures }
  | { readonly kind: "end"; readonly figures: ScanFigures }
  /** A declared refusal: its number and metadata. */
  | { readonly kind: "refused"; readonly reason: number; readonly metadata: Readonly<Record<string, string>> }
  | { readonly kind: "defect"; readonly message: string };

/** Pieces of the result that may be on their way. */
export const resultsInFlightMax = 4;
