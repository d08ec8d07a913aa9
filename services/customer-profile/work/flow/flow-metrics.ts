import type { Metrics } from "../../../kit/metrics/metrics.ts";

const recordOutcomes = ["ingested", "left-out", "failed"] as const;
const runOutcomes = ["complete", "failed"] as const;

/** What flows have done since the process began. */
export class FlowCounters {
  readonly records = new Map<(typeof recordOutcomes)[number], number>(recordOutcomes.map((outcome) => [outcome, 0]));
  readonly runs = new Map<(typeof runOutcomes)[number], number>(runOutcomes.map((outcome) => [outcome, 0]));

  addRecords(outcome: (typeof recordOutcomes)[number], count: number): void {
    this.records.set(outcome, (this.records.get(outcome) ?? 0) + count);
  }

  addRun(outcome: (typeof runOutcomes)[number]): void {
    this.runs.set(outcome, (this.runs.get(outcome) ?? 0) + 1);
  }
}

/** Adds the metrics of flows. */
export const flowMetrics = (metrics: Metrics, counters: FlowCounters): void => {
  const linesOf = (counts: ReadonlyMap<string, number>) =>
    [...counts].map(([outcome, value]) => ({ labels: { outcome }, value }));
  metrics.add({
    name: "flow_records_total",
    help: "Records that flows of integrations read, by what became of them.",
    type: "counter",
    read: () => linesOf(counters.records),
  });
  metrics.add({
    name: "flow_runs_total",
    help: "Runs of flows that are over, by whether they read all.",
    type: "counter",
    read: () => linesOf(counters.runs),
  });
};
