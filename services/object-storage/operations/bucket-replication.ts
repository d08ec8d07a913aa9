import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { ReplicationRule } from "../../../gen/quartet/objectstorage/v1/replication_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { Application, Operation } from "../application.ts";
import { destinationOf, isForExisting, planReplication } from "../domain/replication.ts";
import { fault, invalidRequest } from "../faults.ts";
import { limits } from "../limits.ts";
import { findElsewhere } from "../regions/find-elsewhere.ts";
import type { BucketPlace } from "../regions/other-regions.ts";
import type { Bucket } from "../store/bucket.ts";
import { changeReplication, findBucket } from "../store/bucket.ts";
import { deleteDocument, findDocument, putDocument } from "../store/configuration.ts";

/**
 * Replaces the rules by which versions of a bucket are copied into others. Repeating it changes nothing, but where they
 * are for what was there before as well, what of it is missing is copied. Checks, in order:
 *  1. the rules are valid, see `planReplication`;
 *  2. the bucket keeps versions (INVALID_REQUEST);
 *  3. each destination is another bucket that exists, belongs to the account that its rule names, keeps versions, and
 *     can lock them if the bucket can (INVALID_REQUEST); of one in another region it is known that it exists, and
 *     there must be a key for the region.
 */
export const putBucketReplication: Operation<"putBucketReplication"> = async (request, { app, access, signal }) => {
  const planned = planReplication(request.replicationConfiguration, () => app.ids.uuid());
  const elsewhere = await destinationsElsewhere(app, planned.rules, signal);
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    if (bucket.versioning !== "Enabled")
      throw invalidRequest("Versioning must be 'Enabled' on the bucket to apply a replication configuration");
    for (const rule of planned.rules) {
      const place = elsewhere.get(destinationOf(rule));
      if (place === undefined) await checkDestination(transaction, bucket, rule);
      else if (app.regions.clientOf(place.region) === undefined)
        throw invalidRequest(`Destination bucket is in ${place.region}, for which this installation has no key.`);
    }
    putDocument(transaction, bucket.bucketId, "replication", planned);
    const existing = planned.rules.filter(isForExisting);
    const replicationWalkId = existing.length === 0 ? "" : app.ids.hex(limits.replicationWalkIdDigits);
    const changed = changeReplication(transaction, bucket, { hasReplication: true, replicationWalkId });
    if (existing.length > 0)
      app.existingReplications.begin(
        transaction,
        changed,
        existing.some((rule) => elsewhere.has(destinationOf(rule))),
      );
  });
  return {};
};

/** Returns the rules of replication of a bucket. Fails if it has none. */
export const getBucketReplication: Operation<"getBucketReplication"> = async (_request, { app, access }) => {
  const replicationConfiguration = await app.store.read(async (reader) => {
    const { bucketId } = await access.bucket.in(reader);
    return findDocument(reader, bucketId, "replication");
  });
  if (replicationConfiguration === undefined)
    throw fault(ErrorReason.REPLICATION_CONFIGURATION_NOT_FOUND, { bucket_name: access.bucket.name });
  return { replicationConfiguration };
};

/** Deletes the rules of replication of a bucket; copies that are pending fail. Repeating it succeeds. */
export const deleteBucketReplication: Operation<"deleteBucketReplication"> = async (_request, { app, access }) => {
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    deleteDocument(transaction, bucket.bucketId, "replication");
    if (bucket.hasReplication) changeReplication(transaction, bucket, { hasReplication: false, replicationWalkId: "" });
  });
  return {};
};

/** The destinations that are in other regions. */
const destinationsElsewhere = async (
  app: Application,
  rules: readonly ReplicationRule[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, BucketPlace>> => {
  const found = new Map<string, BucketPlace>();
  for (const name of new Set(rules.map(destinationOf))) {
    signal.throwIfAborted();
    const place = await findElsewhere(app, name);
    if (place !== undefined) found.set(name, place);
  }
  return found;
};

const checkDestination = async (reader: Reader, source: Bucket, rule: ReplicationRule): Promise<void> => {
  const target = await findBucket(reader, destinationOf(rule));
  const account = rule.destination?.account;
  if (target === undefined || (account !== undefined && account !== target.accountId))
    throw invalidRequest("Destination bucket must exist.");
  if (target.bucketId === source.bucketId) throw invalidRequest("Destination bucket cannot be the same as the source.");
  if (target.versioning !== "Enabled") throw invalidRequest("Destination bucket must have versioning enabled.");
  if (source.objectLock !== undefined && target.objectLock === undefined)
    throw invalidRequest("Destination bucket must have object lock enabled.");
};
