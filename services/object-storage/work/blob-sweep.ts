import type { Clock } from "../../kit/clock/clock.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Store } from "../../kit/store/store.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { blobShards } from "../blobs/blob-store.ts";
import type { BlobPins } from "../blobs/pins.ts";
import { blobs as blobTable, doomedBlobs } from "../store/layout.ts";

/** What the sweep works with. */
export interface SweepOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly pins: BlobPins;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a file stays after the last reference to it went. */
  readonly doomedGraceMs: number;
  /** How long a file stays that nothing ever referred to: longer than any write takes from its file to its record. */
  readonly orphanGraceMs: number;
}

/** What one sweep did and found. */
export interface SweepReport {
  /** Files removed whose last reference went. */
  readonly doomedRemoved: number;
  /** Files removed that nothing referred to: left by a crash between a file and its record. */
  readonly orphansRemoved: number;
  /** Blobs that manifests refer to and that have no file. Their objects answer MissingContent and stay listed. */
  readonly missing: readonly string[];
}

/**
 * Removes blob files that nothing refers to and reports references without a file. It goes shard by shard, so it
 * holds at most one 256th of the ids. A file is removed before the record that dooms it, so that a crash between the
 * two leaves something to sweep again.
 */
export const sweepBlobs = async (options: SweepOptions): Promise<SweepReport> => {
  const { store, log } = options;
  let [doomedRemoved, orphansRemoved] = [0, 0];
  const missing: string[] = [];
  for (const shard of blobShards) {
    // The files are listed before the records are read: a file without a record is then older than the records.
    const files = await options.blobs.list(shard);
    const records = await store.read(async (reader) => {
      const referred = new Set<string>();
      const doomed = new Map<string, number>();
      const inShard = { prefix: [shard] as [string], textPrefix: true };
      for await (const { key, value } of reader.range(blobTable, inShard))
        if (value.inlineBody === undefined) referred.add(key[0]);
      for await (const { key, value } of reader.range(doomedBlobs, inShard))
        doomed.set(key[0], Number(value.doomedTimeMs));
      return { referred, doomed };
    });
    doomedRemoved += await removeDoomed(options, records.doomed);
    const names = new Set(files.map((file) => file.blobId));
    for (const file of files)
      if (!records.referred.has(file.blobId) && !records.doomed.has(file.blobId))
        orphansRemoved += await removeOrphan(options, file.blobId, await file.modifiedMs());
    for (const blobId of records.referred)
      if (!names.has(blobId) && (await isMissing(options, blobId))) missing.push(blobId);
  }
  if (missing.length > 0)
    log.error({ count: missing.length, first: missing.slice(0, 10) }, "stored content is missing");
  if (doomedRemoved + orphansRemoved > 0) log.info({ doomedRemoved, orphansRemoved }, "swept blobs");
  return { doomedRemoved, orphansRemoved, missing };
};

const removeDoomed = async (options: SweepOptions, doomed: ReadonlyMap<string, number>): Promise<number> => {
  const { store, blobs, pins, clock, doomedGraceMs } = options;
  let removed = 0;
  for (const [blobId, doomedMs] of doomed) {
    if (doomedMs + doomedGraceMs > clock.now() || pins.isPinned(blobId)) continue;
    await blobs.remove(blobId);
    await store.transact((transaction) => transaction.delete(doomedBlobs, [blobId]));
    removed += 1;
  }
  return removed;
};

/**
 * The record is looked for again once nobody is writing the blob: its writer may have ended since the records were
 * read, and the age of its file says nothing when the clock was set forward meanwhile.
 */
const removeOrphan = async (
  { store, blobs, pins, clock, orphanGraceMs }: SweepOptions,
  blobId: string,
  modifiedMs: number | undefined,
): Promise<number> => {
  if (modifiedMs === undefined || modifiedMs + orphanGraceMs > clock.now() || pins.isPinned(blobId)) return 0;
  if ((await store.read((reader) => reader.get(blobTable, [blobId]))) !== undefined) return 0;
  await blobs.remove(blobId);
  return 1;
};

/** Looks again: the blob may have been written after the files were listed, or have gone since. */
const isMissing = async ({ store, blobs }: SweepOptions, blobId: string): Promise<boolean> => {
  const files = await blobs.list(blobId.slice(0, 2));
  if (files.some((file) => file.blobId === blobId)) return false;
  return (await store.read((reader) => reader.get(blobTable, [blobId]))) !== undefined;
};
