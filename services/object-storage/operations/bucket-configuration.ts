/**
 * The configurations of a bucket that are documents: one table of the `put`, `get` and `delete` of each, which is
 * stored and returned unchanged.
 *
 * A put fails if the document breaks its rules; everything else is checked before, by the guard. Repeating any of these
 * operations changes nothing.
 */
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type {
  PutBucketAccelerateConfigurationRequest,
  PutBucketCorsRequest,
  PutBucketTaggingRequest,
  PutBucketWebsiteRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { BucketContext, Operation, OperationName } from "../application.ts";
import { planCors } from "../domain/cors.ts";
import { planTagging } from "../domain/tags.ts";
import { planWebsite } from "../domain/website.ts";
import { fault, invalidRequest } from "../faults.ts";
import { limits } from "../limits.ts";
import type { DocumentKind, DocumentOf } from "../store/configuration.ts";
import { deleteDocument, findDocument, putDocument } from "../store/configuration.ts";

/** One kind of stored document. */
interface BucketDocument<Kind extends DocumentKind, PutRequest, Answer> {
  readonly kind: Kind;
  /** The document of a put, as it is stored. Throws if it breaks the rules. */
  plan(request: PutRequest): DocumentOf<Kind>;
  /** The answer that returns a document. */
  toAnswer(document: DocumentOf<Kind>): Answer;
  /** The answer for a bucket without a document, or the reason with which reading it fails. */
  readonly whenAbsent: Answer | ErrorReason;
}

/** A bucket with an empty set of tags has none, as after DeleteBucketTagging; the public service keeps no empty set. */
const putBucketTagging: Operation<"putBucketTagging"> = async (request, context) =>
  request.tagging?.tagSet.length === 0 ? deletes(tagging)(request, context) : puts(tagging)(request, context);

/** Infers the types of a document's parts. */
const document = <Kind extends DocumentKind, PutRequest, Answer extends object>(
  parts: BucketDocument<Kind, PutRequest, Answer>,
): BucketDocument<Kind, PutRequest, Answer> => parts;

const cors = document({
  kind: "cors",
  plan: ({ corsconfiguration }: PutBucketCorsRequest) => planCors(corsconfiguration),
  toAnswer: ({ corsrules }) => ({ corsrules }),
  whenAbsent: ErrorReason.NO_SUCH_CORS_CONFIGURATION,
});

const tagging = document({
  kind: "tagging",
  plan: (request: PutBucketTaggingRequest) => planTagging(request.tagging, limits.tagsPerBucketMax),
  toAnswer: ({ tagSet }) => ({ tagSet }),
  whenAbsent: ErrorReason.NO_SUCH_TAG_SET,
});

const website = document({
  kind: "website",
  plan: ({ websiteConfiguration }: PutBucketWebsiteRequest) => planWebsite(websiteConfiguration),
  toAnswer: ({ redirectAllRequestsTo, indexDocument, errorDocument, routingRules }) => ({
    ...(redirectAllRequestsTo && { redirectAllRequestsTo }),
    ...(indexDocument && { indexDocument }),
    ...(errorDocument && { errorDocument }),
    routingRules,
  }),
  whenAbsent: ErrorReason.NO_SUCH_WEBSITE_CONFIGURATION,
});

/** Throws MALFORMED_XML, and INVALID_REQUEST for a bucket whose name no accelerated host name can have. */
const accelerate = document({
  kind: "accelerate",
  plan: ({ bucket, accelerateConfiguration }: PutBucketAccelerateConfigurationRequest) => {
    const status = accelerateConfiguration?.status;
    if (accelerateConfiguration === undefined || (status !== "Enabled" && status !== "Suspended"))
      throw fault(ErrorReason.MALFORMED_XML);
    if (bucket.includes("."))
      throw invalidRequest("S3 Transfer Acceleration is not supported for buckets with periods (.) in their names");
    return accelerateConfiguration;
  },
  toAnswer: ({ status }) => (status === undefined ? {} : { status }),
  whenAbsent: {},
});

const puts =
  <Kind extends DocumentKind, PutRequest>({ kind, plan }: BucketDocument<Kind, PutRequest, unknown>) =>
  async (request: PutRequest, { app, access }: BucketContext): Promise<object> => {
    const planned = plan(request);
    await app.store.transact(async (transaction) => {
      const { bucketId } = await access.bucket.in(transaction);
      putDocument(transaction, bucketId, kind, planned);
    });
    return {};
  };

const gets =
  <Kind extends DocumentKind, Answer extends object>({
    kind,
    toAnswer,
    whenAbsent,
  }: BucketDocument<Kind, never, Answer>) =>
  async (_request: unknown, { app, access }: BucketContext): Promise<Answer> => {
    const found = await app.store.read(async (reader) => {
      const { bucketId } = await access.bucket.in(reader);
      return findDocument(reader, bucketId, kind);
    });
    if (found !== undefined) return toAnswer(found);
    if (typeof whenAbsent === "object") return whenAbsent;
    throw fault(whenAbsent, { bucket_name: access.bucket.name });
  };

const deletes =
  ({ kind }: { readonly kind: DocumentKind }) =>
  async (_request: unknown, { app, access }: BucketContext): Promise<object> => {
    await app.store.transact(async (transaction) => {
      const { bucketId } = await access.bucket.in(transaction);
      deleteDocument(transaction, bucketId, kind);
    });
    return {};
  };

/** All operations on configurations. */
export const bucketConfigurations = {
  putBucketCors: puts(cors),
  getBucketCors: gets(cors),
  deleteBucketCors: deletes(cors),
  putBucketTagging,
  getBucketTagging: gets(tagging),
  deleteBucketTagging: deletes(tagging),
  putBucketWebsite: puts(website),
  getBucketWebsite: gets(website),
  deleteBucketWebsite: deletes(website),
  putBucketAccelerateConfiguration: puts(accelerate),
  getBucketAccelerateConfiguration: gets(accelerate),
} satisfies { readonly [Name in OperationName]?: Operation<Name> };
