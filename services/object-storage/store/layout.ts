import {
  AccountBucketRecordSchema,
  BlobRecordSchema,
  BucketRecordSchema,
  ConfigurationRecordSchema,
  CurrentVersionRecordSchema,
  DoomedBlobRecordSchema,
  FinishedUploadRecordSchema,
  FinishedUploadTimeRecordSchema,
  PartRecordSchema,
  SequenceCeilingRecordSchema,
  UploadRecordSchema,
  VersionRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { defineTable, integer, reversed, text } from "../../kit/store/table.ts";

/*
 * The database of the object storage service, in byte order:
 *
 *     1 buckets            name                          → the bucket and its id
 *     2 account_buckets    account, name                 → the bucket's id
 *     3 current_versions   bucket id, key                → what a listing shows
 *     4 versions           bucket id, key, sequence ↓    → everything about a version, its extents
 *     5 blobs              blob id                       → how many extents refer to it; small content itself
 *     6 doomed_blobs       blob id                       → since when nothing refers to its file
 *     7 configurations     bucket id, kind               → one configuration document
 *     8 uploads            bucket id, key, upload id     → an open multipart upload
 *     9 parts              upload id, part number        → a stored part, its extents
 *    10 finished_uploads   bucket id, key, upload id     → what completing it answered
 *    11 finished_upload_times  instant, bucket id, key, upload id  → which were completed long ago
 *    12 sequence_ceilings  "sequences"          → what no given sequence has come to
 *    20 …                  the delivery jobs and, at 30, the page token key of the kit
 *
 * A bucket is named by its id everywhere but in the first two tables, so a bucket that is made again under an old
 * name finds nothing of the old one. Keys of objects are text and sort by their UTF-8 bytes.
 */

/**
 * Sorted so that a bucket is found by its name. Written with `account_buckets`.
 * `buckets/"photos"` is 0001 70686f746f73 00.
 */
export const buckets = defineTable({ number: 1, name: "buckets", key: [text("name")], value: BucketRecordSchema });

/**
 * Sorted so that an account's buckets are listed by name. Written with `buckets`.
 * `account_buckets/"1"/"a"` is 0002 31 00 61 00.
 */
export const accountBuckets = defineTable({
  number: 2,
  name: "account_buckets",
  key: [text("account_id"), text("name")],
  value: AccountBucketRecordSchema,
});

/**
 * Sorted so that a bucket is listed without walking old versions or delete markers, and common prefixes are skipped.
 * A key whose newest version is a delete marker has no entry. Written with `versions`.
 * `current_versions/"b"/"é"` is 0003 62 00 c3a9 00.
 */
export const currentVersions = defineTable({
  number: 3,
  name: "current_versions",
  key: [text("bucket_id"), text("key")],
  value: CurrentVersionRecordSchema,
});

/**
 * Sorted so that a key's versions are met newest first. A later version has a greater sequence. Written with
 * `current_versions`, and with `blobs` for every extent that comes or goes.
 * `versions/"b"/"k"/1` is 0004 62 00 6b 00 fffffffffffffffe.
 */
export const versions = defineTable({
  number: 4,
  name: "versions",
  key: [text("bucket_id"), text("key"), reversed("sequence")],
  value: VersionRecordSchema,
});

/**
 * Sorted so that blobs of one shard lie together, as their files do. Written with the manifest that refers to it.
 * `blobs/"ab"` is 0005 6162 00.
 */
export const blobs = defineTable({ number: 5, name: "blobs", key: [text("blob_id")], value: BlobRecordSchema });

/**
 * Sorted so that blobs of one shard lie together. Written when the entry in `blobs` goes, if the blob is a file.
 * `doomed_blobs/"ab"` is 0006 6162 00.
 */
export const doomedBlobs = defineTable({
  number: 6,
  name: "doomed_blobs",
  key: [text("blob_id")],
  value: DoomedBlobRecordSchema,
});

/**
 * Sorted so that a bucket's documents lie together and go with it.
 * `configurations/"b"/"notification"` is 0007 62 00 6e6f74696669636174696f6e 00.
 */
export const configurations = defineTable({
  number: 7,
  name: "configurations",
  key: [text("bucket_id"), text("kind")],
  value: ConfigurationRecordSchema,
});

/**
 * Sorted so that a bucket's open uploads are listed by key; upload ids begin with their instant, so the oldest of one
 * key comes first.
 * `uploads/"b"/"k"/"u"` is 0008 62 00 6b 00 75 00.
 */
export const uploads = defineTable({
  number: 8,
  name: "uploads",
  key: [text("bucket_id"), text("key"), text("upload_id")],
  value: UploadRecordSchema,
});

/**
 * Sorted so that an upload's parts are listed and assembled by number. Written with `blobs`; gone with `uploads`.
 * `parts/"u"/2` is 0009 75 00 0000000000000002.
 */
export const parts = defineTable({
  number: 9,
  name: "parts",
  key: [text("upload_id"), integer("part_number")],
  value: PartRecordSchema,
});

/**
 * Sorted as `uploads`. Written when an upload is completed, so that completing it again answers the same.
 * `finished_uploads/"b"/"k"/"u"` is 000a 62 00 6b 00 75 00.
 */
export const finishedUploads = defineTable({
  number: 10,
  name: "finished_uploads",
  key: [text("bucket_id"), text("key"), text("upload_id")],
  value: FinishedUploadRecordSchema,
});

/**
 * Sorted so that what was completed longest ago comes first and is forgotten in steps. Written with `finished_uploads`;
 * outlives it when the bucket goes.
 * `finished_upload_times/1/"b"/"k"/"u"` is 000b 0000000000000001 62 00 6b 00 75 00.
 */
export const finishedUploadTimes = defineTable({
  number: 11,
  name: "finished_upload_times",
  key: [integer("finished_ms"), text("bucket_id"), text("key"), text("upload_id")],
  value: FinishedUploadTimeRecordSchema,
});

/**
 * One entry, which is read at the start. Written by the versions and deletions whose sequences come to it.
 * `sequence_ceilings/"sequences"` is 000c 73657175656e636573 00.
 */
export const sequenceCeilings = defineTable({
  number: 12,
  name: "sequence_ceilings",
  key: [text("name")],
  value: SequenceCeilingRecordSchema,
});

/** The first of the numbers that the kit's jobs take. */
export const jobTablesBase = 20;

/** The number of the table with the key of page tokens. */
export const pageTokenTableNumber = 30;

/** All tables of this service's own, in byte order. */
export const layout = [
  buckets,
  accountBuckets,
  currentVersions,
  versions,
  blobs,
  doomedBlobs,
  configurations,
  uploads,
  parts,
  finishedUploads,
  finishedUploadTimes,
  sequenceCeilings,
] as const;
