import type { DeleteObjectsRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { ObjectIdentifier } from "../../../gen/quartet/objectstorage/v1/object_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ServiceError } from "../../kit/faults/service-error.ts";
import type { Transaction } from "../../kit/store/store.ts";
import { useBucket } from "../access/bucket-access.ts";
import type { Context } from "../application.ts";
import { checkKey } from "../domain/object-attributes.ts";
import { checkVersionId } from "../domain/object-version.ts";
import { refuseUnoffered } from "../domain/offer.ts";
import { fault } from "../faults.ts";
import type { Bucket } from "../store/bucket.ts";
import { deleteCurrent } from "../content/deletion.ts";

const objectsMax = 1000;
/** Objects whose deletion is one transaction. */
const objectsPerTransaction = 100;

type Outcome =
  | { readonly deleted: ObjectIdentifier }
  | { readonly refused: ServiceError; readonly of: ObjectIdentifier };

/**
 * Deletes up to 1,000 objects, each for itself; one that is not there is deleted already, so repeating it succeeds.
 * Refuses as a whole what is not offered, a list that is empty, too long or has an entry without a key, then as every
 * use of a bucket does. What one object is refused with is told beside those that are deleted.
 */
export const deleteObjects = async (request: DeleteObjectsRequest, context: Context) => {
  refuseUnoffered(request);
  const { objects = [], quiet = false } = request.delete ?? {};
  if (objects.length === 0 || objects.length > objectsMax || objects.some((object) => !object.key))
    throw fault(ErrorReason.MALFORMED_XML);

  const outcomes: Outcome[] = [];
  for (let at = 0; at < objects.length; at += objectsPerTransaction) {
    const batch = objects.slice(at, at + objectsPerTransaction);
    outcomes.push(
      ...(await context.app.store.transact(
        async (transaction) => {
          const bucket = await useBucket(transaction, context, request);
          const done: Outcome[] = [];
          for (const object of batch) done.push(await deleteOne(transaction, context, bucket, object));
          return done;
        },
        { signal: context.signal },
      )),
    );
  }

  return {
    deleted: outcomes.flatMap((outcome) =>
      "deleted" in outcome && !quiet ? [{ key: outcome.deleted.key, versionId: outcome.deleted.versionId }] : [],
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

const deleteOne = async (
  transaction: Transaction,
  context: Context,
  bucket: Bucket,
  object: ObjectIdentifier,
): Promise<Outcome> => {
  try {
    checkKey(object.key ?? "");
    checkVersionId(object.versionId);
    await deleteCurrent(transaction, context, bucket, object.key ?? "", {
      ifMatch: object.eTag,
      ifMatchSize: object.size,
      ifMatchLastModifiedTime: object.lastModifiedTime,
    });
    return { deleted: object };
  } catch (error) {
    if (error instanceof ServiceError) return { refused: error, of: object };
    throw error;
  }
};
