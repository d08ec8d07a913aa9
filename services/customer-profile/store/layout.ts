/**
 * The map of the customer profile database in byte order.
 *
 *     1  page_token_keys  name                             -> SecretKey
 *     2  domains          account, domain name             -> DomainRecord
 *     3  domain_keys      domain id                        -> WrappedKeyRecord
 *     4  retired: held the data key of each profile, which is derived with its seed
 *     5  profiles         domain id, profile id            -> ProfileRecord
 *     6  retired: held one record for each search key of each profile, which a search had to look for
 *     7  retired: held the search keys of each profile by their origin, which the origins' own records hold
 *     8  expiries         due, domain id, profile id       -> ExpiryRecord
 *     9  retired: held the statistics of each domain in 4,096 parts, before transactions could add to one record
 *    10  object_types     domain id, type name             -> ObjectTypeRecord
 *    11  objects          domain id, profile id, type id, object key -> ObjectRecord
 *    12  object_places    domain id, type id, object key   -> ObjectPlaceRecord
 *    13  object_expiries  due, domain id, type id, object key -> ObjectExpiryRecord
 *    14  integrations     domain id, address               -> IntegrationRecord
 *    15  integrations_by_address  account, address, domain name -> IntegrationByUriRecord
 *    16  erased_keys      domain id, profile id            -> ErasedKeyRecord
 *    17  search_keys      domain id, digest                -> SearchKeyRecord
 *    18  key_holders      domain id, digest, profile id    -> KeyHolderRecord
 *    19  counters         domain id                        -> CounterRecord
 *    20  profile_seeds    domain id, profile id            -> ProfileSeedRecord
 *    21  dead_letters     domain id, letter id             -> DeadLetterRecord
 *    22  object_type_keys domain id, type id               -> ObjectTypeKeyRecord
 *    23  flows            domain id, address               -> FlowRecord
 *    24  resolutions      domain id                        -> ResolutionRecord
 *    25  resolution_jobs  domain id, job id                -> ResolutionJobRecord
 *    26  changed_profiles resolution id, profile id        -> ChangedProfileRecord
 *    27  match_profiles   resolution id, profile id        -> MatchProfileRecord
 *    28  match_keys       resolution id, digest, profile id -> MatchKeyRecord
 *    29  matches          resolution id, match id          -> MatchRecord
 *    30  match_counts     resolution id                    -> MatchCountRecord
 *    31  account_letters  account                          -> AccountLettersRecord
 *    32  rule_matchings   rules id                         -> RuleMatchingRecord
 *    33  rule_changes     rules id, profile id             -> ChangedProfileRecord
 *    64  the seven tables of jobs (the kit's own)
 *
 * No key contains anything that identifies a customer: profiles and domains have random identifiers, and search keys
 * and the unique keys of objects are digests under a key of the domain. A domain's data is found by its identifier
 * only, so deleting its two records (2 and 3) makes all of it unreachable and, without its key, unreadable. Tables 24
 * to 30, 32 and 33 are declared in layout-resolution.ts.
 */
import {
  CounterRecordSchema,
  DeadLetterRecordSchema,
  DomainRecordSchema,
  ErasedKeyRecordSchema,
  ExpiryRecordSchema,
  FlowRecordSchema,
  IntegrationByUriRecordSchema,
  IntegrationRecordSchema,
  KeyHolderRecordSchema,
  ObjectExpiryRecordSchema,
  ObjectPlaceRecordSchema,
  ObjectRecordSchema,
  ObjectTypeKeyRecordSchema,
  ObjectTypeRecordSchema,
  ProfileRecordSchema,
  ProfileSeedRecordSchema,
  SearchKeyRecordSchema,
  WrappedKeyRecordSchema,
} from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { jobTables } from "../../kit/jobs/job-tables.ts";
import { pageTokenKeyTable } from "../../kit/page-tokens/page-tokens.ts";
import { assertDistinct, bytes, defineTable, integer, text } from "../../kit/store/table.ts";
import { accountLetters } from "./account-letters.ts";
import { resolutionLayout } from "./layout-resolution.ts";

/**
 * The key of the service's page tokens.
 * Sorted so that it is found by its name.
 *
 *     page_token_keys/"page-tokens"
 *     0001 706167652d746f6b656e7300
 */
export const pageTokenKeys = pageTokenKeyTable(1);

/**
 * Domains and their settings.
 * Sorted so that an account's domains are listed by name.
 * Written with domain_keys.
 *
 *     domains/"000000000000"/"shop"
 *     0002 30303030303030303030303000 73686f7000
 */
export const domains = defineTable({
  number: 2,
  name: "domains",
  key: [text("account"), text("domain name")],
  value: DomainRecordSchema,
});

/**
 * The key of each domain, wrapped by the key that its settings name.
 * Sorted so that one is found by its domain; apart from other records, so that compacting the range erases deleted
 * keys.
 * Written with domains.
 *
 *     domain_keys/0x07
 *     0003 0700
 */
export const domainKeys = defineTable({
  number: 3,
  name: "domain_keys",
  key: [bytes("domain id")],
  value: WrappedKeyRecordSchema,
});

/**
 * Profiles, encrypted under their data keys.
 * Sorted so that one is found by its identifier.
 * Written with profile_seeds, search_keys, key_holders, expiries and counters.
 *
 *     profiles/0x07/0x09
 *     0005 0700 0900
 */
export const profiles = defineTable({
  number: 5,
  name: "profiles",
  key: [bytes("domain id"), bytes("profile id")],
  value: ProfileRecordSchema,
});

/**
 * When profiles expire, in milliseconds.
 * Sorted so that the earliest comes first.
 * Written with profiles.
 *
 *     expiries/1767323045000/0x07/0x09
 *     0008 0000019b7ca98c88 0700 0900
 */
export const expiries = defineTable({
  number: 8,
  name: "expiries",
  key: [integer("due"), bytes("domain id"), bytes("profile id")],
  value: ExpiryRecordSchema,
});

/**
 * Object types.
 * Sorted so that a domain's types are listed by name.
 *
 *     object_types/0x07/"order"
 *     000a 0700 6f7264657200
 */
export const objectTypes = defineTable({
  number: 10,
  name: "object_types",
  key: [bytes("domain id"), text("type name")],
  value: ObjectTypeRecordSchema,
});

/**
 * Objects, encrypted under the data keys of their profiles, and of their types where these name a key.
 * Sorted so that a profile's objects of one type are listed by identifier.
 * Written with profiles, object_places, object_expiries, search_keys and key_holders.
 *
 *     objects/0x07/0x09/0x0c/0x0d
 *     000b 0700 0900 0c00 0d00
 */
export const objects = defineTable({
  number: 11,
  name: "objects",
  key: [bytes("domain id"), bytes("profile id"), bytes("type id"), bytes("object key")],
  value: ObjectRecordSchema,
});

/**
 * The profile that each object is attached to.
 * Sorted so that an object is found by its unique key, and all of a type are found together.
 * Written with objects.
 *
 *     object_places/0x07/0x0c/0x0d
 *     000c 0700 0c00 0d00
 */
export const objectPlaces = defineTable({
  number: 12,
  name: "object_places",
  key: [bytes("domain id"), bytes("type id"), bytes("object key")],
  value: ObjectPlaceRecordSchema,
});

/**
 * When objects expire, in milliseconds.
 * Sorted so that the earliest comes first.
 * Written with objects.
 *
 *     object_expiries/1767323045000/0x07/0x0c/0x0d
 *     000d 0000019b7ca98c88 0700 0c00 0d00
 */
export const objectExpiries = defineTable({
  number: 13,
  name: "object_expiries",
  key: [integer("due"), bytes("domain id"), bytes("type id"), bytes("object key")],
  value: ObjectExpiryRecordSchema,
});

/**
 * Integrations.
 * Sorted so that a domain's integrations are listed by address.
 * Written with integrations_by_address.
 *
 *     integrations/0x07/"arn:x"
 *     000e 0700 61726e3a7800
 */
export const integrations = defineTable({
  number: 14,
  name: "integrations",
  key: [bytes("domain id"), text("address")],
  value: IntegrationRecordSchema,
});

/**
 * Which domains of an account have an integration with an address.
 * Sorted so that they are listed by name.
 * Written with integrations.
 *
 *     integrations_by_address/"000000000000"/"arn:x"/"shop"
 *     000f 30303030303030303030303000 61726e3a7800 73686f7000
 */
export const integrationsByAddress = defineTable({
  number: 15,
  name: "integrations_by_address",
  key: [text("account"), text("address"), text("domain name")],
  value: IntegrationByUriRecordSchema,
});

/**
 * Deleted keys that are still in the files of the database: of a profile, or (with an empty profile id) of a domain.
 * They are listed here until they are compacted away.
 * Sorted as the keys are, so that neighbours are compacted together.
 * Written with domain_keys and profile_seeds.
 *
 *     erased_keys/0x07/0x09
 *     0010 0700 0900
 */
export const erasedKeys = defineTable({
  number: 16,
  name: "erased_keys",
  key: [bytes("domain id"), bytes("profile id")],
  value: ErasedKeyRecordSchema,
});

/**
 * Which profiles a search key finds, as long as they are few; else that there are many, and some of them: key_holders
 * has all, and while one that is named here is left, a removal need not look whether there are others.
 * The digest is that of the key's name, comparison and value.
 * Sorted so that one is found by its digest: most keys find one profile, and reading one record costs a tenth of
 * looking for the first of several.
 * Written with profiles and objects, which have the digests of the keys that they supply.
 *
 *     search_keys/0x07/0x0b
 *     0011 0700 0b00
 */
export const searchKeys = defineTable({
  number: 17,
  name: "search_keys",
  key: [bytes("domain id"), bytes("digest")],
  value: SearchKeyRecordSchema,
});

/**
 * The profiles of each search key that finds many.
 * Sorted so that the profiles of one key are listed by identifier.
 * Written with search_keys.
 *
 *     key_holders/0x07/0x0b/0x09
 *     0012 0700 0b00 0900
 */
export const keyHolders = defineTable({
  number: 18,
  name: "key_holders",
  key: [bytes("domain id"), bytes("digest"), bytes("profile id")],
  value: KeyHolderRecordSchema,
});

/**
 * The statistics of each domain, to which transactions add.
 * Sorted so that those of one domain are one record.
 * Written with profiles.
 *
 *     counters/0x07
 *     0013 0700
 */
export const counters = defineTable({
  number: 19,
  name: "counters",
  key: [bytes("domain id")],
  value: CounterRecordSchema,
});

/**
 * The random seed with which the data key of each profile is derived from its domain's key.
 * Sorted so that one is found by its profile; apart from other records, so that compacting the range erases deleted
 * seeds.
 * Written with profiles.
 *
 *     profile_seeds/0x07/0x09
 *     0014 0700 0900
 */
export const profileSeeds = defineTable({
  number: 20,
  name: "profile_seeds",
  key: [bytes("domain id"), bytes("profile id")],
  value: ProfileSeedRecordSchema,
});

/**
 * Objects that found no place in a profile and wait to be sent to the dead letter queue, encrypted under a key of their
 * domain.
 * Sorted so that one is found by its identifier, and all of a domain are found together.
 * Written with the job that sends it.
 *
 *     dead_letters/0x07/0x0e
 *     0015 0700 0e00
 */
export const deadLetters = defineTable({
  number: 21,
  name: "dead_letters",
  key: [bytes("domain id"), bytes("letter id")],
  value: DeadLetterRecordSchema,
});

/**
 * The keys of object types that name, or named, an encryption key.
 * Sorted so that one is found by its type; apart from other records, so that compacting the range erases deleted and
 * replaced keys.
 * Written with the first object of the type.
 *
 *     object_type_keys/0x07/0x0c
 *     0016 0700 0c00
 */
export const objectTypeKeys = defineTable({
  number: 22,
  name: "object_type_keys",
  key: [bytes("domain id"), bytes("type id")],
  value: ObjectTypeKeyRecordSchema,
});

/**
 * How far the flows of integrations are.
 * Sorted so that one is found by its integration.
 * Written with integrations, and with the objects that a flow puts.
 *
 *     flows/0x07/"arn:x"
 *     0017 0700 61726e3a7800
 */
export const flows = defineTable({
  number: 23,
  name: "flows",
  key: [bytes("domain id"), text("address")],
  value: FlowRecordSchema,
});

/** The first number of the tables that hold jobs. */
export const jobTablesBase = 64;

/** Every table of this database but those of jobs. */
export const layout = [
  pageTokenKeys,
  domains,
  domainKeys,
  profiles,
  expiries,
  objectTypes,
  objects,
  objectPlaces,
  objectExpiries,
  integrations,
  integrationsByAddress,
  erasedKeys,
  searchKeys,
  keyHolders,
  counters,
  profileSeeds,
  deadLetters,
  objectTypeKeys,
  flows,
  ...resolutionLayout,
  accountLetters,
] as const;

assertDistinct([...layout, ...Object.values(jobTables(jobTablesBase))]);
