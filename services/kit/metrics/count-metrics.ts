import { readCount } from "../store/counts.ts";
import { undefinedIfDamaged } from "../store/damage.ts";
import type { Store } from "../store/store.ts";
import type { CountsTable } from "../store/transaction.ts";
import type { Metrics, Sample } from "./metrics.ts";

/** A metric over counts in a database. */
export interface CountMetric {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  /** The names of the counts, each with its labels. */
  readonly counts: readonly (readonly [name: string, labels: Sample["labels"]])[];
}

/**
 * Adds metrics whose values are counts of a database: reading one is one read of a record, whatever is stored. A
 * damaged one is left out.
 */
export const countMetrics = (
  metrics: Metrics,
  store: Pick<Store, "read">,
  table: CountsTable,
  rows: readonly CountMetric[],
): void => {
  for (const { name, type, help, counts } of rows)
    metrics.add({
      name,
      type,
      help,
      read: () =>
        store.read(async (reader) => {
          const samples: Sample[] = [];
          for (const [count, labels] of counts) {
            const value = await readCount(reader, table, count).catch(undefinedIfDamaged);
            if (value !== undefined) samples.push({ labels, value });
          }
          return samples;
        }),
    });
};
