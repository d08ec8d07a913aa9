import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { Transaction } from "../../kit/store/store.ts";
import { matchesETag } from "../domain/conditions.ts";
import type { Instant } from "../domain/instant.ts";
import { instantMs } from "../domain/instant.ts";
import type { ChangeOrigin, EventOutbox } from "../events/event-outbox.ts";
import { fault } from "../faults.ts";
import type { Bucket } from "../store/bucket.ts";
import { findCurrent, removeNullVersion } from "../store/object.ts";
import type { Sequences } from "../store/sequence.ts";

/** The conditions under which an object is deleted; undefined ones were not given. */
export interface DeleteConditions {
  readonly ifMatch?: string | undefined;
  readonly ifMatchSize?: bigint | undefined;
  readonly ifMatchLastModifiedTime?: Instant | undefined;
}

/** The part of a call's context that a deletion needs. */
export type DeletionContext = ChangeOrigin & {
  readonly app: { readonly clock: Clock; readonly events: EventOutbox; readonly sequences: Sequences };
};

/** Deletes a key's object and announces it; does nothing for a key without one. Throws PRECONDITION_FAILED. */
export const deleteCurrent = async (
  transaction: Transaction,
  context: DeletionContext,
  bucket: Bucket,
  key: string,
  conditions: DeleteConditions,
): Promise<void> => {
  const current = await findCurrent(transaction, bucket.bucketId, key);
  if (current === undefined) return;
  checkDeleteConditions(conditions, current.version);
  const { clock, events, sequences } = context.app;
  const nowMs = clock.now();
  await removeNullVersion(transaction, bucket.bucketId, key, current, nowMs);
  await events.announce(transaction, context, bucket, {
    kind: "deleted",
    key,
    sequence: await sequences.next(transaction, current.sequence),
    timeMs: nowMs,
  });
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
