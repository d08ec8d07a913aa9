import type { MessageInitShape } from "@bufbuild/protobuf";

import type { KeyHolder, KeyHolderSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { compareIds, idText } from "../domain/identifier.ts";
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

/** Replaces the keys that an origin in a profile supplies. */
export const replaceKeys = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
  before: readonly Uint8Array[],
  after: readonly Uint8Array[],
): Promise<void> => {
  const added = new Map(after.map((digest) => [idText(digest), digest]));
  for (const digest of before)
    if (!added.delete(idText(digest))) await changeOrigins(transaction, domainId, profileId, digest, -1);
  for (const digest of added.values()) await changeOrigins(transaction, domainId, profileId, digest, 1);
};

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
): Promise<void> => {
  const record = await transaction.get(searchKeys, [domainId, digest]);
  if (record?.isSpread === true) return changeSpread(transaction, domainId, profileId, digest, change);
  const holders = withChange(record?.holders ?? [], profileId, change);
  if (holders.length > holdersTogetherMax) {
    transaction.put(searchKeys, [domainId, digest], { isSpread: true });
    for (const { profileId: id, originCount } of holders)
      transaction.put(keyHolders, [domainId, digest, id], { originCount });
  } else if (holders.length > 0) transaction.put(searchKeys, [domainId, digest], { holders });
  else transaction.delete(searchKeys, [domainId, digest]);
};

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
  if (originCount > 0) return transaction.put(keyHolders, key, { originCount });
  transaction.delete(keyHolders, key);
  const [other] = await transaction.list(keyHolders, { prefix: [domainId, digest], limit: 1 });
  if (other === undefined) transaction.delete(searchKeys, [domainId, digest]);
};

type Holder = Pick<KeyHolder, "profileId" | "originCount">;

/** Few holders by identifier, after a change of one of them. */
const withChange = (
  holders: readonly Holder[],
  profileId: Uint8Array,
  change: 1 | -1,
): MessageInitShape<typeof KeyHolderSchema>[] & Holder[] => {
  const own = holders.find((holder) => compareIds(holder.profileId, profileId) === 0);
  const originCount = (own?.originCount ?? 0) + change;
  const others = holders.filter((holder) => holder !== own);
  if (originCount <= 0) return others;
  return [...others, { profileId, originCount }].toSorted((a, b) => compareIds(a.profileId, b.profileId));
};
