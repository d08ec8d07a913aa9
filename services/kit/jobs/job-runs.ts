import { StoreCorruptionError } from "../store/errors.ts";
import type { Transaction } from "../store/transaction.ts";
import { TracedCall } from "../trace/traced-call.ts";
import type { Ended } from "./ended-runs.ts";
import type { JobHandler, JobOutcome, JobPolicy } from "./job.ts";
import type { Ending } from "./job-counts.ts";
import type { JobsOptions } from "./job-options.ts";
import type { JobQueue } from "./job-queue.ts";
import type { PooledLease } from "./job-taking.ts";
import { endsAlone, interrupted, notWritten, runAgain } from "./run-ends.ts";
import type { Running, RunningJobs } from "./running-jobs.ts";

/** Writes nothing with the end of a job. */
const nothing = (): void => {};

/** The parts of a runner on which its runs depend. */
interface JobRunsParts {
  readonly options: JobsOptions;
  readonly queue: JobQueue;
  readonly running: RunningJobs;
  readonly isStopping: () => boolean;
  /** The handler of a run of the owner has ended. */
  readonly ending: (owner: string) => void;
  /** The end of a run is to be written with those of others. */
  readonly end: (ended: Ended) => void;
  /** The end of a run was written. */
  readonly leave: (running: Running, ending: Ending) => void;
}

/** Runs the handlers of jobs, and decides what becomes of a job when its run has ended. */
export class JobRuns {
  readonly #parts: JobRunsParts;

  constructor(parts: JobRunsParts) {
    this.#parts = parts;
  }

  /** Begins a run, whose lease ends at an instant. */
  begin({ lease, pool }: PooledLease, untilMs: number): void {
    const { options, running: runs } = this.#parts;
    const running: Running = { lease, pool, untilMs, abort: new AbortController() };
    runs.add(running);
    options.gate?.begin(lease.job.owner, options.clock.now());
    const { job, attempt } = lease;
    const work = new TracedCall(`job ${job.kind}`, "consumer", { parent: job.trace }, () => ({
      "job.id": job.id,
      "job.attempt": attempt,
    }));
    void work.run(() => this.#run(running, work));
  }

  /** Runs a job and settles its end. */
  async #run(running: Running, work: TracedCall): Promise<void> {
    const { options, running: runs, isStopping, ending, end } = this.#parts;
    const { lease, abort } = running;
    const handler = options.handlers[lease.job.kind] as JobHandler;
    let outcome: JobOutcome;
    try {
      outcome = await handler(lease.job, { signal: abort.signal, attempt: lease.attempt });
    } catch (error) {
      if (isStopping() && abort.signal.aborted) {
        end({ running, back: interrupted(lease), ending: undefined });
        return work.end("interrupted");
      }
      options.log.warn({ err: error, id: lease.job.id, kind: lease.job.kind }, "a job's handler threw");
      outcome = { retry: true, reason: error instanceof Error ? error.message : String(error) };
    }
    runs.end(running);
    ending(lease.job.owner);
    const settled = this.#settle(running, outcome);
    if (settled !== undefined) await settled;
    work.end("done" in outcome ? undefined : outcome.reason);
  }

  /** Ends a run. An end that depends on reads is committed here, all others with the next cycle. */
  #settle(running: Running, outcome: JobOutcome): Promise<void> | undefined {
    const { options, end } = this.#parts;
    const { lease } = running;
    const policy = options.policy[lease.job.kind] as JobPolicy;
    if ("done" in outcome) {
      const { apply, isBrief = false } = outcome;
      if (apply !== undefined && !isBrief) return this.#finishWith(running, policy, "done", apply);
      end({ running, back: undefined, ending: "done", apply });
      return undefined;
    }
    const { clock, random = Math.random } = options;
    const again = "retry" in outcome ? runAgain(lease, policy, outcome, clock.now(), random) : undefined;
    if (again !== undefined) {
      end({ running, back: again, ending: "retried" });
      return undefined;
    }
    options.log.warn(
      { id: lease.job.id, kind: lease.job.kind, attempts: lease.attempt, reason: outcome.reason },
      "a job was given up",
    );
    return this.#finishWith(running, policy, "exhausted", (tx) =>
      policy.onExhausted?.(tx, lease.job, outcome.reason, lease.attempt),
    );
  }

  /** Ends the run of a job that is done with a transaction of its own. */
  async finish({ running, apply = nothing }: Ended): Promise<void> {
    const policy = this.#parts.options.policy[running.lease.job.kind] as JobPolicy;
    await this.#finishWith(running, policy, "done", apply);
  }

  async #finishWith(
    running: Running,
    policy: JobPolicy,
    ending: Ending,
    apply: (tx: Transaction) => Promise<void> | void,
  ): Promise<void> {
    const { options, queue, end, leave } = this.#parts;
    const { lease } = running;
    try {
      await options.store.transact(async (tx) => {
        if (await queue.finish(tx, lease)) await apply(tx);
      });
      leave(running, ending);
    } catch (error) {
      const { clock, log, random = Math.random } = options;
      if (ending === "exhausted" && apply !== nothing && error instanceof StoreCorruptionError) {
        log.error({ err: error, id: lease.job.id, kind: lease.job.kind }, endsAlone);
        return this.#finishWith(running, policy, ending, nothing);
      }
      log.error({ err: error, id: lease.job.id, kind: lease.job.kind }, "the end of a job was not written");
      end({ running, back: notWritten(lease, policy, error, clock.now(), random), ending: "retried" });
    }
  }
}
