import type { ObjectRecord, ObjectTypeRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { expiryOf } from "../domain/expiry.ts";
import { idText, parseProfileId } from "../domain/identifier.ts";
import type { KeyHits } from "../domain/matching.ts";
import { decideMatch, keptKeys } from "../domain/matching.ts";
import type { MappedObject, ObjectKey } from "../domain/object-mapping.ts";
import { changedByObject, createdProfile } from "../domain/profile-state.ts";
import { profileIdKeyName } from "../domain/search-key.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import type { DomainData, OpenDomain } from "../store/domain.ts";
import { expiryIn } from "../store/domain.ts";
import { digestOf, listProfilesWithKey } from "../store/key-index.ts";
import { findObject, findProfileOfObject, keysOf, objectsAfter, putObject } from "../store/object.ts";
import { typeKeyOf } from "../store/object-type-key.ts";
import type { ObjectAmounts, StoredProfile } from "../store/profile.ts";
import { createProfile, findProfile, isProfileUnexpired, removeProfile, replaceProfile } from "../store/profile.ts";

/** An object to be attached. */
export interface IncomingObject {
  readonly typeName: string;
  readonly type: Readonly<ObjectTypeRecord>;
  /** JSON text as in the request. */
  readonly text: string;
  readonly mapped: MappedObject;
  /** The values of its unique key. */
  readonly unique: readonly string[];
  /** The identifier of the profile that it creates, if it creates one. */
  readonly newProfileId: Uint8Array;
  readonly nowMs: number;
}

/** The identifier of an object, by the values of its unique key. */
export const objectKeyOf = (domain: DomainData, { typeId }: ObjectTypeRecord, unique: readonly string[]): Uint8Array =>
  domain.keys.digest(["object", idText(typeId), ...unique]);

/**
 * Attaches an object to a profile: to the one that already holds the object with the same unique key, which it
 * replaces; else to the one that its keys find; else to a new one. Returns the object's identifier. Throws
 * OBJECT_MATCHES_NO_PROFILE, TOO_MANY_OBJECTS, OBJECTS_TOO_LARGE, PROFILE_TOO_LARGE.
 */
export const attachObject = async (
  transaction: Transaction,
  domain: OpenDomain,
  incoming: IncomingObject,
): Promise<Uint8Array> => {
  const { type, typeName, mapped, nowMs } = incoming;
  const typeId = idText(type.typeId);
  const objectKey = objectKeyOf(domain, type, incoming.unique);
  const earlier = await findHolder(transaction, domain, type.typeId, objectKey, nowMs);
  const profile = earlier ?? (await findMatch(transaction, domain, incoming));
  const profileId = profile?.id ?? incoming.newProfileId;
  const address = { profileId, typeId: type.typeId, objectKey };

  const source = { objectTypeName: typeName, typeId, objectKey: idText(objectKey), timeMs: nowMs };
  const state = changedByObject(profile?.state ?? createdProfile(new Map(), nowMs), mapped.values, source);
  const days = type.expirationDays;
  const expireMs = days === 0 ? expiryIn(domain, nowMs) : expiryOf(nowMs, days);
  const replaced = earlier && (await findObject(transaction, domain.id, address));
  const objects = await amountsWith(transaction, domain, incoming, profileId, profile, replaced);
  const change = { expireMs: Math.max(expireMs, expiryIn(domain, nowMs)), objects };
  const profileKey =
    profile === undefined
      ? await createProfile(transaction, domain, profileId, state, change)
      : await replaceProfile(transaction, domain, profile, state, change);

  const keys = { profileKey, typeKey: await typeKeyOf(transaction, domain, type) };
  const digests = digestsOf(domain, mapped.keys, profile === undefined, replaced);
  const object = { text: incoming.text, putMs: nowMs, expireMs, digests };
  await putObject(transaction, domain, keys, address, object, replaced);
  return objectKey;
};

/**
 * The profile that already holds the object. An expired one is removed first, so that the object never belongs to two
 * profiles.
 */
const findHolder = async (
  transaction: Transaction,
  domain: OpenDomain,
  typeId: Uint8Array,
  objectKey: Uint8Array,
  nowMs: number,
): Promise<StoredProfile | undefined> => {
  const holder = await findProfileOfObject(transaction, domain.id, typeId, objectKey);
  if (holder === undefined) return undefined;
  const profile = await findProfile(transaction, domain, holder, nowMs);
  if (profile === undefined) await removeProfile(transaction, domain.id, holder);
  return profile;
};

const findMatch = async (
  reader: Reader,
  domain: OpenDomain,
  { mapped, type, typeName, nowMs }: IncomingObject,
): Promise<StoredProfile | undefined> => {
  const hits: KeyHits[] = [];
  for (const each of mapped.keys)
    if (each.identifiers.has("PROFILE"))
      hits.push({ ...each, profileIds: await findUnexpired(reader, domain, each, nowMs) });
  const match = decideMatch(hits, type.allowProfileCreation);
  if (match.kind === "none") throw fault(ErrorReason.OBJECT_MATCHES_NO_PROFILE, { object_type_name: typeName });
  return match.kind === "create" ? undefined : findProfile(reader, domain, match.profileId, nowMs);
};

/** The profiles that have a key and have not expired, at most two: it only matters whether there are several. */
const findUnexpired = async (
  reader: Reader,
  domain: OpenDomain,
  { key }: ObjectKey,
  nowMs: number,
): Promise<Uint8Array[]> => {
  if (key.name === profileIdKeyName) {
    const id = parseProfileId(key.value);
    return id !== undefined && (await isProfileUnexpired(reader, domain, id, nowMs)) ? [id] : [];
  }
  const unexpired: Uint8Array[] = [];
  const digest = digestOf(domain.keys, key);
  let after: Uint8Array | undefined;
  for (;;) {
    const found = await listProfilesWithKey(reader, domain.id, digest, after, foundAtOnce);
    for (const profileId of found) {
      if (await isProfileUnexpired(reader, domain, profileId, nowMs)) unexpired.push(profileId);
      if (unexpired.length === 2) return unexpired;
    }
    if (found.length < foundAtOnce) return unexpired;
    after = found.at(-1);
  }
};

const foundAtOnce = 16;

/** The number and size of the profile's objects including this one. Throws if they exceed a limit. */
const amountsWith = async (
  reader: Reader,
  domain: OpenDomain,
  { type, text }: IncomingObject,
  profileId: Uint8Array,
  profile: StoredProfile | undefined,
  replaced: ObjectRecord | undefined,
): Promise<ObjectAmounts> => {
  const objectCount = (profile?.record.objectCount ?? 0) + (replaced === undefined ? 1 : 0);
  const objectBytes =
    (profile?.record.objectBytes ?? 0n) - (replaced?.contentBytes ?? 0n) + BigInt(Buffer.byteLength(text));
  const countMax = limits.objectsPerProfileMax;
  if (objectCount > countMax) throw fault(ErrorReason.TOO_MANY_OBJECTS, { limit: String(countMax) });
  const bytesMax = limits.objectBytesPerProfileMax;
  if (objectBytes > bytesMax) throw fault(ErrorReason.OBJECTS_TOO_LARGE, { limit_bytes: String(bytesMax) });
  const ofTypeMax = type.maxProfileObjectCount;
  if (ofTypeMax > 0 && replaced === undefined) {
    // A profile with fewer objects of all types needs not be searched.
    let ofType = 0;
    if (objectCount > ofTypeMax)
      for await (const _each of objectsAfter(reader, domain.id, profileId, type.typeId, undefined)) {
        ofType += 1;
        if (ofType === ofTypeMax) throw fault(ErrorReason.TOO_MANY_OBJECTS, { limit: String(ofTypeMax) });
      }
  }
  return { objectCount, objectBytes };
};

/** The digests of the keys to store. A replaced object keeps the NEW_ONLY keys that it got when it was new. */
const digestsOf = (
  domain: OpenDomain,
  keys: readonly ObjectKey[],
  isProfileNew: boolean,
  replaced: ObjectRecord | undefined,
): Uint8Array[] => {
  const kept = new Set(keptKeys(keys, isProfileNew));
  const earlier = new Set(replaced && keysOf(replaced).map(idText));
  return keptKeys(keys, true)
    .filter(({ key }) => key.name !== profileIdKeyName)
    .map((each) => ({ digest: digestOf(domain.keys, each.key), isKept: kept.has(each) }))
    .filter(({ digest, isKept }) => isKept || earlier.has(idText(digest)))
    .map(({ digest }) => digest);
};
