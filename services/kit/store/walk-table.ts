import type { Message } from "@bufbuild/protobuf";

import { byteStringOf } from "./byte-string.ts";
import { StoreCorruptionError } from "./errors.ts";
import type { RangeOptions } from "./range.ts";
import type { KeyTuple, Table } from "./table.ts";
import { decodeKey } from "./table.ts";
import type { Entry, Reader } from "./transaction.ts";

/** One record of a walk: as it is stored, or the key of one that is damaged. */
export type Walked<K extends KeyTuple, V extends Message> =
  | Entry<K, V>
  | { readonly key: K; readonly value: undefined };

/** The records of a range, which must not be reversed, in key order. A damaged one does not end the walk. */
export async function* walkTable<K extends KeyTuple, V extends Message>(
  reader: Reader,
  table: Table<K, V>,
  range: RangeOptions<NoInfer<K>> = {},
): AsyncGenerator<Walked<K, V>, void> {
  let last: K | undefined;
  let left = range.limit ?? Number.POSITIVE_INFINITY;
  while (left > 0) {
    let damaged: K;
    try {
      for await (const entry of reader.range(table, { ...range, ...after(last), limit: left })) {
        last = entry.key;
        left -= 1;
        yield entry;
      }
      return;
    } catch (error) {
      if (!(error instanceof StoreCorruptionError)) throw error;
      damaged = decodeKey(table, byteStringOf(error.key));
    }
    // Records are read in pages, and a page with a damaged one is not returned at all.
    const before = { ...range, ...after(last), to: damaged, limit: left } as RangeOptions<NoInfer<K>>;
    for await (const entry of reader.range(table, before)) {
      left -= 1;
      yield entry;
    }
    if (left === 0) return;
    left -= 1;
    yield { key: damaged, value: undefined };
    last = damaged;
  }
}

const after = <K extends KeyTuple>(key: K | undefined): RangeOptions<NoInfer<K>> =>
  (key === undefined ? {} : { after: key }) as RangeOptions<NoInfer<K>>;
