import type { Clock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import { runPeriodically } from "../periodic/periodic.ts";
import type { Keyring } from "./keyring.ts";

/** The wrapped data keys that a service stores, each found by an identifier of the service's own. */
export interface WrappedKeys<Id> {
  /** The identifiers of all keys that an older master key wraps. */
  listStale(): Promise<readonly Id[]>;
  /** Wraps a key with the latest master key if it still exists and is still stale. */
  rewrap(id: Id): Promise<void>;
  /** Removes the replaced keys from the database's files. */
  compact(): Promise<void>;
}

export interface RewrappingOptions<Id> {
  readonly keyring: Keyring;
  readonly keys: WrappedKeys<Id>;
  readonly clock: Clock;
  readonly log: Logger;
}

const intervalMs = 60_000;

/**
 * Wraps a service's data keys with the latest master key: at the start, and within a minute of each rotation. A key
 * that was not reached yet stays readable with the older master key. Returns the function that ends this.
 */
export const startRewrapping = <Id>(options: RewrappingOptions<Id>): (() => Promise<void>) => {
  const { keyring, clock, log } = options;
  let doneFor: string | undefined;
  const rewrapDataKeys = async (signal: AbortSignal): Promise<void> => {
    const masterKeyId = keyring.masterKeyId();
    if (doneFor !== masterKeyId && (await rewrapAll(options, masterKeyId, signal))) doneFor = masterKeyId;
  };
  return runPeriodically({ clock, log, intervalMs, tasks: { rewrapDataKeys } });
};

/** True if no key is stale any more. */
const rewrapAll = async <Id>(
  { keyring, keys, log }: RewrappingOptions<Id>,
  masterKeyId: string,
  signal: AbortSignal,
): Promise<boolean> => {
  const stale = await keys.listStale();
  let failed = 0;
  for (const id of stale) {
    if (signal.aborted) return false;
    // One key that cannot be opened must not keep the others under the older master key.
    await keys.rewrap(id).catch((error: unknown) => {
      failed += 1;
      log.error({ err: error, masterKeyId }, "a data key could not be rewrapped; it is tried again in a minute");
    });
  }
  // Also if nothing was stale: an earlier process may have ended before it compacted.
  if (keyring.hasOlderMasterKeys()) await keys.compact();
  if (stale.length > 0) log.info({ count: stale.length - failed, failed, masterKeyId }, "data keys were rewrapped");
  return failed === 0;
};
