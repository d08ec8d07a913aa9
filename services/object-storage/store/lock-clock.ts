import type { Clock } from "../../kit/clock/clock.ts";
import type { Logger } from "../../kit/log/log.ts";
import { findOrDamaged, undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Store } from "../../kit/store/store.ts";
import { lockClock } from "./layout.ts";

/** The clock by which retentions end. */
export interface LockClock {
  /** Milliseconds since 1970-01-01T00:00:00Z; never less than an instant that it returned before. */
  now(): number;
  /** Stores the instant, so that a restart continues there. */
  save(): Promise<void>;
}

/** What the clock of retentions is opened from. */
export interface LockClockOptions {
  readonly store: Store;
  readonly clock: Pick<Clock, "now">;
  /** Milliseconds since any instant, by a counter that nobody can set. */
  readonly elapsedMs: () => number;
  readonly log?: Pick<Logger, "error">;
}

/** How many times as fast as time passes the clock may run until it has reached the machine's again. */
const catchUpFactor = 24;

const clockKey = ["retentions"] as const;

/**
 * Follows the machine's clock, but a machine's clock that is set changes no retention:
 *  - set back, this one stands still until the other has come up to it, so what was released stays released;
 *  - set forward, this one runs at most 24 times as fast as time passes, so nothing is released early by more than the
 *    time until somebody can set the clock right. After a day without the service it needs an hour to come up.
 *
 * The instant is stored in the periodic work, so a restart is no way around it. The first start begins at the machine's
 * clock (services/decisions/0085), and so does one that finds the instant damaged.
 */
export const openLockClock = async ({ store, clock, elapsedMs, log }: LockClockOptions): Promise<LockClock> => {
  const found = await store.read((reader) => findOrDamaged(reader.get(lockClock, clockKey)));
  if (found === "damaged") log?.error("the clock of retentions is damaged; it goes on from the machine's clock");
  const stored = found === "damaged" ? undefined : found;
  let instantMs = stored === undefined ? clock.now() : Number(stored.instantMs);
  let seenMs = elapsedMs();
  const advance = (): number => {
    const passedMs = Math.max(0, elapsedMs() - seenMs);
    seenMs += passedMs;
    instantMs = Math.max(instantMs, Math.min(clock.now(), Math.floor(instantMs + passedMs * catchUpFactor)));
    return instantMs;
  };
  const save = (): Promise<void> =>
    store.transact(async (transaction) => {
      const record = await transaction.get(lockClock, clockKey).catch(undefinedIfDamaged);
      const before = Number(record?.instantMs ?? 0n);
      transaction.put(lockClock, clockKey, { instantMs: BigInt(Math.max(before, advance())) });
    });
  if (stored === undefined) await save();
  return { now: advance, save };
};
