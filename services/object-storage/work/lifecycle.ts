import type { UploadRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Metrics } from "../../kit/metrics/metrics.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import type { DeletionContext } from "../content/deletion.ts";
import { deleteVersion } from "../content/deletion.ts";
import type { LifecycleRules } from "../domain/lifecycle-action.ts";
import { abortOf, decideAction } from "../domain/lifecycle-action.ts";
import { isLocked } from "../domain/object-lock.ts";
import { nullVersionId, shownVersionId } from "../domain/versioning.ts";
import type { ChangeOrigin } from "../events/event-outbox.ts";
import { serviceOrigin } from "../events/event-outbox.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket, listBucketsAfter } from "../store/bucket.ts";
import type { FoundVersion, WalkPosition } from "../store/lifecycle.ts";
import { findFacts, findLifecycle, findProgress, putProgress, walkVersions } from "../store/lifecycle.ts";
import { endUpload, findUpload, readAllParts, readUploadRows } from "../store/upload.ts";
import { putStorageClass } from "../store/version-change.ts";
import { scrubPace } from "./scrub-pace.ts";

/** What the lifecycle rules are applied with. */
export interface LifecycleOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly app: DeletionContext["app"];
  /** How long a day lasts, in milliseconds. */
  readonly dayMs: number;
  /** How many versions and uploads are looked at in a second. */
  readonly entriesPerSecond: number;
}

/** What the rules did since the start. */
export interface LifecycleStats {
  readonly expired: number;
  readonly removed: number;
  readonly transitioned: number;
  readonly aborted: number;
}

/** The work of the lifecycle rules. */
export interface Lifecycle {
  /** Applies the rules of all buckets once; resolves at the end of the round or when aborted. */
  run(signal: AbortSignal): Promise<void>;
  stats(): LifecycleStats;
}

type Outcome = keyof LifecycleStats;

/** Versions that are in memory whole at a time: the manifest of one may have 10,000 parts. */
const pageVersions = 32;
const pageBuckets = 100;
const pageUploads = 100;
/** After so many pages it is stored how far the round has come. */
const pagesPerSave = 32;

/**
 * Applies the rules in rounds, bucket by bucket and key by key. A page is read first and most of it needs nothing; what
 * does is decided again in the transaction that changes it, with the rules and the versions as they are then, so a
 * rule never acts on what a caller has changed meanwhile. A restart continues the round where it was. A version that is
 * locked stays; so does all of a bucket where deleting versions needs a second factor.
 */
export const createLifecycle = (options: LifecycleOptions): Lifecycle => {
  const { store, clock, log, dayMs } = options;
  const done: Record<Outcome, number> = { expired: 0, removed: 0, transitioned: 0, aborted: 0 };

  const run = async (signal: AbortSignal): Promise<void> => {
    const pace = scrubPace(clock, options.entriesPerSecond, signal);
    const began = await store.read(findProgress);
    let name = began?.bucket ?? "";
    const interrupted = await store.read((reader) => (name === "" ? undefined : findBucket(reader, name)));
    if (interrupted !== undefined) await applyToBucket(interrupted, began?.key ?? "", signal, pace.spend);
    while (!signal.aborted) {
      const after = name;
      const buckets = await store.read((reader) => listBucketsAfter(reader, after, pageBuckets));
      for (const { name: listed, bucket } of buckets) {
        if (signal.aborted) return;
        if (bucket !== undefined) await applyToBucket(bucket, "", signal, pace.spend);
        name = listed;
      }
      if (buckets.length < pageBuckets) break;
    }
    if (!signal.aborted) await store.transact((transaction) => putProgress(transaction, undefined));
  };

  /** What is damaged in one bucket does not hold up the others. */
  const applyToBucket: typeof applyRules = async (bucket, ...further) => {
    try {
      await applyRules(bucket, ...further);
    } catch (error) {
      log.error({ err: error, bucket: bucket.name }, "the lifecycle rules were not applied to all of a bucket");
    }
  };

  const applyRules = async (
    bucket: Bucket,
    fromKey: string,
    signal: AbortSignal,
    spend: (entries: number) => Promise<void>,
  ): Promise<void> => {
    const rules = await store.read((reader) => findLifecycle(reader, bucket, dayMs));
    if (rules === undefined || rules.rules.length === 0) return;
    const prefix = commonPrefix(rules);
    await applyToVersions(bucket, rules, prefix, fromKey, signal, spend);
    await abortUploads(bucket, rules, prefix, signal, spend);
  };

  const applyToVersions = async (
    bucket: Bucket,
    rules: LifecycleRules,
    prefix: string,
    fromKey: string,
    signal: AbortSignal,
    spend: (entries: number) => Promise<void>,
  ): Promise<void> => {
    let position: WalkPosition | undefined =
      fromKey === "" ? undefined : { key: fromKey, sequence: Number.MAX_SAFE_INTEGER, madeMs: 0, newer: -1 };
    for (let page = 1; !signal.aborted; page += 1) {
      const { found, next } = await store.read((reader) =>
        walkVersions(reader, bucket.bucketId, prefix, position, pageVersions),
      );
      const due = found.filter(({ facts }) => decideAction(rules, facts, clock.now()) !== undefined);
      if (due.length > 0) await applyAll(bucket.name, due);
      await spend(costOf(rules, found, due.length));
      if (next === undefined) return;
      position = next;
      if (page % pagesPerSave === 0)
        await store.transact((transaction) => putProgress(transaction, { bucket: bucket.name, key: next.key }));
    }
  };

  /** All in one transaction, or one by one, so that a version that cannot be changed does not hold up the others. */
  const applyAll = async (name: string, due: readonly FoundVersion[]): Promise<void> => {
    const inOne = async (found: readonly FoundVersion[]): Promise<void> => {
      const outcomes = await store.transact((transaction) => applyToFound(transaction, name, found));
      for (const outcome of outcomes) if (outcome !== undefined) done[outcome] += 1;
    };
    try {
      await inOne(due);
    } catch {
      for (const each of due)
        try {
          await inOne([each]);
        } catch (error) {
          log.error({ err: error, bucket: name, key: each.facts.key }, "a lifecycle rule was not applied");
        }
    }
  };

  /** What is decided on is read of all keys at the same time; the changes follow each other, as they share entries. */
  const applyToFound = async (
    transaction: Transaction,
    name: string,
    found: readonly FoundVersion[],
  ): Promise<(Outcome | undefined)[]> => {
    const bucket = await findBucket(transaction, name);
    const rules = bucket && (await findLifecycle(transaction, bucket, dayMs));
    if (bucket === undefined || rules === undefined || bucket.mfaDelete === "Enabled") return [];
    const read = ({ sequence, facts: { key } }: FoundVersion) =>
      findFacts(transaction, bucket.bucketId, key, sequence, rules.newerMax);
    const first = await Promise.all(
      found.map(async (each, at) => (isSameKey(each, found[at - 1]) ? undefined : read(each))),
    );
    const outcomes: (Outcome | undefined)[] = [];
    for (const [at, each] of found.entries()) {
      // The version before it may have been changed.
      const now = isSameKey(each, found[at - 1]) ? await read(each) : first[at];
      outcomes.push(now && (await applyToVersion(transaction, bucket, rules, each, now)));
    }
    return outcomes;
  };

  const applyToVersion = async (
    transaction: Transaction,
    bucket: Bucket,
    rules: LifecycleRules,
    { sequence, facts: { key } }: FoundVersion,
    now: Awaited<ReturnType<typeof findFacts>> & {},
  ): Promise<Outcome | undefined> => {
    const action = decideAction(rules, now.facts, clock.now());
    if (action === undefined) return undefined;
    const { stored } = now;
    if (action.kind === "transition") {
      await putStorageClass(transaction, bucket.bucketId, key, stored, action.storageClass);
      await options.app.events.announce(transaction, transitionOrigin, bucket, {
        kind: "moved",
        key,
        versionId: shownVersionId(bucket.versioning, stored.version),
        sequence,
        eTag: stored.version.eTag,
        sizeBytes: now.facts.sizeBytes,
        storageClass: action.storageClass,
        timeMs: clock.now(),
      });
      return "transitioned";
    }
    if (action.kind === "remove" && isLocked(stored.version, options.app.lockClock.now(), false)) return undefined;
    const versionId = action.kind === "remove" ? stored.version.versionId || nullVersionId : undefined;
    await deleteVersion(transaction, { ...expirationOrigin, app: options.app }, bucket, { key, versionId });
    return action.kind === "remove" ? "removed" : "expired";
  };

  const abortUploads = async (
    bucket: Bucket,
    rules: LifecycleRules,
    prefix: string,
    signal: AbortSignal,
    spend: (entries: number) => Promise<void>,
  ): Promise<void> => {
    let after: { key: string; uploadId: string | undefined } = { key: "", uploadId: undefined };
    while (!signal.aborted) {
      const rows = await store.read((reader) =>
        readUploadRows(reader, bucket.bucketId, prefix, { after }, pageUploads),
      );
      await spend(rows.length);
      for (const { position, row } of rows)
        if (isAbortDue(rules, position.key, row.upload)) await abortAlone(bucket.name, position.key, row.uploadId);
      const last = rows.at(-1);
      if (last === undefined || rows.length < pageUploads) return;
      after = last.position;
    }
  };

  /** An upload that cannot be aborted, because a record of it is damaged, does not hold up the others. */
  const abortAlone = async (name: string, key: string, uploadId: string): Promise<void> => {
    try {
      if (await store.transact((transaction) => abortUpload(transaction, name, key, uploadId))) done.aborted += 1;
    } catch (error) {
      log.error({ err: error, bucket: name, key }, "an upload was not aborted by a lifecycle rule");
    }
  };

  const isAbortDue = (rules: LifecycleRules, key: string, { initiatedMs }: UploadRecord): boolean =>
    (abortOf(rules, key, Number(initiatedMs))?.atMs ?? Infinity) <= clock.now();

  /** Whether the upload was open and due still. */
  const abortUpload = async (
    transaction: Transaction,
    name: string,
    key: string,
    uploadId: string,
  ): Promise<boolean> => {
    const bucket = await findBucket(transaction, name);
    const rules = bucket && (await findLifecycle(transaction, bucket, dayMs));
    if (bucket === undefined || rules === undefined) return false;
    const reference = { bucketId: bucket.bucketId, key, uploadId };
    const upload = await findUpload(transaction, reference);
    if (upload === undefined || !isAbortDue(rules, key, upload)) return false;
    const stored = await readAllParts(transaction, uploadId);
    await endUpload(transaction, reference, stored, () => false, clock.now());
    return true;
  };

  return { run, stats: () => ({ ...done }) };
};

const expirationOrigin: ChangeOrigin = serviceOrigin("Lifecycle Expiration");
const transitionOrigin: ChangeOrigin = serviceOrigin("Lifecycle Transition");

const isSameKey = (one: FoundVersion, other: FoundVersion | undefined): boolean => one.facts.key === other?.facts.key;

/** What a page costs, in versions that are looked at: more where many rules are decided on, or much is changed. */
const costOf = (rules: LifecycleRules, found: readonly FoundVersion[], changes: number): number => {
  const decided = found.reduce((sum, { facts }) => sum + rules.rulesFor(facts).length, 0);
  return found.length + decided / limits.lifecycleRulesPerEntry + changes * limits.lifecycleEntriesPerChange;
};

/** What the keys of all rules begin with. */
const commonPrefix = ({ rules: [first, ...others] }: LifecycleRules): string => {
  let prefix = first?.conditions.prefix ?? "";
  for (const { conditions } of others)
    while (!conditions.prefix.startsWith(prefix)) prefix = Array.from(prefix).slice(0, -1).join("");
  return prefix;
};

/** Adds the metrics of the rules. */
export const lifecycleMetrics = (metrics: Metrics, lifecycle: Pick<Lifecycle, "stats">): void => {
  for (const [outcome, help] of rows)
    metrics.add({
      name: `lifecycle_${outcome}_total`,
      type: "counter",
      help,
      read: () => [{ labels: {}, value: lifecycle.stats()[outcome] }],
    });
};

const rows: readonly (readonly [Outcome, string])[] = [
  ["expired", "Objects that lifecycle rules have deleted."],
  ["removed", "Versions and delete markers that lifecycle rules have removed."],
  ["transitioned", "Versions that lifecycle rules have moved to another storage class."],
  ["aborted", "Uploads that lifecycle rules have aborted."],
];
