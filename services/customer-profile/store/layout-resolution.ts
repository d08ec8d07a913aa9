/** Tables 24 to 30, 32 and 33 of the map in layout.ts: what identity resolution knows and has found. */
import {
  ChangedProfileRecordSchema,
  MatchCountRecordSchema,
  MatchKeyRecordSchema,
  MatchProfileRecordSchema,
  MatchRecordSchema,
  ResolutionJobRecordSchema,
  ResolutionRecordSchema,
  RuleMatchingRecordSchema,
} from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { bytes, defineTable } from "../../kit/store/table.ts";

/**
 * The domains that have identity resolution enabled, by weekly jobs or by rules. A record changes only when that does,
 * because each change of a profile reads it.
 * Sorted so that one is found by its domain.
 *
 *     resolutions/0x07
 *     0018 0700
 */
export const resolutions = defineTable({
  number: 24,
  name: "resolutions",
  key: [bytes("domain id")],
  value: ResolutionRecordSchema,
});

/**
 * The weekly jobs of each domain: those that have ended and not expired, and the one that runs or is due.
 * Sorted so that those of a domain are found together.
 *
 *     resolution_jobs/0x07/0x0f
 *     0019 0700 0f00
 */
export const resolutionJobs = defineTable({
  number: 25,
  name: "resolution_jobs",
  key: [bytes("domain id"), bytes("job id")],
  value: ResolutionJobRecordSchema,
});

/**
 * The profiles that the next job compares with others.
 * Sorted so that a job has them in the order of their identifiers, and each once.
 * Written with profiles.
 *
 *     changed_profiles/0x08/0x09
 *     001a 0800 0900
 */
export const changedProfiles = defineTable({
  number: 26,
  name: "changed_profiles",
  key: [bytes("resolution id"), bytes("profile id")],
  value: ChangedProfileRecordSchema,
});

/**
 * The values by which each profile is compared, as digests, and its match.
 * Sorted so that one is found by its profile.
 * Written with match_keys and matches.
 *
 *     match_profiles/0x08/0x09
 *     001b 0800 0900
 */
export const matchProfiles = defineTable({
  number: 27,
  name: "match_profiles",
  key: [bytes("resolution id"), bytes("profile id")],
  value: MatchProfileRecordSchema,
});

/**
 * The profiles that have each value by which profiles are compared.
 * Sorted so that those with the same value are found together.
 * Written with match_profiles.
 *
 *     match_keys/0x08/0x0b/0x09
 *     001c 0800 0b00 0900
 */
export const matchKeys = defineTable({
  number: 28,
  name: "match_keys",
  key: [bytes("resolution id"), bytes("digest"), bytes("profile id")],
  value: MatchKeyRecordSchema,
});

/**
 * The profiles that may be of the same customer.
 * Sorted so that they are listed by identifier.
 * Written with match_profiles and match_counts.
 *
 *     matches/0x08/0x0e
 *     001d 0800 0e00
 */
export const matches = defineTable({
  number: 29,
  name: "matches",
  key: [bytes("resolution id"), bytes("match id")],
  value: MatchRecordSchema,
});

/**
 * How many matches there are, to which transactions add.
 * Sorted so that that of a resolution is one record.
 * Written with matches.
 *
 *     match_counts/0x08
 *     001e 0800
 */
export const matchCounts = defineTable({
  number: 30,
  name: "match_counts",
  key: [bytes("resolution id")],
  value: MatchCountRecordSchema,
});

/**
 * The rules that are applied, which are in the settings of their domains. What they found is in tables 27 to 30 under
 * their identifier.
 * Sorted so that one is found by the identifier that changed profiles are noted under.
 *
 *     rule_matchings/0x08
 *     0020 0800
 */
export const ruleMatchings = defineTable({
  number: 32,
  name: "rule_matchings",
  key: [bytes("rules id")],
  value: RuleMatchingRecordSchema,
});

/**
 * The profiles that are to be compared by rules. An empty profile id stands for all profiles, which are noted first.
 * Sorted so that the first of any domain is found at once, and the domains can take turns.
 * Written with profiles.
 *
 *     rule_changes/0x08/0x09
 *     0021 0800 0900
 */
export const ruleChanges = defineTable({
  number: 33,
  name: "rule_changes",
  key: [bytes("rules id"), bytes("profile id")],
  value: ChangedProfileRecordSchema,
});

/** These tables. */
export const resolutionLayout = [
  resolutions,
  resolutionJobs,
  changedProfiles,
  matchProfiles,
  matchKeys,
  matches,
  matchCounts,
  ruleMatchings,
  ruleChanges,
] as const;
