/**
 * The map of the customer profile database, in byte order.
 *
 *     1  page-token-keys  name                             -> SecretKey
 *     2  domains          account, domain name             -> DomainRecord
 *     3  domain_keys      domain id                        -> WrappedKeyRecord
 *     4  profile_keys     domain id, profile id            -> WrappedKeyRecord
 *     5  profiles         domain id, profile id            -> ProfileRecord
 *     6  key_index        domain id, digest, profile id    -> KeyIndexRecord
 *     7  key_origins      domain id, profile id, origin, digest -> KeyOriginRecord
 *     8  expiries         due, domain id, profile id       -> ExpiryRecord
 *     9  counters         domain id, shard                 -> CounterRecord
 *    64  jobs and what belongs to them (the kit's own tables)
 *
 * Nothing that a customer could be known by stands in a key: profiles and domains have random identifiers, and search
 * keys stand there as digests under a key of the domain. A domain's data is found by its identifier only, so deleting
 * its two records (2 and 3) makes all of it unreachable and, without its key, unreadable.
 */
import {
  CounterRecordSchema,
  DomainRecordSchema,
  ExpiryRecordSchema,
  KeyIndexRecordSchema,
  KeyOriginRecordSchema,
  ProfileRecordSchema,
  WrappedKeyRecordSchema,
} from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { pageTokenKeyTable } from "../../kit/page-tokens/page-tokens.ts";
import { assertDistinct, bytes, defineTable, integer, text } from "../../kit/store/table.ts";

/**
 * The key of the service's page tokens.
 * Sorted so that it is found by its name.
 *
 *     page-token-keys/"page-tokens"
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
 * Sorted so that one is found by its domain; apart from all else, so that compacting the range erases deleted keys.
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
 * The data key of each profile, wrapped by its domain's key.
 * Sorted so that one is found by its profile; apart from all else, so that compacting the range erases deleted keys.
 * Written with profiles.
 *
 *     profile_keys/0x07/0x09
 *     0004 0700 0900
 */
export const profileKeys = defineTable({
  number: 4,
  name: "profile_keys",
  key: [bytes("domain id"), bytes("profile id")],
  value: WrappedKeyRecordSchema,
});

/**
 * Profiles, encrypted under their data keys.
 * Sorted so that one is found by its identifier.
 * Written with profile_keys, key_index, key_origins, expiries and counters.
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
 * Which profiles a search key finds. The digest stands for name, comparison and value of the key.
 * Sorted so that the profiles of one key are listed by identifier.
 * Written with key_origins.
 *
 *     key_index/0x07/0x0b/0x09
 *     0006 0700 0b00 0900
 */
export const keyIndex = defineTable({
  number: 6,
  name: "key_index",
  key: [bytes("domain id"), bytes("digest"), bytes("profile id")],
  value: KeyIndexRecordSchema,
});

/**
 * Which search keys a profile has, and what gave it them: its own content (an empty origin) or one of its objects (the
 * digest of type and unique key). An entry of key_index lives as long as one origin refers to it.
 * Sorted so that all keys of an origin, and all of a profile, are found together: deleting leaves nothing.
 * Written with key_index.
 *
 *     key_origins/0x07/0x09/0x/0x0b
 *     0007 0700 0900 00 0b00
 */
export const keyOrigins = defineTable({
  number: 7,
  name: "key_origins",
  key: [bytes("domain id"), bytes("profile id"), bytes("origin"), bytes("digest")],
  value: KeyOriginRecordSchema,
});

/**
 * When profiles expire, in milliseconds.
 * Sorted so that what is due is found first.
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
 * What each domain holds, in 256 parts by the first byte of the profile's identifier, so that writers of different
 * profiles seldom meet.
 * Sorted so that the parts of a domain are added up in one short range.
 * Written with profiles.
 *
 *     counters/0x07/9
 *     0009 0700 0000000000000009
 */
export const counters = defineTable({
  number: 9,
  name: "counters",
  key: [bytes("domain id"), integer("shard")],
  value: CounterRecordSchema,
});

/** The first number of the tables that hold jobs. */
export const jobTablesBase = 64;

/** Every table of this database but those of jobs. */
export const layout = [
  pageTokenKeys,
  domains,
  domainKeys,
  profileKeys,
  profiles,
  keyIndex,
  keyOrigins,
  expiries,
  counters,
] as const;

assertDistinct(layout);
