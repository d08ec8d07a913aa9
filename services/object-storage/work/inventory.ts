import { createHash } from "node:crypto";
import { Readable, pipeline } from "node:stream";
import { createGzip } from "node:zlib";

import type { InventoryConfiguration } from "../../../gen/quartet/objectstorage/v1/inventory_pb.ts";
import type { Logger } from "../../kit/log/log.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Application } from "../application.ts";
import type { EncryptionMembers } from "../domain/encryption.ts";
import type { ReportFile } from "../domain/inventory-report.ts";
import {
  isReportDue,
  listsAllVersions,
  reportBucket,
  reportEncryption,
  reportFolder,
  reportLine,
  reportManifest,
} from "../domain/inventory-report.ts";
import { ownerNow } from "../domain/ownership.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket, listBucketsAfter } from "../store/bucket.ts";
import { listIdentified } from "../store/configuration.ts";
import { inventoryReports } from "../store/inventory-reports.ts";
import { versions } from "../store/layout.ts";
import { limits } from "../limits.ts";
import { scrubPace } from "./scrub-pace.ts";

/** An object that the service itself writes. Without a member on encryption the default of its bucket counts. */
export interface OwnObject extends EncryptionMembers {
  readonly bucket: string;
  readonly key: string;
  readonly contentType: string;
}

/** What inventories are made with. */
export interface InventoryOptions {
  readonly app: Application;
  readonly log: Logger;
  /**
   * Puts an object as the root of an account would, with everything that the bucket's configuration makes of it. Throws
   * the refusal of the operation.
   */
  readonly put: (
    accountId: string,
    object: OwnObject,
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ) => Promise<void>;
}

const pageBuckets = 100;
/** Versions that are in memory whole at a time: the manifest of one may have 10,000 parts. */
const pageVersions = 32;

/** A walk over all buckets, in which each account has one turn. */
interface Walk {
  /** How long each account's reports have taken, in milliseconds. */
  readonly spentMs: Map<string, number>;
  /** The reports that have failed in this round and are not tried again in it. */
  readonly failed: Set<string>;
  /** Reports are left, of accounts whose turn is over. */
  isLeft: boolean;
}

/**
 * Writes every report that is due: a compressed CSV file, then the manifest that names it and the manifest's digest, by
 * which readers know that the report is whole. A report lists a bucket page by page, so it may miss what changes
 * meanwhile. One that fails, for example because its destination is gone, is logged and tried again in the next round.
 * Accounts take turns, so that no account's reports hold up those of the others.
 */
export const writeInventories = async (options: InventoryOptions, signal: AbortSignal): Promise<void> => {
  const failed = new Set<string>();
  for (let isLeft = true; isLeft && !signal.aborted;) {
    const walk: Walk = { spentMs: new Map(), failed, isLeft: false };
    await writeTurns(options, walk, signal);
    ({ isLeft } = walk);
  }
};

const writeTurns = async (options: InventoryOptions, walk: Walk, signal: AbortSignal): Promise<void> => {
  const { app } = options;
  let name = "";
  for (;;) {
    const after = name;
    const buckets = await app.store.read((reader) => listBucketsAfter(reader, after, pageBuckets));
    for (const { name: listed, bucket } of buckets) {
      if (signal.aborted) return;
      if (bucket !== undefined) await writeDue(options, bucket, walk, signal);
      name = listed;
    }
    if (buckets.length < pageBuckets) return;
  }
};

/** What is damaged in one bucket does not hold up the others. */
const writeDue = async (options: InventoryOptions, bucket: Bucket, walk: Walk, signal: AbortSignal): Promise<void> => {
  const { app, log } = options;
  try {
    const { identifiedConfigurationsMax: max } = limits;
    const configurations = await app.store.read((reader) =>
      listIdentified(reader, bucket.bucketId, "inventory", "", max),
    );
    for (const configuration of configurations) {
      if (signal.aborted) return;
      await writeIfDue(options, bucket, configuration, walk, signal);
    }
  } catch (error) {
    log.error({ err: error, bucket: bucket.name }, "not all inventories of a bucket were written");
  }
};

const writeIfDue = async (
  options: InventoryOptions,
  bucket: Bucket,
  configuration: InventoryConfiguration,
  walk: Walk,
  signal: AbortSignal,
): Promise<void> => {
  const { app, log } = options;
  const { accountId } = bucket;
  const key = [bucket.bucketId, configuration.id ?? ""] as const;
  // Where it is damaged, a report is written as if it were the first.
  const latest = await app.store.read((reader) => reader.get(inventoryReports, key)).catch(undefinedIfDamaged);
  const nowMs = app.clock.now();
  if (!isReportDue(configuration, latest && Number(latest.madeMs), nowMs, app.lifecycleDayMs)) return;
  if (walk.failed.has(key.join("/"))) return;
  const spentMs = walk.spentMs.get(accountId) ?? 0;
  if (spentMs >= limits.inventoryTurnMs) {
    walk.isLeft = true;
    return;
  }
  try {
    await writeReport(options, bucket, configuration, nowMs, signal);
    await app.store.transact(async (transaction) => {
      if ((await findBucket(transaction, bucket.name))?.bucketId === bucket.bucketId)
        transaction.put(inventoryReports, key, { madeMs: BigInt(nowMs) });
    });
  } catch (error) {
    if (signal.aborted) return;
    walk.failed.add(key.join("/"));
    log.error({ err: error, bucket: bucket.name, id: configuration.id }, "an inventory was not written");
  } finally {
    walk.spentMs.set(accountId, spentMs + Math.max(0, app.clock.now() - nowMs));
  }
};

const writeReport = async (
  { app, put: putOwn }: InventoryOptions,
  bucket: Bucket,
  configuration: InventoryConfiguration,
  nowMs: number,
  signal: AbortSignal,
): Promise<void> => {
  const folder = reportFolder(configuration, bucket.name);
  const encryption = reportEncryption(configuration);
  const dataKey = `${folder}data/${app.ids.uuid()}.csv.gz`;
  const put = (objectKey: string, contentType: string, body: AsyncIterable<Uint8Array>): Promise<void> => {
    const object = { bucket: reportBucket(configuration), key: objectKey, contentType, ...encryption };
    return putOwn(bucket.accountId, object, body, signal);
  };

  const digest = createHash("md5");
  let sizeBytes = 0;
  async function* measured(): AsyncGenerator<Uint8Array> {
    const zipped = createGzip();
    // The error of a source that fails comes out of the stream that is read.
    pipeline(Readable.from(linesOf(app, bucket, configuration, signal)), zipped, () => undefined);
    for await (const piece of zipped as AsyncIterable<Buffer>) {
      digest.update(piece);
      sizeBytes += piece.length;
      yield piece;
    }
  }
  await put(dataKey, "application/gzip", measured());
  const file: ReportFile = { key: dataKey, sizeBytes, md5: digest.digest("hex") };

  const manifest = Buffer.from(reportManifest(configuration, bucket.name, nowMs, [file]));
  const day = `${new Date(nowMs).toISOString().slice(0, 16).replace(":", "-")}Z`;
  await put(`${folder}${day}/manifest.json`, "application/json", once(manifest));
  const checksum = Buffer.from(createHash("md5").update(manifest).digest("hex"));
  await put(`${folder}${day}/manifest.checksum`, "text/plain", once(checksum));
};

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

/** The lines of a report, at the pace of background work. */
async function* linesOf(
  app: Application,
  bucket: Bucket,
  configuration: InventoryConfiguration,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const pace = scrubPace(app.clock, limits.lifecycleEntriesPerSecond, signal);
  const prefix = configuration.filter?.prefix ?? "";
  let after: [string, string, number] | undefined;
  for (;;) {
    signal.throwIfAborted();
    const start = after === undefined ? {} : { after };
    const page = await app.store.read((reader) =>
      reader.list(versions, { prefix: [bucket.bucketId, prefix], textPrefix: true, ...start, limit: pageVersions }),
    );
    let previous = after?.[1];
    for (const { key, value: version } of page) {
      const isLatest = key[1] !== previous;
      previous = key[1];
      if (!listsAllVersions(configuration) && (!isLatest || version.isDeleteMarker)) continue;
      const ownerId = app.canonicalUserId(ownerNow(bucket, version.ownerAccountId));
      yield reportLine(configuration, bucket.name, { key: key[1], version, isLatest, ownerId });
    }
    const last = page.at(-1)?.key;
    if (last === undefined || page.length < pageVersions) return;
    after = [...last];
    await pace.spend(page.length);
  }
}
