import type { Transaction } from "../../kit/store/store.ts";
import type { Extent, NewBlob } from "../domain/extent.ts";
import { blobs, unreferencedBlobs } from "./layout.ts";

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

/** Adds the references of another manifest with these extents. */
export const shareExtents = async (transaction: Transaction, extents: readonly Extent[]): Promise<void> => {
  for (const [blobId, count] of countByBlob(extents)) {
    const record = await transaction.get(blobs, [blobId]);
    if (record === undefined) throw new Error(`a manifest refers to blob ${blobId}, which has no record`);
    transaction.put(blobs, [blobId], { ...record, references: record.references + BigInt(count) });
  }
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
    const record = await transaction.get(blobs, [blobId]);
    if (record === undefined) continue;
    const references = record.references - BigInt(count);
    if (references > 0n) transaction.put(blobs, [blobId], { ...record, references });
    else {
      transaction.delete(blobs, [blobId]);
      if (record.inlineBody === undefined)
        transaction.put(unreferencedBlobs, [blobId], { unreferencedMs: BigInt(nowMs) });
    }
  }
};

const countByBlob = (extents: readonly Extent[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const { blobId } of extents) counts.set(blobId, (counts.get(blobId) ?? 0) + 1);
  return counts;
};
