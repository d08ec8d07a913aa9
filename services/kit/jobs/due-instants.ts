/** The first instants of the tables ordered by time, in milliseconds since 1970; infinite: the table is empty. */
export interface Instants {
  /** When the next scheduled job is due. */
  readonly scheduledMs: number;
  /** When the next lease ends. */
  readonly leasedMs: number;
  /** When the next age ends. */
  readonly expiringMs: number;
}

/** Three empty tables. */
export const never: Instants = { scheduledMs: Infinity, leasedMs: Infinity, expiringMs: Infinity };

const always: Instants = { scheduledMs: 0, leasedMs: 0, expiringMs: 0 };

/** How often jobs of other processes are looked for. */
const sharedPollMs = 1_000;

/** The earlier instant of each table. */
export const earlierOf = (left: Instants, right: Partial<Instants>): Instants => ({
  scheduledMs: Math.min(left.scheduledMs, right.scheduledMs ?? Infinity),
  leasedMs: Math.min(left.leasedMs, right.leasedMs ?? Infinity),
  expiringMs: Math.min(left.expiringMs, right.expiringMs ?? Infinity),
});

/** The earliest instant of all tables. */
const firstOf = ({ scheduledMs, leasedMs, expiringMs }: Instants): number =>
  Math.min(scheduledMs, leasedMs, expiringMs);

/**
 * A bound for each table: no entry of it is earlier. Reads of a table begin there, because the database visits every
 * deleted entry before the first one that exists, and the front of each table consists of deleted entries.
 */
export class DueInstants {
  readonly #isShared: boolean;
  #bounds = always;
  /** The earliest entries that were added since the last cycle began, which it may not have seen. */
  #arrived = never;

  /** Other processes of a shared store do not announce the entries that they add. */
  constructor(isShared: boolean) {
    this.#isShared = isShared;
  }

  /** Where reads of each table begin. */
  get bounds(): Instants {
    return this.#isShared ? always : this.#bounds;
  }

  /** Nothing is to be done with a job before this instant, except for jobs that are ready. */
  get nextMs(): number {
    return firstOf(this.#bounds);
  }

  /** A cycle begins. */
  begin(): void {
    this.#arrived = never;
  }

  /** Entries were added at these instants. */
  expect(instants: Partial<Instants>): void {
    this.#arrived = earlierOf(this.#arrived, instants);
    this.#bounds = earlierOf(this.#bounds, instants);
  }

  /** A cycle has added entries, and has read the first ones of each table if `found` is set. */
  settle(added: Instants, found: Instants | undefined, nowMs: number): void {
    this.#bounds = earlierOf(earlierOf(found ?? this.#bounds, added), this.#arrived);
    if (this.#isShared && found !== undefined)
      this.#bounds = earlierOf(this.#bounds, { scheduledMs: nowMs + sharedPollMs });
  }
}
