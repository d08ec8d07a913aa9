import type { Message } from "@bufbuild/protobuf";

import { byteStringOf } from "./byte-string.ts";
import { StoreCorruptionError } from "./errors.ts";
import type { RangeOptions } from "./range.ts";
import type { KeyTuple, Table } from "./table.ts";
import { findKey } from "./table.ts";
import type { Entry, Reader } from "./transaction.ts";

/** One record of a walk: as it is stored, or the key of one that is damaged. */
export type Walked<K extends KeyTuple, V extends Message> =
  | Entry<K, V>
  | { readonly key: K; readonly value: undefined };

/**
 * The records of a range, which must not be reversed, in key order. A damaged one does not end the walk. One whose key
 * is no key of the table is left out and not counted by the limit: its bytes go to `passed`, unset: to the log.
 */
export async function* walkTable<K extends KeyTuple, V extends Message>(
  reader: Reader,
  table: Table<K, V>,
  range: RangeOptions<NoInfer<K>> = {},
  passed: (key: Uint8Array) => void = (key) => reader.logPassed(table, key),
): AsyncGenerator<Walked<K, V>, void> {
  let rest = range;
  let left = range.limit ?? Number.POSITIVE_INFINITY;
  while (left > 0) {
    let damaged: Uint8Array;
    try {
      for await (const entry of reader.range(table, { ...rest, limit: left })) {
        rest = { ...range, after: entry.key } as RangeOptions<NoInfer<K>>;
        left -= 1;
        yield entry;
      }
      return;
    } catch (error) {
      if (!(error instanceof StoreCorruptionError)) throw error;
      damaged = error.key;
    }
    // Records are read in pages; a page with a damaged one is not returned at all, nor decoded.
    for await (const entry of walkTable(reader, table, { ...rest, toBytes: damaged, limit: left }, passed)) {
      left -= 1;
      yield entry;
    }
    if (left === 0) return;
    const key = findKey(table, byteStringOf(damaged));
    if (key === undefined) passed(damaged);
    else {
      left -= 1;
      yield { key, value: undefined };
    }
    rest = { ...range, afterBytes: damaged };
  }
}
