import { countMetrics } from "../../kit/metrics/count-metrics.ts";
import type { Metrics } from "../../kit/metrics/metrics.ts";
import { readCount } from "../../kit/store/counts.ts";
import type { Reader, Store, Transaction } from "../../kit/store/store.ts";
import { counts } from "./layout.ts";

/** How a delivery ended: accepted by its target, refused by it for good, or given up after its retries or its age. */
export type DeliveryEnd = "delivered" | "refused" | "expired";

const events = "events";
const deadLetters = "dead-letters";
const deliveryEnds: readonly DeliveryEnd[] = ["delivered", "refused", "expired"];
const countOf = (end: DeliveryEnd): string => `deliveries/${end}`;

/** Counts an event that is put into the log. */
export const countEvent = (transaction: Transaction): void => transaction.add(counts, [events], { value: 1 });

/** Counts a delivery that ends. */
export const countDelivery = (transaction: Transaction, end: DeliveryEnd): void =>
  transaction.add(counts, [countOf(end)], { value: 1 });

/** A group of an account's dead letters. */
export interface LetterGroup {
  readonly account: string;
  readonly groupId: string;
}

const countOfGroup = ({ account, groupId }: LetterGroup): string => `${deadLetters}/${account}/${groupId}`;

/** Counts a dead letter of a group that is stored, or one that is removed. */
export const countDeadLetter = (transaction: Transaction, group: LetterGroup, by: 1 | -1): void => {
  transaction.add(counts, [deadLetters], { value: by });
  transaction.add(counts, [countOfGroup(group)], { value: by });
};

/** The number of dead letters of a group. */
export const readGroupCount = (reader: Reader, group: LetterGroup): Promise<number> =>
  readCount(reader, counts, countOfGroup(group));

/** Deletes the count of a group that has no letters. */
export const deleteGroupCount = (transaction: Transaction, group: LetterGroup): void =>
  transaction.delete(counts, [countOfGroup(group)]);

/** Adds the metrics of events, deliveries and dead letters, which go on counting when the process is started again. */
export const trafficMetrics = (metrics: Metrics, store: Pick<Store, "read">): void =>
  countMetrics(metrics, store, counts, [
    {
      name: "event_bus_events_total",
      type: "counter",
      help: "Events that were put on a bus: sent, scheduled, forwarded by another bus, or replayed.",
      counts: [[events, {}]],
    },
    {
      name: "event_bus_deliveries_total",
      type: "counter",
      help: "Deliveries that ended: accepted by the target, refused by it for good, or given up.",
      counts: deliveryEnds.map((outcome) => [countOf(outcome), { outcome }]),
    },
    {
      name: "event_bus_dead_letters",
      type: "gauge",
      help: "Deliveries that failed for good and can be redriven.",
      counts: [[deadLetters, {}]],
    },
  ]);
