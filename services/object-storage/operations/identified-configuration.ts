/**
 * The configurations of which a bucket can have many, each with an id: one table of all operations on them. A put fails
 * if its document breaks the rules of its kind, if its id is not the request's, and beyond 1,000 of a kind; reading and
 * deleting fail for an unknown id. Repeating a put changes nothing. Lists are by id, 100 on a page.
 */
import type { Message } from "@bufbuild/protobuf";

import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type {
  PutBucketAnalyticsConfigurationRequest,
  PutBucketIntelligentTieringConfigurationRequest,
  PutBucketInventoryConfigurationRequest,
  PutBucketMetricsConfigurationRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { BucketContext, Operation, OperationName } from "../application.ts";
import {
  bucketOfArn,
  checkAnalytics,
  checkConfigurationId,
  checkInventory,
  checkMetrics,
  checkTiering,
} from "../domain/identified-configuration.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket } from "../store/bucket.ts";
import type { DocumentOf, IdentifiedKind } from "../store/configuration.ts";
import { deleteIdentified, findIdentified, listIdentified, putIdentified } from "../store/configuration.ts";

/** One kind of configuration. */
interface Kind<Name extends IdentifiedKind, PutRequest> {
  readonly kind: Name;
  /** The document of a put; undefined: it has none. */
  documentOf(request: PutRequest): DocumentOf<Name> | undefined;
  /** Throws if the document breaks the rules of its kind. */
  check(document: DocumentOf<Name>): void;
  /** Throws if what the document names does not exist. */
  checkStored?(reader: Reader, bucket: Bucket, document: DocumentOf<Name>): Promise<void>;
}

/** Infers the types of a kind's parts. */
const kindOf = <Name extends IdentifiedKind, PutRequest>(parts: Kind<Name, PutRequest>): Kind<Name, PutRequest> =>
  parts;

const analytics = kindOf({
  kind: "analytics",
  documentOf: (request: PutBucketAnalyticsConfigurationRequest) => request.analyticsConfiguration,
  check: checkAnalytics,
});

const metrics = kindOf({
  kind: "metrics",
  documentOf: (request: PutBucketMetricsConfigurationRequest) => request.metricsConfiguration,
  check: checkMetrics,
});

const tiering = kindOf({
  kind: "tiering",
  documentOf: (request: PutBucketIntelligentTieringConfigurationRequest) => request.intelligentTieringConfiguration,
  check: checkTiering,
});

/** Reports are written by the service itself, so only into a bucket of the same account. */
const inventory = kindOf({
  kind: "inventory",
  documentOf: (request: PutBucketInventoryConfigurationRequest) => request.inventoryConfiguration,
  check: checkInventory,
  async checkStored(reader, { accountId }, { destination }) {
    const { bucket, accountId: expected = accountId } = destination?.s3BucketDestination ?? {};
    const target = await findBucket(reader, bucketOfArn(bucket) ?? "");
    if (target?.accountId !== accountId || expected !== accountId)
      throw fault(ErrorReason.INVALID_S3_DESTINATION_BUCKET);
  },
});

const puts =
  <Name extends IdentifiedKind, PutRequest extends { readonly id: string }>(parts: Kind<Name, PutRequest>) =>
  async (request: PutRequest, { app, access }: BucketContext): Promise<object> => {
    const { kind } = parts;
    const document = parts.documentOf(request);
    if (document === undefined) throw fault(ErrorReason.MALFORMED_XML);
    checkConfigurationId(request.id, document.id);
    parts.check(document);
    await app.store.transact(async (transaction) => {
      const bucket = await access.bucket.in(transaction);
      await parts.checkStored?.(transaction, bucket, document);
      const known = await findIdentified(transaction, bucket.bucketId, kind, request.id);
      if (known === undefined && (await hasMost(transaction, bucket.bucketId, kind)))
        throw fault(ErrorReason.TOO_MANY_CONFIGURATIONS);
      putIdentified(transaction, bucket.bucketId, kind, request.id, document);
    });
    return {};
  };

const hasMost = async (reader: Reader, bucketId: string, kind: IdentifiedKind): Promise<boolean> => {
  const { identifiedConfigurationsMax: max } = limits;
  return (await listIdentified(reader, bucketId, kind, "", max)).length >= max;
};

const gets =
  <Name extends IdentifiedKind>({ kind }: { readonly kind: Name }) =>
  async ({ id }: { readonly id: string }, { app, access }: BucketContext): Promise<DocumentOf<Name>> => {
    const found = await app.store.read(async (reader) => {
      const { bucketId } = await access.bucket.in(reader);
      return findIdentified(reader, bucketId, kind, id);
    });
    if (found === undefined) throw fault(ErrorReason.NO_SUCH_CONFIGURATION);
    return found;
  };

const deletes =
  ({ kind }: { readonly kind: IdentifiedKind }) =>
  async ({ id }: { readonly id: string }, { app, access }: BucketContext): Promise<object> => {
    await app.store.transact(async (transaction) => {
      const { bucketId } = await access.bucket.in(transaction);
      if ((await findIdentified(transaction, bucketId, kind, id)) === undefined)
        throw fault(ErrorReason.NO_SUCH_CONFIGURATION);
      deleteIdentified(transaction, bucketId, kind, id);
    });
    return {};
  };

/** A page of the documents, by id. Fails for a token of another listing. */
const lists =
  <Name extends IdentifiedKind>({ kind }: { readonly kind: Name }) =>
  async (
    request: Message & { readonly bucket: string; readonly continuationToken?: string },
    context: BucketContext,
  ) => {
    const { app, access } = context;
    const { continuationToken } = request;
    const max = limits.identifiedConfigurationsPerPage;
    const page = app.pages.open(context, request, [request.bucket]);
    const found = await app.store.read(async (reader) => {
      const { bucketId } = await access.bucket.in(reader);
      return listIdentified(reader, bucketId, kind, page.after ?? "", max + 1);
    });
    const documents = found.slice(0, max);
    const isTruncated = found.length > max;
    const last = documents.at(-1)?.id ?? "";
    return {
      documents,
      page: {
        isTruncated,
        ...(continuationToken !== undefined && { continuationToken }),
        ...(isTruncated && { nextContinuationToken: page.tokenOf(last) }),
      },
    };
  };

/** All operations on these configurations. */
export const identifiedConfigurations = {
  putBucketAnalyticsConfiguration: puts(analytics),
  getBucketAnalyticsConfiguration: async (request, context) => ({
    analyticsConfiguration: await gets(analytics)(request, context),
  }),
  deleteBucketAnalyticsConfiguration: deletes(analytics),
  listBucketAnalyticsConfigurations: async (request, context) => {
    const { documents, page } = await lists(analytics)(request, context);
    return { ...page, analyticsConfigurationList: documents };
  },
  putBucketMetricsConfiguration: puts(metrics),
  getBucketMetricsConfiguration: async (request, context) => ({
    metricsConfiguration: await gets(metrics)(request, context),
  }),
  deleteBucketMetricsConfiguration: deletes(metrics),
  listBucketMetricsConfigurations: async (request, context) => {
    const { documents, page } = await lists(metrics)(request, context);
    return { ...page, metricsConfigurationList: documents };
  },
  putBucketIntelligentTieringConfiguration: puts(tiering),
  getBucketIntelligentTieringConfiguration: async (request, context) => ({
    intelligentTieringConfiguration: await gets(tiering)(request, context),
  }),
  deleteBucketIntelligentTieringConfiguration: deletes(tiering),
  listBucketIntelligentTieringConfigurations: async (request, context) => {
    const { documents, page } = await lists(tiering)(request, context);
    return { ...page, intelligentTieringConfigurationList: documents };
  },
  putBucketInventoryConfiguration: puts(inventory),
  getBucketInventoryConfiguration: async (request, context) => ({
    inventoryConfiguration: await gets(inventory)(request, context),
  }),
  deleteBucketInventoryConfiguration: deletes(inventory),
  listBucketInventoryConfigurations: async (request, context) => {
    const { documents, page } = await lists(inventory)(request, context);
    return { ...page, inventoryConfigurationList: documents };
  },
} satisfies { readonly [Name in OperationName]?: Operation<Name> };
