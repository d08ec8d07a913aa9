import type { Clock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import type { Keyring } from "./keyring.ts";

/** The data keys that a service keeps, each in a place of its own. */
export interface WrappedKeys<Place> {
  /** The places of all that are stale. */
  listStale(): Promise<readonly Place[]>;
  /** Wraps the one in this place anew, if it is still there and still stale. */
  rewrap(place: Place): Promise<void>;
  /** Takes what was replaced out of the files. */
  compact(): Promise<void>;
}

export interface RewrappingOptions<Place> {
  readonly keyring: Keyring;
  readonly keys: WrappedKeys<Place>;
  readonly clock: Clock;
  readonly log: Logger;
}

const intervalMs = 60_000;

/**
 * Wraps a service's data keys anew when a newer master key has come: looks at the start and every minute. What it has
 * not reached yet stays readable with the older key. Returns what ends it.
 */
export const startRewrapping = <Place>(options: RewrappingOptions<Place>): (() => Promise<void>) => {
  const { keyring, clock, log } = options;
  const ending = new AbortController();
  let doneFor: string | undefined;
  let cancel: (() => void) | undefined;
  const look = async (): Promise<void> => {
    try {
      const masterKeyId = keyring.masterKeyId();
      if (doneFor !== masterKeyId && (await rewrapAll(options, masterKeyId, ending.signal))) doneFor = masterKeyId;
    } catch (error) {
      log.error({ err: error }, "data keys were not wrapped anew; trying again in a minute");
    }
    if (!ending.signal.aborted)
      cancel = clock.schedule(clock.now() + intervalMs, () => {
        running = look();
      });
  };
  let running = look();
  return async () => {
    ending.abort();
    cancel?.();
    await running;
  };
};

/** True when nothing is stale any more. */
const rewrapAll = async <Place>(
  { keyring, keys, log }: RewrappingOptions<Place>,
  masterKeyId: string,
  signal: AbortSignal,
): Promise<boolean> => {
  const stale = await keys.listStale();
  let failed = 0;
  for (const place of stale) {
    if (signal.aborted) return false;
    // One that cannot be opened must not keep the others under the older key.
    await keys.rewrap(place).catch((error: unknown) => {
      failed += 1;
      log.error({ err: error, masterKeyId }, "a data key was not wrapped anew; trying again in a minute");
    });
  }
  // Also when nothing was stale: an earlier process may have ended before it came to this.
  if (keyring.hasOlderMasterKeys()) await keys.compact();
  if (stale.length > 0) log.info({ count: stale.length - failed, failed, masterKeyId }, "data keys were wrapped anew");
  return failed === 0;
};
