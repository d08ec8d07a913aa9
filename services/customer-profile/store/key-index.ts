import type { KeyHolderRecord, SearchKeyRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { compareIds } from "../domain/identifier.ts";
import type { SearchKey } from "../domain/search-key.ts";
import type { DomainKeys } from "../encryption/domain-keys.ts";
import { keyHolders, searchKeys } from "./layout.ts";

/** The profiles that the record of one key holds; more than these are spread over records of their own. */
export const holdersTogetherMax = 8;

/** Half of an HMAC-SHA-256: among 2^40 keys, two have the same with a probability of 2^-49. */
const digestBytes = 16;
const profileIdBytes = 16;

/** The digest of a search key in the index. */
export const digestOf = (keys: DomainKeys, key: SearchKey): Uint8Array =>
  keys.digest([key.name, key.comparison, key.value]).subarray(0, digestBytes);

/** Digests as the record of their origin holds them. */
export const joinDigests = (digests: readonly Uint8Array[]): Uint8Array => joinBytes(digests, digestBytes);

/** The digests that a record of an origin holds. */
export const splitDigests = (joined: Uint8Array): Uint8Array[] => splitBytes(joined, digestBytes);

/** A profile that a search key finds. */
interface KeyHolder {
  readonly profileId: Uint8Array;
  /** The number of origins in the profile that supply the key. */
  readonly originCount: number;
}

/** The few profiles that the record of a search key has, by identifier. */
export const holdersOf = ({ profileIds, originCounts }: SearchKeyRecord): KeyHolder[] =>
  splitBytes(profileIds, profileIdBytes).map((profileId, index) => ({
    profileId,
    originCount: originCounts[index] ?? 1,
  }));

export const joinBytes = (parts: readonly Uint8Array[], partBytes: number): Uint8Array => {
  const joined = new Uint8Array(parts.length * partBytes);
  for (const [index, part] of parts.entries()) joined.set(part, index * partBytes);
  return joined;
};

export const splitBytes = (joined: Uint8Array, partBytes: number): Uint8Array[] => {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < joined.length; at += partBytes) parts.push(joined.subarray(at, at + partBytes));
  return parts;
};

/** Replaces the keys that an origin in a profile supplies. Each list has a key once. */
export const replaceKeys = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
  before: readonly Uint8Array[],
  after: readonly Uint8Array[],
): Promise<void> => {
  const added = new Map(after.map((digest) => [digestText(digest), digest]));
  for (const digest of before)
    if (!added.delete(digestText(digest))) await changeOrigins(transaction, domainId, profileId, digest, -1);
  for (const digest of added.values()) await changeOrigins(transaction, domainId, profileId, digest, 1);
};

/** Adds the keys that the content of a new profile supplies, which has no keys yet. */
export const addKeysOfNew = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
  digests: readonly Uint8Array[],
): Promise<void> => {
  for (const digest of digests) await changeOrigins(transaction, domainId, profileId, digest, 1, true);
};

/** A digest that is compared as a text. */
const digestText = (digest: Uint8Array): string =>
  Buffer.from(digest.buffer, digest.byteOffset, digest.byteLength).toString("latin1");

/** The first profiles with a key by identifier, after the given one. */
export const listProfilesWithKey = async (
  reader: Reader,
  domainId: Uint8Array,
  digest: Uint8Array,
  afterProfileId: Uint8Array | undefined,
  limit: number,
): Promise<Uint8Array[]> => {
  const few = await listFewProfilesWithKey(reader, domainId, digest, afterProfileId, limit);
  return few ?? listHolders(reader, domainId, digest, afterProfileId, limit);
};

/** The same for a key that few profiles have; undefined: many have it, and nothing was listed. */
export const listFewProfilesWithKey = async (
  reader: Reader,
  domainId: Uint8Array,
  digest: Uint8Array,
  afterProfileId: Uint8Array | undefined,
  limit: number,
): Promise<Uint8Array[] | undefined> => {
  const record = await reader.get(searchKeys, [domainId, digest]);
  if (record === undefined) return [];
  if (record.isSpread) return undefined;
  const ids = splitBytes(record.profileIds, profileIdBytes);
  const later = afterProfileId === undefined ? ids : ids.filter((id) => compareIds(id, afterProfileId) > 0);
  return later.slice(0, limit);
};

/** Those of some profiles that have a key, which many have. */
export const profilesWithKey = async (
  reader: Reader,
  domainId: Uint8Array,
  digest: Uint8Array,
  profileIds: readonly Uint8Array[],
): Promise<Uint8Array[]> => {
  const found: Uint8Array[] = [];
  for (const id of profileIds) if ((await reader.get(keyHolders, [domainId, digest, id])) !== undefined) found.push(id);
  return found;
};

/** The first profiles with a key that many have, by identifier, after the given one. */
export const listHolders = async (
  reader: Reader,
  domainId: Uint8Array,
  digest: Uint8Array,
  afterProfileId: Uint8Array | undefined,
  limit: number,
): Promise<Uint8Array[]> => {
  const entries = await reader.list(keyHolders, {
    prefix: [domainId, digest],
    after: afterProfileId === undefined ? undefined : [domainId, digest, afterProfileId],
    limit,
  });
  return entries.map(({ key }) => key[2]);
};

/** Adds to the number of origins in a profile that supply a key; without any the profile no longer has the key. */
const changeOrigins = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
  digest: Uint8Array,
  change: 1 | -1,
  isNew = false,
): Promise<void> => {
  const key = [domainId, digest] as const;
  // New profiles read the record of a name that many share again and again, and leave it as it is.
  const record = isNew ? await transaction.getShared(searchKeys, key) : await transaction.get(searchKeys, key);
  if (record?.isSpread === true) {
    if (isNew) transaction.put(keyHolders, [domainId, digest, profileId], holderRecord(change));
    else await changeSpread(transaction, domainId, profileId, digest, change, record);
    return;
  }
  if (record === undefined && isNew) return transaction.put(searchKeys, key, onlyHolder(profileId));
  const holders = withChange(record === undefined ? [] : holdersOf(record), profileId, change);
  if (holders.length > holdersTogetherMax) {
    transaction.put(
      searchKeys,
      key,
      spreadRecord(holders.slice(0, holdersTogetherMax).map((holder) => holder.profileId)),
    );
    for (const { profileId: id, originCount } of holders)
      transaction.put(keyHolders, [domainId, digest, id], holderRecord(originCount));
  } else if (holders.length > 0) transaction.put(searchKeys, key, keyRecord(holders));
  else transaction.delete(searchKeys, key);
};

const keyRecord = (holders: readonly KeyHolder[]): SearchKeyRecord => ({
  $typeName: "quartet.customerprofile.storage.v1.SearchKeyRecord",
  isSpread: false,
  profileIds: joinBytes(
    holders.map(({ profileId }) => profileId),
    profileIdBytes,
  ),
  originCounts: holders.some(({ originCount }) => originCount > 1) ? holders.map(({ originCount }) => originCount) : [],
});

/** The record of a key whose profiles have records of their own, with some of them. */
const spreadRecord = (known: readonly Uint8Array[]): SearchKeyRecord => ({
  $typeName: "quartet.customerprofile.storage.v1.SearchKeyRecord",
  isSpread: true,
  profileIds: joinBytes(known, profileIdBytes),
  originCounts: [],
});

/** The record of a key that nothing else supplies. */
const onlyHolder = (profileId: Uint8Array): SearchKeyRecord => ({
  $typeName: "quartet.customerprofile.storage.v1.SearchKeyRecord",
  isSpread: false,
  profileIds: profileId,
  originCounts: [],
});

const holderRecord = (originCount: number): KeyHolderRecord => ({
  $typeName: "quartet.customerprofile.storage.v1.KeyHolderRecord",
  originCount,
});

/** The same where each profile has a record. The last one takes the record of the key with it. */
const changeSpread = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
  digest: Uint8Array,
  change: 1 | -1,
  record: SearchKeyRecord,
): Promise<void> => {
  const key = [domainId, digest, profileId] as const;
  const originCount = ((await transaction.get(keyHolders, key))?.originCount ?? 0) + change;
  if (originCount > 0) return transaction.put(keyHolders, key, holderRecord(originCount));
  transaction.delete(keyHolders, key);
  // While a profile that the record names is left, none has to be looked for: the first of a range costs ten records.
  const named = splitBytes(record.profileIds, profileIdBytes);
  const left = named.filter((id) => compareIds(id, profileId) !== 0);
  if (left.length === named.length) return;
  const known = left.length > 0 ? left : await someHolders(transaction, domainId, digest, profileId);
  if (known.length > 0) transaction.put(searchKeys, [domainId, digest], spreadRecord(known));
  else transaction.delete(searchKeys, [domainId, digest]);
};

/**
 * Some of the profiles of a spread key, none only if there are none. First those after a removed one: who removes all
 * in their order would else pass over what was removed again and again.
 */
const someHolders = async (
  reader: Reader,
  domainId: Uint8Array,
  digest: Uint8Array,
  removedId: Uint8Array,
): Promise<Uint8Array[]> => {
  const later = await listHolders(reader, domainId, digest, removedId, holdersTogetherMax);
  return later.length > 0 ? later : listHolders(reader, domainId, digest, undefined, holdersTogetherMax);
};

/** Few holders by identifier, after a change of one of them. */
const withChange = (holders: readonly KeyHolder[], profileId: Uint8Array, change: 1 | -1): readonly KeyHolder[] => {
  const own = holders.find((holder) => compareIds(holder.profileId, profileId) === 0);
  const originCount = (own?.originCount ?? 0) + change;
  const others = holders.filter((holder) => holder !== own);
  if (originCount <= 0) return others;
  return [...others, { profileId, originCount }].toSorted((a, b) => compareIds(a.profileId, b.profileId));
};
