import { createMetrics } from "../../../services/kit/metrics/metrics.ts";
import { amountMetrics } from "../../../services/object-storage/store/stored-amounts.ts";
import { samplesNow } from "../../kit/metrics/samples.ts";
import type { Harness } from "../harness.ts";

/** The objects and bytes that the metrics show. */
export const amounts = (harness: Harness): Promise<string[]> => {
  const metrics = createMetrics();
  amountMetrics(metrics, harness.opened.app.store);
  return samplesNow(metrics);
};

/** What `amounts` returns of so many objects and bytes. */
export const shown = (objects: number, bytes: number): string[] => [
  `object_storage_object_bytes ${bytes}`,
  `object_storage_objects ${objects}`,
];
