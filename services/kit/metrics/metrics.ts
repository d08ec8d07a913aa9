import { collectDefaultMetrics, Registry } from "prom-client";
import type { Metric } from "prom-client";

import { programVersion } from "../config/usage.ts";

/** A page of metrics, the answer of `GET /metrics`. */
interface MetricsPage {
  readonly contentType: string;
  readonly body: string;
}

/** One line of a metric: its labels and its value; in histograms also which of the lines. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** The metric's name with a suffix, in histograms. */
  readonly metricName?: string;
}

/** A metric whose values are kept elsewhere and read when the page is requested. */
interface ReadMetric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  read(): Iterable<Sample> | Promise<Iterable<Sample>>;
}

/** The metrics of one process. */
export interface Metrics {
  /** Adds a metric. Throws if one of this name exists. */
  add(metric: ReadMetric): void;
  /** The page as it is now or a little later. One is made at a time, and all who wait for the next one get the same. */
  page(): Promise<MetricsPage>;
}

/**
 * The metrics of a process, in the text format of Prometheus. With `withProcess` also those of the process itself: CPU,
 * memory, garbage collection, the lag of its event loop, open files, its version.
 */
export const createMetrics = ({ withProcess = false }: { readonly withProcess?: boolean } = {}): Metrics => {
  const registry = new Registry();
  const add: Metrics["add"] = ({ name, help, type, read }) => {
    const metric = { name, help, type, get: async () => ({ name, help, type, values: [...(await read())] }) };
    // The registry uses only the name and the lines of a metric; its type demands the library's own classes.
    registry.registerMetric(metric as unknown as Metric);
  };
  if (withProcess) {
    collectDefaultMetrics({ register: registry });
    const labels = { version: programVersion, node: process.versions.node };
    const help = "1; the version of Quartet and of Node.";
    add({ name: "quartet_build_info", help, type: "gauge", read: () => [{ labels, value: 1 }] });
  }
  let making: Promise<MetricsPage> | undefined;
  let next: Promise<MetricsPage> | undefined;
  const make = async (): Promise<MetricsPage> => {
    try {
      return { contentType: registry.contentType, body: await registry.metrics() };
    } finally {
      making = undefined;
    }
  };
  const makeNext = async (): Promise<MetricsPage> => {
    // Whoever waits for that one is told of its failure.
    await making?.catch(() => {});
    next = undefined;
    return (making = make());
  };
  const isMaking = (): boolean => making !== undefined || next !== undefined;
  return { add, page: () => (isMaking() ? (next ??= makeNext()) : (making = make())) };
};
