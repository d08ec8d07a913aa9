import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";

import type { Clock } from "../clock/clock.ts";
import { syncDirectory } from "../files/directories.ts";
import type { Logger } from "../log/log.ts";
import type { ByteString } from "./byte-string.ts";
import { bytesOf, prefixSuccessor } from "./byte-string.ts";
import type { CompactedDatabase } from "./deleted-space.ts";
import { DeletedSpace } from "./deleted-space.ts";
import { createDurable, DurableFile } from "./durable-file.ts";
import type { Engine, RawWrites } from "./engine.ts";
import type { GroupMark } from "./group-mark.ts";
import { encodeGroupMark, groupKey } from "./group-mark.ts";
import { GroupNumbering } from "./group-numbering.ts";
import { KnownTables } from "./known-tables.ts";
import { LevelDatabase } from "./level-database.ts";
import { LevelSnapshot } from "./level-snapshot.ts";
import { boundaryRecord, sealRecord } from "./record.ts";
import type { Recovery } from "./recovery.ts";
import { recover } from "./recovery.ts";
import { SharedSnapshots } from "./shared-snapshots.ts";
import { hasReadLogs, writeAgain } from "./unread-logs.ts";

/** LevelDB's own addition, which the types of `level` leave out because browsers lack it. */
type Database = LevelDatabase & CompactedDatabase;

/**
 * What LevelDB gathers in memory before it writes a table (services/decisions/0013). Its own 4 MiB make it write what
 * it is given six times over; with more than this, a start after a crash takes longer, because it reads the log of what
 * was gathered.
 */
export const writeBufferBytes = 16 * 1024 * 1024;

/** What was written since the last flush is not worth a table of its own if it is less. */
const flushBytesMin = 2 * 1024 * 1024;

/** A key after all that a database has. */
const afterAll = Buffer.alloc(65, 0xff);

/** Files that LevelDB counts among the open ones although they are no tables. */
const otherFiles = 10;

/** Bounds of a database. */
export interface DatabaseLimits {
  /** Memory for blocks of the database that were read. */
  readonly cacheBytes: number;
  /** The size of a table of the database, which is a file. */
  readonly tableBytes: number;
  /**
   * Tables that are open, at least 64. LevelDB maps an open table into memory, so those that were read count as memory
   * of the process; opening another one costs some microseconds.
   */
  readonly openTablesMax: number;
  /** How much of the tables is checked before the database is opened. */
  readonly tableCheckBytesMax: number;
}

/** How LevelDB is opened. */
export interface LevelEngineOptions {
  readonly directory: string;
  /** False: commits may be lost when the power fails. */
  readonly sync: boolean;
  readonly limits: DatabaseLimits;
  /** Opens a damaged database without what is lost. */
  readonly acceptLoss: boolean;
  readonly clock: Clock;
  readonly log: Logger | undefined;
}

/**
 * Opens or creates the LevelDB in a directory. Only one process can have it open. Throws StoreDamageError when its
 * files are not as they were written.
 */
export const openLevelEngine = async (options: LevelEngineOptions): Promise<Engine> => {
  const { directory, sync, limits } = options;
  const created = await mkdir(directory, { recursive: true });
  const recovery = await recover({ ...options, tableBytesMax: limits.tableCheckBytesMax });
  const database = new LevelDatabase(directory, {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
    cacheSize: limits.cacheBytes,
    writeBufferSize: writeBufferBytes,
    maxFileSize: limits.tableBytes,
    maxOpenFiles: limits.openTablesMax + otherFiles,
  }) as Database;
  await database.open();
  const numbering = await started(database, options, recovery, created).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  const snapshots = new SharedSnapshots(database);
  const tables = new KnownTables();
  const space = new DeletedSpace(database);
  const ending = new AbortController();
  const reading = new Set<Promise<void>>();
  let writing: Promise<void> = Promise.resolve();
  let gatheredBytes = 0;
  const snapshot = () => new LevelSnapshot(database, snapshots.current, tables);
  const written = () => writing.catch(() => undefined);
  const source = { snapshot, written, snapshotsClosed: () => snapshots.closed() };
  return {
    snapshot,
    async write(writes) {
      const group = numbering.next();
      tables.note(writes);
      writing = writeBatch(database, group, writes, sync).then((bytes) => {
        gatheredBytes += bytes;
      });
      try {
        await writing;
      } finally {
        snapshots.renew();
      }
      numbering.written(group);
    },
    async erase(prefix, isWholeKey) {
      await snapshots.closed();
      await erase(database, prefix, isWholeKey, sync);
      // A scan that began meanwhile keeps the files that were replaced, and LevelDB looks for such files only when it
      // compacts.
      await snapshots.closed();
      await database.compactRange(bytesOf(prefix), bytesOf(prefix));
    },
    reclaim: (bounds) => space.reclaim(bounds),
    async flush() {
      if (gatheredBytes < flushBytesMin) return;
      gatheredBytes = 0;
      // Merging begins with what is in memory; no table has such a key, so it ends with that.
      await database.compactRange(afterAll, afterAll);
    },
    async knowKeys(prefix) {
      const read = tables.know(prefix, source, ending.signal);
      reading.add(read);
      await read.finally(() => reading.delete(read));
    },
    async close() {
      ending.abort();
      await Promise.allSettled(reading);
      await numbering.close();
      snapshots.renew();
      await database.close();
    },
  };
};

/** Makes sure that the database has all that it was opened from, and continues its numbers. */
const started = async (
  database: Database,
  options: LevelEngineOptions,
  recovery: Recovery,
  created: string | undefined,
): Promise<GroupNumbering> => {
  const { directory, sync, log } = options;
  if (!hasReadLogs(database, recovery.logs)) {
    log?.error({ directory }, "the disk did not let LevelDB read its logs; what was in them is written again");
    await writeAgain(database, recovery.logs, sync);
  }
  return startNumbering(options, recovery, created);
};

/** Continues after the last group of the database. `created` is the topmost directory that had to be created. */
const startNumbering = async (
  { directory, sync, clock }: LevelEngineOptions,
  { last, hasDurableFile }: Recovery,
  created: string | undefined,
): Promise<GroupNumbering> => {
  if (!hasDurableFile) await createDurable(directory, last, sync);
  if (sync) await syncNames(directory, created);
  return new GroupNumbering(clock, last, sync ? await DurableFile.open(directory) : undefined);
};

/**
 * Makes the names of a database that was just opened durable: the directory's own, up to the first one that had to be
 * created, and that of LevelDB's new manifest. LevelDB renames the manifest into place and does not wait for it; until
 * it is there, a power loss would leave the name of an older one, of a new database even one that was never synced.
 */
const syncNames = async (directory: string, created: string | undefined): Promise<void> => {
  const top = created === undefined ? resolve(directory) : dirname(resolve(created));
  for (let path = resolve(directory); ; path = dirname(path)) {
    await syncDirectory(path);
    if (path === top) return;
  }
};

/**
 * LevelDB drops a deleted record when it merges the file that has the deletion into the one that has the record. Both
 * can be in one file, at the lowest level, which it would never merge with anything again. So boundaries are written
 * before and after all keys of the prefix: they begin at the top and take part in a merge on every level below. They
 * are synced like groups, so that at most the last record of a log is ever incomplete.
 */
const erase = async (database: Database, prefix: ByteString, isWholeKey: boolean, sync: boolean): Promise<void> => {
  const low = bytesOf(prefix);
  const high = bytesOf(prefixSuccessor(prefix));
  // No table has these keys: the beginning of a key is never a key, and nothing in a key can be 65 bytes of ff.
  const before = isWholeKey ? low.subarray(0, -1) : low;
  const after = Buffer.concat([low, afterAll]);
  await database.compactRange(before, high);
  await database.batch().put(before, boundaryRecord).put(after, boundaryRecord).write({ sync });
  await database.compactRange(before, high);
  await database.batch().del(before).del(after).write({ sync });
};

/**
 * Where records are wrapped one after the other: LevelDB copies each into its batch at once. One of 4 KiB in memory of
 * its own costs as much again.
 */
const wrapping = Buffer.allocUnsafeSlow(80 * 1024);

/** What a row counts besides its bytes: gathering an empty one takes as long as so many more bytes of one. */
const rowBytes = 256;
/** Bytes of a batch that are gathered in one turn of the event loop: that takes some milliseconds. */
const turnBytes = 512 * 1024;

/** Resolves with about how many bytes of memory the rows have. */
const writeBatch = async (database: Database, group: GroupMark, writes: RawWrites, sync: boolean): Promise<number> => {
  const batch = database.batch().put(groupKey, encodeGroupMark(group));
  let bytes = 0;
  let turnEnd = turnBytes;
  for (const [text, payload] of writes) {
    if (bytes > turnEnd) {
      await setImmediate();
      turnEnd = bytes + turnBytes;
    }
    const key = bytesOf(text);
    bytes += rowBytes + (payload?.byteLength ?? 0);
    if (payload === undefined) batch.del(key);
    else batch.put(key, sealRecord(key, payload, wrapping));
  }
  await batch.write({ sync });
  return bytes;
};
