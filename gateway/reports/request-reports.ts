import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";

import type { RequestReportSchema } from "../../gen/quartet/kit/report/v1/request_report_service_pb.ts";
import { RequestReportService } from "../../gen/quartet/kit/report/v1/request_report_service_pb.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";
import { anonymousCaller } from "../../services/kit/identity/caller.ts";
import type { Minter } from "../../services/kit/identity/tokens.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import type { Metrics } from "../../services/kit/metrics/metrics.ts";

export type NewReport = MessageInitShape<typeof RequestReportSchema>;

/** Where the reports of a service go, and the parts that sign the calls. */
export interface RequestReportsOptions {
  readonly transport: Transport;
  /** Whom tokens for the service name. */
  readonly audience: string;
  readonly minter: Minter;
  readonly clock: Clock;
  readonly log: Logger;
  /** Unset: dropped reports are not counted. */
  readonly metrics?: Metrics | undefined;
}

/** How long a report waits for others, in milliseconds. */
const gatherMs = 1_000;
/** Reports of one call, and their bytes: one whose message is too large would be refused, with all others in it. */
const batchMax = 500;
const batchBytesMax = 1024 * 1024;
/** Reports that wait while the service does not answer, and their bytes; further ones are dropped. */
const waitingMax = 10_000;
const waitingBytesMax = 32 * 1024 * 1024;
const timeoutMs = 10_000;
const attemptsMax = 3;

/** The gateway itself reports, whoever made the requests. */
const gatewayCaller: Caller = { ...anonymousCaller, isPreauthorized: true };

/**
 * Sends reports of requests to a service, gathered for a second. A call that fails is repeated, so a report may arrive
 * twice; after three attempts, and when too many wait, reports are dropped and counted. A process that is killed loses
 * those of its last second.
 */
export class RequestReports {
  readonly #options: RequestReportsOptions;
  readonly #waiting: WaitingReport[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #cancel: (() => void) | undefined;
  #sending: Promise<void> | undefined;

  constructor(options: RequestReportsOptions) {
    this.#options = options;
    options.metrics?.add({
      name: "request_reports_dropped",
      type: "counter",
      help: "Reports of requests that did not reach their service.",
      read: () => [{ labels: {}, value: this.#dropped }],
    });
  }

  /** Never waits and never throws. */
  add(report: NewReport): void {
    const bytes = bytesOf(report);
    if (this.#waiting.length >= waitingMax || this.#waitingBytes + bytes > waitingBytesMax) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push({ report, bytes });
    this.#waitingBytes += bytes;
    const { clock } = this.#options;
    this.#cancel ??= clock.schedule(clock.now() + gatherMs, () => void this.flush());
  }

  /** Sends what waits. Resolves when all of it is sent or dropped. */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = undefined));
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      if (!(await this.#send(batch))) this.#dropped += batch.length;
    }
  }

  #takeBatch(): NewReport[] {
    let count = 0;
    let bytes = 0;
    for (const each of this.#waiting) {
      if (count === batchMax || (count > 0 && bytes + each.bytes > batchBytesMax)) break;
      count += 1;
      bytes += each.bytes;
    }
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count).map(({ report }) => report);
  }

  async #send(reports: NewReport[]): Promise<boolean> {
    const { transport, audience, minter, log } = this.#options;
    const client = createClient(RequestReportService, transport);
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1)
      try {
        const headers = { authorization: `Bearer ${await minter.mint(gatewayCaller, audience)}` };
        await client.reportRequests({ reports }, { headers, timeoutMs });
        return true;
      } catch (error) {
        log.warn({ err: error, reports: reports.length, attempt }, "reports of requests were not accepted");
      }
    return false;
  }
}

interface WaitingReport {
  readonly report: NewReport;
  readonly bytes: number;
}

/** A report's bytes at most: two of each character that the client chose, which is Latin-1, and those of the rest. */
const bytesOf = ({ subject = "", target = "", host = "", referer = "", userAgent = "" }: NewReport): number =>
  restBytes + 2 * (subject.length + target.length + host.length + referer.length + userAgent.length);

const restBytes = 512;
