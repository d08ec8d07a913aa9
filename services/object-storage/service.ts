import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Handlers } from "../kit/server/handlers.ts";
import type { Application } from "./application.ts";
import { absentConfigurations } from "./operations/absent-configuration.ts";
import { deleteObjects } from "./operations/batch-delete.ts";
import { createBucket, deleteBucket, getBucketLocation, headBucket, listBuckets } from "./operations/bucket.ts";
import {
  deleteBucketCors,
  deleteBucketTagging,
  getBucketCors,
  getBucketNotificationConfiguration,
  getBucketTagging,
  putBucketCors,
  putBucketNotificationConfiguration,
  putBucketTagging,
} from "./operations/bucket-document.ts";
import { copyObject } from "./operations/copy.ts";
import {
  getBucketAccelerateConfiguration,
  getBucketAcl,
  getBucketLogging,
  getBucketOwnershipControls,
  getBucketRequestPayment,
  getBucketVersioning,
  getObjectAcl,
  putBucketAcl,
  putObjectAcl,
} from "./operations/fixed-configuration.ts";
import { completeMultipartUpload } from "./operations/multipart-completion.ts";
import {
  abortMultipartUpload,
  createMultipartUpload,
  listMultipartUploads,
  listParts,
} from "./operations/multipart-upload.ts";
import { getObjectAttributes } from "./operations/object-attributes.ts";
import { listObjects, listObjectsV2, listObjectVersions } from "./operations/object-listing.ts";
import { getObject, headObject } from "./operations/object-read.ts";
import { deleteObjectTagging, getObjectTagging, putObjectTagging } from "./operations/object-tagging.ts";
import { deleteObject, putObject } from "./operations/object-write.ts";
import { uploadPart, uploadPartCopy } from "./operations/part.ts";
import { pendingOperations } from "./pending.ts";

/** Every operation of the service: its handler, or its name among those that are not offered. */
export const handlers: Handlers<typeof ObjectStorageService, Application> = {
  createBucket,
  headBucket,
  listBuckets,
  deleteBucket,
  getBucketLocation,
  putObject,
  getObject,
  headObject,
  deleteObject,
  listObjects,
  listObjectsV2,
  listObjectVersions,
  putBucketNotificationConfiguration,
  getBucketNotificationConfiguration,
  createMultipartUpload,
  uploadPart,
  uploadPartCopy,
  completeMultipartUpload,
  abortMultipartUpload,
  listParts,
  listMultipartUploads,
  copyObject,
  deleteObjects,
  getObjectAttributes,
  getBucketCors,
  putBucketCors,
  deleteBucketCors,
  getBucketTagging,
  putBucketTagging,
  deleteBucketTagging,
  getObjectTagging,
  putObjectTagging,
  deleteObjectTagging,
  getBucketRequestPayment,
  getBucketVersioning,
  getBucketAccelerateConfiguration,
  getBucketLogging,
  getBucketOwnershipControls,
  getBucketAcl,
  getObjectAcl,
  putBucketAcl,
  putObjectAcl,
  ...absentConfigurations,
  ...pendingOperations,
};
