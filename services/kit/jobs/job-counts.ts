/** How jobs ended since their queue was created, and how many run now. */
export interface JobsCounts {
  readonly running: number;
  readonly done: number;
  readonly retried: number;
  /** Given up, because the handler said so or by the policy. */
  readonly exhausted: number;
}

/** The figures of a job queue since it was created. */
export interface JobsStats extends JobsCounts {
  /** The same for each kind. */
  readonly kinds: Readonly<Record<string, JobsCounts>>;
  /** Transactions in which the runner itself writes. */
  readonly cycles: number;
  /** Owners that have jobs to run and may not start one now. */
  readonly ownersWaiting: number;
}

/** How a run ended. */
export type Ending = "done" | "retried" | "exhausted";

/** How runs ended, by kind of job, since the process began. A run counts once its end is written. */
export class JobCounts {
  readonly #endings = new Map<string, Record<Ending, number>>();

  constructor(kinds: readonly string[]) {
    for (const kind of kinds) this.#endings.set(kind, { done: 0, retried: 0, exhausted: 0 });
  }

  add(kind: string, ending: Ending): void {
    const endings = this.#endings.get(kind);
    if (endings !== undefined) endings[ending] += 1;
  }

  /** The counts of all kinds and of each, with the kinds of the jobs that run now. */
  read(running: readonly string[]): Omit<JobsStats, "cycles" | "ownersWaiting"> {
    const kinds = Object.fromEntries(
      [...this.#endings].map(([kind, endings]) => [
        kind,
        { running: running.filter((each) => each === kind).length, ...endings },
      ]),
    );
    const sum = (ending: Ending): number => Object.values(kinds).reduce((total, counts) => total + counts[ending], 0);
    return { running: running.length, done: sum("done"), retried: sum("retried"), exhausted: sum("exhausted"), kinds };
  }
}
