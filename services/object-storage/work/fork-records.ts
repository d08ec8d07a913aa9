import type { Message } from "@bufbuild/protobuf";

import type { Entry, Reader, Store, Transaction } from "../../kit/store/store.ts";
import type { Table } from "../../kit/store/table.ts";
import { limits } from "../limits.ts";
import { releaseExtents, shareFormerExtents } from "../store/blob.ts";
import { directoryEntries } from "../store/directory-entries.ts";
import { currentVersions, nullVersions, versions } from "../store/layout.ts";
import { countVersion } from "../store/stored-amounts.ts";

/** A table whose keys begin with the id of a bucket. */
type BucketTable = Table<readonly [bucketId: string, ...rest: string[]]>;

/** What is known of a bucket's current versions, besides the versions: copied after them, and removed before. */
const listings = [directoryEntries, nullVersions, currentVersions] as unknown as readonly BucketTable[];

/**
 * Copies the versions of a bucket and its listings, as a reader of an older state sees them, in slices. Content is
 * shared. Returns the number of versions. Replication is not copied: nothing is replicated in the copy.
 */
export const copyBucketRecords = async (
  store: Store,
  former: Reader,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<number> => {
  let copied = 0;
  for await (const slice of slicesOf(
    former.range(versions, { prefix: [from] }),
    ({ value }) => 1 + value.extents.length,
  )) {
    await store.transact(
      async (transaction) => {
        await shareFormerExtents(
          transaction,
          former,
          slice.flatMap(({ value }) => value.extents),
        );
        for (const { key, value } of slice) {
          const { replication: _replication, ...kept } = value;
          transaction.put(versions, [to, key[1], key[2]], kept);
          countVersion(transaction, value, 1);
        }
      },
      { signal },
    );
    copied += slice.length;
  }
  for (const table of listings)
    for await (const slice of slicesOf(former.range(table, { prefix: [from] })))
      await store.transact(
        (transaction) => {
          for (const { key, value } of slice) transaction.put(table, [to, ...key.slice(1)], value);
        },
        { signal },
      );
  return copied;
};

/** Removes the versions and listings of a bucket that does not exist, in slices. */
export const removeBucketRecords = async (
  store: Store,
  bucketId: string,
  nowMs: number,
  signal: AbortSignal,
): Promise<void> => {
  for (const table of listings.toReversed())
    await repeat(store, signal, async (transaction) => {
      const slice = await transaction.list(table, { prefix: [bucketId], limit: limits.forkSliceRecords });
      for (const { key } of slice) transaction.delete(table, key);
      return slice.length;
    });
  await repeat(store, signal, async (transaction) => {
    const slice = await transaction.list(versions, { prefix: [bucketId], limit: limits.forkSliceRecords });
    for (const { key, value } of slice) {
      transaction.delete(versions, key);
      countVersion(transaction, value, -1);
    }
    await releaseExtents(
      transaction,
      slice.flatMap(({ value }) => value.extents),
      nowMs,
    );
    return slice.length;
  });
};

/** Runs transactions until one finds nothing to change. */
const repeat = async (
  store: Store,
  signal: AbortSignal,
  change: (transaction: Transaction) => Promise<number>,
): Promise<void> => {
  while ((await store.transact(change, { signal })) > 0);
};

/** Groups of entries, each of a bounded weight or one entry. */
async function* slicesOf<E extends Entry<readonly (string | number)[], Message>>(
  entries: AsyncIterable<E>,
  weightOf: (entry: E) => number = () => 1,
): AsyncGenerator<E[]> {
  let slice: E[] = [];
  let weight = 0;
  for await (const entry of entries) {
    slice.push(entry);
    weight += weightOf(entry);
    if (weight < limits.forkSliceRecords) continue;
    yield slice;
    slice = [];
    weight = 0;
  }
  if (slice.length > 0) yield slice;
}
