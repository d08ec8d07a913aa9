import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import { checkCreation } from "../access/new-bucket.ts";
import { refuse } from "../access/refusals.ts";
import type { Operation } from "../application.ts";
import { isBucketName } from "../domain/bucket-name.ts";
import { instant } from "../domain/instant.ts";
import { fault } from "../faults.ts";
import { countBuckets, findBucket, reserveBucketName } from "../store/bucket.ts";
import { findOpenFork, forks } from "../store/forks.ts";

/**
 * Plans a fork of a bucket as a durable job and reserves its name. The bucket appears, whole, when the job is done.
 * Checks, in order:
 *  1. the name of the new bucket follows the rules of bucket names;
 *  2. the caller is of the account that owns the bucket, whatever its policy allows (ACCESS_DENIED);
 *  3. the caller may create the new bucket (ACCESS_DENIED);
 *  4. its name is free: not a bucket or a fork of this account or another, also in the regions that can be asked;
 *  5. the account has fewer buckets than it may have.
 */
export const forkBucket: Operation<"forkBucket"> = async (request, context) => {
  const { app, access, caller } = context;
  const { destination } = request;
  if (!isBucketName(destination)) throw fault(ErrorReason.INVALID_BUCKET_NAME, { bucket_name: destination });
  const { known } = access.bucket;
  if (!isOwner(caller, known.accountId)) throw refuse(context, "ForkBucket", known.name, "owner-account");
  checkCreation(context, destination);
  const otherPlace = await app.regions.find(destination);
  await app.store.transact(
    async (transaction) => {
      const source = await access.bucket.in(transaction);
      const existing = (await findBucket(transaction, destination)) ?? (await findOpenFork(transaction, destination));
      if (existing?.accountId === source.accountId)
        throw fault(ErrorReason.BUCKET_ALREADY_OWNED_BY_YOU, { bucket_name: destination });
      if (existing !== undefined || otherPlace !== undefined)
        throw fault(ErrorReason.BUCKET_ALREADY_EXISTS, { bucket_name: destination });
      const { bucketsPerAccountMax } = app.limits;
      if ((await countBuckets(transaction, source.accountId, bucketsPerAccountMax)) >= bucketsPerAccountMax)
        throw fault(ErrorReason.TOO_MANY_BUCKETS, { buckets_max: String(bucketsPerAccountMax) });
      const bucketId = app.ids.hex(16);
      reserveBucketName(transaction, { name: destination, bucketId, accountId: source.accountId });
      transaction.put(forks, [destination], {
        source: source.name,
        sourceBucketId: source.bucketId,
        bucketId,
        accountId: source.accountId,
        requestedMs: BigInt(app.clock.now()),
        status: "IN_PROGRESS",
      });
      app.forks.schedule(transaction, source.accountId, { destination, bucketId });
    },
    { signal: context.signal },
  );
  return {};
};

/** Returns how far a fork is. Fails if the bucket has none of the name (NO_SUCH_FORK). */
export const getBucketFork: Operation<"getBucketFork"> = async ({ destination }, { app, access }) => {
  const fork = await app.store.read(async (reader) => {
    const source = await access.bucket.in(reader);
    const found = await reader.get(forks, [destination]);
    return found?.sourceBucketId === source.bucketId ? found : undefined;
  });
  if (fork === undefined) throw fault(ErrorReason.NO_SUCH_FORK, { destination });
  const isCompleted = fork.status === "COMPLETED";
  return {
    status: fork.status,
    requestedTime: instant(Number(fork.requestedMs)),
    ...(isCompleted && { stateTime: instant(Number(fork.instantMs)), versionCount: fork.versions }),
    ...(fork.reason !== "" && { reason: fork.reason }),
  };
};
