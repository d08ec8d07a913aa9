import { readRows } from "./coverage-row.ts";

/** The documented operations of object storage, and the test that shows each. */
export const objectStorageOperationRows = readRows(
  "object-storage",
  `
operations.abort_multipart_upload | Aborts an upload. | operations/multipart-upload.test.ts > abortMultipartUpload > frees the parts and refuses everything afterwards
operations.complete_multipart_upload | Makes an object of the parts. | operations/multipart-completion.test.ts > completeMultipartUpload > makes one object of the parts, with what the upload was started with, and no byte is copied
operations.copy_object | Copies an object. | operations/copy.test.ts > copyObject > copies content and metadata but not the storage class, and shares the bytes until neither is left
operations.create_bucket | Makes a bucket. | operations/bucket.test.ts > createBucket > makes a bucket that is then there, empty and the caller's
operations.create_multipart_upload | Starts an upload and answers its id. | operations/multipart-completion.test.ts > completeMultipartUpload > makes one object of the parts, with what the upload was started with, and no byte is copied
operations.delete_bucket | Deletes a bucket once it is empty. | operations/bucket.test.ts > deleteBucket > refuses a bucket with an object and takes an empty one; a new one of its name is empty
operations.delete_bucket_analytics_configuration | Removes a bucket's analytics configuration. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
operations.delete_bucket_cors | Removes a bucket's CORS rules. | operations/bucket-configuration.test.ts > putBucketCors > is read back as it was put, replaces what was there, and is gone after its deletion
operations.delete_bucket_encryption | Takes the default encryption away. | operations/bucket-encryption.test.ts > putBucketEncryption, getBucketEncryption and deleteBucketEncryption: the default > applies to objects, copies and uploads that say nothing, and ends when it is deleted
operations.delete_bucket_intelligent_tiering_configuration | Removes a bucket's intelligent tiering configuration. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
operations.delete_bucket_inventory_configuration | Removes a bucket's inventory configuration. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
operations.delete_bucket_lifecycle | Deletes all lifecycle rules; no object expires by them afterwards. | operations/bucket-lifecycle.test.ts > lifecycle rules > are read back as they were put, each with an id, and are gone after their deletion
operations.delete_bucket_metrics_configuration | Deletes a configuration of request metrics. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
operations.delete_bucket_ownership_controls | Removes a bucket's ownership controls. | operations/bucket-rules.test.ts > ownership controls > are those of the installation until they are put, and are gone after their deletion
operations.delete_bucket_policy | Removes a bucket's policy. | operations/bucket-policy.test.ts > putBucketPolicy > stores the text as it is, decides on the next call, and repeating it changes nothing
operations.delete_bucket_replication | Removes a bucket's replication. | operations/bucket-replication.test.ts > rules of replication are read back as they were put, each with an id, and are gone after their deletion
operations.delete_bucket_tagging | Removes a bucket's tagging. | operations/bucket-configuration.test.ts > putBucketTagging > is read back, replaces the tags that the bucket was made with, and is gone after its deletion
operations.delete_bucket_website | Removes a bucket's website. | operations/bucket-configuration.test.ts > putBucketWebsite > is read back as it was put, replaces what was there, and is gone after its deletion
operations.delete_object | Deletes an object. | operations/object-write.test.ts > deleteObject > deletes an object, and again, and what never was
operations.delete_object_tagging | Removes an object's tagging. | operations/object-tagging.test.ts > putObjectTagging > replaces the tags and nothing else
operations.delete_objects | Deletes many objects, each for itself. | operations/batch-delete.test.ts > deleteObjects > deletes each for itself and tells of both kinds
operations.delete_public_access_block | Removes how public access to a bucket is blocked. | operations/bucket-rules.test.ts > a public access block > is read back as it was put, and is gone after its deletion
operations.get_bucket_accelerate_configuration | Tells a bucket's accelerate configuration. | operations/bucket-configuration.test.ts > putBucketAccelerateConfiguration > of %s with %o ends as %s
operations.get_bucket_acl | Tells a bucket's ACL. | operations/access-control.test.ts > getBucketAcl returns the full control of the owner
operations.get_bucket_analytics_configuration | Tells a bucket's analytics configuration. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
operations.get_bucket_cors | Tells a bucket's CORS rules. | operations/bucket-configuration.test.ts > putBucketCors > is read back as it was put, replaces what was there, and is gone after its deletion
operations.get_bucket_encryption | Tells a bucket's encryption. | operations/bucket-encryption.test.ts > putBucketEncryption, getBucketEncryption and deleteBucketEncryption: the default > applies to objects, copies and uploads that say nothing, and ends when it is deleted
operations.get_bucket_intelligent_tiering_configuration | Tells a bucket's intelligent tiering configuration. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
operations.get_bucket_inventory_configuration | Tells a bucket's inventory configuration. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
operations.get_bucket_lifecycle | Tells a bucket's lifecycle. | operations/bucket-lifecycle.test.ts > lifecycle rules > are put and read in the older document as far as it can express them
operations.get_bucket_lifecycle_configuration | Tells a bucket's lifecycle configuration. | operations/bucket-lifecycle.test.ts > lifecycle rules > are read back as they were put, each with an id, and are gone after their deletion
operations.get_bucket_location | Tells a bucket's region. | operations/bucket.test.ts > createBucket > outside the first region asks for the region by name and tells it
operations.get_bucket_logging | Tells a bucket's logging. | operations/bucket-logging.test.ts > PutBucketLogging > is what GetBucketLogging returns, until an empty document ends the log
operations.get_bucket_metrics_configuration | Tells a bucket's metrics configuration. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
operations.get_bucket_notification | Tells a bucket's notification. | operations/bucket-notification.test.ts > an older notification document without destinations stops all notifications
operations.get_bucket_notification_configuration | Tells a bucket's notifications. | operations/bucket-notification.test.ts > putBucketNotificationConfiguration and getBucketNotificationConfiguration > is read back, replaces what was there, and is empty at first
operations.get_bucket_ownership_controls | Tells a bucket's ownership controls. | operations/bucket-rules.test.ts > ownership controls > are those of the installation until they are put, and are gone after their deletion
operations.get_bucket_policy | Tells a bucket's policy. | operations/bucket-policy.test.ts > putBucketPolicy > stores the text as it is, decides on the next call, and repeating it changes nothing
operations.get_bucket_policy_status | Tells whether a bucket's policy makes it public. | operations/bucket-policy.test.ts > a policy that allows with %j has the status public: %s
operations.get_bucket_replication | Tells a bucket's replication. | operations/bucket-replication.test.ts > rules of replication are read back as they were put, each with an id, and are gone after their deletion
operations.get_bucket_request_payment | Tells a bucket's request payment. | operations/bucket-rules.test.ts > the payer of requests > %s ends as %s
operations.get_bucket_tagging | Tells a bucket's tagging. | operations/bucket-configuration.test.ts > putBucketTagging > is read back, replaces the tags that the bucket was made with, and is gone after its deletion
operations.get_bucket_versioning | Tells a bucket's versioning. | operations/bucket-versioning.test.ts > putBucketVersioning > turns versioning on, suspends it, and never leaves it unset again
operations.get_bucket_website | Tells a bucket's website. | operations/bucket-configuration.test.ts > putBucketWebsite > is read back as it was put, replaces what was there, and is gone after its deletion
operations.get_object | Answers an object's content, or a range of it. | operations/object-read.test.ts > getObject > gives the range %s with status %s
operations.get_object_acl | Tells an object's ACL. | operations/access-control.test.ts > getObjectAcl returns the full control of the owner
operations.get_object_legal_hold | Tells an object's legal hold. | operations/object-lock.test.ts > a legal hold > keeps its version, whatever its retention is, until it is lifted
operations.get_object_lock_configuration | Tells a bucket's object lock. | operations/object-lock.test.ts > the object lock of a bucket > is turned on when it is created, with versioning, which then cannot be suspended
operations.get_object_retention | Tells an object's retention. | operations/object-lock.test.ts > a retention > of an upload and of a copy is the one that they were started with
operations.get_object_tagging | Tells an object's tagging. | operations/object-tagging.test.ts > putObjectTagging > replaces the tags and nothing else
operations.get_object_torrent | Answers a torrent of an object. | operations/torrent.test.ts > a torrent has the name, the size and the digests of the pieces
operations.get_public_access_block | Tells how public access to a bucket is blocked. | operations/bucket-rules.test.ts > a public access block > is read back as it was put, and is gone after its deletion
operations.head_bucket | Tells whether a bucket is there. | operations/bucket.test.ts > createBucket > makes a bucket that is then there, empty and the caller's
operations.head_object | Tells all about an object but its content. | operations/object-read.test.ts > headObject > tells what getObject tells, without content
operations.list_bucket_analytics_configurations | Lists a bucket's analytics configurations. | operations/identified-configuration.test.ts > configurations of %s > are listed in pages of 100 by id
operations.list_bucket_intelligent_tiering_configurations | Lists a bucket's intelligent tiering configurations. | operations/identified-configuration.test.ts > configurations of %s > are listed in pages of 100 by id
operations.list_bucket_inventory_configurations | Lists a bucket's inventory configurations. | operations/identified-configuration.test.ts > configurations of %s > are listed in pages of 100 by id
operations.list_bucket_metrics_configurations | Lists a bucket's metrics configurations. | operations/identified-configuration.test.ts > configurations of %s > are listed in pages of 100 by id
operations.list_buckets | Lists the caller's buckets. | operations/bucket.test.ts > listBuckets > lists the caller's buckets by name, page by page, with a prefix
operations.list_multipart_uploads | Lists open uploads. | operations/multipart-upload.test.ts > listMultipartUploads > lists open uploads by key, the oldest of one key first, page by page
operations.list_object_versions | Lists the versions of objects. | operations/bucket-versioning.test.ts > a bucket that keeps versions > lists many versions of one key in pages
operations.list_objects | Lists objects behind a marker. | operations/object-listing.test.ts > listObjects > goes on behind a marker; tells the next one only when it rolls up
operations.list_objects_v2 | Lists objects with continuation tokens. | operations/object-listing.test.ts > listObjectsV2 > lists keys in the byte order of their UTF-8, page by page
operations.list_parts | Lists the parts of an upload. | operations/multipart-upload.test.ts > listParts > lists parts by number, page by page, with their checksums
operations.put_bucket_accelerate_configuration | Sets a bucket's accelerate configuration. | operations/bucket-configuration.test.ts > putBucketAccelerateConfiguration > of %s with %o ends as %s
operations.put_bucket_acl | Sets a bucket's ACL. | operations/acl-grants.test.ts > an ACL in a request > %j of a bucket means %j
operations.put_bucket_analytics_configuration | Sets a bucket's analytics configuration. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
operations.put_bucket_cors | Sets a bucket's CORS rules. | operations/bucket-configuration.test.ts > putBucketCors > is read back as it was put, replaces what was there, and is gone after its deletion
operations.put_bucket_encryption | Sets a bucket's encryption. | operations/bucket-encryption.test.ts > putBucketEncryption, getBucketEncryption and deleteBucketEncryption: the default > applies to objects, copies and uploads that say nothing, and ends when it is deleted
operations.put_bucket_intelligent_tiering_configuration | Sets a bucket's intelligent tiering configuration. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
operations.put_bucket_inventory_configuration | Sets a bucket's inventory configuration. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
operations.put_bucket_lifecycle | Sets a bucket's lifecycle. | operations/bucket-lifecycle.test.ts > lifecycle rules > are put and read in the older document as far as it can express them
operations.put_bucket_lifecycle_configuration | Sets a bucket's lifecycle configuration. | operations/bucket-lifecycle.test.ts > lifecycle rules > are read back as they were put, each with an id, and are gone after their deletion
operations.put_bucket_logging | Sets a bucket's logging. | operations/bucket-logging.test.ts > PutBucketLogging > is what GetBucketLogging returns, until an empty document ends the log
operations.put_bucket_metrics_configuration | Sets a bucket's metrics configuration. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
operations.put_bucket_notification | Sets a bucket's notification. | operations/bucket-notification.test.ts > an older notification document without destinations stops all notifications
operations.put_bucket_notification_configuration | Configures a bucket's notifications. | operations/bucket-notification.test.ts > putBucketNotificationConfiguration and getBucketNotificationConfiguration > is read back, replaces what was there, and is empty at first
operations.put_bucket_ownership_controls | Sets a bucket's ownership controls. | operations/bucket-rules.test.ts > ownership controls > are those of the installation until they are put, and are gone after their deletion
operations.put_bucket_policy | Sets a bucket's policy. | operations/bucket-policy.test.ts > putBucketPolicy > stores the text as it is, decides on the next call, and repeating it changes nothing
operations.put_bucket_replication | Sets a bucket's replication. | work/replication.test.ts > a new version > is copied with its id, its date, its metadata, its tags and its ETag, and both say how far it is
operations.put_bucket_request_payment | Sets a bucket's request payment. | operations/bucket-rules.test.ts > the payer of requests > %s ends as %s
operations.put_bucket_tagging | Sets a bucket's tagging. | operations/bucket-configuration.test.ts > putBucketTagging > is read back, replaces the tags that the bucket was made with, and is gone after its deletion
operations.put_bucket_versioning | Sets a bucket's versioning. | operations/bucket-versioning.test.ts > putBucketVersioning > turns versioning on, suspends it, and never leaves it unset again
operations.put_bucket_website | Sets a bucket's website. | operations/bucket-configuration.test.ts > putBucketWebsite > is read back as it was put, replaces what was there, and is gone after its deletion
operations.put_object | Stores an object. | operations/object-write.test.ts > putObject > stores content and everything that is said about it
operations.put_object_acl | Sets an object's ACL. | operations/access-control.test.ts > putObjectAcl takes an object's own ACL back as a document, and no other document
operations.put_object_legal_hold | Sets an object's legal hold. | operations/object-lock.test.ts > a legal hold > keeps its version, whatever its retention is, until it is lifted
operations.put_object_lock_configuration | Sets a bucket's object lock. | operations/object-lock.test.ts > the object lock of a bucket > is turned on when it is created, with versioning, which then cannot be suspended
operations.put_object_retention | Sets an object's retention. | operations/object-lock.test.ts > a retention > %o changes after %i days to %o with %o: %s
operations.put_object_tagging | Sets an object's tagging. | operations/object-tagging.test.ts > putObjectTagging > replaces the tags and nothing else
operations.put_public_access_block | Sets how public access to a bucket is blocked. | operations/bucket-rules.test.ts > a public access block > is read back as it was put, and is gone after its deletion
operations.restore_object | Brings an archived object back for a time. | operations/restore.test.ts > restoreObject > makes an object readable after the delay, for its days and to the next midnight
operations.select_object_content | Answers what a query finds in an object. | operations/select.test.ts > a query of an object > returns the records, the figures and the end
operations.upload_part | Stores a part. | operations/part.test.ts > uploadPart > refuses in this order and replaces the part of its number
operations.upload_part_copy | Makes a part of an object's range. | operations/part.test.ts > uploadPartCopy > makes parts of ranges of an object without storing their bytes again
operations.write_get_object_response | Answers a read through an object function. | /gateway/pipeline/storage-functions.test.ts > an access point with a function > answers a read with what the function writes of the object, which it reads by a URL
operations.required-members | Each operation declares the members that it requires. | /contract/members.test.ts > the members of the contract > differ from the public model of $api only where it is meant
`,
);
