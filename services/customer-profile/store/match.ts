import { createHash } from "node:crypto";

import type { MatchProfileRecord, MatchRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { Entry, Reader, Transaction } from "../../kit/store/transaction.ts";
import { compareIds, idBytes, idText } from "../domain/identifier.ts";
import type { MatchComparison } from "../domain/resolution/match-comparison.ts";
import type { MatchGroup } from "../domain/resolution/match-groups.ts";
import type { DomainKeys } from "../encryption/domain-keys.ts";
import { joinBytes, joinDigests, splitBytes, splitDigests } from "./key-index.ts";
import type { changedProfiles } from "./layout-resolution.ts";
import { matchCounts, matches, matchKeys, matchProfiles } from "./layout-resolution.ts";

/** Where the profiles are noted that are to be compared: by the next weekly job, or by rules. */
export type ChangeTable = typeof changedProfiles;

const idBytesLength = 16;

/** The digest of a value by which profiles are compared. */
export const matchDigestOf = (keys: DomainKeys, key: readonly string[]): Uint8Array =>
  keys.digest(["match", ...key]).subarray(0, idBytesLength);

/** What identity resolution knows of a profile; undefined: nothing. */
export const findMatchProfile = (
  reader: Reader,
  resolutionId: Uint8Array,
  profileId: Uint8Array,
): Promise<MatchProfileRecord | undefined> => reader.get(matchProfiles, [resolutionId, profileId]);

/** A match; undefined if it does not exist any more. */
export const findMatch = (
  reader: Reader,
  resolutionId: Uint8Array,
  matchId: Uint8Array,
): Promise<MatchRecord | undefined> => reader.get(matches, [resolutionId, matchId]);

export const putMatch = (
  transaction: Transaction,
  resolutionId: Uint8Array,
  matchId: Uint8Array,
  match: MatchRecord,
): void => transaction.put(matches, [resolutionId, matchId], match);

/** The profiles of a match, by identifier. */
export const profilesOf = ({ profileIds }: MatchRecord): Uint8Array[] => splitBytes(profileIds, idBytesLength);

/** The profiles of the match of a profile, itself among them; none if it has no match. */
export const listMatched = async (
  reader: Reader,
  resolutionId: Uint8Array,
  { matchId }: MatchProfileRecord,
): Promise<Uint8Array[]> => {
  const match = matchId.length === 0 ? undefined : await reader.get(matches, [resolutionId, matchId]);
  return match === undefined ? [] : profilesOf(match);
};

/** The first matches by identifier, after the given one. */
export const listMatches = (
  reader: Reader,
  resolutionId: Uint8Array,
  afterMatchId: Uint8Array | undefined,
  limit: number,
): Promise<Entry<readonly [Uint8Array, Uint8Array], MatchRecord>[]> =>
  reader.list(matches, {
    prefix: [resolutionId],
    after: afterMatchId === undefined ? undefined : [resolutionId, afterMatchId],
    limit,
  });

/** How many matches there are. */
export const countMatches = async (reader: Reader, resolutionId: Uint8Array): Promise<number> =>
  Number((await reader.get(matchCounts, [resolutionId]))?.matchCount ?? 0n);

/** The first profiles that have a value, by its digest. */
export const listSharing = async (
  reader: Reader,
  resolutionId: Uint8Array,
  digest: Uint8Array,
  limit: number,
): Promise<Uint8Array[]> =>
  (await reader.list(matchKeys, { prefix: [resolutionId, digest], limit })).map(({ key }) => key[2]);

/** Replaces the values by which a profile is compared. Its match stays. */
export const replaceMatchKeys = (
  transaction: Transaction,
  resolutionId: Uint8Array,
  profileId: Uint8Array,
  before: MatchProfileRecord | undefined,
  digests: readonly Uint8Array[],
): MatchProfileRecord => {
  const added = new Set(digests.map(idText));
  for (const digest of splitDigests(before?.keyDigests ?? new Uint8Array()))
    if (!added.delete(idText(digest))) transaction.delete(matchKeys, [resolutionId, digest, profileId]);
  for (const digest of added) transaction.put(matchKeys, [resolutionId, idBytes(digest), profileId], {});
  const after: MatchProfileRecord = {
    $typeName: "quartet.customerprofile.storage.v1.MatchProfileRecord",
    keyDigests: joinDigests(digests),
    matchId: before?.matchId ?? new Uint8Array(),
  };
  transaction.put(matchProfiles, [resolutionId, profileId], after);
  return after;
};

/** Replaces the matches of some profiles; all profiles of these matches must be among them. */
export const replaceMatches = (
  transaction: Transaction,
  resolutionId: Uint8Array,
  profiles: ReadonlyMap<string, MatchProfileRecord>,
  groups: readonly MatchGroup[],
  resultOf: MatchComparison<never>["resultOf"],
): void => {
  const before = new Set([...profiles.values()].map(({ matchId }) => idText(matchId)).filter((id) => id !== ""));
  const matchIds = new Map<string, Uint8Array>();
  for (const matchId of before) transaction.delete(matches, [resolutionId, idBytes(matchId)]);
  for (const { profileIds, strength } of groups) {
    const joined = joinBytes(profileIds.map(idBytes), idBytesLength);
    const matchId = matchIdOf(joined);
    transaction.put(matches, [resolutionId, matchId], { profileIds: joined, ...resultOf(strength) });
    for (const profileId of profileIds) matchIds.set(profileId, matchId);
  }
  for (const [profileId, record] of profiles) {
    const matchId = matchIds.get(profileId) ?? new Uint8Array();
    if (compareIds(matchId, record.matchId) !== 0)
      transaction.put(matchProfiles, [resolutionId, idBytes(profileId)], { ...record, matchId });
  }
  transaction.add(matchCounts, [resolutionId], { matchCount: groups.length - before.size });
};

/** The same profiles have the same match, so that a caller knows a match again that the next job has found again. */
const matchIdOf = (profileIds: Uint8Array): Uint8Array =>
  new Uint8Array(createHash("sha256").update(profileIds).digest().subarray(0, idBytesLength));

/** Removes a profile that is removed from all that was found. Those that it was matched with are compared again. */
export const removeFromMatches = async (
  transaction: Transaction,
  resolutionId: Uint8Array,
  profileId: Uint8Array,
  changes: ChangeTable,
): Promise<void> => {
  const record = await findMatchProfile(transaction, resolutionId, profileId);
  if (record === undefined) return;
  transaction.delete(matchProfiles, [resolutionId, profileId]);
  for (const digest of splitDigests(record.keyDigests))
    transaction.delete(matchKeys, [resolutionId, digest, profileId]);
  const match =
    record.matchId.length === 0 ? undefined : await transaction.get(matches, [resolutionId, record.matchId]);
  if (match === undefined) return;
  const left = profilesOf(match).filter((id) => compareIds(id, profileId) !== 0);
  for (const id of left) transaction.put(changes, [resolutionId, id], {});
  if (left.length > 1) {
    transaction.put(matches, [resolutionId, record.matchId], { ...match, profileIds: joinBytes(left, idBytesLength) });
    return;
  }
  transaction.delete(matches, [resolutionId, record.matchId]);
  transaction.add(matchCounts, [resolutionId], { matchCount: -1 });
  for (const id of left) {
    const other = await findMatchProfile(transaction, resolutionId, id);
    if (other !== undefined)
      transaction.put(matchProfiles, [resolutionId, id], { ...other, matchId: new Uint8Array() });
  }
};
