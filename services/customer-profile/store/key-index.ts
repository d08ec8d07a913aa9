import type {
  KeyHolder,
  KeyHolderRecord,
  SearchKeyRecord,
} from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { compareIds } from "../domain/identifier.ts";
import type { SearchKey } from "../domain/search-key.ts";
import type { DomainKeys } from "../encryption/domain-keys.ts";
import { keyHolders, searchKeys } from "./layout.ts";

/** The profiles that the record of one key holds; more than these are spread over records of their own. */
export const holdersTogetherMax = 8;

const digestBytes = 32;

/** The digest of a search key in the index. */
export const digestOf = (keys: DomainKeys, key: SearchKey): Uint8Array =>
  keys.digest([key.name, key.comparison, key.value]);

/** Digests as the record of their origin holds them. */
export const joinDigests = (digests: readonly Uint8Array[]): Uint8Array => {
  const joined = new Uint8Array(digests.length * digestBytes);
  for (const [index, digest] of digests.entries()) joined.set(digest, index * digestBytes);
  return joined;
};

/** The digests that a record of an origin holds. */
export const splitDigests = (joined: Uint8Array): Uint8Array[] =>
  Array.from({ length: joined.length / digestBytes }, (_none, index) =>
    joined.subarray(index * digestBytes, (index + 1) * digestBytes),
  );

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
const digestText = (digest: Uint8Array): string => String.fromCharCode(...digest);

/** The first profiles with a key by identifier, after the given one. */
export const listProfilesWithKey = async (
  reader: Reader,
  domainId: Uint8Array,
  digest: Uint8Array,
  afterProfileId: Uint8Array | undefined,
  limit: number,
): Promise<Uint8Array[]> => {
  const record = await reader.get(searchKeys, [domainId, digest]);
  if (record === undefined) return [];
  if (!record.isSpread) {
    const ids = record.holders.map(({ profileId }) => profileId);
    const later = afterProfileId === undefined ? ids : ids.filter((id) => compareIds(id, afterProfileId) > 0);
    return later.slice(0, limit);
  }
  const entries = await reader.list(keyHolders, {
    prefix: [domainId, digest],
    ...(afterProfileId === undefined ? {} : { after: [domainId, digest, afterProfileId] as const }),
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
  const record = await transaction.get(searchKeys, key);
  if (record?.isSpread === true) {
    if (isNew) transaction.put(keyHolders, [domainId, digest, profileId], holderRecord(change));
    else await changeSpread(transaction, domainId, profileId, digest, change);
    return;
  }
  const holders = withChange(record?.holders ?? [], profileId, change);
  if (holders.length > holdersTogetherMax) {
    transaction.put(searchKeys, key, keyRecord([], true));
    for (const { profileId: id, originCount } of holders)
      transaction.put(keyHolders, [domainId, digest, id], holderRecord(originCount));
  } else if (holders.length > 0) transaction.put(searchKeys, key, keyRecord(holders, false));
  else transaction.delete(searchKeys, key);
};

const keyRecord = (holders: KeyHolder[], isSpread: boolean): SearchKeyRecord => ({
  $typeName: "quartet.customerprofile.storage.v1.SearchKeyRecord",
  holders,
  isSpread,
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
): Promise<void> => {
  const key = [domainId, digest, profileId] as const;
  const originCount = ((await transaction.get(keyHolders, key))?.originCount ?? 0) + change;
  if (originCount > 0) return transaction.put(keyHolders, key, holderRecord(originCount));
  transaction.delete(keyHolders, key);
  const [other] = await transaction.list(keyHolders, { prefix: [domainId, digest], limit: 1 });
  if (other === undefined) transaction.delete(searchKeys, [domainId, digest]);
};

/** Few holders by identifier, after a change of one of them. */
const withChange = (holders: readonly KeyHolder[], profileId: Uint8Array, change: 1 | -1): KeyHolder[] => {
  const own = holders.find((holder) => compareIds(holder.profileId, profileId) === 0);
  const originCount = (own?.originCount ?? 0) + change;
  const others = holders.filter((holder) => holder !== own);
  if (originCount <= 0) return others;
  const changed = { $typeName: "quartet.customerprofile.storage.v1.KeyHolder" as const, profileId, originCount };
  return [...others, changed].toSorted((a, b) => compareIds(a.profileId, b.profileId));
};
