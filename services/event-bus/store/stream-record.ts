import type { Reader, Store, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { streamRecords } from "./layout.ts";

/** A delivery stream of an account. */
export interface StreamReference {
  readonly account: string;
  readonly name: string;
}

/** The key of a record that waits in a stream. */
export type StreamRecordKey = readonly [account: string, stream: string, atMs: number, id: string];

/** A record that waits in a stream. */
export interface WaitingRecord {
  readonly key: StreamRecordKey;
  /** Undefined: it is damaged. */
  readonly data: Uint8Array | undefined;
}

/** Adds a record to a stream. `id` distinguishes it from others of the same millisecond. */
export const putStreamRecord = (
  transaction: Transaction,
  { account, name }: StreamReference,
  atMs: number,
  id: string,
  data: Uint8Array,
): void => transaction.put(streamRecords, [account, name, atMs, id], { data });

/** The oldest records of a stream, until they have so many bytes; at least one if there is any. */
export const listStreamRecords = async (
  reader: Reader,
  { account, name }: StreamReference,
  bytesMax: number,
): Promise<WaitingRecord[]> => {
  const found: WaitingRecord[] = [];
  let bytes = 0;
  for await (const { key, value } of walkTable(reader, streamRecords, { prefix: [account, name] })) {
    bytes += value?.data.byteLength ?? 0;
    if (found.length > 0 && bytes > bytesMax) break;
    found.push({ key, data: value?.data });
  }
  return found;
};

/** When the oldest record of a stream was added, in milliseconds since 1970; undefined: none waits. */
export const oldestStreamRecordMs = async (
  reader: Reader,
  { account, name }: StreamReference,
): Promise<number | undefined> => {
  const first = walkTable(reader, streamRecords, { prefix: [account, name], limit: 1 });
  for await (const { key } of first) return key[2];
  return undefined;
};

/** The number of bytes that wait in a stream, without damaged records. */
export const countStreamBytes = async (reader: Reader, { account, name }: StreamReference): Promise<number> => {
  let bytes = 0;
  for await (const { value } of walkTable(reader, streamRecords, { prefix: [account, name] }))
    bytes += value?.data.byteLength ?? 0;
  return bytes;
};

/** Removes records that were written. */
export const deleteStreamRecords = (transaction: Transaction, keys: readonly StreamRecordKey[]): void => {
  for (const key of keys) transaction.delete(streamRecords, key);
};

/** Gives back the disk space of what was deleted from a stream. */
export const reclaimStreamRecords = (store: Store, { account, name }: StreamReference): Promise<void> =>
  store.reclaim(streamRecords, { prefix: [account, name] });
