import type { Message, MessageInitShape } from "@bufbuild/protobuf";
import { create, isMessage } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";

import { encodeMessage } from "../wire/encode-message.ts";
import type { Addition } from "./additions.ts";
import { addTo } from "./additions.ts";
import type { Bounds, ByteString } from "./byte-string.ts";
import { byteStringOf } from "./byte-string.ts";
import type { ConflictLog, Watcher } from "./conflict-log.ts";
import type { Engine, RawEntry, Snapshot, View } from "./engine.ts";
import { StoreClosedError, StoreCorruptionError, StoreTransactionTooLargeError } from "./errors.ts";
import type { RangeOptions } from "./range.ts";
import { ReadSet } from "./read-set.ts";
import type { SharedRecords } from "./shared-records.ts";
import { absent, frozen } from "./shared-records.ts";
import type { KeyTuple, Table } from "./table.ts";
import { encodeKey, encodeKeyPrefix } from "./table.ts";
import type { Additions, Entry, StoredRecord, Transaction } from "./transaction.ts";
import type { OnPassed } from "./view-reader.ts";
import { ViewReader } from "./view-reader.ts";
import { overlay, WriteSet } from "./write-set.ts";

/** The committed state as of the first read. A transaction that reads nothing never costs a snapshot. */
export class CommittedView implements View {
  readonly #engine: Engine;
  readonly #shared: SharedRecords;
  readonly #log: ConflictLog | undefined;
  #epoch = 0;
  #snapshot: Snapshot | undefined;
  #watcher: Watcher | undefined;
  #isClosed = false;

  /** With a log, it remembers what is written from then on, until `release`. */
  constructor(engine: Engine, shared: SharedRecords, log?: ConflictLog) {
    this.#engine = engine;
    this.#shared = shared;
    this.#log = log;
  }

  /** The version that was read or watched; undefined if nothing was. */
  get version(): number | undefined {
    return this.#watcher?.version;
  }

  /** Remembers what is written from now on, if it has not begun to. */
  watch(): void {
    if (this.#isClosed) throw new StoreClosedError("this transaction has ended");
    this.#watcher ??= this.#log?.watch();
  }

  get(key: ByteString): Uint8Array | undefined {
    return this.#open().get(key);
  }

  getShared(key: ByteString, decode: (payload: Uint8Array) => Message): Message | undefined {
    const snapshot = this.#open();
    if (snapshot.isAbsent?.(key) === true) return undefined;
    const kept = this.#shared.find(key, this.#epoch);
    if (kept !== undefined) return kept === absent ? undefined : kept;
    const payload = snapshot.get(key);
    const record = payload && frozen(decode(payload));
    this.#shared.keep(key, this.#epoch, record ?? absent, payload?.byteLength ?? 0);
    return record;
  }

  scan(bounds: Bounds, reverse: boolean, expected: number): AsyncGenerator<readonly RawEntry[], void> {
    return this.#open().scan(bounds, reverse, expected);
  }

  /** Undefined: nothing has to be waited for. */
  close(): Promise<void> | undefined {
    this.#isClosed = true;
    return this.#snapshot?.close();
  }

  release(): void {
    if (this.#watcher !== undefined) this.#log?.unwatch(this.#watcher);
  }

  #open(): Snapshot {
    if (this.#isClosed) throw new StoreClosedError("this transaction has ended");
    if (this.#snapshot === undefined) {
      // NOTE: the version comes first. A group that is being written right now may or may not be in the snapshot; it
      // counts as written later, so that it is checked and at worst the transaction runs once more.
      this.watch();
      this.#epoch = this.#shared.epoch;
      this.#snapshot = this.#engine.snapshot();
    }
    return this.#snapshot;
  }
}

/** What the runs of a store's transactions share. */
interface RunParts {
  readonly engine: Engine;
  readonly shared: SharedRecords;
  readonly conflicts: ConflictLog;
  /** What one transaction may write. */
  readonly bytesMax: number;
  readonly onPassed: OnPassed;
}

/** One run of a transaction's function: its reads and its intended changes. */
export class TransactionRun implements Transaction {
  readonly reads = new ReadSet();
  readonly changes = new WriteSet();
  /** What is added to records, by key. */
  readonly additions = new Map<ByteString, Addition>();
  readonly #committed: CommittedView;
  readonly #view: View;
  readonly #reader: ViewReader;
  #snapshot: ViewReader | undefined;
  readonly #bytesMax: number;
  readonly #onPassed: OnPassed;
  readonly #afterCommit: (() => void)[] = [];
  #isEnded = false;

  /** `ahead` are changes of others that will be committed before this one's or not at all. */
  constructor({ engine, shared, conflicts, bytesMax, onPassed }: RunParts, ahead?: WriteSet) {
    this.#committed = new CommittedView(engine, shared, conflicts);
    this.#bytesMax = bytesMax;
    const base = ahead === undefined ? this.#committed : overlay(ahead, this.#committed);
    this.#view = overlay(this.changes, base);
    this.#onPassed = onPassed;
    this.#reader = new ViewReader(this.#view, onPassed, this.reads);
  }

  get snapshot(): ViewReader {
    this.#snapshot ??= new ViewReader(this.#view, this.#onPassed);
    return this.#snapshot;
  }

  /** The committed version that the reads rest on; undefined when nothing committed was read. */
  get version(): number | undefined {
    return this.#committed.version;
  }

  /** Whether there is anything to commit. */
  get isChanging(): boolean {
    return this.changes.size + this.additions.size > 0;
  }

  get<K extends KeyTuple, V extends Message>(table: Table<K, V>, key: NoInfer<K>): Promise<V | undefined> {
    return this.#reader.get(table, key);
  }

  getShared<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    key: NoInfer<K>,
  ): Promise<Readonly<V> | undefined> {
    return this.#reader.getShared(table, key);
  }

  range<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    range: RangeOptions<NoInfer<K>>,
  ): AsyncIterable<Entry<K, V>> {
    return this.#reader.range(table, range);
  }

  list<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    range: RangeOptions<NoInfer<K>> & { readonly limit: number },
  ): Promise<Entry<K, V>[]> {
    return this.#reader.list(table, range);
  }

  getStored<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    key: NoInfer<K>,
  ): Promise<StoredRecord<V> | undefined> {
    return this.#reader.getStored(table, key);
  }

  listStored<K extends KeyTuple, V extends Message, T>(
    table: Table<K, V>,
    range: RangeOptions<NoInfer<K>> & { readonly limit: number },
    read: (key: K, record: StoredRecord<V>) => T,
  ): Promise<T[]> {
    return this.#reader.listStored(table, range, read);
  }

  logPassed(table: Table, key: Uint8Array): void {
    this.#onPassed(table, key);
  }

  expectUnchanged<K extends KeyTuple>(table: Table<K>, key: NoInfer<K>): void {
    this.#committed.watch();
    this.reads.keys.add(encodeKey(table, key));
  }

  put<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    key: NoInfer<K>,
    value: MessageInitShape<GenMessage<NoInfer<V>>>,
  ): void {
    this.#write(encodeKey(table, key), encodeValue(table.schema, value));
  }

  delete<K extends KeyTuple, V extends Message>(table: Table<K, V>, key: NoInfer<K>): void {
    this.#write(encodeKey(table, key), undefined);
  }

  deleteUnreadable(table: Table, key: Uint8Array): void {
    const encoded = byteStringOf(key);
    if (!encoded.startsWith(encodeKeyPrefix(table, []))) throw new RangeError(`not a key of ${table.name}`);
    this.#write(encoded, undefined);
  }

  async deleteRange<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    range: Omit<RangeOptions<NoInfer<K>>, "limit" | "reverse">,
  ): Promise<void> {
    const deleteWithin = async (part: RangeOptions<K>): Promise<void> => {
      for await (const { key } of this.#reader.entries(table, part)) this.#write(key, undefined);
    };
    let rest: RangeOptions<K> = range;
    for (;;)
      try {
        await deleteWithin(rest);
        return;
      } catch (error) {
        if (!(error instanceof StoreCorruptionError)) throw error;
        // A page with a damaged record is not returned at all.
        await deleteWithin({ ...rest, toBytes: error.key });
        this.#write(byteStringOf(error.key), undefined);
        rest = { ...range, afterBytes: error.key };
      }
  }

  add<K extends KeyTuple, V extends Message>(table: Table<K, V>, key: NoInfer<K>, by: Additions<NoInfer<V>>): void {
    addTo(this.additions, encodeKey(table, key), table.schema, by);
  }

  /** Forgets what the function wrote, because it threw. */
  discard(): void {
    this.changes.clear();
    this.additions.clear();
  }

  afterCommit(run: () => void): void {
    this.#afterCommit.push(run);
  }

  /** Called once, when the changes are durable. */
  runAfterCommit(onError: (error: unknown) => void): void {
    for (const run of this.#afterCommit)
      try {
        run();
      } catch (error) {
        onError(error);
      }
  }

  /**
   * Ends reading and writing; the reads can be checked until `release`. Undefined: nothing has to be waited for.
   */
  end(): Promise<void> | undefined {
    this.#isEnded = true;
    return this.#committed.close();
  }

  release(): void {
    this.#committed.release();
  }

  #write(key: ByteString, payload: Uint8Array | undefined): void {
    if (this.#isEnded) throw new StoreClosedError("this transaction has ended");
    this.changes.set(key, payload);
    if (this.changes.bytes > this.#bytesMax) throw new StoreTransactionTooLargeError(this.#bytesMax);
  }
}

const noBytes = new Uint8Array();

const encodeValue = <V extends Message>(schema: GenMessage<V>, value: MessageInitShape<GenMessage<V>>): Uint8Array => {
  if (isMessage(value, schema)) return encodeMessage(schema, value);
  return schema.fields.length === 0 ? noBytes : encodeMessage(schema, create(schema, value));
};
