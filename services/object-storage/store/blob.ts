import type { BlobRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { Extent, NewBlob } from "../domain/extent.ts";
import { blobs, unreferencedBlobs } from "./layout.ts";
import { sharedBlobs } from "./shared-blobs.ts";

/** Stores the record of a new blob, with one reference, and returns the extent that covers all of it. */
export const adoptBlob = (transaction: Transaction, blob: NewBlob | undefined): Extent[] => {
  if (blob === undefined) return [];
  transaction.put(blobs, [blob.blobId], {
    references: 1n,
    sizeBytes: BigInt(blob.sizeBytes),
    dataKey: blob.dataKey,
    ...(blob.inlineBody === undefined ? {} : { inlineBody: blob.inlineBody }),
  });
  return [
    {
      blobId: blob.blobId,
      offsetBytes: 0n,
      lengthBytes: BigInt(blob.sizeBytes),
      isInline: blob.inlineBody !== undefined,
    },
  ];
};

/** Adds the references of another manifest with these extents. The content of none is written again. */
export const shareExtents = async (transaction: Transaction, extents: readonly Extent[]): Promise<void> => {
  for (const [blobId, count] of countByBlob(extents)) {
    const record = await transaction.get(blobs, [blobId]);
    if (record === undefined) throw new Error(`a manifest refers to blob ${blobId}, which has no record`);
    await addReferences(transaction, blobId, record, count);
  }
};

/**
 * The same for extents of an older state, some of whose blobs may have lost their last reference since: their records
 * are written again as they were. Their files must have been kept since that state was opened.
 */
export const shareFormerExtents = async (
  transaction: Transaction,
  former: Reader,
  extents: readonly Extent[],
): Promise<void> => {
  for (const [blobId, count] of countByBlob(extents)) {
    const record = await transaction.get(blobs, [blobId]);
    if (record !== undefined) {
      await addReferences(transaction, blobId, record, count);
      continue;
    }
    const before = await former.get(blobs, [blobId]);
    if (before === undefined) throw new Error(`a manifest refers to blob ${blobId}, which has no record`);
    transaction.put(blobs, [blobId], { ...before, references: BigInt(count) });
    transaction.delete(unreferencedBlobs, [blobId]);
  }
};

const addReferences = async (
  transaction: Transaction,
  blobId: string,
  record: BlobRecord,
  count: number,
): Promise<void> => {
  if (record.inlineBody === undefined)
    return transaction.put(blobs, [blobId], { ...record, references: record.references + BigInt(count) });
  const shared = await transaction.get(sharedBlobs, [blobId]);
  transaction.put(sharedBlobs, [blobId], { references: (shared?.references ?? 0n) + BigInt(count) });
};

/**
 * Removes the references of a manifest. A blob without references is deleted: at once from the database, its file by
 * the sweep.
 */
export const releaseExtents = async (
  transaction: Transaction,
  extents: readonly Extent[],
  nowMs: number,
): Promise<void> => {
  for (const [blobId, count] of countByBlob(extents)) {
    const [record, shared] = await Promise.all([
      transaction.get(blobs, [blobId]),
      extents.some((extent) => extent.blobId === blobId && extent.isInline)
        ? transaction.get(sharedBlobs, [blobId])
        : undefined,
    ]);
    if (record === undefined) continue;
    const left = record.references + (shared?.references ?? 0n) - BigInt(count);
    if (shared !== undefined && left > record.references)
      transaction.put(sharedBlobs, [blobId], { references: left - record.references });
    else if (shared !== undefined) transaction.delete(sharedBlobs, [blobId]);
    if (left > 0n && left < record.references) transaction.put(blobs, [blobId], { ...record, references: left });
    if (left > 0n) continue;
    transaction.delete(blobs, [blobId]);
    if (record.inlineBody === undefined)
      transaction.put(unreferencedBlobs, [blobId], { unreferencedMs: BigInt(nowMs) });
  }
};

const countByBlob = (extents: readonly Extent[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const { blobId } of extents) counts.set(blobId, (counts.get(blobId) ?? 0) + 1);
  return counts;
};
