/**
 * Matches. GetMatches refuses, in this order: (1) a page token of another listing, (2) a domain that does not exist,
 * (3) one that does not look for matches. It needs no key of the domain. GetAutoMergingPreview refuses (1) settings
 * that contradict themselves, (2) a domain that does not exist, or whose key cannot be used, (3) as GetMatches.
 * ListRuleBasedMatches refuses (1) a page token of another listing, (2) a domain that does not exist, (3) one that
 * applies no rules. GetSimilarProfiles refuses (1) such a token, (2) a key that is none of the two, (3) such a domain,
 * (4) one without this kind of matching, (5) a profile that does not exist.
 */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { MatchRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { Turn } from "../../kit/clock/turn.ts";
import type { Page } from "../../kit/page-tokens/pages.ts";
import type { Reader } from "../../kit/store/transaction.ts";
import type { Operation } from "../application.ts";
import { compareIds, idBytes, idText, parseProfileId } from "../domain/identifier.ts";
import type { MergingSettings } from "../domain/resolution/auto-merging.ts";
import { findMergingProblem, isSureEnough, plannedMerges } from "../domain/resolution/auto-merging.ts";
import { hasResults, isJobExpired } from "../domain/resolution/job-state.ts";
import { fault } from "../faults.ts";
import { mergedProfile } from "../ingestion/merge-profiles.ts";
import { limits } from "../limits.ts";
import { getDomain, openDomain } from "../store/domain.ts";
import { countMatches, findMatch, findMatchProfile, listMatches, profilesOf } from "../store/match.ts";
import { assertProfile, findMatchedProfiles, isProfileUnexpired } from "../store/profile.ts";
import { findResolution } from "../store/resolution.ts";
import { listResolutionJobs } from "../store/resolution-job.ts";
import { findRulesId } from "../store/rule-matching.ts";

/**
 * Lists the matches that the last job has found, by identifier; none before the first has ended, and once the last has
 * expired. A profile that is gone is in no match, and a match of one profile is not listed, so a page may be short.
 */
export const getMatches: Operation<"getMatches"> = async (request, context) => {
  const { app, access } = context;
  const { domainName } = request;
  const page = app.pages.open(context, request, [domainName]);
  const nowMs = app.clock.now();

  return app.store.read(async (reader) => {
    const { domainId } = await getDomain(reader, access.accountId, domainName);
    const { resolutionId } = await getResolution(reader, domainId, domainName);
    const generatedMs = await findResultsTime(reader, domainId, resolutionId, nowMs);
    if (generatedMs === undefined) return { potentialMatches: 0 };
    const { matches: shown, ...next } = await showMatches(reader, domainId, resolutionId, page, nowMs);
    const matches = shown.map(({ matchId, profileIds, match: { confidenceScore } }) => ({
      matchId,
      profileIds,
      confidenceScore,
    }));
    const potentialMatches = await countMatches(reader, resolutionId);
    return { matches, matchGenerationDate: timestampFromMs(generatedMs), potentialMatches, ...next };
  });
};

/**
 * Counts what would be merged of the first matches by identifier, which are a sample, as identifiers are digests.
 * Repeating it counts the same until a job ends.
 */
export const getAutoMergingPreview: Operation<"getAutoMergingPreview"> = async (request, { app, access }) => {
  const { domainName, consolidation, conflictResolution, minAllowedConfidenceScoreForMerging } = request;
  const settings: MergingSettings = { consolidation, conflictResolution, minAllowedConfidenceScoreForMerging };
  const problem = findMergingProblem(settings);
  if (problem !== undefined) throw fault(ErrorReason.MATCHING_INVALID, { problem });
  const nowMs = app.clock.now();

  const counts = await app.store.read(async (reader) => {
    const domain = await openDomain(reader, app.keyring, access.accountId, domainName);
    const { resolutionId } = await getResolution(reader, domain.id, domainName);
    const hasBeenFound = (await findResultsTime(reader, domain.id, resolutionId, nowMs)) !== undefined;
    const sample = hasBeenFound ? await listMatches(reader, resolutionId, undefined, limits.previewedMatchesMax) : [];
    const turn = new Turn();
    let [profileCount, mergedCount] = [0, 0];
    for (const { value } of sample) {
      if (turn.isOver) await turn.next();
      const profiles = await findMatchedProfiles(reader, domain, value, nowMs);
      profileCount += profiles.size;
      if (!isSureEnough(value.confidenceScore, settings)) continue;
      const planned = plannedMerges([...profiles.values()].map(mergedProfile), settings);
      mergedCount += planned.reduce((sum, { others }) => sum + others.length, 0);
    }
    return { matchCount: sample.length, profileCount, mergedCount };
  });

  return {
    domainName,
    numberOfMatchesInSample: BigInt(counts.matchCount),
    numberOfProfilesInSample: BigInt(counts.profileCount),
    numberOfProfilesWillBeMerged: BigInt(counts.mergedCount),
  };
};

/**
 * Lists the matches that rules have found, by identifier. A match of which one profile is left is not listed, so a page
 * may be short.
 */
export const listRuleBasedMatches: Operation<"listRuleBasedMatches"> = async (request, context) => {
  const { app, access } = context;
  const { domainName } = request;
  const page = app.pages.open(context, request, [domainName]);
  const nowMs = app.clock.now();

  return app.store.read(async (reader) => {
    const { domainId } = await getDomain(reader, access.accountId, domainName);
    const rulesId = await getRulesId(reader, domainId, domainName);
    const { matches, ...next } = await showMatches(reader, domainId, rulesId, page, nowMs);
    return { matchIds: matches.map(({ matchId }) => matchId), ...next };
  });
};

/**
 * Lists the profiles of a match, which is named by its identifier or by that of one of them. Without such a match the
 * answer names none.
 */
export const getSimilarProfiles: Operation<"getSimilarProfiles"> = async (request, context) => {
  const { app, access } = context;
  const { domainName, matchType, searchValue } = request;
  const searchKey = request.searchKey.toLowerCase();
  const page = app.pages.open(context, request, [domainName, matchType, searchKey, searchValue]);
  if (searchKey !== "matchid" && searchKey !== "profileid") throw fault(ErrorReason.SIMILAR_KEY_INVALID);
  const nowMs = app.clock.now();

  return app.store.read(async (reader) => {
    const { domainId } = await getDomain(reader, access.accountId, domainName);
    const matchingId =
      matchType === "RULE_BASED_MATCHING"
        ? await getRulesId(reader, domainId, domainName)
        : await getResultsId(reader, domainId, domainName, nowMs);
    const matchId =
      searchKey === "matchid"
        ? parseProfileId(searchValue)
        : await matchOfProfile(reader, domainId, matchingId, searchValue, nowMs);
    const match = matchId && matchingId && (await findMatch(reader, matchingId, matchId));
    const profileIds = match === undefined ? [] : await listUnexpired(reader, domainId, match, nowMs);
    if (match === undefined || profileIds.length < 2) return { matchType };
    const left = profileIds.filter((id) => page.after === undefined || id > page.after).slice(0, page.lookFor);
    const { items, ...next } = page.cut(left, (id) => id);
    const { ruleLevel, confidenceScore } = match;
    const found = ruleLevel > 0 ? { ruleLevel } : { confidenceScore };
    return { profileIds: items, matchId: idText(matchId!), matchType, ...found, ...next };
  });
};

/** The matches of a page, by identifier, less those of which one profile is left, and the token of the next page. */
const showMatches = async (reader: Reader, domainId: Uint8Array, matchingId: Uint8Array, page: Page, nowMs: number) => {
  const after = page.after === undefined ? undefined : idBytes(page.after);
  const found = await listMatches(reader, matchingId, after, page.lookFor);
  const { items, ...next } = page.cut(found, ({ key }) => idText(key[1]));
  const matches = [];
  for (const { key, value: match } of items) {
    const profileIds = await listUnexpired(reader, domainId, match, nowMs);
    if (profileIds.length > 1) matches.push({ matchId: idText(key[1]), profileIds, match });
  }
  return { matches, ...next };
};

/** The match of a profile; undefined: it has none. Throws PROFILE_NOT_FOUND. */
const matchOfProfile = async (
  reader: Reader,
  domainId: Uint8Array,
  matchingId: Uint8Array | undefined,
  profile: string,
  nowMs: number,
): Promise<Uint8Array | undefined> => {
  const profileId = parseProfileId(profile);
  if (profileId === undefined) throw fault(ErrorReason.PROFILE_NOT_FOUND, { profile_id: profile });
  await assertProfile(reader, { id: domainId }, profileId, nowMs);
  const found = matchingId && (await findMatchProfile(reader, matchingId, profileId));
  return found === undefined || found.matchId.length === 0 ? undefined : found.matchId;
};

/** The rules of a domain. Throws RULES_DISABLED. */
const getRulesId = async (reader: Reader, domainId: Uint8Array, domainName: string): Promise<Uint8Array> => {
  const rulesId = await findRulesId(reader, domainId);
  if (rulesId === undefined) throw fault(ErrorReason.RULES_DISABLED, { domain_name: domainName });
  return rulesId;
};

/** The identity resolution of a domain, if it has results that have not expired. Throws MATCHING_DISABLED. */
const getResultsId = async (
  reader: Reader,
  domainId: Uint8Array,
  domainName: string,
  nowMs: number,
): Promise<Uint8Array | undefined> => {
  const { resolutionId } = await getResolution(reader, domainId, domainName);
  const generatedMs = await findResultsTime(reader, domainId, resolutionId, nowMs);
  return generatedMs === undefined ? undefined : resolutionId;
};

/** The identity resolution of a domain. Throws MATCHING_DISABLED. */
const getResolution = async (reader: Reader, domainId: Uint8Array, domainName: string) => {
  const resolution = await findResolution(reader, domainId);
  if (resolution === undefined) throw fault(ErrorReason.MATCHING_DISABLED, { domain_name: domainName });
  return resolution;
};

/** When the last job of a resolution ended that has found what it could; undefined: none has, or it has expired. */
const findResultsTime = async (
  reader: Reader,
  domainId: Uint8Array,
  resolutionId: Uint8Array,
  nowMs: number,
): Promise<number | undefined> => {
  const jobs = await listResolutionJobs(reader, domainId);
  const last = jobs.find(
    ({ record }) => hasResults(record) && compareIds(record.resolutionId, resolutionId) === 0,
  )?.record;
  return last === undefined || isJobExpired(last, nowMs) ? undefined : Number(last.endMs);
};

const listUnexpired = async (
  reader: Reader,
  domainId: Uint8Array,
  match: MatchRecord,
  nowMs: number,
): Promise<string[]> => {
  const ids: string[] = [];
  for (const id of profilesOf(match))
    if (await isProfileUnexpired(reader, { id: domainId }, id, nowMs)) ids.push(idText(id));
  return ids;
};
