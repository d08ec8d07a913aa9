import { setTimeout as delay } from "node:timers/promises";

import type { Bounds, ByteString } from "./byte-string.ts";
import { prefixSuccessor, successor } from "./byte-string.ts";
import type { RawWrites, Snapshot } from "./engine.ts";
import { KeyFilter } from "./key-filter.ts";

/** Keys that are read at once, and the pause after them, which leaves the process to its callers. */
const pageKeys = 1_000;
const pauseMs = 10;

/** The bytes that all keys of a table begin with. */
const prefixBytes = 2;

/** What a known table is read through. */
interface KnownTablesSource {
  /** Resolves when what is being written now is written. */
  written(): Promise<void>;
  snapshot(): Snapshot;
  /** Resolves when the snapshots that are open now are closed. */
  snapshotsClosed(): Promise<void>;
}

/**
 * The keys of some tables, as far as is needed to know that a key is absent: in LevelDB an absent key costs more than
 * one that is there, because it is looked for in everything that was written lately and in each level below.
 */
export class KnownTables {
  /** All tables whose keys are noted, and of these the ones whose keys were all read. */
  readonly #noted = new Map<ByteString, KeyFilter>();
  readonly #known = new Map<ByteString, KeyFilter>();

  /** To be called before these keys can be read. */
  note(writes: RawWrites): void {
    if (this.#noted.size === 0) return;
    for (const [key, payload] of writes)
      if (payload !== undefined) this.#noted.get(key.slice(0, prefixBytes))?.add(key);
  }

  /** Whether no snapshot that is taken now, or was taken since the table is known, has the key. */
  isAbsent(key: ByteString): boolean {
    return this.#known.size > 0 && this.#known.get(key.slice(0, prefixBytes))?.mayHave(key) === false;
  }

  /**
   * Reads all keys of a table in steps. Resolves when the table is known, or the signal is aborted. Rejects if the
   * table cannot be read.
   */
  async know(prefix: ByteString, source: KnownTablesSource, signal: AbortSignal): Promise<void> {
    if (this.#noted.has(prefix)) return;
    const filter = new KeyFilter();
    this.#noted.set(prefix, filter);
    // What is being written was not noted.
    await source.written();
    const bounds = { low: prefix, high: prefixSuccessor(prefix) };
    for (;;) {
      if (signal.aborted) return;
      const last = await addPage(filter, source.snapshot(), bounds);
      if (last === undefined) break;
      bounds.low = successor(last);
      await delay(pauseMs, undefined, { ref: false, signal }).catch(() => undefined);
    }
    // What was deleted before it was read may be in these.
    await source.snapshotsClosed();
    this.#known.set(prefix, filter);
  }
}

/** Adds the first keys between the bounds, and closes the snapshot. Returns the last of them. */
const addPage = async (filter: KeyFilter, snapshot: Snapshot, bounds: Bounds): Promise<ByteString | undefined> => {
  try {
    for await (const page of snapshot.scan(bounds, false, pageKeys)) {
      for (const { key } of page) filter.add(key);
      const last = page.at(-1)?.key;
      if (last !== undefined) return last;
    }
    return undefined;
  } finally {
    await snapshot.close();
  }
};
