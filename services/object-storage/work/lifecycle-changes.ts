import type { UploadRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import type { DeletionContext } from "../content/deletion.ts";
import { deleteVersion } from "../content/deletion.ts";
import type { LifecycleRules } from "../domain/lifecycle-action.ts";
import { abortOf, decideAction } from "../domain/lifecycle-action.ts";
import { isLocked } from "../domain/object-lock.ts";
import { nullVersionId, shownVersionId } from "../domain/versioning.ts";
import type { ChangeOrigin } from "../events/event-outbox.ts";
import { serviceOrigin } from "../events/event-outbox.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket } from "../store/bucket.ts";
import type { FoundVersion } from "../store/lifecycle.ts";
import { findFacts, findLifecycle } from "../store/lifecycle.ts";
import { endUpload, findUpload, readAllParts } from "../store/upload.ts";
import { putStorageClass } from "../store/version-change.ts";

/** What lifecycle rules work with. */
export interface LifecycleParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly app: DeletionContext["app"];
  /** How long a day lasts, in milliseconds. */
  readonly dayMs: number;
}

/** What the rules did since the start. */
export interface LifecycleStats {
  readonly expired: number;
  readonly removed: number;
  readonly transitioned: number;
  readonly aborted: number;
}

type Outcome = keyof LifecycleStats;

/** The changes that lifecycle rules make. */
export interface LifecycleChanges {
  /** Changes what is due of the found versions. */
  applyAll(bucket: string, due: readonly FoundVersion[]): Promise<void>;
  /** Whether a rule aborts an upload now. */
  isAbortDue(rules: LifecycleRules, key: string, upload: UploadRecord): boolean;
  /** Aborts an upload if it is open and due still. */
  abort(bucket: string, key: string, uploadId: string): Promise<void>;
}

/**
 * What is due is decided again in the transaction that changes it, with the rules and the versions as they are then, so
 * a rule never acts on what a caller has changed meanwhile. What was done is counted in `done`.
 */
export const lifecycleChanges = (options: LifecycleParts, done: Record<Outcome, number>): LifecycleChanges => {
  const { store, clock, log, dayMs } = options;

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

  return { applyAll, isAbortDue, abort: abortAlone };
};

const expirationOrigin: ChangeOrigin = serviceOrigin("Lifecycle Expiration");
const transitionOrigin: ChangeOrigin = serviceOrigin("Lifecycle Transition");

const isSameKey = (one: FoundVersion, other: FoundVersion | undefined): boolean => one.facts.key === other?.facts.key;
