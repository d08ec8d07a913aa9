import type { RequestReport } from "../../../gen/quartet/kit/report/v1/request_report_service_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { Ids } from "../../kit/ids/ids.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Metrics } from "../../kit/metrics/metrics.ts";
import type { Store } from "../../kit/store/store.ts";
import type { LoggedRequest, RequestFacts } from "../domain/access-log-line.ts";
import { accessLogLine } from "../domain/access-log-line.ts";
import { limits } from "../limits.ts";
import { accessLogs } from "../store/access-logs.ts";
import { decodeSubject } from "./subject.ts";

/** What lines of access logs are stored with. */
export interface AccessLogsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Bytes of waiting lines after which further ones are dropped. Unset: 256 MiB. */
  readonly waitingBytesMax?: number | undefined;
}

/** A line that is to be stored. */
interface NewLine {
  readonly bucketId: string;
  readonly bucket: string;
  readonly timeMs: bigint;
  readonly text: string;
}

/**
 * The lines of all access logs that wait for their delivery. Lines that the gateway reports are stored before it is
 * answered; lines of calls that came as RPCs wait in memory for a second at most. What there is no room for is dropped
 * and counted.
 */
export class AccessLogs {
  readonly #options: AccessLogsOptions;
  #noted: NewLine[] = [];
  #cancel: (() => void) | undefined;
  #storing: Promise<void> = Promise.resolve();
  #waitingBytes = 0;
  #dropped = 0;

  constructor(options: AccessLogsOptions) {
    this.#options = options;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Bytes of stored lines, as far as they were counted: all after the first delivery. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** A delivery has found so many bytes waiting, or has taken so many. */
  count(bytes: number, by: "found" | "taken"): void {
    this.#waitingBytes = by === "found" ? bytes : Math.max(0, this.#waitingBytes - bytes);
  }

  /** Lines were dropped because their bucket or its log has ended, or its target refuses them. */
  drop(lines: number): void {
    this.#dropped += lines;
  }

  /** Stores reports of the gateway. One whose subject no service wrote is dropped. */
  async store(reports: readonly RequestReport[]): Promise<void> {
    const lines: NewLine[] = [];
    for (const report of reports) {
      const subjects = decodeSubject(report.subject);
      if (subjects.length === 0) this.#dropped += 1;
      for (const subject of subjects) lines.push(newLine(subject, report));
    }
    await this.#append(lines);
  }

  /** Notes a call that the gateway does not report. Never waits. */
  note(logged: LoggedRequest, facts: RequestFacts): void {
    if (this.#noted.length >= limits.accessLogNotedLinesMax) {
      this.#dropped += 1;
      return;
    }
    this.#noted.push(newLine(logged, facts));
    const { clock } = this.#options;
    this.#cancel ??= clock.schedule(clock.now() + limits.accessLogNotedMs, () => void this.flush());
  }

  /** Stores what was noted. A failure is logged, and the lines are dropped. */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const lines = this.#noted;
    if (lines.length === 0) return this.#storing;
    this.#noted = [];
    this.#storing = this.#storing
      .then(() => this.#append(lines))
      .catch((error: unknown) => {
        this.#dropped += lines.length;
        this.#options.log.error({ err: error, lines: lines.length }, "lines of access logs were not stored");
      });
    return this.#storing;
  }

  async #append(lines: readonly NewLine[]): Promise<void> {
    const { store, clock, ids, waitingBytesMax = limits.accessLogWaitingBytesMax } = this.#options;
    const kept = this.#waitingBytes < waitingBytesMax ? lines : [];
    this.#dropped += lines.length - kept.length;
    if (kept.length === 0) return;
    const nowMs = clock.now();
    const byBucket = Map.groupBy(kept, ({ bucketId }) => bucketId);
    const id = ids.hex(16);
    await store.transact((transaction) => {
      for (const [bucketId, [first, ...others]] of byBucket)
        if (first !== undefined)
          transaction.put(accessLogs, [bucketId, nowMs, id], {
            bucket: first.bucket,
            lines: [first, ...others].map(({ timeMs, text }) => ({ timeMs, text })),
          });
    });
    this.#waitingBytes += kept.reduce((sum, { text }) => sum + text.length, 0);
  }
}

/** Adds the metrics of access logs. */
export const accessLogMetrics = (metrics: Metrics, logs: AccessLogs): void => {
  metrics.add({
    name: "access_log_lines_dropped",
    type: "counter",
    help: "Lines of access logs of buckets that were not delivered.",
    read: () => [{ labels: {}, value: logs.dropped }],
  });
  metrics.add({
    name: "access_log_waiting_bytes",
    type: "gauge",
    help: "Bytes of the lines of access logs that wait for their delivery.",
    read: () => [{ labels: {}, value: logs.waitingBytes }],
  });
};

const newLine = (logged: LoggedRequest, facts: RequestFacts): NewLine => ({
  bucketId: logged.bucketId,
  bucket: logged.bucket,
  timeMs: facts.timeMs,
  text: accessLogLine(logged, facts),
});
