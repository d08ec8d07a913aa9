import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type {
  PutBucketCorsRequest,
  PutBucketNotificationConfigurationRequest,
  PutBucketTaggingRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { BucketRequest } from "../access/bucket-access.ts";
import { useBucket } from "../access/bucket-access.ts";
import type { Context } from "../application.ts";
import { planCors } from "../domain/cors.ts";
import { noNotification, planNotification } from "../domain/notification.ts";
import { bucketTagsMax, planTagging } from "../domain/tags.ts";
import { fault } from "../faults.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket } from "../store/bucket.ts";
import type { DocumentKind, DocumentOf } from "../store/configuration.ts";
import { deleteDocument, findDocument, putDocument } from "../store/configuration.ts";

/** One kind of configuration that is a document: put as a whole, told back as it was put, deleted. */
interface BucketDocument<Kind extends DocumentKind, Put, Told> {
  readonly kind: Kind;
  /** The document that a request puts, as it is kept. Throws what is refused of it. */
  plan(request: Put): DocumentOf<Kind>;
  /** The answer that tells a document. */
  tell(document: DocumentOf<Kind>): Told;
  /** What a bucket without one tells; throws where that is refused. */
  tellNone(bucket: Bucket): Told;
  /** Finds the bucket whose document is told. Unset: as every use of a bucket. */
  readonly use?: (reader: Reader, context: Context, request: BucketRequest) => Promise<Bucket>;
}

/**
 * The operations on one kind. A put refuses a document that breaks the rules, then as every use of a bucket does; the
 * others refuse as every use of a bucket does. Repeating any of them changes nothing.
 */
const operationsOn = <Kind extends DocumentKind, Put extends BucketRequest, Told>(
  document: BucketDocument<Kind, Put, Told>,
) => ({
  put: async (request: Put, context: Context) => {
    const planned = document.plan(request);
    await context.app.store.transact(async (transaction) => {
      const bucket = await useBucket(transaction, context, request);
      putDocument(transaction, bucket.bucketId, document.kind, planned);
    });
    return {};
  },
  get: async (request: BucketRequest, context: Context): Promise<Told> =>
    context.app.store.read(async (reader) => {
      const bucket = await (document.use ?? useBucket)(reader, context, request);
      const found = await findDocument(reader, bucket.bucketId, document.kind);
      return found === undefined ? document.tellNone(bucket) : document.tell(found);
    }),
  delete: async (request: BucketRequest, context: Context) => {
    await context.app.store.transact(async (transaction) => {
      const bucket = await useBucket(transaction, context, request);
      deleteDocument(transaction, bucket.bucketId, document.kind);
    });
    return {};
  },
});

/** The rules for other origins are also told to the gateway, which asks for nobody: a browser's question has no caller. */
const useBucketForOrigins = async (reader: Reader, context: Context, request: BucketRequest): Promise<Bucket> => {
  const { caller } = context;
  const bucket = caller.isAnonymous && caller.isPreauthorized ? await findBucket(reader, request.bucket) : undefined;
  return bucket ?? useBucket(reader, context, request);
};

const cors = operationsOn({
  kind: "cors",
  plan: ({ corsconfiguration }: PutBucketCorsRequest) => planCors(corsconfiguration),
  tell: ({ corsrules }) => ({ corsrules }),
  tellNone: ({ name }) => {
    throw fault(ErrorReason.NO_SUCH_CORS_CONFIGURATION, { bucket_name: name });
  },
  use: useBucketForOrigins,
});

const tagging = operationsOn({
  kind: "tagging",
  plan: (request: PutBucketTaggingRequest) => planTagging(request.tagging, bucketTagsMax),
  tell: ({ tagSet }) => ({ tagSet }),
  tellNone: ({ name }) => {
    throw fault(ErrorReason.NO_SUCH_TAG_SET, { bucket_name: name });
  },
});

const notification = operationsOn({
  kind: "notification",
  plan: ({ notificationConfiguration }: PutBucketNotificationConfigurationRequest) =>
    planNotification(notificationConfiguration ?? noNotification()),
  tell: (notificationConfiguration) => ({ notificationConfiguration }),
  tellNone: () => ({ notificationConfiguration: noNotification() }),
});

export const putBucketCors = cors.put;
export const getBucketCors = cors.get;
export const deleteBucketCors = cors.delete;

export const putBucketTagging = tagging.put;
export const getBucketTagging = tagging.get;
export const deleteBucketTagging = tagging.delete;

/** Changes that are answered afterwards are told by the new configuration. */
export const putBucketNotificationConfiguration = notification.put;
export const getBucketNotificationConfiguration = notification.get;
