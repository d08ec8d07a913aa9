import { mkdir, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { Level } from "level";

import type { Bounds, ByteString } from "./byte-string.ts";
import { bytesOf, byteStringOf, prefixSuccessor } from "./byte-string.ts";
import type { Engine, RawEntry, RawWrites, Snapshot } from "./engine.ts";
import { StoreClosedError } from "./errors.ts";
import { boundaryRecord, isBoundary, openRecord, sealRecord } from "./record.ts";

/** LevelDB's own addition, which the types of `level` leave out because browsers lack it. */
type Database = Level<Buffer, Buffer> & { compactRange(low: Buffer, high: Buffer): Promise<void> };
type DatabaseSnapshot = ReturnType<Database["snapshot"]>;
type DatabaseIterator = ReturnType<Database["iterator"]>;

/** How LevelDB is opened. */
export interface LevelEngineOptions {
  readonly directory: string;
  /** False gives up durability across power loss. */
  readonly sync: boolean;
  readonly cacheBytes: number;
}

/** A page of a scan ends at either of these, so that large records do not pile up in memory. */
const pageEntriesMax = 1000;
const pageBytesMax = 256 * 1024;

/** Opens or creates the LevelDB in a directory. Only one process can have it open. */
export const openLevelEngine = async (options: LevelEngineOptions): Promise<Engine> => {
  const database = new Level<Buffer, Buffer>(options.directory, {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
    cacheSize: options.cacheBytes,
  }) as Database;
  const created = await mkdir(options.directory, { recursive: true });
  await database.open();
  if (options.sync) await syncNames(options.directory, created);
  const snapshots = new Set<LevelSnapshot>();
  return {
    snapshot() {
      const snapshot = new LevelSnapshot(database, () => snapshots.delete(snapshot));
      snapshots.add(snapshot);
      return snapshot;
    },
    write: (writes) => writeBatch(database, writes, options.sync),
    async erase(prefix, isWholeKey) {
      await closed(snapshots);
      await erase(database, prefix, isWholeKey);
      // A scan that began meanwhile keeps the files that were replaced, and LevelDB looks for such files only when it
      // compacts.
      await closed(snapshots);
      await database.compactRange(bytesOf(prefix), bytesOf(prefix));
    },
    close: () => database.close(),
  };
};

/**
 * Makes the names of a database that was just opened durable: the directory's own, up to the first one that had to be
 * created, and that of LevelDB's new manifest. LevelDB renames the manifest into place and does not wait for it; until
 * it is there, a power loss would leave the name of an older one, of a new database even one that was never synced.
 */
const syncNames = async (directory: string, created: string | undefined): Promise<void> => {
  const top = created === undefined ? resolve(directory) : dirname(resolve(created));
  for (let path = resolve(directory); ; path = dirname(path)) {
    const handle = await open(path, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (path === top) return;
  }
};

/** Resolves when those that are open now are closed. */
const closed = async (snapshots: ReadonlySet<LevelSnapshot>): Promise<void> => {
  await Promise.all([...snapshots].map((snapshot) => snapshot.closed));
};

/**
 * LevelDB drops a deleted record when it merges the file that has the deletion into the one that has the record. Both
 * can be in one file, at the lowest level, which it would never merge with anything again. So boundaries are written
 * before and behind all keys of the prefix: they begin at the top and take part in a merge on every level below.
 */
const erase = async (database: Database, prefix: ByteString, isWholeKey: boolean): Promise<void> => {
  const low = bytesOf(prefix);
  const high = bytesOf(prefixSuccessor(prefix));
  // No table has these keys: the beginning of a key is never a key, and nothing in a key can be 65 bytes of ff.
  const before = isWholeKey ? low.subarray(0, -1) : low;
  const behind = Buffer.concat([low, Buffer.alloc(65, 0xff)]);
  await database.compactRange(before, high);
  await database.batch().put(before, boundaryRecord).put(behind, boundaryRecord).write();
  await database.compactRange(before, high);
  await database.batch().del(before).del(behind).write();
};

const writeBatch = async (database: Database, writes: RawWrites, sync: boolean): Promise<void> => {
  const batch = database.batch();
  for (const [text, payload] of writes) {
    const key = bytesOf(text);
    if (payload === undefined) batch.del(key);
    else batch.put(key, sealRecord(key, payload));
  }
  await batch.write({ sync });
};

class LevelSnapshot implements Snapshot {
  readonly #database: Database;
  readonly #snapshot: DatabaseSnapshot;
  readonly #options: { readonly snapshot: DatabaseSnapshot };
  readonly #scans = new Set<DatabaseIterator>();
  readonly #onClose: () => void;
  readonly #closed = Promise.withResolvers<void>();
  #isClosed = false;

  constructor(database: Database, onClose: () => void) {
    this.#database = database;
    this.#onClose = onClose;
    this.#snapshot = database.snapshot();
    this.#options = { snapshot: this.#snapshot };
  }

  /** Resolves when the snapshot is closed. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get(text: ByteString): Uint8Array | undefined {
    if (this.#isClosed) throw new StoreClosedError("this transaction has ended");
    const key = bytesOf(text);
    // Reading at once takes 2 µs; a trip through the thread pool takes 30.
    const record = this.#database.getSync(key, this.#options);
    return record === undefined ? undefined : openRecord(key, record);
  }

  async *scan(bounds: Bounds, reverse: boolean, expected: number): AsyncGenerator<readonly RawEntry[], void> {
    if (this.#isClosed) throw new StoreClosedError("this transaction has ended");
    const iterator = this.#database.iterator({
      gte: bytesOf(bounds.low),
      lt: bytesOf(bounds.high),
      reverse,
      highWaterMarkBytes: pageBytesMax,
      snapshot: this.#snapshot,
    });
    this.#scans.add(iterator);
    try {
      let count = Math.max(1, Math.min(expected, pageEntriesMax));
      for (;;) {
        const page = await iterator.nextv(count);
        if (page.length === 0) return;
        const entries: RawEntry[] = [];
        for (const [key, record] of page)
          if (!isBoundary(record)) entries.push({ key: byteStringOf(key), payload: openRecord(key, record) });
        yield entries;
        if (this.#isClosed) throw new StoreClosedError("this transaction has ended");
        count = pageEntriesMax;
      }
    } finally {
      this.#scans.delete(iterator);
      await iterator.close();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const iterator of this.#scans) await iterator.close();
    await this.#snapshot.close();
    this.#onClose();
    this.#closed.resolve();
  }
}
