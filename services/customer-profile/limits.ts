/** Every limit of the service that is not a constraint of a request's member, each with its unit. */
export const limits = {
  /** Domains of one account. */
  domainsPerAccountMax: 100,
  /** Bytes of a profile's content: paths and values of its fields and keys, and 64 for each key added by hand. */
  profileContentBytesMax: 256_000,
  /** Object types of one domain. */
  objectTypesPerDomainMax: 100,
  /** Characters of the fields and keys of one object type, and uses of its keys. */
  objectTypeCharactersMax: 256_000,
  objectTypeUsesMax: 100,
  /** Fields of one use of a key, and its identifiers; there are 20 of them. */
  fieldsPerUseMax: 100,
  identifiersPerUseMax: 20,
  /** Objects of one profile, of all types. */
  objectsPerProfileMax: 1_000,
  /** Bytes of all objects of one profile. */
  objectBytesPerProfileMax: 50 * 1024 * 1024,
  /** Integrations of one domain. */
  integrationsPerDomainMax: 50,
  /** Bytes of the flow definition and the object types of one integration. */
  integrationBytesMax: 256_000,
  /** Characters of all sources of an object type with conditions and loops: 16,000 are read in 40 to 130 ms. */
  templateCharactersMax: 16_000,
  /** Blocks, alternatives and brackets of one of them, which can be nested. */
  templatePartsMax: 50,
  /** Characters of all keys of one object and of all its texts with accessors in them. */
  composedCharactersMax: 2_048_000,
  /** Characters of one object, as of the member of a request. */
  objectCharactersMax: 256_000,
  /** Characters that the tasks of a flow make of one record, over all its fields. */
  flowResultCharactersMax: 1_000_000,
  /** Bytes of one record that a flow reads, and the fields that the first line of an object can name. */
  flowRecordBytesMax: 1024 * 1024,
  /** Values of a record of JSON: members of objects and items of lists, at all depths. */
  flowRecordValuesMax: 20_000,
  flowFieldsMax: 16_384,
  /** Bytes of an object that a flow reads at once, and those of a compressed one when it is decompressed. */
  flowPartBytes: 1024 * 1024,
  flowGunzippedBytesMax: 1024 * 1024 * 1024,
  /** Records, and their characters, after which a flow puts what it read; and records with those that it leaves out. */
  flowBatchRecords: 50,
  flowBatchLeftOut: 5_000,
  flowBatchCharacters: 256 * 1024,
  /** How long a flow reads before the flows of others have their turn, in milliseconds. */
  flowSliceMs: 5 * 1000,
  /** How many times longer it reads than it took to come to its place in a compressed object. */
  flowReadingFactor: 4,
  /** Flows that read at the same time, and of them those of one account. */
  runningFlowsMax: 4,
  runningFlowsPerAccountMax: 2,
  /** The pause between two looks of a flow for new objects, in milliseconds. */
  flowPollMs: 60 * 1000,
  /** How long before a run objects may have changed that the next run looks at again, in milliseconds. */
  flowOverlapMs: 60 * 1000,
  /** Of these, objects that are known to be read. */
  flowRecentObjectsMax: 256,
  /** Objects that change while they are read, after which a flow pauses. */
  flowChangesMax: 10,
  /** The longest pause of a flow that cannot go on, and how long it is tried, in milliseconds. */
  flowPauseMsMax: 5 * 60 * 1000,
  flowStuckMsMax: 24 * 60 * 60 * 1000,
  /** How long a job of identity resolution works before those of others have their turn, in milliseconds. */
  resolutionSliceMs: 2 * 1000,
  /** Profiles that one transaction of it compares with others, and that one notes as to be compared. */
  resolutionBatch: 20,
  resolutionNotedBatch: 500,
  /** Profiles with the same value, e.g. the phone of an office; a value that more have finds none of them. */
  resolutionSharingMax: 21,
  /** Profiles of one match: as many as one call can merge. */
  matchedProfilesMax: 21,
  /** Matches that a preview of merging looks at. */
  previewedMatchesMax: 100,
  /** Jobs of identity resolution of one domain that begin in seven days. */
  resolutionsPerWeekMax: 3,
  /** The surest matches of one profile that are kept. */
  resolutionPairsMax: 20,
  /** How often it is looked whether rules have something to compare, in milliseconds. */
  rulePollMs: 1_000,
  /** How long the rules of one domain are applied before those of others have their turn, in milliseconds. */
  ruleTurnMs: 250,
  /** Jobs of identity resolution that work at the same time, and of them those of one account. */
  runningResolutionsMax: 2,
  runningResolutionsPerAccountMax: 1,
  /** The longest pause of one that cannot go on, and how long it is tried, in milliseconds. */
  resolutionPauseMsMax: 5 * 60 * 1000,
  resolutionStuckMsMax: 24 * 60 * 60 * 1000,
  /** Tags of one resource. */
  tagsPerResourceMax: 50,
  /** Values of one search, over all its keys. */
  searchValuesMax: 1_000,
  /** Items of a page if the request has no number. */
  pageItemsDefault: 100,
  /** Bytes after which a page ends, whatever the number of its items. */
  pageBytesMax: 3 * 1024 * 1024,
  /** Ranges of candidates that one search reads before it returns a short page. */
  searchWindowsMax: 16,
  /** Keys and values whose profiles one search lists, over all ranges, before it returns a short page. */
  searchListsMax: 4_000,
  /** How often one range of a search looks whether a profile of a key that few have is among those of a longer list. */
  searchLookupsMax: 1_000,
  /** How long a page token is valid, in milliseconds. */
  pageTokenLifetimeMs: 24 * 60 * 60 * 1000,
  /** Records that one transaction of a removal deletes. */
  purgeBatchRecords: 500,
  /** Profiles or objects that one transaction of the expiry, or of the removal of an object type, removes. */
  expiryBatch: 50,
  /** What has expired of one domain and is removed before others have their turn: at first, and in later turns. */
  expiryTurnMin: 5_000,
  expiryTurnMax: 160_000,
  /** Time between two removals of expired data, in milliseconds. */
  expiryIntervalMs: 60 * 1000,
  /** Time between an erasure and the compaction that removes erased keys from the files, in milliseconds. */
  compactionDelayMs: 60 * 1000,
  /** How long a dead letter is tried, in milliseconds: as long as a queue keeps a message at most. */
  deadLetterMsMax: 14 * 24 * 60 * 60 * 1000,
  /** The longest pause between two attempts to send a dead letter, in milliseconds. */
  deadLetterPauseMsMax: 15 * 60 * 1000,
  /** Dead letters of a domain that wait to be sent; with more, its objects without a place are refused. */
  waitingLettersMax: 100_000,
  /** The same of all domains of an account, which may have a hundred. */
  waitingLettersPerAccountMax: 200_000,
  /** Bytes of a message that every queue accepts. */
  deadLetterBytesSafe: 262_144,
  /** Dead letters that are sent at the same time, and of them to one queue. */
  runningLettersMax: 16,
  runningLettersPerQueueMax: 4,
  /** Removals that run at the same time, and of them those of one account. */
  runningRemovalsMax: 64,
  runningRemovalsPerAccountMax: 16,
  /** Erased keys that one round of compaction removes. */
  compactionBatchKeys: 1_000,
  /**
   * Up to this number, erased keys of a domain are compacted one by one; more, together with all keys of the domain.
   */
  compactionSinglesMax: 16,
} as const;
