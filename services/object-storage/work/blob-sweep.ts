import type { UnreferencedBlobRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import type { Walked } from "../../kit/store/walk-table.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { blobShards, shardOf } from "../blobs/blob-store.ts";
import type { BlobPins } from "../blobs/pins.ts";
import { limits } from "../limits.ts";
import { blobs as blobTable, unreferencedBlobs } from "../store/layout.ts";

/** What the sweep works with. */
export interface BlobSweepOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly pins: BlobPins;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The result of one sweep. */
export interface BlobSweepReport {
  /** Removed files whose last reference was removed. */
  readonly unreferencedRemoved: number;
  /** Removed files that nothing ever referred to: left by a crash between a file and its record. */
  readonly orphansRemoved: number;
  /** Blobs that manifests refer to and that have no file. Their objects answer MissingContent and stay listed. */
  readonly missing: readonly string[];
}

/**
 * Removes the blob files that nothing refers to, after their grace period, and reports references without a file. It
 * compares all files with all records of files, shard by shard, so it holds at most one 256th of the ids, and a shard
 * that cannot be swept holds up no other. A blob of which a record is damaged is left as it is.
 */
export const sweepBlobs = async (options: BlobSweepOptions, signal = neverAborted): Promise<BlobSweepReport> => {
  const { log } = options;
  const unreferencedRemoved = await removeUnreferencedBlobs(options, signal);
  let orphansRemoved = 0;
  const missing: string[] = [];
  for (const shard of blobShards) {
    if (signal.aborted) break;
    try {
      const swept = await sweepShard(options, shard);
      orphansRemoved += swept.orphansRemoved;
      missing.push(...swept.missing);
    } catch (error) {
      log.error({ err: error, shard }, "not all blobs of a shard were swept");
    }
  }
  if (missing.length > 0)
    log.error({ count: missing.length, first: missing.slice(0, 10) }, "stored content is missing");
  if (orphansRemoved > 0) log.info({ orphansRemoved }, "removed blob files that nothing ever referred to");
  return { unreferencedRemoved, orphansRemoved, missing };
};

/**
 * Removes the blob files whose last reference was removed, after their grace period, and returns how many. It reads the
 * entries of these alone, so its cost depends on what was deleted, not on what is stored.
 */
export const removeUnreferencedBlobs = async (options: BlobSweepOptions, signal = neverAborted): Promise<number> => {
  const { store, log } = options;
  let removed = 0;
  let after: readonly [string] | undefined;
  do {
    const range = { after, limit: entriesPerRead };
    const entries = await store.read((reader) => Array.fromAsync(walkTable(reader, unreferencedBlobs, range)));
    removed += await removeUnreferenced(options, entries);
    after = entries.length < entriesPerRead ? undefined : entries.at(-1)?.key;
  } while (after !== undefined && !signal.aborted);
  if (removed > 0) log.info({ unreferencedRemoved: removed }, "removed the files of blobs without references");
  return removed;
};

const neverAborted = new AbortController().signal;

/** Entries of blobs without references that are read at a time. */
const entriesPerRead = 1_000;

const sweepShard = async (options: BlobSweepOptions, shard: string) => {
  // The files are listed before the records are read, so a listed file without a record was left by a crash, or its
  // record is not written yet.
  const files = await options.blobs.list(shard);
  const { referenced, unreferenced, damaged } = await options.store.read((reader) => recordsOf(reader, shard));
  let orphansRemoved = 0;
  for (const { blobId, modifiedMs } of files)
    if (!referenced.has(blobId) && !unreferenced.has(blobId) && !damaged.has(blobId))
      orphansRemoved += await removeOrphan(options, blobId, await modifiedMs());
  const names = new Set(files.map((file) => file.blobId));
  const missing: string[] = [];
  for (const blobId of referenced) if (!names.has(blobId) && (await isMissing(options, blobId))) missing.push(blobId);
  return { orphansRemoved, missing };
};

/** The blobs of a shard that are files, by what their records say. */
const recordsOf = async (reader: Reader, shard: string) => {
  const referenced = new Set<string>();
  const unreferenced = new Set<string>();
  const damaged = new Set<string>();
  const inShard = { prefix: [shard] as [string], textPrefix: true };
  for await (const { key, value } of walkTable(reader, blobTable, inShard))
    if (value === undefined) damaged.add(key[0]);
    else if (value.inlineBody === undefined) referenced.add(key[0]);
  for await (const { key, value } of walkTable(reader, unreferencedBlobs, inShard))
    if (value === undefined) damaged.add(key[0]);
    else unreferenced.add(key[0]);
  return { referenced, unreferenced, damaged };
};

/**
 * Files are removed before their entries: after a crash between the two, the next round removes the entries. A file
 * that cannot be removed holds up no other.
 */
const removeUnreferenced = async (
  { store, blobs, pins, clock, log }: BlobSweepOptions,
  entries: readonly Walked<readonly [string], UnreferencedBlobRecord>[],
): Promise<number> => {
  const removed: string[] = [];
  const failures: unknown[] = [];
  for (const { key, value } of entries) {
    const [blobId] = key;
    // A damaged entry does not say since when.
    if (value === undefined || pins.isPinned(blobId)) continue;
    if (Number(value.unreferencedMs) + limits.unreferencedGraceMs > clock.now()) continue;
    // A fork may have referred to it again since the entries were read.
    if ((await store.read((reader) => reader.get(unreferencedBlobs, [blobId]))) === undefined) continue;
    try {
      await blobs.remove(blobId);
      removed.push(blobId);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0)
    log.error({ err: failures[0], count: failures.length }, "files of blobs without references were not removed");
  if (removed.length > 0)
    await store.transact((transaction) => {
      for (const blobId of removed) transaction.delete(unreferencedBlobs, [blobId]);
    });
  return removed.length;
};

/**
 * The record is read again once nobody is writing the blob: its writer may have ended since the records were read, and
 * the age of its file means nothing if the clock was set forward meanwhile.
 */
const removeOrphan = async (
  { store, blobs, pins, clock }: BlobSweepOptions,
  blobId: string,
  modifiedMs: number | undefined,
): Promise<number> => {
  if (modifiedMs === undefined || modifiedMs + limits.orphanGraceMs > clock.now() || pins.isPinned(blobId)) return 0;
  if ((await store.read((reader) => reader.get(blobTable, [blobId]))) !== undefined) return 0;
  await blobs.remove(blobId);
  return 1;
};

/** Reads file and record again: the blob may have been written after the files were listed, or removed since. */
const isMissing = async ({ store, blobs }: BlobSweepOptions, blobId: string): Promise<boolean> => {
  const files = await blobs.list(shardOf(blobId));
  if (files.some((file) => file.blobId === blobId)) return false;
  return (await store.read((reader) => reader.get(blobTable, [blobId]))) !== undefined;
};
