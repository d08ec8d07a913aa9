import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { idText } from "../domain/identifier.ts";
import type { SearchKey } from "../domain/search-key.ts";
import type { DomainKeys } from "../encryption/domain-keys.ts";
import { keyIndex, keyOrigins } from "./layout.ts";

/** The origin of the keys that a profile's own content supplies. */
export const contentOrigin = new Uint8Array();

/** The digest of a search key in the index. */
export const digestOf = (keys: DomainKeys, key: SearchKey): Uint8Array =>
  keys.digest([key.name, key.comparison, key.value]);

/** Stores the keys of a new profile. Nothing is read, so that calls that create profiles do not conflict. */
export const putFirstKeys = (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
  digests: readonly Uint8Array[],
): void => {
  for (const digest of digests) {
    transaction.put(keyOrigins, [domainId, profileId, contentOrigin, digest], {});
    transaction.put(keyIndex, [domainId, digest, profileId], { referenceCount: 1 });
  }
};

/** Replaces the keys that an origin in a profile supplies. */
export const replaceKeys = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
  origin: Uint8Array,
  digests: readonly Uint8Array[],
): Promise<void> => {
  const wanted = new Map(digests.map((digest) => [idText(digest), digest]));
  for await (const { key } of transaction.range(keyOrigins, { prefix: [domainId, profileId, origin] })) {
    const digest = key[3];
    if (wanted.delete(idText(digest))) continue;
    transaction.delete(keyOrigins, [domainId, profileId, origin, digest]);
    await changeReferences(transaction, domainId, profileId, digest, -1);
  }
  for (const digest of wanted.values()) {
    transaction.put(keyOrigins, [domainId, profileId, origin, digest], {});
    await changeReferences(transaction, domainId, profileId, digest, 1);
  }
};

/** The digests of the keys that an origin supplies to a profile. */
export const listDigestsOf = async (
  reader: Reader,
  domainId: Uint8Array,
  profileId: Uint8Array,
  origin: Uint8Array,
): Promise<Uint8Array[]> => {
  const digests: Uint8Array[] = [];
  for await (const { key } of reader.range(keyOrigins, { prefix: [domainId, profileId, origin] })) digests.push(key[3]);
  return digests;
};

/** Removes all keys of a profile, of all origins. */
export const removeAllKeys = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
): Promise<void> => {
  for await (const { key } of transaction.range(keyOrigins, { prefix: [domainId, profileId] })) {
    transaction.delete(keyOrigins, key);
    transaction.delete(keyIndex, [domainId, key[3], profileId]);
  }
};

/** The first profiles with a key by identifier, after the given one. */
export const listProfilesWithKey = async (
  reader: Reader,
  domainId: Uint8Array,
  digest: Uint8Array,
  afterProfileId: Uint8Array | undefined,
  limit: number,
): Promise<Uint8Array[]> => {
  const entries = await reader.list(keyIndex, {
    prefix: [domainId, digest],
    ...(afterProfileId === undefined ? {} : { after: [domainId, digest, afterProfileId] as const }),
    limit,
  });
  return entries.map(({ key }) => key[2]);
};

const changeReferences = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
  digest: Uint8Array,
  change: 1 | -1,
): Promise<void> => {
  const key = [domainId, digest, profileId] as const;
  const referenceCount = ((await transaction.get(keyIndex, key))?.referenceCount ?? 0) + change;
  if (referenceCount <= 0) transaction.delete(keyIndex, key);
  else transaction.put(keyIndex, key, { referenceCount });
};
