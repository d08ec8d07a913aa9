import type { Store } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { BlobCorruptError, BlobMissingError } from "../blobs/blob-store.ts";
import type { BlobPins } from "../blobs/pins.ts";
import { blobs as blobTable } from "../store/layout.ts";
import type { ScrubPace } from "./scrub-pace.ts";
import type { Damage } from "./scrub-records.ts";
import { blobSubject, FoundDamages } from "./scrub-records.ts";

/** What the blob files are checked with. */
export interface ScrubBlobsOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly pins: BlobPins;
}

/** What a check of blob files found and read. */
export interface BlobsReport {
  readonly damages: readonly Damage[];
  readonly unlistedCount: number;
  readonly blobs: number;
  readonly bytes: number;
}

/**
 * Reads all bytes of the blob files whose ids begin with these two digits, and checks them by their checksums, which
 * needs no key: those of callers are not known, and managed ones may be disabled.
 */
export const scrubBlobs = async (
  options: ScrubBlobsOptions,
  shard: string,
  pace: ScrubPace,
  signal: AbortSignal,
): Promise<BlobsReport> => {
  const found = new FoundDamages();
  let [checked, bytes] = [0, 0];
  for (const { blobId, sizeBytes, isEncrypted } of await filesOf(options.store, shard)) {
    if (signal.aborted) break;
    // What is deleted while it is read is kept until the end.
    const unpin = options.pins.pin([blobId]);
    try {
      for await (const piece of await options.blobs.verify(blobId, sizeBytes, isEncrypted)) {
        bytes += piece.length;
        await pace.spend(piece.length);
        if (signal.aborted) break;
      }
      checked += 1;
    } catch (error) {
      const reason = await damageOf(options.store, blobId, error);
      if (reason !== undefined) found.add(blobSubject(blobId), reason);
    } finally {
      unpin();
    }
  }
  return { damages: found.listed, unlistedCount: found.unlistedCount, blobs: checked, bytes };
};

const filesOf = (store: Store, shard: string) =>
  store.read(async (reader) => {
    const files: { readonly blobId: string; readonly sizeBytes: number; readonly isEncrypted: boolean }[] = [];
    for await (const { key, value } of walkTable(reader, blobTable, { prefix: [shard], textPrefix: true }))
      if (value !== undefined && value.inlineBody === undefined)
        files.push({ blobId: key[0], sizeBytes: Number(value.sizeBytes), isEncrypted: value.dataKey.length > 0 });
    return files;
  });

/** Why a blob counts as damaged; undefined if it was deleted before it was read. */
const damageOf = async (store: Store, blobId: string, error: unknown): Promise<string | undefined> => {
  if (error instanceof BlobCorruptError) return error.message;
  const isGone = (await store.read((reader) => reader.get(blobTable, [blobId]))) === undefined;
  if (isGone) return undefined;
  if (error instanceof BlobMissingError) return "its file is missing";
  return `its file cannot be read: ${error instanceof Error ? error.message : String(error)}`;
};
