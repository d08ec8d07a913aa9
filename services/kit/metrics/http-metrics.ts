import { DurationTally } from "./duration-tally.ts";
import type { Metrics, Sample } from "./metrics.ts";

/** One request that was answered. */
export interface AnsweredRequest {
  readonly api: string;
  /** The operation's name; undefined if none was found. */
  readonly operation: string | undefined;
  readonly dialect: string;
  readonly status: number;
  readonly ms: number;
}

/** The label of requests without an operation, so that a caller cannot add labels. */
const unknownOperation = "unknown";

/** The counts of one operation in one dialect. */
interface OperationTally {
  readonly labels: Readonly<Record<"api" | "operation" | "dialect", string>>;
  readonly statuses: Map<number, number>;
  readonly durations: DurationTally;
}

/** Counts HTTP requests by operation and status. */
export const httpMetrics = (metrics: Metrics): ((request: AnsweredRequest) => void) => {
  const tallies = new Map<string, OperationTally>();
  const samples = (read: (tally: OperationTally) => Iterable<Sample>) => () =>
    [...tallies.values()].flatMap((tally) => [...read(tally)]);
  metrics.add({
    name: "http_requests_total",
    help: "Requests that were answered, by API, operation, dialect and status.",
    type: "counter",
    read: samples(({ labels, statuses }) =>
      [...statuses].map(([status, value]) => ({ labels: { ...labels, status }, value })),
    ),
  });
  const seconds = "http_request_duration_seconds";
  metrics.add({
    name: seconds,
    help: "How long requests took, from their head to the end of the answer, in seconds.",
    type: "histogram",
    read: samples(({ labels, durations }) => durations.samples(seconds, labels)),
  });
  const tallyOf = (api: string, operation: string, dialect: string): OperationTally => {
    const key = `${api} ${operation} ${dialect}`;
    let tally = tallies.get(key);
    if (tally === undefined) {
      tally = { labels: { api, operation, dialect }, statuses: new Map(), durations: new DurationTally() };
      tallies.set(key, tally);
    }
    return tally;
  };
  // Mostly the next request is of the same operation, and to compare costs less than to find it.
  let last: OperationTally | undefined;
  return ({ api, operation = unknownOperation, dialect, status, ms }) => {
    const isLast = last?.labels.api === api && last.labels.operation === operation && last.labels.dialect === dialect;
    const tally = isLast ? last! : tallyOf(api, operation, dialect);
    last = tally;
    tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
    tally.durations.observe(ms);
  };
};
