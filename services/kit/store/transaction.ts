import type { Message, MessageInitShape } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import type { Int64Value } from "@bufbuild/protobuf/wkt";

import type { RangeOptions } from "./range.ts";
import type { KeyTuple, Table } from "./table.ts";

/** A table of counts by name, to which transactions add. */
export type CountsTable = Table<readonly [name: string], Int64Value>;

/** What is added to the members of a record that are whole numbers of 64 bits. Unset: nothing. */
export type Additions<V extends Message> = { readonly [F in keyof V as V[F] extends bigint ? F : never]?: number };

/** One record with its key. */
export interface Entry<K extends KeyTuple, V extends Message> {
  readonly key: K;
  readonly value: V;
}

/** A record as its bytes, for callers that read thousands of them and need few of their members. */
export interface StoredRecord<V extends Message> {
  readonly bytes: Uint8Array;
  /** Throws StoreCorruptionError if the bytes are not such a record. */
  decode(): V;
}

/** Reads of one consistent state of the database. Each read may throw StoreCorruptionError and StoreKeyError. */
export interface Reader {
  /** The record at a whole key, or undefined. */
  get<K extends KeyTuple, V extends Message>(table: Table<K, V>, key: NoInfer<K>): Promise<V | undefined>;
  /**
   * As `get`, for a record that many calls read and few change. It is decoded once for each change and shared by all
   * its readers, so it is frozen; its bytes must not be changed either. Where there is none, that is remembered too.
   */
  getShared<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    key: NoInfer<K>,
  ): Promise<Readonly<V> | undefined>;
  /** The records of a range in key order, read in pages on demand, so a range of any length needs little memory. */
  range<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    range: RangeOptions<NoInfer<K>>,
  ): AsyncIterable<Entry<K, V>>;
  /** The first `limit` records of a range. */
  list<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    range: RangeOptions<NoInfer<K>> & { readonly limit: number },
  ): Promise<Entry<K, V>[]>;
  /** As `get`, without decoding the record. */
  getStored<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    key: NoInfer<K>,
  ): Promise<StoredRecord<V> | undefined>;
  /** As `list`, without decoding: what a function makes of each record. Only what it keeps stays in memory. */
  listStored<K extends KeyTuple, V extends Message, T>(
    table: Table<K, V>,
    range: RangeOptions<NoInfer<K>> & { readonly limit: number },
    read: (key: K, record: StoredRecord<V>) => T,
  ): Promise<T[]>;
  /** Logs, once for each record, that a walk has passed one whose key is no key of its table. */
  logPassed(table: Table, key: Uint8Array): void;
}

/**
 * Reads and writes that take effect together or not at all. Reads see the transaction's own writes; a range sees those
 * made before it began.
 */
export interface Transaction extends Reader {
  /**
   * Reads of the same state that are not checked at the commit: others may have changed what they show by then. For
   * finding candidates in a range that others add to all the time; read what a decision rests on again, checked.
   */
  readonly snapshot: Reader;
  /**
   * Checks at the commit that nobody has written the record since, as after a read. For a caller who knows without a
   * read what it is now.
   */
  expectUnchanged<K extends KeyTuple>(table: Table<K>, key: NoInfer<K>): void;
  /** Creates or replaces the record, with the value as it is now. */
  put<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    key: NoInfer<K>,
    value: MessageInitShape<GenMessage<NoInfer<V>>>,
  ): void;
  /** Deletes the record, if it exists. */
  delete<K extends KeyTuple, V extends Message>(table: Table<K, V>, key: NoInfer<K>): void;
  /** Deletes a record whose key cannot be decoded, by its bytes. Throws RangeError if they are not of the table. */
  deleteUnreadable(table: Table, key: Uint8Array): void;
  /** Deletes every record of the range, also the damaged ones. Each counts towards the size of the transaction. */
  deleteRange<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    range: Omit<RangeOptions<NoInfer<K>>, "limit" | "reverse">,
  ): Promise<void>;
  /**
   * Adds whole numbers to members of a record at the commit; members that it does not have yet are 0. Not seen by this
   * transaction's own reads, and no reason for it or for others that add to the same record to run again. Counts only
   * together with a change. Who puts or deletes the record later, even in the same group, replaces what was added.
   */
  add<K extends KeyTuple, V extends Message>(table: Table<K, V>, key: NoInfer<K>, by: Additions<NoInfer<V>>): void;
  /** Runs once, when the transaction is durable, before its caller is answered; never if it fails. Must not throw. */
  afterCommit(run: () => void): void;
}
