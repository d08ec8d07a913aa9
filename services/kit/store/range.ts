import type { Bounds, ByteString } from "./byte-string.ts";
import { byteStringOf, prefixSuccessor, successor } from "./byte-string.ts";
import type { KeyPrefix, KeyTuple, Table } from "./table.ts";
import { encodeKeyPrefix } from "./table.ts";

/**
 * Which entries of a table, and in which order. Every tuple begins with the table's first part and may stop before
 * its last; all bounds hold together. Nothing set: the whole table.
 */
export interface RangeOptions<K extends KeyTuple> {
  /** Only keys that begin with these parts. */
  readonly prefix?: KeyPrefix<K>;
  /** The last part of `prefix` is the beginning of a text, not a whole one. */
  readonly textPrefix?: boolean;
  /** Begins at the first key with these parts, or the next one. */
  readonly from?: KeyPrefix<K>;
  /** Begins after every key with these parts; undefined: with the first of the range. */
  readonly after?: KeyPrefix<K> | undefined;
  /** Begins after every key with these parts, the last of which is the beginning of a text: skips a common prefix. */
  readonly past?: KeyPrefix<K>;
  /** Ends before the first key with these parts. */
  readonly to?: KeyPrefix<K>;
  /** Ends after the last key with these parts. */
  readonly through?: KeyPrefix<K>;
  /** Begins after this key, which is given as its bytes because it cannot be decoded. */
  readonly afterBytes?: Uint8Array;
  /** Ends before this key, which is given as its bytes. */
  readonly toBytes?: Uint8Array;
  /** From the end to the beginning of the range. */
  readonly reverse?: boolean;
  /** At most this many entries; unset: all. */
  readonly limit?: number;
}

/** The bytes between which the keys of a range lie. */
export const rangeBounds = <K extends KeyTuple>(table: Table<K>, range: RangeOptions<K>): Bounds => {
  const prefix = encodeKeyPrefix(table, range.prefix ?? [], range.textPrefix);
  const lows: ByteString[] = [prefix];
  const highs: ByteString[] = [prefixSuccessor(prefix)];
  if (range.from !== undefined) lows.push(encodeKeyPrefix(table, range.from));
  if (range.after !== undefined) lows.push(prefixSuccessor(encodeKeyPrefix(table, range.after)));
  if (range.past !== undefined) lows.push(prefixSuccessor(encodeKeyPrefix(table, range.past, true)));
  if (range.to !== undefined) highs.push(encodeKeyPrefix(table, range.to));
  if (range.afterBytes !== undefined) lows.push(successor(byteStringOf(range.afterBytes)));
  if (range.toBytes !== undefined) highs.push(byteStringOf(range.toBytes));
  if (range.through !== undefined) highs.push(prefixSuccessor(encodeKeyPrefix(table, range.through)));
  return {
    low: lows.reduce((greatest, each) => (each > greatest ? each : greatest)),
    high: highs.reduce((least, each) => (each < least ? each : least)),
    hasTextKeys: hasTextKeys(table),
  };
};

/** Whether all keys of a table are UTF-8: its parts are texts, and both bytes of its number are ASCII. */
const hasTextKeys = ({ number, parts }: Table): boolean =>
  (number & 0x8080) === 0 && parts.every(({ kind }) => kind === "text");
