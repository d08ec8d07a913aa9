import type { RequestReport } from "../../../gen/quartet/kit/report/v1/request_report_service_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import { SharedRoom } from "../../kit/collections/shared-room.ts";
import type { Ids } from "../../kit/ids/ids.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Metrics } from "../../kit/metrics/metrics.ts";
import type { Store } from "../../kit/store/store.ts";
import type { LoggedRequest, RequestFacts } from "../domain/access-log-line.ts";
import { accessLogLine, ownerOfLine } from "../domain/access-log-line.ts";
import { limits } from "../limits.ts";
import type { AccessLogEntry } from "../store/access-logs.ts";
import { accessLogs, bytesOfLines } from "../store/access-logs.ts";
import { decodeSubject } from "./subject.ts";

/** What lines of access logs are stored with. */
export interface AccessLogsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Bytes of waiting lines, which accounts and their buckets share: one alone has half of them. Unset: 512 MiB. */
  readonly waitingBytesMax?: number | undefined;
}

/** A line that is to be stored. */
interface NewLine {
  readonly owner: string;
  readonly bucketId: string;
  readonly bucket: string;
  readonly timeMs: bigint;
  readonly text: string;
}

/**
 * The lines of all access logs that wait for their delivery. Lines that the gateway reports are stored before it is
 * answered; lines of calls that came as RPCs wait in memory for a second at most. What there is no room for is dropped
 * and counted. Accounts and their buckets share the room, so that one with many lines leaves some for all others.
 */
export class AccessLogs {
  readonly #options: AccessLogsOptions;
  #noted: NewLine[] = [];
  /** Of lines in memory, until they are stored. */
  readonly #notedRoom = new SharedRoom(limits.accessLogNotedLinesMax);
  #cancel: (() => void) | undefined;
  #storing: Promise<void> = Promise.resolve();
  readonly #room: SharedRoom;
  /** What the ids of the entries of this process begin with, which counts them from the beginning. */
  readonly #idPrefix: string;
  /** Entries of earlier processes are counted, too. */
  #countsAll = false;
  /** By bucket, those of them that the delivery has left. */
  readonly #found = new Map<string, { readonly owner: string; bytes: number }>();
  #dropped = 0;

  constructor(options: AccessLogsOptions) {
    this.#options = options;
    this.#idPrefix = options.ids.hex(16);
    this.#room = new SharedRoom(options.waitingBytesMax ?? limits.accessLogWaitingBytesMax);
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Bytes of stored lines: of this process, and after the first whole delivery of earlier ones as well. */
  get waitingBytes(): number {
    return this.#room.used;
  }

  /** A delivery begins, of all entries that there are now. */
  beginDelivery(): void {
    this.#found.clear();
  }

  /** The delivery is done with these entries. */
  leave(entries: readonly AccessLogEntry[]): void {
    for (const entry of entries)
      if (this.#countsAll || this.#isOwn(entry)) this.#room.give(ownerOf(entry), entry.key[0], bytesOfLines(entry));
  }

  /** These entries wait further. */
  keep(entries: readonly AccessLogEntry[]): void {
    if (this.#countsAll) return;
    for (const entry of entries) {
      if (this.#isOwn(entry)) continue;
      const [bucketId] = entry.key;
      const found = this.#found.get(bucketId) ?? { owner: ownerOf(entry), bytes: 0 };
      found.bytes += bytesOfLines(entry);
      this.#found.set(bucketId, found);
    }
  }

  /** The delivery has seen all entries. */
  endDelivery(): void {
    this.#countsAll = true;
    for (const [bucketId, { owner, bytes }] of this.#found) this.#room.add(owner, bucketId, bytes);
    this.#found.clear();
  }

  #isOwn({ key: [, , id] }: AccessLogEntry): boolean {
    return id.startsWith(this.#idPrefix);
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
    if (!this.#notedRoom.take(logged.owner, logged.bucketId, 1)) {
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
      })
      .finally(() => {
        for (const { owner, bucketId } of lines) this.#notedRoom.give(owner, bucketId, 1);
      });
    return this.#storing;
  }

  async #append(lines: readonly NewLine[]): Promise<void> {
    const { store, clock, ids } = this.#options;
    const kept = lines.filter(({ owner, bucketId, text }) => this.#room.take(owner, bucketId, text.length));
    this.#dropped += lines.length - kept.length;
    if (kept.length === 0) return;
    const nowMs = clock.now();
    const byBucket = Map.groupBy(kept, ({ bucketId }) => bucketId);
    const id = `${this.#idPrefix}${ids.hex(16)}`;
    try {
      await store.transact((transaction) => {
        for (const [bucketId, [first, ...others]] of byBucket)
          if (first !== undefined)
            transaction.put(accessLogs, [bucketId, nowMs, id], {
              bucket: first.bucket,
              lines: [first, ...others].map(({ timeMs, text }) => ({ timeMs, text })),
            });
      });
    } catch (error) {
      for (const { owner, bucketId, text } of kept) this.#room.give(owner, bucketId, text.length);
      throw error;
    }
  }
}

/** The canonical id of the owner of an entry's bucket; empty: unknown. */
const ownerOf = ({ value }: AccessLogEntry): string => ownerOfLine(value.lines[0]?.text ?? "");

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
  owner: logged.owner,
  bucketId: logged.bucketId,
  bucket: logged.bucket,
  timeMs: facts.timeMs,
  text: accessLogLine(logged, facts),
});
