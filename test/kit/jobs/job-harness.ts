import { onTestFinished } from "vitest";

import type { Job, JobContext, JobOutcome, JobPolicy, Jobs, JobsOptions } from "../../../services/kit/jobs/jobs.ts";
import { createJobs, jobTables } from "../../../services/kit/jobs/jobs.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { fixedIds } from "../../support/fixed-ids.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { unhurriedMs } from "../store/unhurried.ts";

export const tables = jobTables(50);

/** Tries three times within an hour, a second apart and then ten. */
export const patient: JobPolicy = {
  attemptsMax: 3,
  ageMsMax: 3_600_000,
  backoff: (attempt) => 1_000 * 10 ** (attempt - 1),
};

/** One run of a job that a handler has begun and a test will end. */
export interface HeldRun {
  readonly job: Job;
  readonly context: JobContext;
  end(outcome: JobOutcome): void;
  fail(error: Error): void;
}

export interface JobHarness {
  readonly store: Store;
  readonly clock: FakeClock;
  readonly jobs: Jobs;
  /** Runs of the kind `held`, in the order in which they began. */
  readonly held: HeldRun[];
  /** Runs of the kind `note` as `id attempt`, which are done at once. */
  readonly noted: string[];
  readonly enqueue: (...jobs: Parameters<Jobs["enqueue"]>[1][]) => Promise<void>;
}

/**
 * A store that is closed when the test ends. Whether losers run again inside their group does not depend on the
 * machine.
 */
export const openJobStore = async (directory?: string): Promise<Store> => {
  const limits = { rerunMsMax: unhurriedMs };
  const store = await openStore({ directory: directory ?? (await temporaryDirectory()), sync: false, limits });
  onTestFinished(() => store.close());
  return store;
};

/** Jobs on a store of their own, not started; stopped when the test ends. */
export const jobHarness = async (options: Partial<JobsOptions> = {}): Promise<JobHarness> => {
  const store = options.store ?? (await openJobStore());
  const clock = (options.clock as FakeClock | undefined) ?? new FakeClock();
  const held: HeldRun[] = [];
  const noted: string[] = [];
  const jobs = createJobs({
    store,
    tables,
    clock,
    ids: fixedIds(),
    log: silentLogger,
    random: () => 0.5,
    ...options,
    handlers: {
      held: (job, context) => new Promise((resolve, reject) => held.push({ job, context, end: resolve, fail: reject })),
      note: async (job, { attempt }) => {
        noted.push(`${job.id} ${attempt}`);
        return { done: true };
      },
      ...options.handlers,
    },
    policy: { held: patient, note: patient, ...options.policy },
  });
  onTestFinished(async () => {
    for (const run of held) run.fail(new Error("the test has ended"));
    await jobs.stop(0);
  });
  return {
    store,
    clock,
    jobs,
    held,
    noted,
    enqueue: (...added) =>
      store.transact((tx) => {
        for (const job of added) jobs.enqueue(tx, job);
      }),
  };
};

/** What is left of jobs in the store, as the names of tables with their numbers of records. */
export const leftovers = (store: Store): Promise<Record<string, number>> =>
  store.read(async (reader) => {
    const counts: Record<string, number> = {};
    for (const table of [
      tables.bodies,
      tables.states,
      tables.scheduled,
      tables.ready,
      tables.leased,
      tables.expiring,
      tables.fresh,
    ]) {
      let count = 0;
      for await (const _entry of reader.range(table as typeof tables.states, {})) count += 1;
      if (count > 0) counts[table.name] = count;
    }
    return counts;
  });

/** Waits until this many runs have begun. */
export const started = (held: readonly HeldRun[], count: number): Promise<readonly HeldRun[]> =>
  eventually(() => (held.length >= count ? held : undefined), `${count} runs have begun`);

export const payload = new Uint8Array([1, 2, 3]);
