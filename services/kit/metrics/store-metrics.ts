import type { StoreStats } from "../store/store.ts";
import type { Metrics } from "./metrics.ts";

/** Adds the metrics of a process's store: what it has done and what it holds. */
export const storeMetrics = (metrics: Metrics, store: { stats(): StoreStats }): void => {
  for (const [name, type, help, read] of rows)
    metrics.add({
      name: `store_${name}`,
      type,
      help,
      read: () => [{ labels: {}, value: read(store.stats()) }],
    });
};

const rows: readonly (readonly [string, "counter" | "gauge", string, (stats: StoreStats) => number])[] = [
  ["commits_total", "counter", "Transactions that were committed with changes.", ({ commits }) => commits],
  ["batches_total", "counter", "Durable writes; each carries a group of commits.", ({ groups }) => groups],
  ["written_bytes_total", "counter", "Bytes of keys and values in those writes.", ({ writtenBytes }) => writtenBytes],
  [
    "conflicts_total",
    "counter",
    "Transactions that lost to another and had to run again.",
    ({ conflicts }) => conflicts,
  ],
  ["reruns_total", "counter", "Of these, runs inside the group that beat them.", ({ reruns }) => reruns],
  ["waiting_commits", "gauge", "Transactions that wait for their group.", ({ waiting }) => waiting],
  ["waiting_bytes", "gauge", "Bytes of their changes.", ({ waitingBytes }) => waitingBytes],
  ["transactions", "gauge", "Transactions that run or wait.", ({ transactions }) => transactions],
  ["reads", "gauge", "Reads that run.", ({ reads }) => reads],
  [
    "conflict_keys",
    "gauge",
    "Keys of past commits that are remembered for conflict checks.",
    ({ conflictKeys }) => conflictKeys,
  ],
];
