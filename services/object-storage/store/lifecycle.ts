import type { LifecycleProgressRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { LifecycleRules, VersionFacts } from "../domain/lifecycle-action.ts";
import { readLifecycle } from "../domain/lifecycle-action.ts";
import type { Bucket } from "./bucket.ts";
import { findDocument } from "./configuration.ts";
import { lifecycleProgress, versions } from "./layout.ts";
import type { StoredVersion } from "./object.ts";

/** A version that rules may act on. */
export interface FoundVersion {
  readonly sequence: number;
  readonly facts: VersionFacts;
}

/** Where a walk over the versions of a bucket is, with what it knows of the key. */
export interface WalkPosition {
  readonly key: string;
  readonly sequence: number;
  readonly madeMs: number;
  /** How many versions of the key are newer. */
  readonly newer: number;
}

const sweepKey = ["lifecycle"] as const;
/** What the keys of buckets of which something is left begin with. */
const leftPrefix = "bucket/";

/** The rules of a bucket; undefined if it has none. Reads nothing for a bucket that never had any. */
export const findLifecycle = async (
  reader: Reader,
  bucket: Pick<Bucket, "bucketId" | "hasLifecycle">,
  dayMs: number,
): Promise<LifecycleRules | undefined> => {
  if (!bucket.hasLifecycle) return undefined;
  const document = await findDocument(reader, bucket.bucketId, "lifecycle");
  if (document?.configuration === undefined) return undefined;
  const known = rulesOf.get(document);
  if (known?.dayMs === dayMs) return known;
  const rules = readLifecycle(document.configuration, document.transitionMinimum, dayMs);
  rulesOf.set(document, rules);
  return rules;
};

/** The rules of documents that readers share. */
const rulesOf = new WeakMap<object, LifecycleRules>();

/**
 * The next versions of a bucket whose keys begin with the prefix, newest of a key first; damaged ones are left out. The
 * last version of a page may look as if it were the only one of its key.
 */
export const walkVersions = async (
  reader: Reader,
  bucketId: string,
  prefix: string,
  position: WalkPosition | undefined,
  limit: number,
): Promise<{ readonly found: readonly FoundVersion[]; readonly next: WalkPosition | undefined }> => {
  const found: FoundVersion[] = [];
  let before = position;
  let read = 0;
  const range = {
    prefix: [bucketId, prefix] as [string, string],
    textPrefix: true,
    ...(before && { after: [bucketId, before.key, before.sequence] as [string, string, number] }),
    limit,
  };
  for await (const { key, value } of walkTable(reader, versions, range)) {
    read += 1;
    const [, name, sequence] = key;
    const newer = before?.key === name ? before.newer + 1 : 0;
    const newerMadeMs = before?.key === name ? before.madeMs : undefined;
    const madeMs = value === undefined ? (newerMadeMs ?? 0) : madeMsOf(value);
    const last = found.at(-1);
    if (newer === 1 && last?.facts.key === name)
      found[found.length - 1] = { ...last, facts: { ...last.facts, isOnly: false } };
    if (value !== undefined) found.push({ sequence, facts: factsOf(name, value, newer, newerMadeMs, newer === 0) });
    before = { key: name, sequence, madeMs, newer };
  }
  return { found, next: read < limit ? undefined : before };
};

/** What rules look at of one version, as it is in the transaction; `countMax`: how far newer versions are counted. */
export const findFacts = async (
  transaction: Transaction,
  bucketId: string,
  key: string,
  sequence: number,
  countMax: number,
): Promise<{ readonly stored: StoredVersion; readonly facts: VersionFacts } | undefined> => {
  const version = await transaction.get(versions, [bucketId, key, sequence]);
  if (version === undefined) return undefined;
  const ofKey = [bucketId, key] as [string, string];
  const newer = await transaction.list(versions, {
    prefix: ofKey,
    to: [bucketId, key, sequence],
    reverse: true,
    limit: countMax + 1,
  });
  const older = await transaction.list(versions, { prefix: ofKey, after: [bucketId, key, sequence], limit: 1 });
  const next = newer[0] && madeMsOf(newer[0].value);
  const facts = factsOf(key, version, newer.length, next, newer.length + older.length === 0);
  return { stored: { sequence, version }, facts };
};

/** When a version came to its key, where it has ended the one before. A renamed one keeps the date of its object. */
const madeMsOf = ({ renamedMs, lastModifiedMs }: StoredVersion["version"]): number =>
  Number(renamedMs || lastModifiedMs);

const factsOf = (
  key: string,
  version: StoredVersion["version"],
  newer: number,
  newerMadeMs: number | undefined,
  isOnly: boolean,
): VersionFacts => ({
  key,
  isDeleteMarker: version.isDeleteMarker,
  isNewest: newer === 0,
  isOnly,
  lastModifiedMs: Number(version.lastModifiedMs),
  noncurrentSinceMs: newerMadeMs,
  newerNoncurrent: Math.max(0, newer - 1),
  sizeBytes: Number(version.sizeBytes),
  storageClass: version.storageClass,
  tags: version.tags,
});

/** Where the walk over the versions and uploads of a bucket is. */
export interface BucketPosition {
  /** Undefined: before the first version. */
  readonly versions: WalkPosition | undefined;
  /** Undefined: not all versions were looked at. */
  readonly uploads: UploadPlace | undefined;
}

interface UploadPlace {
  /** Empty: before the first upload. */
  readonly key: string;
  readonly uploadId: string | undefined;
}

/** The bucket after which the walk over all buckets goes on; empty: no round has begun, or its record is damaged. */
export const findSweep = async (reader: Reader): Promise<string> =>
  (await reader.get(lifecycleProgress, sweepKey).catch(undefinedIfDamaged))?.bucket ?? "";

/** Stores how far the walk over all buckets has come; empty: it is done. */
export const putSweep = (transaction: Transaction, bucket: string): void => {
  if (bucket === "") transaction.delete(lifecycleProgress, sweepKey);
  else transaction.put(lifecycleProgress, sweepKey, { bucket });
};

const leftKey = (bucket: string): [string] => [`${leftPrefix}${bucket}`];

/** Whether something is left of a bucket in its round. */
export const isLeft = async (reader: Reader, bucket: string): Promise<boolean> =>
  (await Array.fromAsync(walkTable(reader, lifecycleProgress, { prefix: leftKey(bucket), limit: 1 }))).length > 0;

/** Stores where a bucket's round goes on. */
export const putLeft = (transaction: Transaction, bucket: string, position: BucketPosition): void => {
  const { versions: at, uploads } = position;
  transaction.put(lifecycleProgress, leftKey(bucket), {
    bucket,
    key: (uploads ?? at)?.key ?? "",
    ...(at && { sequence: BigInt(at.sequence), madeMs: BigInt(at.madeMs), newer: BigInt(at.newer) }),
    isInUploads: uploads !== undefined,
    uploadId: uploads?.uploadId ?? "",
  });
};

/** A bucket's round is over. */
export const deleteLeft = (transaction: Transaction, bucket: string): void =>
  transaction.delete(lifecycleProgress, leftKey(bucket));

/** The next buckets of which something is left, after one. A damaged record says that all is. */
export const listLeft = (
  reader: Reader,
  after: string,
  limit: number,
): Promise<{ readonly name: string; readonly position: BucketPosition }[]> =>
  Array.fromAsync(
    walkTable(reader, lifecycleProgress, { prefix: [leftPrefix], textPrefix: true, after: leftKey(after), limit }),
    ({ key: [name], value }) => ({ name: name.slice(leftPrefix.length), position: positionOf(value) }),
  );

const positionOf = (record: LifecycleProgressRecord | undefined): BucketPosition => {
  const { key = "", sequence = 0n, madeMs = 0n, newer = 0n, isInUploads = false, uploadId = "" } = record ?? {};
  if (isInUploads) return { versions: undefined, uploads: { key, uploadId: uploadId === "" ? undefined : uploadId } };
  const at = { key, sequence: Number(sequence), madeMs: Number(madeMs), newer: Number(newer) };
  return { versions: sequence === 0n ? undefined : at, uploads: undefined };
};
