import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Guard } from "../../kit/server/guard.ts";
import type { Store } from "../../kit/store/store.ts";
import { parseCopySource } from "../domain/copy-source.ts";
import type { CopyAccess } from "./access.ts";
import { accessDenied, openBucket } from "./bucket-access.ts";

/** The members by which requests of all operations name buckets. A member that a request does not have is undefined. */
interface BucketMembers {
  readonly bucket?: string;
  readonly expectedBucketOwner?: string;
  readonly copySource?: string;
  readonly expectedSourceBucketOwner?: string;
}

/** The operation whose bucket does not exist yet. */
const creation = ObjectStorageService.method.createBucket.name;

/**
 * Decides whether a call may reach its handler, before any content of an upload is read. Opens the existing buckets
 * that the request names, in one read, and hands them to the handler as `context.access`: the bucket, and the source of
 * a copy. The type of each operation has only those that its request names. Checks, in order:
 *  1. an operation on no existing bucket: the caller is not anonymous (ACCESS_DENIED);
 *  2. the bucket is accessible, see `authorizeBucket`;
 *  3. the copy source is a bucket and a key (INVALID_ARGUMENT) and not an ARN (MEMBER_NOT_IMPLEMENTED);
 *  4. the bucket of the source is accessible, as the first one.
 */
export const guard: Guard<{ readonly store: Store }, CopyAccess> = async (request, context) => {
  const { bucket: name, expectedBucketOwner, copySource, expectedSourceBucketOwner } = request as BucketMembers;
  if (name === undefined || context.method.name === creation) {
    if (context.caller.isAnonymous) throw accessDenied(context, name ?? "*");
    return {} as CopyAccess;
  }
  return context.app.store.read(async (reader) => {
    const bucket = await openBucket(reader, context, { name, expectedOwner: expectedBucketOwner });
    if (copySource === undefined) return { bucket } as CopyAccess;
    const source = parseCopySource(copySource);
    const named = { name: source.bucket, expectedOwner: expectedSourceBucketOwner };
    return { bucket, source: { ...source, bucket: await openBucket(reader, context, named) } };
  });
};
