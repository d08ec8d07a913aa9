import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Handlers } from "../kit/server/handlers.ts";
import { pending } from "../kit/server/handlers.ts";
import type { Application } from "./application.ts";
import { createBucket, deleteBucket, getBucketLocation, headBucket, listBuckets } from "./operations/bucket.ts";
import { getBucketNotificationConfiguration, putBucketNotificationConfiguration } from "./operations/notification.ts";
import { listObjects, listObjectsV2 } from "./operations/object-listing.ts";
import { getObject, headObject } from "./operations/object-read.ts";
import { deleteObject, putObject } from "./operations/object-write.ts";

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
  putBucketNotificationConfiguration,
  getBucketNotificationConfiguration,
  ...pending(
    ObjectStorageService,
    "createMultipartUpload",
    "uploadPart",
    "uploadPartCopy",
    "completeMultipartUpload",
    "abortMultipartUpload",
    "listParts",
    "listMultipartUploads",
    "copyObject",
    "deleteObjects",
    "getObjectAttributes",
  ),
};
