import type { DescMethod } from "@bufbuild/protobuf";
import type { Code } from "@connectrpc/connect";

import { DurationTally } from "./duration-tally.ts";
import type { Metrics, Sample } from "./metrics.ts";

/** Observes calls, each method by its descriptor. Every call that started ends once. */
export interface CallObserver {
  started(method: DescMethod): void;
  /** `code` is undefined if the call succeeded. */
  ended(method: DescMethod, code: Code | undefined, ms: number): void;
}

/** The counts of one method. */
class MethodTally {
  readonly labels: Readonly<Record<string, string>>;
  started = 0;
  /** Ended calls by their code; 0: success. */
  readonly handled: number[] = [];
  readonly durations = new DurationTally();

  constructor(method: DescMethod) {
    this.labels = {
      grpc_service: method.parent.typeName,
      grpc_method: method.name,
      grpc_type: method.methodKind === "bidi_streaming" ? "bidi_stream" : streamless(method.methodKind),
    };
  }

  get ended(): number {
    return this.handled.reduce((sum, count) => sum + (count ?? 0), 0);
  }
}

const streamless = (kind: string): string => kind.replace("streaming", "stream");

/**
 * Counts the calls that a process serves (`grpc_server`) or makes (`grpc_client`), under the names of gRPC's own
 * middlewares. A call adds to plain numbers, so counting costs a fraction of a microsecond; labels are created only
 * when the metrics are read. Methods come from descriptors, so a caller cannot add a label.
 */
export const callMetrics = (metrics: Metrics, side: "grpc_server" | "grpc_client"): CallObserver => {
  const tallies = new Map<DescMethod, MethodTally>();
  const tallyOf = (method: DescMethod): MethodTally => {
    let tally = tallies.get(method);
    if (tally === undefined) tallies.set(method, (tally = new MethodTally(method)));
    return tally;
  };
  const each = (read: (tally: MethodTally) => Iterable<Sample>) => () =>
    [...tallies.values()].flatMap((tally) => [...read(tally)]);
  metrics.add({
    name: `${side}_started_total`,
    help: "Calls that began.",
    type: "counter",
    read: each(({ labels, started }) => [{ labels, value: started }]),
  });
  metrics.add({
    name: `${side}_handled_total`,
    help: "Calls that ended, by their code.",
    type: "counter",
    read: each(({ labels, handled }) =>
      [...handled.entries()]
        .filter(([, count]) => count !== undefined)
        .map(([code, value]) => ({ labels: { ...labels, grpc_code: codeNames[code] ?? "Unknown" }, value })),
    ),
  });
  metrics.add({
    name: `${side}_in_flight`,
    help: "Calls that run now.",
    type: "gauge",
    read: each(({ labels, started, ended }) => [{ labels, value: started - ended }]),
  });
  const seconds = `${side}_handling_seconds`;
  metrics.add({
    name: seconds,
    help: "How long calls took, from their headers to their end, in seconds.",
    type: "histogram",
    read: each((tally) => tally.durations.samples(seconds, tally.labels)),
  });
  return {
    started: (method) => {
      tallyOf(method).started += 1;
    },
    ended: (method, code, ms) => {
      const tally = tallyOf(method);
      const at = code ?? 0;
      tally.handled[at] = (tally.handled[at] ?? 0) + 1;
      tally.durations.observe(ms);
    },
  };
};

/** The codes by their numbers, as gRPC's metrics spell them. */
const codeNames = [
  "OK",
  "Canceled",
  "Unknown",
  "InvalidArgument",
  "DeadlineExceeded",
  "NotFound",
  "AlreadyExists",
  "PermissionDenied",
  "ResourceExhausted",
  "FailedPrecondition",
  "Aborted",
  "OutOfRange",
  "Unimplemented",
  "Internal",
  "Unavailable",
  "DataLoss",
  "Unauthenticated",
] as const;
