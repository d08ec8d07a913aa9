import type { Transaction } from "../../kit/store/store.ts";
import type { Extent } from "../domain/extent.ts";
import type { NewBlob } from "../content/content-store.ts";
import { blobs, doomedBlobs } from "./layout.ts";

/** Puts a new blob into the database's knowledge, referred to once, and gives the extent that refers to all of it. */
export const adoptBlob = (transaction: Transaction, blob: NewBlob | undefined): Extent[] => {
  if (blob === undefined) return [];
  transaction.put(blobs, [blob.blobId], {
    references: 1n,
    sizeBytes: BigInt(blob.sizeBytes),
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

/** Counts another manifest's references to the blobs of these extents. */
export const shareExtents = async (transaction: Transaction, extents: readonly Extent[]): Promise<void> => {
  for (const [blobId, count] of countByBlob(extents)) {
    const record = await transaction.get(blobs, [blobId]);
    if (record === undefined) throw new Error(`a manifest refers to blob ${blobId}, which has no record`);
    transaction.put(blobs, [blobId], { ...record, references: record.references + BigInt(count) });
  }
};

/** Takes a manifest's references back. A blob without references goes: at once from the database, its file later. */
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
      if (record.inlineBody === undefined) transaction.put(doomedBlobs, [blobId], { doomedTimeMs: BigInt(nowMs) });
    }
  }
};

const countByBlob = (extents: readonly Extent[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const { blobId } of extents) counts.set(blobId, (counts.get(blobId) ?? 0) + 1);
  return counts;
};
