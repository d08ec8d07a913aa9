import type { Metrics } from "./metrics.ts";
import { requestMetrics, RequestTally } from "./request-tally.ts";

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
type OperationTally = RequestTally<"api" | "operation" | "dialect">;

/** Counts HTTP requests by operation and status. */
export const httpMetrics = (metrics: Metrics): ((request: AnsweredRequest) => void) => {
  const tallies = new Map<string, OperationTally>();
  requestMetrics(
    metrics,
    {
      name: "http_requests_total",
      help: "Requests that were answered, by API, operation, dialect and status.",
    },
    {
      name: "http_request_duration_seconds",
      help: "How long requests took, from their head to the end of the answer, in seconds.",
    },
    () => tallies.values(),
  );
  const tallyOf = (api: string, operation: string, dialect: string): OperationTally => {
    const key = `${api} ${operation} ${dialect}`;
    let tally = tallies.get(key);
    if (tally === undefined) {
      tally = new RequestTally({ api, operation, dialect });
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
    tally.note(status, ms);
  };
};
