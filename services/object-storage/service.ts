import { create } from "@bufbuild/protobuf";

import type { PutObjectRequest } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import {
  ObjectStorageService,
  PutObjectRequestSchema,
} from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { rootCaller } from "../kit/identity/caller.ts";
import type { Logger } from "../kit/log/log.ts";
import { guarded } from "../kit/server/guard.ts";
import type { CallContext, Handlers } from "../kit/server/handlers.ts";
import type { CopyAccess } from "./access/access.ts";
import { guard } from "./access/guard.ts";
import { sayingWhoPays } from "./access/request-charged.ts";
import type { Application } from "./application.ts";
import {
  deleteAccountPublicAccessBlock,
  getAccountPublicAccessBlock,
  putAccountPublicAccessBlock,
} from "./operations/account-public-access-block.ts";
import { getBucketAcl, getObjectAcl, putBucketAcl, putObjectAcl } from "./operations/access-control.ts";
import { loggingCalls } from "./logging/logged-calls.ts";
import { deleteObjects } from "./operations/batch-delete.ts";
import { forkBucket, getBucketFork } from "./operations/bucket-fork.ts";
import { getBucketLogging, putBucketLogging } from "./operations/bucket-logging.ts";
import { bucketConfigurations } from "./operations/bucket-configuration.ts";
import {
  getBucketNotification,
  getBucketNotificationConfiguration,
  putBucketNotification,
  putBucketNotificationConfiguration,
} from "./operations/bucket-notification.ts";
import {
  deleteBucketLifecycle,
  getBucketLifecycle,
  getBucketLifecycleConfiguration,
  putBucketLifecycle,
  putBucketLifecycleConfiguration,
} from "./operations/bucket-lifecycle.ts";
import {
  deleteBucketPolicy,
  getBucketPolicy,
  getBucketPolicyStatus,
  putBucketPolicy,
} from "./operations/bucket-policy.ts";
import { deleteBucketEncryption, getBucketEncryption, putBucketEncryption } from "./operations/bucket-encryption.ts";
import {
  deleteBucketReplication,
  getBucketReplication,
  putBucketReplication,
} from "./operations/bucket-replication.ts";
import {
  deleteBucketOwnershipControls,
  deletePublicAccessBlock,
  getBucketOwnershipControls,
  getBucketRequestPayment,
  getPublicAccessBlock,
  putBucketOwnershipControls,
  putBucketRequestPayment,
  putPublicAccessBlock,
} from "./operations/bucket-rules.ts";
import {
  deleteBucketSearchIndex,
  getBucketSearchIndex,
  putBucketSearchIndex,
} from "./operations/bucket-search-index.ts";
import { getBucketVersioning, putBucketVersioning } from "./operations/bucket-versioning.ts";
import { createBucket, deleteBucket, getBucketLocation, headBucket, listBuckets } from "./operations/bucket.ts";
import { copyObject } from "./operations/copy.ts";
import { identifiedConfigurations } from "./operations/identified-configuration.ts";
import { completeMultipartUpload } from "./operations/multipart-completion.ts";
import {
  abortMultipartUpload,
  createMultipartUpload,
  listMultipartUploads,
  listParts,
} from "./operations/multipart-upload.ts";
import { getObjectAttributes } from "./operations/object-attributes.ts";
import { listObjects, listObjectsV2, listObjectVersions } from "./operations/object-listing.ts";
import {
  getObjectLegalHold,
  getObjectLockConfiguration,
  getObjectRetention,
  putObjectLegalHold,
  putObjectLockConfiguration,
  putObjectRetention,
} from "./operations/object-lock.ts";
import { getObject, headObject } from "./operations/object-read.ts";
import { putObjectReplica } from "./operations/object-replica.ts";
import { writeGetObjectResponse } from "./operations/object-response.ts";
import { searchObjects } from "./operations/object-search.ts";
import { deleteObjectTagging, getObjectTagging, putObjectTagging } from "./operations/object-tagging.ts";
import { deleteObject, putObject } from "./operations/object-write.ts";
import { uploadPart, uploadPartCopy } from "./operations/part.ts";
import { renameObject } from "./operations/rename.ts";
import { listTagsForResource, tagResource, untagResource } from "./operations/resource-tags.ts";
import { restoreObject } from "./operations/restore.ts";
import { selectObjectContent } from "./operations/select.ts";
import { getObjectTorrent } from "./operations/torrent.ts";
import type { InventoryOptions } from "./work/inventory.ts";

/** The whole service: every operation, after the guard. */
export const handlers: Handlers<typeof ObjectStorageService, Application> = guarded<
  typeof ObjectStorageService,
  Application,
  CopyAccess
>(
  ObjectStorageService,
  loggingCalls(
    ObjectStorageService,
    sayingWhoPays(ObjectStorageService, {
      createBucket,
      headBucket,
      listBuckets,
      deleteBucket,
      forkBucket,
      getBucketFork,
      getBucketLocation,
      putObject,
      getObject,
      headObject,
      deleteObject,
      deleteObjects,
      copyObject,
      renameObject,
      putObjectReplica,
      getObjectAttributes,
      listObjects,
      listObjectsV2,
      listObjectVersions,
      createMultipartUpload,
      uploadPart,
      uploadPartCopy,
      completeMultipartUpload,
      abortMultipartUpload,
      listParts,
      listMultipartUploads,
      getObjectTagging,
      putObjectTagging,
      deleteObjectTagging,
      listTagsForResource,
      tagResource,
      untagResource,
      getAccountPublicAccessBlock,
      putAccountPublicAccessBlock,
      deleteAccountPublicAccessBlock,
      getBucketAcl,
      putBucketAcl,
      getObjectAcl,
      putObjectAcl,
      putBucketPolicy,
      getBucketPolicy,
      deleteBucketPolicy,
      getBucketPolicyStatus,
      putBucketOwnershipControls,
      getBucketOwnershipControls,
      deleteBucketOwnershipControls,
      putPublicAccessBlock,
      getPublicAccessBlock,
      deletePublicAccessBlock,
      putBucketRequestPayment,
      getBucketRequestPayment,
      getBucketVersioning,
      putBucketVersioning,
      putBucketLifecycleConfiguration,
      getBucketLifecycleConfiguration,
      putBucketLifecycle,
      getBucketLifecycle,
      deleteBucketLifecycle,
      restoreObject,
      getObjectTorrent,
      selectObjectContent,
      putObjectLockConfiguration,
      getObjectLockConfiguration,
      putObjectRetention,
      getObjectRetention,
      putObjectLegalHold,
      getObjectLegalHold,
      putBucketEncryption,
      getBucketEncryption,
      deleteBucketEncryption,
      putBucketReplication,
      getBucketReplication,
      deleteBucketReplication,
      putBucketLogging,
      getBucketLogging,
      putBucketSearchIndex,
      getBucketSearchIndex,
      deleteBucketSearchIndex,
      searchObjects,
      putBucketNotificationConfiguration,
      getBucketNotificationConfiguration,
      putBucketNotification,
      getBucketNotification,
      ...bucketConfigurations,
      ...identifiedConfigurations,
      writeGetObjectResponse,
    }),
  ),
  guard,
);

/** Puts objects as the root of an account would: through the guard and the handler, without a network. */
export const putsOwnObjects =
  (app: Application, log: Logger): InventoryOptions["put"] =>
  async (accountId, object, body, signal) => {
    const head = create(PutObjectRequestSchema, object);
    async function* messages(): AsyncGenerator<PutObjectRequest> {
      yield head;
      for await (const piece of body) yield create(PutObjectRequestSchema, { body: piece });
    }
    const context: CallContext<Application> = {
      app,
      method: ObjectStorageService.method.putObject,
      access: undefined,
      caller: rootCaller(accountId),
      requestId: app.ids.uuid(),
      signal,
      deadlineMs: undefined,
      requestHeader: new Headers(),
      responseHeader: new Headers(),
      responseTrailer: new Headers(),
      log,
    };
    await putObject(messages(), { ...context, access: await guard(head, context) });
  };
