const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const gibibyte = 1024 * mebibyte;
const minuteMs = 60 * 1000;
const hourMs = 60 * minuteMs;

/** What an installation allows. Sizes are bytes. */
export interface Limits {
  readonly objectBytesMax: number;
  readonly partBytesMin: number;
  readonly partBytesMax: number;
  readonly copyBytesMax: number;
  readonly bucketsPerAccountMax: number;
  /** Parts of open uploads after which deleting their bucket goes on in another transaction. */
  readonly partsEndedPerTransaction: number;
}

/** The documented limits: objects of 5 TiB, parts of 5 MiB to 5 GiB, copies of 5 GiB. */
export const defaultLimits: Limits = {
  objectBytesMax: 5 * 1024 * gibibyte,
  partBytesMin: 5 * mebibyte,
  partBytesMax: 5 * gibibyte,
  copyBytesMax: 5 * gibibyte,
  bucketsPerAccountMax: 10_000,
  partsEndedPerTransaction: 10_000,
};

/** The hexadecimal digits of the revision of a bucket's rules: so many that no bucket has one twice. */
export const revisionDigits = 32;
/** All stored data is checked every 14 days, at 16 MiB a second. */
export const defaultScrub = { intervalMs: 14 * 24 * hourMs, bytesPerSecond: 16 * mebibyte };

/** A day of lifecycle rules has 24 hours, and restoring takes a minute. */
export const defaultLifecycle = { dayMs: 24 * hourMs, restoreDelayMs: minuteMs };

/** Every other limit that a request's own constraints do not hold, each with its unit. */
export const limits = {
  /** Bytes of a key in UTF-8. */
  keyBytesMax: 1024,
  /** Bytes of the names and values of an object's user metadata together, in UTF-8. */
  metadataBytesMax: 2048,
  tagsPerObjectMax: 10,
  tagsPerBucketMax: 50,
  /** Unicode code points. */
  tagKeyCharactersMax: 128,
  /** Unicode code points. */
  tagValueCharactersMax: 256,
  /** Grants of an access control list. */
  grantsPerAclMax: 100,
  /** Bytes of a bucket's policy in UTF-8. */
  policyBytesMax: 20 * kibibyte,
  /** Characters of all bucket policies that are kept parsed. */
  parsedPolicyCharactersMax: 8 * 1024 * 1024,
  /** Characters of an encryption context in base64. */
  encryptionContextCharactersMax: 8192,
  corsRulesMax: 100,
  /** UTF-16 code units. */
  corsRuleIdLengthMax: 255,
  /** Bytes of all CORS rules of a bucket, which bounds the answers to browsers. */
  corsBytesMax: 64 * kibibyte,
  lifecycleRulesMax: 1000,
  /** UTF-16 code units. */
  lifecycleRuleIdLengthMax: 255,
  replicationRulesMax: 1000,
  /** UTF-16 code units. */
  replicationRuleIdLengthMax: 255,
  /** How long the copy of a version into another bucket is tried, in milliseconds. */
  replicationAgeMsMax: 24 * hourMs,
  /** Versions of before the rules that one transaction plans copies of; the next ones follow when these have begun. */
  replicationWalkBatch: 200,
  replicationWalkIdDigits: 16,
  /** How far the clock of an installation that sends replicas may be ahead, in milliseconds. */
  replicaAheadMsMax: 15 * minuteMs,
  /** Newer versions that a lifecycle rule keeps at most. */
  newerNoncurrentVersionsMax: 100,
  /** Versions and uploads that the lifecycle rules look at in a second. */
  lifecycleEntriesPerSecond: 5000,
  /** So many rules that a version may meet take as long to decide on as it takes to look at a version. */
  lifecycleRulesPerEntry: 100,
  /** A change by a rule counts as so many versions that are looked at. */
  lifecycleEntriesPerChange: 4,
  /** What an account's buckets may cost before the others have their turn, in versions that are looked at. */
  lifecycleTurnEntries: 30_000,
  /** Time between two rounds of the lifecycle rules, as a part of a day: an hour of a day of 24. */
  lifecycleRoundsPerDay: 24,
  /** The shortest time between two rounds, in milliseconds, for days that are short. */
  lifecycleIntervalMsMin: 1000,
  /** An account whose inventories have taken so long, in milliseconds, goes on when the others have had their turn. */
  inventoryTurnMs: 60_000,
  /** Configurations of one kind with ids. */
  identifiedConfigurationsMax: 1000,
  identifiedConfigurationsPerPage: 100,
  /** Bytes of lines in one object of an access log. */
  accessLogObjectBytesMax: 4 * mebibyte,
  /** Bytes of the lines of all access logs that wait for their delivery: one bucket alone has half of them. */
  accessLogWaitingBytesMax: 512 * mebibyte,
  /** The same of the lines that wait in memory to be stored. */
  accessLogNotedLinesMax: 20_000,
  /** How long a line waits in memory at most, in milliseconds. */
  accessLogNotedMs: 1000,
  /** What was stored so long after a delivery began, in milliseconds, was stored before the clock was set back. */
  accessLogDeliveryMsMax: hourMs,
  /** Routing rules of a website. */
  routingRulesMax: 50,
  /** Bytes of an object of which a torrent is made. */
  torrentBytesMax: 5 * gibibyte,
  partNumberMax: 10_000,
  /** Parts of an object that is appended to. */
  partsPerObjectMax: 10_000,
  /** Objects that one batch deletion names. */
  batchDeleteObjectsMax: 1000,
  /** Objects of a batch deletion that one transaction deletes. */
  batchDeleteTransactionObjects: 100,
  /** Buckets of a page; also when the caller asks for no number. */
  bucketsPerPageMax: 10_000,
  /** Objects, versions, uploads or parts of a page; also when the caller asks for no number. */
  entriesPerPageMax: 1000,
  /** Attributes of a search index. */
  searchAttributesMax: 20,
  /** Conditions of a search. */
  searchConditionsMax: 10,
  /** Entries of a search index that one call looks at. */
  searchedEntriesMax: 5000,
  /** Hexadecimal digits of the id of a search index. */
  searchIndexIdDigits: 16,
  /** Keys that one transaction adds to a search index, and entries that one removes. */
  searchIndexBatch: 200,
  /** Batches after which the building of a search index notes how far it has come. */
  searchIndexBatchesPerStep: 25,
  /** Alternatives of a glob, all together. */
  globAlternativesMax: 100,
  /** Listing records that one call reads at most to find the keys that match a glob. */
  globRecordsMax: 10_000,
  /** Steps after which a call matches no further keys with a glob, each of some 20 nanoseconds. */
  globStepsMax: 1_000_000,
  /** How long a query finds nothing before a sign of life is sent, in milliseconds; then again. */
  selectSignOfLifeMs: 5000,
  /** How often a query reports its progress, in milliseconds. */
  selectProgressMs: 1000,
  /** How long a page token is good, in milliseconds. */
  pageTokenLifetimeMs: 7 * 24 * hourMs,
  /**
   * Bytes of content up to which it is stored in the database, where it costs a third of what a file does, compaction
   * included (services/decisions/0013); from 256 KiB on a file is cheaper.
   */
  inlineBytesMax: 64 * kibibyte,
  /** Time between two rounds of periodic work, in milliseconds. */
  periodicWorkIntervalMs: 10 * minuteMs,
  /** Time between two sweeps of blobs, which compare all files with their records, in milliseconds. */
  sweepIntervalMs: 24 * hourMs,
  /** How long after the start the first sweep of blobs begins, in milliseconds. */
  firstSweepDelayMs: 5_000,
  /** How soon after one round of the check of stored data it is looked whether the next one is due, in milliseconds. */
  scrubPollMs: hourMs,
  /** How long completing an upload again returns the same answer, in milliseconds. */
  finishedUploadLifetimeMs: 24 * hourMs,
  /** Finished uploads that one transaction deletes. */
  finishedUploadBatch: 500,
  /** Events that are sent and restores that are ended at the same time, and of them those of one account. */
  runningStepsMax: 64,
  runningStepsPerAccountMax: 48,
  /** Copies into other buckets that are made at the same time, and of them those of one account. */
  runningCopiesMax: 64,
  runningCopiesPerAccountMax: 16,
  /** Copies into other regions that are made at the same time, and of them those of one account. */
  runningRegionCopiesMax: 32,
  runningRegionCopiesPerAccountMax: 8,
  /** How long another region may take nothing of a replica, or not answer, in milliseconds. */
  regionStallMs: minuteMs,
  /** Search indexes that are built or removed at the same time, and of them those of one account. */
  runningIndexesMax: 8,
  runningIndexesPerAccountMax: 2,
  /** Forks that are made at the same time, and of them those of one account. */
  runningForksMax: 8,
  runningForksPerAccountMax: 2,
  /** Records that one transaction of a fork copies, extents counted. */
  forkSliceRecords: 500,
  /** How long a blob file is kept after its last reference was removed, in milliseconds. */
  unreferencedGraceMs: 10 * minuteMs,
  /** How long a blob file that was never referred to is kept, in milliseconds: longer than any write. */
  orphanGraceMs: hourMs,
  /** Age at which a delivery to the event bus is given up, in milliseconds. */
  deliveryAgeMsMax: 3650 * 24 * hourMs,
  /** Time that one delivery to the event bus may take, in milliseconds. */
  deliveryTimeoutMs: 10_000,
  /** Age at which the notification of a queue, a topic or a function is given up, in milliseconds. */
  notificationAgeMsMax: 24 * hourMs,
  /** Notifications of an account's buckets that wait; with more, further ones are left out. */
  notificationsWaitingMax: 200_000,
  /** Time between two lines of the log about those that are left out, in milliseconds. */
  notificationLogMs: minuteMs,
  /** Notifications that are sent at the same time, and of them to one destination. */
  runningNotificationsMax: 64,
  runningNotificationsPerDestinationMax: 16,
  /** First delay before a delivery is tried again, in milliseconds; it doubles up to the longest. */
  deliveryRetryMsMin: 200,
  /** Longest delay before a delivery is tried again, in milliseconds. */
  deliveryRetryMsMax: 60_000,
} as const;

/** How long lines of access logs are gathered for an object, in milliseconds. */
export const defaultAccessLogMs = 5 * minuteMs;

/** How long a function may take until it begins its answer, in milliseconds: less than the gateway waits. */
export const defaultObjectFunctionMs = 55_000;

/** How many queries of objects run at the same time, and for how long. */
export const defaultScans = { threads: 2, timeLimitMs: 15 * minuteMs } as const;
