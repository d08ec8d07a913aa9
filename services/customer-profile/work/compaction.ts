import type { Clock } from "../../kit/clock/clock.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Store } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { untraced } from "../../kit/trace/traced-call.ts";
import { idText } from "../domain/identifier.ts";
import { limits } from "../limits.ts";
import { domainKeys, erasedKeys, profileSeeds } from "../store/layout.ts";

/**
 * Removes deleted keys from the database's files. A deleted record stays in the files until they are compacted; with a
 * data key in them, an erased profile could still be decrypted. The keys to compact are listed in the database, so none
 * is forgotten if the process ends; one compaction serves all erasures of a minute.
 */
export interface Compaction {
  /** Requests a compaction within a minute. */
  request(): void;
  /** Compacts now; resolves when it is done. */
  run(): Promise<void>;
  /** Ends after the batch of keys that is being compacted; the others are compacted after the next start. */
  stop(): Promise<void>;
}

/** The compaction of a store's erased keys. */
export const createCompaction = (store: Store, clock: Clock, log: Logger): Compaction => {
  let cancel: (() => void) | undefined;
  let running: Promise<void> = Promise.resolve();
  const ending = new AbortController();
  const run = (): Promise<void> => {
    cancel?.();
    cancel = undefined;
    running = compactAfter(running, store, ending.signal);
    return running;
  };
  const request = (): void => {
    if (ending.signal.aborted) return;
    cancel ??= clock.schedule(clock.now() + limits.compactionDelayMs, () => void untraced(runLogged));
  };
  const runLogged = (): Promise<void> =>
    run().catch((error: unknown) => {
      log.error({ err: error }, "erased keys could not be compacted away; it is tried again in a minute");
      request();
    });
  return {
    request,
    run,
    stop: async () => {
      ending.abort();
      cancel?.();
      await running.catch(() => undefined);
    },
  };
};

type ErasedKey = readonly [domainId: Uint8Array, profileId: Uint8Array];

const compactAfter = async (earlier: Promise<void>, store: Store, signal: AbortSignal): Promise<void> => {
  // The failure of an earlier compaction was reported to its caller.
  await earlier.catch(() => undefined);
  const batch = limits.compactionBatchKeys;
  let erased: readonly ErasedKey[];
  do {
    const entries = await store.read((reader) => Array.fromAsync(walkTable(reader, erasedKeys, { limit: batch })));
    erased = entries.map(({ key }) => key);
    if (erased.length > 0) await compactKeys(store, erased);
  } while (erased.length === batch && !signal.aborted);
};

const compactKeys = async (store: Store, erased: readonly ErasedKey[]): Promise<void> => {
  const byDomain = Map.groupBy(erased, ([domainId]) => idText(domainId));
  for (const keys of byDomain.values()) {
    const [domainId] = keys[0] as ErasedKey;
    const ofProfiles = keys.filter(([, profileId]) => profileId.byteLength > 0);
    if (ofProfiles.length < keys.length) await store.compact(domainKeys, { prefix: [domainId] });
    // A few keys are compacted one by one, so that little else is rewritten; many, with all keys of their domain.
    if (ofProfiles.length > limits.compactionSinglesMax) await store.compact(profileSeeds, { prefix: [domainId] });
    else for (const key of ofProfiles) await store.compact(profileSeeds, { prefix: key });
  }
  await store.transact((transaction) => {
    for (const key of erased) transaction.delete(erasedKeys, key);
  });
};
