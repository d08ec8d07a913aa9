/**
 * The map of the object storage database, in byte order.
 *
 *     1  buckets                name                              -> BucketRecord
 *     2  account_buckets        account, name                     -> AccountBucketRecord
 *     3  current_versions       bucket id, key                    -> CurrentVersionRecord
 *     4  versions               bucket id, key, sequence (desc)   -> VersionRecord
 *     5  blobs                  blob id                           -> BlobRecord
 *     6  unreferenced_blobs     blob id                           -> UnreferencedBlobRecord
 *     7  configurations         bucket id, kind or kind/id        -> ConfigurationRecord
 *     8  uploads                bucket id, key, upload id         -> UploadRecord
 *     9  parts                  upload id, part number            -> PartRecord
 *    10  finished_uploads       bucket id, key, upload id         -> FinishedUploadRecord
 *    11  finished_upload_times  instant, bucket id, key, upload id -> FinishedUploadTimeRecord
 *    12  sequence_ceilings      name                              -> SequenceCeilingRecord
 *    13  null_versions          bucket id, key                    -> NullVersionRecord
 *    14  shared_blobs           blob id                           -> SharedBlobRecord
 *    15  forks                  name                              -> ForkRecord
 *    18  wrapping_keys          id                                -> WrappingKeyRecord
 *    20  the delivery jobs, 20 to 26 (the kit's own tables)
 *    30  the key of the page tokens (the kit's own table)
 *    40  scrub_progress         name                             -> ScrubProgressRecord
 *    41  quarantine             subject                          -> QuarantineRecord
 *    60  lock_clock             name                             -> LockClockRecord
 *    61  mfa_uses               serial                           -> MfaUseRecord
 *    62  lifecycle_progress     name                             -> LifecycleProgressRecord
 *    63  inventory_reports      bucket id, id                    -> InventoryReportRecord
 *    64  directory_entries      bucket id, directory, name       -> DirectoryEntryRecord
 *    65  access_logs            bucket id, instant, id            -> AccessLogRecord
 *    66  account_settings       account                          -> AccountSettingsRecord
 *    68  search_entries          index id, attribute, value, key   -> SearchEntryRecord
 *    69  waiting_notifications   account                           -> WaitingNotificationsRecord
 *    70  counts of what is stored (the kit's own table)
 *
 * Only the first two tables name a bucket by its name; all others use its id, so a bucket that is made again under an
 * old name finds nothing of the old one. Keys of objects sort by their UTF-8 bytes. Instants: milliseconds since 1970.
 */
import {
  AccountBucketRecordSchema,
  BlobRecordSchema,
  BucketRecordSchema,
  ConfigurationRecordSchema,
  CurrentVersionRecordSchema,
  FinishedUploadRecordSchema,
  FinishedUploadTimeRecordSchema,
  LifecycleProgressRecordSchema,
  LockClockRecordSchema,
  NullVersionRecordSchema,
  PartRecordSchema,
  QuarantineRecordSchema,
  ScrubProgressRecordSchema,
  SequenceCeilingRecordSchema,
  UnreferencedBlobRecordSchema,
  UploadRecordSchema,
  VersionRecordSchema,
  WrappingKeyRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { jobTables } from "../../kit/jobs/job-tables.ts";
import { pageTokenKeyTable } from "../../kit/page-tokens/page-token-key.ts";
import { countsTable } from "../../kit/store/counts.ts";
import { assertDistinct, defineTable, integer, reversed, text } from "../../kit/store/table.ts";
import { accessLogs } from "./access-logs.ts";
import { accountSettings } from "./account-settings.ts";
import { directoryEntries } from "./directory-entries.ts";
import { forks } from "./forks.ts";
import { inventoryReports } from "./inventory-reports.ts";
import { mfaUses } from "./mfa-uses.ts";
import { searchEntries } from "./search-entries.ts";
import { sharedBlobs } from "./shared-blobs.ts";
import { waitingNotifications } from "./waiting-notifications.ts";

/**
 * Buckets.
 * Sorted so that a bucket is found by its name.
 * Written with account_buckets.
 *
 *     buckets/"photos"
 *     0001 70686f746f7300
 */
export const buckets = defineTable({ number: 1, name: "buckets", key: [text("name")], value: BucketRecordSchema });

/**
 * The buckets of each account.
 * Sorted so that an account's buckets are listed by name.
 * Written with buckets.
 *
 *     account_buckets/"1"/"a"
 *     0002 3100 6100
 */
export const accountBuckets = defineTable({
  number: 2,
  name: "account_buckets",
  key: [text("account"), text("name")],
  value: AccountBucketRecordSchema,
});

/**
 * The current version of each key, as a listing shows it. A key whose newest version is a delete marker has no entry.
 * Sorted so that a bucket is listed without reading old versions or delete markers, and common prefixes are skipped.
 * Written with versions, directory_entries and search_entries.
 *
 *     current_versions/"b"/"é"
 *     0003 6200 c3a900
 */
export const currentVersions = defineTable({
  number: 3,
  name: "current_versions",
  key: [text("bucket id"), text("key")],
  value: CurrentVersionRecordSchema,
});

/**
 * Everything about a version, with the extents of its content. A later version has a greater sequence.
 * Sorted so that a key's versions are read newest first.
 * Written with current_versions, and with blobs for every extent that is added or removed.
 *
 *     versions/"b"/"k"/1
 *     0004 6200 6b00 fffffffffffffffe
 */
export const versions = defineTable({
  number: 4,
  name: "versions",
  key: [text("bucket id"), text("key"), reversed("sequence")],
  value: VersionRecordSchema,
});

/**
 * How many extents refer to each blob; small content itself.
 * Sorted so that the blobs of one shard are read together, as their files are.
 * Written with the versions and parts that refer to them.
 *
 *     blobs/"ab"
 *     0005 616200
 */
export const blobs = defineTable({ number: 5, name: "blobs", key: [text("blob id")], value: BlobRecordSchema });

/**
 * Blob files whose last reference was removed.
 * Sorted so that the blobs of one shard are read together.
 * Written when the entry in blobs is deleted, if the blob is a file.
 *
 *     unreferenced_blobs/"ab"
 *     0006 616200
 */
export const unreferencedBlobs = defineTable({
  number: 6,
  name: "unreferenced_blobs",
  key: [text("blob id")],
  value: UnreferencedBlobRecordSchema,
});

/**
 * The configuration documents of each bucket, one of a kind, or one of each id of a kind.
 * Sorted so that a bucket's documents are deleted together with it, and those of a kind are listed by id.
 *
 *     configurations/"b"/"cors"
 *     0007 6200 636f727300
 */
export const configurations = defineTable({
  number: 7,
  name: "configurations",
  key: [text("bucket id"), text("kind")],
  value: ConfigurationRecordSchema,
});

/**
 * Open multipart uploads.
 * Sorted so that a bucket's uploads are listed by key; upload ids begin with their instant, so the oldest of one key
 * comes first.
 *
 *     uploads/"b"/"k"/"u"
 *     0008 6200 6b00 7500
 */
export const uploads = defineTable({
  number: 8,
  name: "uploads",
  key: [text("bucket id"), text("key"), text("upload id")],
  value: UploadRecordSchema,
});

/**
 * The stored parts of open uploads, with the extents of their content.
 * Sorted so that an upload's parts are listed and assembled by number.
 * Written with blobs; deleted with uploads.
 *
 *     parts/"u"/2
 *     0009 7500 0000000000000002
 */
export const parts = defineTable({
  number: 9,
  name: "parts",
  key: [text("upload id"), integer("part number")],
  value: PartRecordSchema,
});

/**
 * The answer with which each upload was completed, so that completing it again returns the same.
 * Sorted as uploads.
 * Written with finished_upload_times.
 *
 *     finished_uploads/"b"/"k"/"u"
 *     000a 6200 6b00 7500
 */
export const finishedUploads = defineTable({
  number: 10,
  name: "finished_uploads",
  key: [text("bucket id"), text("key"), text("upload id")],
  value: FinishedUploadRecordSchema,
});

/**
 * When each upload was completed.
 * Sorted so that the oldest are deleted first, in steps.
 * Written with finished_uploads; both are kept when the bucket is deleted.
 *
 *     finished_upload_times/1/"b"/"k"/"u"
 *     000b 0000000000000001 6200 6b00 7500
 */
export const finishedUploadTimes = defineTable({
  number: 11,
  name: "finished_upload_times",
  key: [integer("finished"), text("bucket id"), text("key"), text("upload id")],
  value: FinishedUploadTimeRecordSchema,
});

/**
 * The bound below which all used sequences are: one entry, read at the start.
 * Sorted so that it is found by its name.
 * Written with the version or deletion whose sequence reaches it.
 *
 *     sequence_ceilings/"sequences"
 *     000c 73657175656e63657300
 */
export const sequenceCeilings = defineTable({
  number: 12,
  name: "sequence_ceilings",
  key: [text("name")],
  value: SequenceCeilingRecordSchema,
});

/**
 * Where a key's null version is, if it is not the current one: under newer versions, or a delete marker.
 * Sorted so that it is found without reading the versions.
 * Written with versions.
 *
 *     null_versions/"b"/"k"
 *     000d 6200 6b00
 */
export const nullVersions = defineTable({
  number: 13,
  name: "null_versions",
  key: [text("bucket id"), text("key")],
  value: NullVersionRecordSchema,
});

/**
 * The keys that the data keys of blobs are sealed under, wrapped by the keyring: `service`, `managed` for the service's
 * own managed key, and `managed/` with its id for each other managed key that was used. One that follows a damaged one
 * has its id with a number: `service#2`.
 * Sorted so that each is found by its id.
 * Written before the first blob whose data key it seals.
 *
 *     wrapping_keys/"service"
 *     0012 7365727669636500
 */
export const wrappingKeys = defineTable({
  number: 18,
  name: "wrapping_keys",
  key: [text("id")],
  value: WrappingKeyRecordSchema,
});

/**
 * Deliveries to the event bus: tables 20 to 25.
 *
 *     job_bodies/"j"
 *     0014 6a00
 */
export const jobs = jobTables(20);

/**
 * The key of the service's page tokens.
 * Sorted so that it is found by its name.
 *
 *     page_token_keys/"page-tokens"
 *     001e 706167652d746f6b656e7300
 */
export const pageTokenKeys = pageTokenKeyTable(30);

/**
 * How far the check of all stored data has come: one entry.
 * Sorted so that it is found by its name.
 *
 *     scrub_progress/"scrub"
 *     0028 736372756200
 */
export const scrubProgress = defineTable({
  number: 40,
  name: "scrub_progress",
  key: [text("name")],
  value: ScrubProgressRecordSchema,
});

/**
 * What the check found damaged or missing: `blob/` and a blob's id, or a record's key as people write it.
 * Sorted so that everything of one kind is read together.
 * Written with scrub_progress.
 *
 *     quarantine/"blob/ab"
 *     0029 626c6f622f616200
 */
export const quarantine = defineTable({
  number: 41,
  name: "quarantine",
  key: [text("subject")],
  value: QuarantineRecordSchema,
});

/**
 * The latest instant of the clock of retentions: one entry, read at the start.
 * Sorted so that it is found by its name.
 *
 *     lock_clock/"retentions"
 *     003c 726574656e74696f6e7300
 */
export const lockClock = defineTable({
  number: 60,
  name: "lock_clock",
  key: [text("name")],
  value: LockClockRecordSchema,
});

/**
 * How far the lifecycle rules have come: one entry of the walk over all buckets, while there is one, and one for each
 * bucket of which some is left, under its name after `bucket/`.
 * Sorted so that the buckets are found in the order of their names.
 *
 *     lifecycle_progress/"lifecycle"
 *     003e 6c6966656379636c6500
 */
export const lifecycleProgress = defineTable({
  number: 62,
  name: "lifecycle_progress",
  key: [text("name")],
  value: LifecycleProgressRecordSchema,
});

/**
 * How many versions with content are stored, and how many bytes they have.
 * Sorted so that each is found by its name.
 * Written with versions.
 *
 *     counts/"bytes"
 *     0046 627974657300
 */
export const counts = countsTable(70);

export const layout = [
  buckets,
  accountBuckets,
  currentVersions,
  versions,
  blobs,
  unreferencedBlobs,
  configurations,
  uploads,
  parts,
  finishedUploads,
  finishedUploadTimes,
  sequenceCeilings,
  nullVersions,
  sharedBlobs,
  forks,
  wrappingKeys,
  ...Object.values(jobs),
  pageTokenKeys,
  scrubProgress,
  quarantine,
  lockClock,
  mfaUses,
  lifecycleProgress,
  inventoryReports,
  directoryEntries,
  accessLogs,
  accountSettings,
  searchEntries,
  waitingNotifications,
  counts,
] as const;

assertDistinct(layout);
