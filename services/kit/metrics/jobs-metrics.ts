import type { Jobs, JobsCounts } from "../jobs/jobs.ts";
import type { Metrics } from "./metrics.ts";

/** Due jobs are counted in the store at each reading, so at most this many. */
const dueCountMax = 10_000;

/** Adds the metrics of a process's job queue: what it has done since it started, by kind of job, and what is due. */
export const jobsMetrics = (metrics: Metrics, jobs: Pick<Jobs, "stats" | "countDue">): void => {
  for (const [name, type, help, member] of rows)
    metrics.add({
      name: `jobs_${name}`,
      type,
      help,
      read: () =>
        Object.entries(jobs.stats().kinds).map(([kind, counts]) => ({ labels: { kind }, value: counts[member] })),
    });
  metrics.add({
    name: "jobs_owners_waiting",
    type: "gauge",
    help: "Owners that have jobs to run and may not start one now.",
    read: () => [{ labels: {}, value: jobs.stats().ownersWaiting }],
  });
  metrics.add({
    name: "jobs_due",
    type: "gauge",
    help: `Jobs that may run and do not yet, counted up to ${dueCountMax}.`,
    read: async () => [{ labels: {}, value: await jobs.countDue(dueCountMax) }],
  });
};

const rows: readonly (readonly [string, "counter" | "gauge", string, keyof JobsCounts])[] = [
  ["running", "gauge", "Jobs that run now.", "running"],
  ["done_total", "counter", "Jobs that were finished.", "done"],
  ["retried_total", "counter", "Runs after which a job was put off to run again.", "retried"],
  ["exhausted_total", "counter", "Jobs that were given up.", "exhausted"],
];
