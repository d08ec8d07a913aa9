import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { Transaction } from "../../kit/store/store.ts";
import { matchesETag } from "../domain/conditions.ts";
import type { Instant } from "../domain/instant.ts";
import { instantMs } from "../domain/instant.ts";
import type { ChangeOrigin, EventOutbox } from "../events/event-outbox.ts";
import { checkVersionId, shownVersionId } from "../domain/versioning.ts";
import { isLocked } from "../domain/object-lock.ts";
import { fault } from "../faults.ts";
import type { Bucket } from "../store/bucket.ts";
import type { LockClock } from "../store/lock-clock.ts";
import { findCurrent, findVersion } from "../store/object.ts";
import type { VersionNumbers } from "../store/version-change.ts";
import { putDeleteMarker, removeVersion } from "../store/version-change.ts";

/** The conditions under which an object is deleted; undefined ones were not given. */
export interface DeleteConditions {
  readonly ifMatch?: string | undefined;
  readonly ifMatchSize?: bigint | undefined;
  readonly ifMatchLastModifiedTime?: Instant | undefined;
}

/** The part of a call's context that a deletion needs. */
export type DeletionContext = ChangeOrigin & {
  readonly app: VersionNumbers & {
    readonly clock: Clock;
    readonly lockClock: Pick<LockClock, "now">;
    readonly events: EventOutbox;
  };
};

/** What a deletion removes, and under which conditions. */
export interface DeletionRequest extends DeleteConditions {
  readonly key: string;
  /** Undefined: the current version. */
  readonly versionId?: string | undefined;
  /** The caller may delete what is retained in GOVERNANCE mode, and asks for it. */
  readonly bypassGovernanceRetention?: boolean | undefined;
}

/** What a deletion did. */
export interface Deletion {
  /** The version that was removed or made, as answers show it; undefined in a bucket that never kept versions. */
  readonly versionId: string | undefined;
  /** That version is a delete marker. */
  readonly isDeleteMarker: boolean;
  /** There was something to delete, or a delete marker was made. */
  readonly isChanged: boolean;
}

/**
 * Deletes a key's object, or the version that is named, and announces it. Throws, in this order: INVALID_VERSION_ID,
 * PRECONDITION_FAILED, OBJECT_LOCKED for a version that is retained or has a legal hold.
 */
export const deleteVersion = async (
  transaction: Transaction,
  context: DeletionContext,
  bucket: Bucket,
  request: DeletionRequest,
): Promise<Deletion> => {
  const { key, versionId } = request;
  const { bucketId, versioning } = bucket;
  checkVersionId(versioning, versionId);
  const isNamed = versionId !== undefined && versioning !== "";
  const found = isNamed
    ? await findVersion(transaction, bucketId, key, versionId)
    : await findCurrent(transaction, bucketId, key);
  if (found !== undefined) checkDeleteConditions(request, found.version);

  const nowMs = context.app.clock.now();
  if (!isNamed && versioning !== "") {
    const marker = await putDeleteMarker(transaction, context.app, bucket, key, bucket.accountId, nowMs);
    const shownId = shownVersionId(versioning, marker);
    const { sequence } = marker;
    const change = { kind: "marker-created", key, versionId: shownId, sequence, timeMs: nowMs } as const;
    await context.app.events.announce(transaction, context, bucket, change);
    return { versionId: shownId, isDeleteMarker: true, isChanged: true };
  }

  const shownId = isNamed ? versionId : undefined;
  if (
    found !== undefined &&
    isLocked(found.version, context.app.lockClock.now(), request.bypassGovernanceRetention === true)
  )
    throw fault(ErrorReason.OBJECT_LOCKED);
  if (found === undefined) return { versionId: shownId, isDeleteMarker: false, isChanged: false };
  await removeVersion(transaction, bucket, key, found, nowMs);
  await context.app.events.announce(transaction, context, bucket, {
    kind: "deleted",
    key,
    versionId: shownId,
    sequence: await context.app.sequences.next(transaction, found.sequence),
    timeMs: nowMs,
  });
  return { versionId: shownId, isDeleteMarker: found.version.isDeleteMarker, isChanged: true };
};

const checkDeleteConditions = (
  { ifMatch, ifMatchSize, ifMatchLastModifiedTime }: DeleteConditions,
  version: { readonly eTag: string; readonly sizeBytes: bigint; readonly lastModifiedMs: bigint },
): void => {
  if (ifMatch !== undefined && !matchesETag(ifMatch, version.eTag)) throw failed("If-Match");
  if (ifMatchSize !== undefined && ifMatchSize !== version.sizeBytes) throw failed("x-svc-if-match-size");
  if (
    ifMatchLastModifiedTime !== undefined &&
    Math.floor(instantMs(ifMatchLastModifiedTime) / 1000) !== Math.floor(Number(version.lastModifiedMs) / 1000)
  )
    throw failed("x-svc-if-match-last-modified-time");
};

const failed = (condition: string) => fault(ErrorReason.PRECONDITION_FAILED, { condition });
