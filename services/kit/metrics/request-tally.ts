import { DurationTally } from "./duration-tally.ts";
import type { Metrics, Sample } from "./metrics.ts";

/** The status under which a request counts whose client went away before it was answered. */
export const clientGoneStatus = 499;

/** The counts of the HTTP requests with the same labels. */
export class RequestTally<Label extends string = string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly #statuses = new Map<number, number>();
  readonly #durations = new DurationTally();

  constructor(labels: Readonly<Record<Label, string>>) {
    this.labels = labels;
  }

  /** Counts a request that took so many milliseconds. Undefined: its time does not count. */
  note(status: number, ms: number | undefined): void {
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    if (ms !== undefined) this.#durations.observe(ms);
  }

  /** The lines of a counter: one for each status. */
  counts(): Sample[] {
    return [...this.#statuses].map(([status, value]) => ({ labels: { ...this.labels, status }, value }));
  }

  /** The lines of a histogram of this name. */
  durations(name: string): Iterable<Sample> {
    return this.#durations.samples(name, this.labels);
  }
}

/** A metric as its page introduces it. */
type Introduced = Readonly<Record<"name" | "help", string>>;

/** Shows the tallies that there are when the page is read: as a counter by status, and as a histogram of seconds. */
export const requestMetrics = (
  metrics: Metrics,
  total: Introduced,
  seconds: Introduced,
  tallies: () => Iterable<RequestTally>,
): void => {
  metrics.add({ ...total, type: "counter", read: () => [...tallies()].flatMap((tally) => tally.counts()) });
  metrics.add({
    ...seconds,
    type: "histogram",
    read: () => [...tallies()].flatMap((tally) => [...tally.durations(seconds.name)]),
  });
};
