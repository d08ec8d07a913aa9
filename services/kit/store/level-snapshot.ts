import type { Level } from "level";

import type { Bounds, ByteString } from "./byte-string.ts";
import { bytesOf, byteStringOf, byteStringOfText, successor } from "./byte-string.ts";
import type { RawEntry, Snapshot } from "./engine.ts";
import { StoreClosedError, StoreCorruptionError } from "./errors.ts";
import type { KnownTables } from "./known-tables.ts";
import { isBoundary, openRecord } from "./record.ts";
import type { SharedSnapshot } from "./shared-snapshots.ts";

type Database = Level<Buffer, Buffer>;
type DatabaseSnapshot = ReturnType<Database["snapshot"]>;
type DatabaseIterator = ReturnType<typeof openIterator>;

/**
 * A page of a scan ends at either of these, so that large records do not pile up in memory. A caller who wants a
 * thousand entries and whether there are more needs one page.
 */
const pageEntriesMax = 1024;
const pageBytesMax = 256 * 1024;

/** An iterator with the bounds that it was opened with. */
interface KeptIterator {
  readonly iterator: DatabaseIterator;
  readonly bounds: Bounds;
}

/** A LevelDB as it was at one instant, for one reader. */
export class LevelSnapshot implements Snapshot {
  readonly #database: Database;
  readonly #shared: SharedSnapshot;
  readonly #tables: KnownTables;
  readonly #options: { readonly snapshot: DatabaseSnapshot };
  #scans: Set<DatabaseIterator> | undefined;
  /** The iterator of a scan that has ended, and its bounds: the next scan with the same end only moves it. */
  #kept: KeptIterator | undefined;
  #isClosed = false;

  constructor(database: Database, shared: SharedSnapshot, tables: KnownTables) {
    this.#database = database;
    this.#shared = shared;
    this.#tables = tables;
    this.#options = { snapshot: shared.snapshot };
    shared.use();
  }

  isAbsent(key: ByteString): boolean {
    return this.#tables.isAbsent(key);
  }

  get(text: ByteString): Uint8Array | undefined {
    if (this.#isClosed) throw new StoreClosedError("this transaction has ended");
    if (this.isAbsent(text)) return undefined;
    const key = bytesOf(text);
    // Reading at once takes 2 µs; a trip through the thread pool takes 30.
    const record = this.#database.getSync(key, this.#options);
    return record === undefined ? undefined : openRecord(key, record);
  }

  async *scan(bounds: Bounds, reverse: boolean, expected: number): AsyncGenerator<readonly RawEntry[], void> {
    if (this.#isClosed) throw new StoreClosedError("this transaction has ended");
    const { iterator, bounds: own } = this.#takeKept(bounds, reverse) ?? this.#open(bounds, reverse);
    let canKeep = false;
    /** What a scan by bytes would still have to read. */
    let rest: Bounds = { low: bounds.low, high: bounds.high };
    try {
      let left = expected;
      for (;;) {
        canKeep = false;
        const page = await iterator.nextv(left > 0 ? Math.min(left, pageEntriesMax) : pageEntriesMax);
        canKeep = !reverse && !this.#isClosed;
        if (page.length === 0) return;
        const entries = entriesOf(page);
        if (entries === undefined) {
          canKeep = false;
          yield* this.scan(rest, reverse, left);
          return;
        }
        yield entries;
        if (this.#isClosed) throw new StoreClosedError("this transaction has ended");
        left -= page.length;
        const last = entries.at(-1);
        if (last !== undefined) rest = { ...rest, low: successor(last.key) };
      }
    } finally {
      const unused = canKeep ? this.#kept?.iterator : iterator;
      if (canKeep) this.#kept = { iterator, bounds: own };
      if (unused !== undefined) await this.#end(unused);
    }
  }

  #open(bounds: Bounds, reverse: boolean): KeptIterator {
    const iterator = openIterator(this.#database, this.#shared.snapshot, bounds, reverse);
    this.#scans ??= new Set();
    this.#scans.add(iterator);
    return { iterator, bounds };
  }

  #takeKept({ low, high, hasTextKeys }: Bounds, reverse: boolean): KeptIterator | undefined {
    const kept = this.#kept;
    if (kept === undefined || reverse || high !== kept.bounds.high || low < kept.bounds.low) return undefined;
    if (hasTextKeys !== kept.bounds.hasTextKeys) return undefined;
    this.#kept = undefined;
    kept.iterator.seek(bytesOf(low));
    return kept;
  }

  async #end(iterator: DatabaseIterator): Promise<void> {
    this.#scans?.delete(iterator);
    await iterator.close();
  }

  close(): Promise<void> | undefined {
    if (this.#isClosed) return undefined;
    this.#isClosed = true;
    return this.#scans === undefined ? this.#shared.release() : this.#endScans(this.#scans);
  }

  async #endScans(scans: ReadonlySet<DatabaseIterator>): Promise<void> {
    for (const iterator of scans) await iterator.close();
    await this.#shared.release();
  }
}

/** The entries of a page; undefined if a record is not whole, or the key of one was no text. */
const entriesOf = (page: readonly (readonly [Buffer | string, Buffer])[]): RawEntry[] | undefined => {
  const entries: RawEntry[] = [];
  for (const [key, record] of page) {
    if (isBoundary(record)) continue;
    if (typeof key !== "string") entries.push({ key: byteStringOf(key), payload: openRecord(key, record) });
    else {
      const payload = openTextRecord(key, record);
      if (payload === undefined) return undefined;
      entries.push({ key: byteStringOfText(key), payload });
    }
  }
  return entries;
};

/** Undefined if it is damaged. Bytes that are no text become another one, to whose UTF-8 the checksum does not fit. */
const openTextRecord = (key: string, record: Buffer): Uint8Array | undefined => {
  try {
    return openRecord(key, record);
  } catch (error) {
    if (!(error instanceof StoreCorruptionError)) throw error;
    return undefined;
  }
};

/** Keys that LevelDB's binding makes texts of, which cost a third of Buffers. Bounds are bytes as in other scans. */
const textKeys = {
  name: "text-keys",
  format: "utf8",
  encode: (key: Buffer) => key,
  decode: (key: unknown) => key as Buffer,
} as const;

const openIterator = (
  database: Database,
  snapshot: DatabaseSnapshot,
  { low, high, hasTextKeys }: Bounds,
  reverse: boolean,
) =>
  database.iterator<Buffer, Buffer>({
    gte: bytesOf(low),
    lt: bytesOf(high),
    reverse,
    keyEncoding: hasTextKeys === true && !reverse ? textKeys : "buffer",
    highWaterMarkBytes: pageBytesMax,
    snapshot,
  });
