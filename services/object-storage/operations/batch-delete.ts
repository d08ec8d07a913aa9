import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { ObjectIdentifier } from "../../../gen/quartet/objectstorage/v1/object_pb.ts";
import { ServiceError } from "../../kit/faults/service-error.ts";
import { StoreTransactionTooLargeError } from "../../kit/store/errors.ts";
import type { Transaction } from "../../kit/store/store.ts";
import { accessDenied, refuse } from "../access/refusals.ts";
import { checkSecondFactor } from "../access/second-factor.ts";
import type { BucketContext, Operation } from "../application.ts";
import type { Deletion } from "../content/deletion.ts";
import { deleteVersion } from "../content/deletion.ts";
import { checkKey } from "../domain/object-attributes.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";

type Outcome =
  | { readonly deleted: ObjectIdentifier; readonly deletion: Deletion }
  | { readonly refused: ServiceError; readonly of: ObjectIdentifier };

/**
 * Deletes up to 1,000 objects or versions, each on its own. Succeeds for keys without an object, not for unknown
 * versions. The refusal of one object is returned next to those that are deleted. Checks, in order:
 *  1. the list is not empty, not too long, and each entry has a key;
 *  2. where the bucket's versions need a second factor to be deleted and the list has one, it is given (ACCESS_DENIED);
 *  3. for each object: the caller may delete it, the key's length, the version id, the conditions, its lock.
 */
export const deleteObjects: Operation<"deleteObjects"> = async (request, context) => {
  const { objects = [], quiet = false } = request.delete ?? {};
  if (objects.length === 0 || objects.length > limits.batchDeleteObjectsMax || objects.some((object) => !object.key))
    throw fault(ErrorReason.MALFORMED_XML);

  const removesVersions = objects.some((object) => object.versionId !== undefined);
  const isConfirmed = await confirm(context, request.mfa, removesVersions);

  /** One transaction, or of objects of many thousand parts as many as it takes. */
  const deleteFrom = async (at: number, batch: readonly ObjectIdentifier[]): Promise<Outcome[]> => {
    try {
      return await context.app.store.transact(
        async (transaction) => {
          const bucket = await context.access.bucket.in(transaction);
          if (removesVersions && bucket.mfaDelete === "Enabled" && !isConfirmed)
            throw refuse(context, "DeleteObjectVersion", bucket.name, "second-factor");
          const done: Outcome[] = [];
          for (const [index, object] of batch.entries())
            done.push(
              context.access.refusedElements.has(at + index)
                ? {
                    refused: accessDenied(
                      object.versionId === undefined ? "DeleteObject" : "DeleteObjectVersion",
                      `${bucket.name}/${object.key ?? ""}`,
                    ),
                    of: object,
                  }
                : await deleteOne(transaction, context, bucket, object, request.bypassGovernanceRetention),
            );
          return done;
        },
        { signal: context.signal },
      );
    } catch (error) {
      if (!(error instanceof StoreTransactionTooLargeError) || batch.length === 1) throw error;
      const half = Math.ceil(batch.length / 2);
      const first = await deleteFrom(at, batch.slice(0, half));
      return [...first, ...(await deleteFrom(at + half, batch.slice(half)))];
    }
  };

  const outcomes: Outcome[] = [];
  for (let at = 0; at < objects.length; at += limits.batchDeleteTransactionObjects)
    outcomes.push(...(await deleteFrom(at, objects.slice(at, at + limits.batchDeleteTransactionObjects))));

  return {
    deleted: outcomes.flatMap((outcome) =>
      "deleted" in outcome && !quiet ? [describeDeleted(outcome.deleted, outcome.deletion)] : [],
    ),
    errors: outcomes.flatMap((outcome) =>
      "refused" in outcome
        ? [
            {
              key: outcome.of.key,
              versionId: outcome.of.versionId,
              code: outcome.refused.facts.name,
              message: outcome.refused.message,
            },
          ]
        : [],
    ),
  };
};

/** Checks the second factor where it is needed or given; returns whether it was, and so used up. */
const confirm = (context: BucketContext, mfa: string | undefined, removesVersions: boolean): Promise<boolean> =>
  context.app.store.transact(async (transaction) => {
    const bucket = await context.access.bucket.in(transaction);
    if (mfa === undefined && !(removesVersions && bucket.mfaDelete === "Enabled")) return false;
    await checkSecondFactor(transaction, context, bucket, mfa, "DeleteObjectVersion");
    return true;
  });

const describeDeleted = ({ key, versionId }: ObjectIdentifier, deletion: Deletion) => ({
  key,
  versionId,
  ...(deletion.isDeleteMarker && { deleteMarker: true, deleteMarkerVersionId: deletion.versionId }),
});

const deleteOne = async (
  transaction: Transaction,
  context: BucketContext,
  bucket: Bucket,
  object: ObjectIdentifier,
  bypassGovernanceRetention: boolean | undefined,
): Promise<Outcome> => {
  try {
    checkKey(object.key ?? "");
    const deletion = await deleteVersion(transaction, context, bucket, {
      key: object.key ?? "",
      versionId: object.versionId,
      bypassGovernanceRetention,
      ifMatch: object.eTag,
      ifMatchSize: object.size,
      ifMatchLastModifiedTime: object.lastModifiedTime,
    });
    if (object.versionId !== undefined && bucket.versioning !== "" && !deletion.isChanged)
      throw fault(ErrorReason.NO_SUCH_VERSION, { key: object.key ?? "", version_id: object.versionId });
    return { deleted: object, deletion };
  } catch (error) {
    if (error instanceof ServiceError) return { refused: error, of: object };
    throw error;
  }
};
