import type { Metrics } from "../../../kit/metrics/metrics.ts";

const jobOutcomes = ["complete", "failed"] as const;

/** What identity resolution has done since the process began. */
export class ResolutionCounters {
  readonly jobs = new Map<(typeof jobOutcomes)[number], number>(jobOutcomes.map((outcome) => [outcome, 0]));
  #profiles = 0;
  #merges = 0;

  get profiles(): number {
    return this.#profiles;
  }

  get merges(): number {
    return this.#merges;
  }

  addMerges(count: number): void {
    this.#merges += count;
  }

  addProfiles(count: number): void {
    this.#profiles += count;
  }

  addJob(outcome: (typeof jobOutcomes)[number]): void {
    this.jobs.set(outcome, (this.jobs.get(outcome) ?? 0) + 1);
  }
}

/** Adds the metrics of identity resolution. */
export const resolutionMetrics = (metrics: Metrics, counters: ResolutionCounters): void => {
  metrics.add({
    name: "resolution_profiles_total",
    help: "Profiles that identity resolution has compared with others, by jobs or rules.",
    type: "counter",
    read: () => [{ labels: {}, value: counters.profiles }],
  });
  metrics.add({
    name: "resolution_merges_total",
    help: "Profiles that identity resolution has merged into others.",
    type: "counter",
    read: () => [{ labels: {}, value: counters.merges }],
  });
  metrics.add({
    name: "resolution_jobs_total",
    help: "Weekly jobs of identity resolution that are over, by whether they could be carried out.",
    type: "counter",
    read: () => [...counters.jobs].map(([outcome, value]) => ({ labels: { outcome }, value })),
  });
};
