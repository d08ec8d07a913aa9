import type { KeyObject } from "node:crypto";

import type { MatchRecord, ProfileRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { seal, unseal } from "../../kit/keyring/sealed.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { isExpired } from "../domain/expiry.ts";
import { idText } from "../domain/identifier.ts";
import type { ProfileState } from "../domain/profile-state.ts";
import { contentBytes, indexEntryBytes, meteringUnits, searchKeysOf } from "../domain/profile-state.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import type { Amounts } from "./counters.ts";
import { changeTotal, noAmounts } from "./counters.ts";
import type { DomainData } from "./domain.ts";
import { addKeysOfNew, digestOf, joinDigests, replaceKeys, splitDigests } from "./key-index.ts";
import { erasedKeys, expiries, profileSeeds, profiles } from "./layout.ts";
import { profilesOf } from "./match.ts";
import { removeObjectsOf } from "./object.ts";
import { decodeProfile, encodeProfile } from "./profile-content.ts";
import { forgetProfile, noteChange } from "./resolution.ts";

/** A profile's record with its decrypted content. */
export interface StoredProfile {
  readonly id: Uint8Array;
  readonly state: ProfileState;
  readonly record: ProfileRecord;
  /** Its data key, under which its objects are encrypted too. */
  readonly key: KeyObject;
}

/** The number and size of a profile's objects. */
export type ObjectAmounts = Pick<ProfileRecord, "objectCount" | "objectBytes">;

/** A change of a profile, apart from its content. */
export interface ProfileChange {
  /** The profile expires at this instant or later, in milliseconds. */
  readonly expireMs: number;
  /** Unset: as before. */
  readonly objects?: ObjectAmounts;
}

/** The profile; undefined if it does not exist or has expired. */
export const findProfile = async (
  reader: Reader,
  domain: DomainData,
  id: Uint8Array,
  nowMs: number,
): Promise<StoredProfile | undefined> => {
  const found = await findProfileEvenExpired(reader, domain, id);
  return found === undefined || isExpired(Number(found.record.expireMs), nowMs) ? undefined : found;
};

/** The profile as long as it is stored, even if it has expired. */
export const findProfileEvenExpired = async (
  reader: Reader,
  domain: DomainData,
  id: Uint8Array,
): Promise<StoredProfile | undefined> => {
  const record = await reader.get(profiles, [domain.id, id]);
  if (record === undefined) return undefined;
  const key = domain.keys.openProfileKey(id, (await reader.get(profileSeeds, [domain.id, id]))?.seed);
  return { id, record, key, state: decodeProfile(unseal(key, associatedData(domain.id, id), record.content)) };
};

/** The profiles of a match that have not expired, by identifier. */
export const findMatchedProfiles = async (
  reader: Reader,
  domain: DomainData,
  match: MatchRecord,
  nowMs: number,
): Promise<Map<string, StoredProfile>> => {
  const found = new Map<string, StoredProfile>();
  for (const id of profilesOf(match)) {
    const profile = await findProfile(reader, domain, id, nowMs);
    if (profile !== undefined) found.set(idText(id), profile);
  }
  return found;
};

/** Whether a profile exists and has not expired. */
export const isProfileUnexpired = async (
  reader: Reader,
  domain: Pick<DomainData, "id">,
  id: Uint8Array,
  nowMs: number,
): Promise<boolean> => (await findUnexpired(reader, domain, id, nowMs)) !== undefined;

const findUnexpired = async (
  reader: Reader,
  domain: Pick<DomainData, "id">,
  id: Uint8Array,
  nowMs: number,
): Promise<ProfileRecord | undefined> => {
  const record = await reader.get(profiles, [domain.id, id]);
  return record === undefined || isExpired(Number(record.expireMs), nowMs) ? undefined : record;
};

/** The profile. Throws PROFILE_NOT_FOUND if it does not exist or has expired. */
export const getProfile = async (
  reader: Reader,
  domain: DomainData,
  id: Uint8Array,
  nowMs: number,
): Promise<StoredProfile> => (await findProfile(reader, domain, id, nowMs)) ?? refuseProfile(id);

/** Throws PROFILE_NOT_FOUND if the profile does not exist or has expired. Decrypts nothing. */
export const assertProfile = async (
  reader: Reader,
  domain: Pick<DomainData, "id">,
  id: Uint8Array,
  nowMs: number,
): Promise<void> => {
  if (!(await isProfileUnexpired(reader, domain, id, nowMs))) refuseProfile(id);
};

const refuseProfile = (id: Uint8Array): never => {
  throw fault(ErrorReason.PROFILE_NOT_FOUND, { profile_id: idText(id) });
};

/** Stores a new profile under a new data key, with its index entries. Returns the key. Throws PROFILE_TOO_LARGE. */
export const createProfile = async (
  transaction: Transaction,
  domain: DomainData,
  id: Uint8Array,
  state: ProfileState,
  change: ProfileChange,
): Promise<KeyObject> => {
  const { key, seed } = domain.keys.createProfileKey(id);
  transaction.put(profileSeeds, [domain.id, id], {
    $typeName: "quartet.customerprofile.storage.v1.ProfileSeedRecord",
    seed,
  });
  await writeContent(transaction, domain, id, key, state, change, undefined);
  return key;
};

/**
 * Stores a profile's new content with its index entries. Its expiry never becomes earlier. Returns its data key. Throws
 * PROFILE_TOO_LARGE.
 */
export const replaceProfile = async (
  transaction: Transaction,
  domain: DomainData,
  { id, key, record }: StoredProfile,
  state: ProfileState,
  change: ProfileChange,
): Promise<KeyObject> => {
  await writeContent(transaction, domain, id, key, state, change, record);
  return key;
};

/** Removes a profile and everything that belongs to it. Needs no key. Throws PROFILE_NOT_FOUND as `getProfile` does. */
export const deleteProfile = async (
  transaction: Transaction,
  domain: DomainData,
  id: Uint8Array,
  nowMs: number,
): Promise<void> => {
  const record = (await findUnexpired(transaction, domain, id, nowMs)) ?? refuseProfile(id);
  await removeFound(transaction, domain.id, id, record);
};

/** Removes a profile and everything that belongs to it, if it exists, even if it has expired. Needs no key. */
export const removeProfile = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
): Promise<void> => {
  const record = await transaction.get(profiles, [domainId, profileId]);
  if (record !== undefined) await removeFound(transaction, domainId, profileId, record);
};

const removeFound = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
  record: ProfileRecord,
): Promise<void> => {
  transaction.delete(profileSeeds, [domainId, profileId]);
  transaction.put(erasedKeys, [domainId, profileId], {});
  transaction.delete(profiles, [domainId, profileId]);
  transaction.delete(expiries, [Number(record.expireMs), domainId, profileId]);
  await replaceKeys(transaction, domainId, profileId, splitDigests(record.keyDigests), []);
  await forgetProfile(transaction, domainId, profileId);
  // Looking for objects costs more than all the rest, and most profiles have none.
  if (record.objectCount > 0) await removeObjectsOf(transaction, domainId, profileId);
  changeTotal(transaction, domainId, amountsOf(record), noAmounts);
};

/** Returns the bytes of a profile's content. Throws PROFILE_TOO_LARGE if no profile may have so much. */
export const refuseTooLarge = (state: ProfileState): number => {
  const bytes = contentBytes(state);
  const limitBytes = limits.profileContentBytesMax;
  if (bytes + indexEntryBytes(state) > limitBytes)
    throw fault(ErrorReason.PROFILE_TOO_LARGE, { limit_bytes: String(limitBytes) });
  return bytes;
};

const writeContent = async (
  transaction: Transaction,
  domain: DomainData,
  id: Uint8Array,
  key: KeyObject,
  state: ProfileState,
  change: ProfileChange,
  before: ProfileRecord | undefined,
): Promise<void> => {
  const bytes = refuseTooLarge(state);
  const digests = searchKeysOf(state).map((searchKey) => digestOf(domain.keys, searchKey));
  const expireMs = Math.max(change.expireMs, before === undefined ? 0 : Number(before.expireMs));
  const after: ProfileRecord = {
    $typeName: "quartet.customerprofile.storage.v1.ProfileRecord",
    content: seal(key, associatedData(domain.id, id), encodeProfile(state)),
    expireMs: BigInt(expireMs),
    contentBytes: BigInt(bytes),
    objectCount: (change.objects ?? before)?.objectCount ?? 0,
    objectBytes: (change.objects ?? before)?.objectBytes ?? 0n,
    keyDigests: joinDigests(digests),
  };
  transaction.put(profiles, [domain.id, id], after);
  if (before !== undefined) transaction.delete(expiries, [Number(before.expireMs), domain.id, id]);
  transaction.put(expiries, [expireMs, domain.id, id], {});
  if (before === undefined) await addKeysOfNew(transaction, domain.id, id, digests);
  else await replaceKeys(transaction, domain.id, id, splitDigests(before.keyDigests), digests);
  await noteChange(transaction, domain.id, id);
  changeTotal(transaction, domain.id, before === undefined ? noAmounts : amountsOf(before), amountsOf(after));
};

/** The share of a profile in the statistics of its domain. */
const amountsOf = (record: Pick<ProfileRecord, "contentBytes" | "objectCount" | "objectBytes">): Amounts => ({
  profileCount: 1,
  meteringProfileCount: meteringUnits(record.objectCount),
  objectCount: record.objectCount,
  totalBytes: Number(record.contentBytes + record.objectBytes),
});

const associatedData = (domainId: Uint8Array, profileId: Uint8Array) => ["profile-content", domainId, profileId];
