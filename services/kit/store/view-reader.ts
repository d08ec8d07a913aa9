import type { Message } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";

import { Turn } from "../clock/turn.ts";
import type { ByteString } from "./byte-string.ts";
import { bytesOf, byteStringOf } from "./byte-string.ts";
import type { RawEntry, View } from "./engine.ts";
import { StoreCorruptionError } from "./errors.ts";
import type { RangeOptions } from "./range.ts";
import { rangeBounds } from "./range.ts";
import type { ReadSet } from "./read-set.ts";
import type { KeyTuple, Table } from "./table.ts";
import { decodeKey, encodeKey } from "./table.ts";
import type { Entry, Reader, StoredRecord } from "./transaction.ts";

/** Is given the table and key of a record that a walk has passed. */
export type OnPassed = (table: Table, key: Uint8Array) => void;

/** Reads tables from a view; with a read set, adds the keys and ranges that were read to it. */
export class ViewReader implements Reader {
  readonly #view: View;
  readonly #onPassed: OnPassed;
  readonly #reads: ReadSet | undefined;
  readonly #turn = new Turn();

  constructor(view: View, onPassed: OnPassed, reads?: ReadSet) {
    this.#view = view;
    this.#onPassed = onPassed;
    this.#reads = reads;
  }

  // The read is done at once, from the disk where it must be, so many of them let other work run in between.
  async get<K extends KeyTuple, V extends Message>(table: Table<K, V>, key: NoInfer<K>): Promise<V | undefined> {
    const encoded = encodeKey(table, key);
    if (this.#turn.isOver) await this.#turn.next();
    this.#reads?.keys.add(encoded);
    const payload = inTable(table, () => this.#view.get(encoded));
    return payload === undefined ? undefined : decodeValue(table, encoded, payload);
  }

  async getStored<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    key: NoInfer<K>,
  ): Promise<StoredRecord<V> | undefined> {
    const encoded = encodeKey(table, key);
    if (this.#turn.isOver) await this.#turn.next();
    this.#reads?.keys.add(encoded);
    const payload = inTable(table, () => this.#view.get(encoded));
    return payload === undefined ? undefined : new FoundRecord(table, encoded, payload);
  }

  async getShared<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    key: NoInfer<K>,
  ): Promise<Readonly<V> | undefined> {
    const encoded = encodeKey(table, key);
    if (this.#turn.isOver) await this.#turn.next();
    this.#reads?.keys.add(encoded);
    const decode = (payload: Uint8Array): V => decodeValue(table, encoded, payload);
    return inTable(table, () => this.#view.getShared(encoded, decode)) as V | undefined;
  }

  async *range<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    range: RangeOptions<NoInfer<K>>,
  ): AsyncGenerator<Entry<K, V>, void> {
    for await (const { key, payload } of this.entries(table, range))
      yield { key: keyOf(table, key), value: decodeValue(table, key, payload) };
  }

  list<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    range: RangeOptions<NoInfer<K>> & { readonly limit: number },
  ): Promise<Entry<K, V>[]> {
    return this.#collect(table, range, (key, payload) => ({
      key: keyOf(table, key),
      value: decodeValue(table, key, payload),
    }));
  }

  listStored<K extends KeyTuple, V extends Message, T>(
    table: Table<K, V>,
    range: RangeOptions<NoInfer<K>> & { readonly limit: number },
    read: (key: K, record: StoredRecord<V>) => T,
  ): Promise<T[]> {
    return this.#collect(table, range, (key, payload) => read(keyOf(table, key), new FoundRecord(table, key, payload)));
  }

  logPassed(table: Table, key: Uint8Array): void {
    this.#onPassed(table, key);
  }

  async #collect<K extends KeyTuple, T>(
    table: Table<K>,
    range: RangeOptions<K> & { readonly limit: number },
    toEntry: (key: ByteString, payload: Uint8Array) => T,
  ): Promise<T[]> {
    const bounds = rangeBounds(table, range);
    const reverse = range.reverse ?? false;
    const { limit } = range;
    const entries: T[] = [];
    if (limit <= 0 || bounds.low >= bounds.high) return entries;
    const seen = this.#reads?.addRange(bounds, reverse);
    // Page by page: with a step of a generator for each, small records cost a quarter more.
    for await (const page of pagesOf(table, this.#view.scan(bounds, reverse, limit), this.#reads)) {
      const end = Math.min(page.length, limit - entries.length);
      for (let index = 0; index < end; index += 1) {
        const { key, payload } = page[index]!;
        entries.push(toEntry(key, payload));
      }
      if (end > 0) seen?.through(page[end - 1]!.key);
      if (entries.length === limit) return entries;
    }
    seen?.toEnd();
    return entries;
  }

  /** The undecoded records of a range. */
  async *entries<K extends KeyTuple>(table: Table<K>, range: RangeOptions<K>): AsyncGenerator<RawEntry, void> {
    const bounds = rangeBounds(table, range);
    const reverse = range.reverse ?? false;
    let left = range.limit ?? Number.POSITIVE_INFINITY;
    if (left <= 0 || bounds.low >= bounds.high) return;
    const seen = this.#reads?.addRange(bounds, reverse);
    for await (const page of pagesOf(table, this.#view.scan(bounds, reverse, left), this.#reads)) {
      for (const entry of page) {
        seen?.through(entry.key);
        yield entry;
        left -= 1;
        if (left === 0) return;
      }
    }
    seen?.toEnd();
  }
}

/** Names the table in what a read throws of a damaged record. */
const inTable = <T>({ name }: Table, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    throw error instanceof StoreCorruptionError ? error.inTable(name) : error;
  }
};

/** The same for the pages of a scan. A damaged record was read as well: who goes on past it decides on what it is. */
async function* pagesOf(
  { name }: Table,
  pages: AsyncGenerator<readonly RawEntry[], void>,
  reads: ReadSet | undefined,
): AsyncGenerator<readonly RawEntry[], void> {
  try {
    yield* pages;
  } catch (error) {
    if (!(error instanceof StoreCorruptionError)) throw error;
    reads?.keys.add(byteStringOf(error.key));
    throw error.inTable(name);
  }
}

const keyOf = <K extends KeyTuple>(table: Table<K>, key: ByteString): K => {
  try {
    return decodeKey(table, key);
  } catch (cause) {
    throw new StoreCorruptionError(bytesOf(key), `its key is not one of ${table.name}`, { cause });
  }
};

/** A record that was read, and what is needed to decode it or to name it if that fails. */
class FoundRecord<V extends Message> implements StoredRecord<V> {
  readonly bytes: Uint8Array;
  readonly #table: Table<KeyTuple, V>;
  readonly #key: ByteString;

  constructor(table: Table<KeyTuple, V>, key: ByteString, bytes: Uint8Array) {
    this.#table = table;
    this.#key = key;
    this.bytes = bytes;
  }

  decode(): V {
    return decodeValue(this.#table, this.#key, this.bytes);
  }
}

const decodeValue = <V extends Message>(table: Table<KeyTuple, V>, key: ByteString, payload: Uint8Array): V => {
  try {
    return fromBinary(table.schema, payload);
  } catch (cause) {
    throw new StoreCorruptionError(bytesOf(key), `it is not a ${table.schema.typeName}`, { cause });
  }
};
