import type { KeyObject } from "node:crypto";

import type { ObjectRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { seal, unseal } from "../../kit/keyring/sealed.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { idText } from "../domain/identifier.ts";
import { jointKey } from "../encryption/domain-keys.ts";
import type { DomainData } from "./domain.ts";
import { joinDigests, replaceKeys, splitDigests } from "./key-index.ts";
import { objectExpiries, objectPlaces, objects } from "./layout.ts";

/** The identifiers of an object within its domain. */
export interface ObjectAddress {
  readonly profileId: Uint8Array;
  readonly typeId: Uint8Array;
  readonly objectKey: Uint8Array;
}

/** The keys of an object: its profile's, and its type's if that names one. */
export interface ObjectKeys {
  readonly profileKey: KeyObject;
  readonly typeKey: KeyObject | undefined;
}

/** An object to store. */
export interface NewObject {
  /** JSON text as in the request. */
  readonly text: string;
  readonly putMs: number;
  readonly expireMs: number;
  /** The search keys that it supplies to its profile. */
  readonly digests: readonly Uint8Array[];
}

/** The profile that holds an object; undefined if the object does not exist. */
export const findProfileOfObject = async (
  reader: Reader,
  domainId: Uint8Array,
  typeId: Uint8Array,
  objectKey: Uint8Array,
): Promise<Uint8Array | undefined> => (await reader.get(objectPlaces, [domainId, typeId, objectKey]))?.profileId;

/** The record of an object; undefined if it does not exist. */
export const findObject = (
  reader: Reader,
  domainId: Uint8Array,
  { profileId, typeId, objectKey }: ObjectAddress,
): Promise<ObjectRecord | undefined> => reader.get(objects, [domainId, profileId, typeId, objectKey]);

/** All objects of a profile of one type by identifier, after the given one, read on demand. */
export const objectsAfter = async function* (
  reader: Reader,
  domainId: Uint8Array,
  profileId: Uint8Array,
  typeId: Uint8Array,
  afterObjectKey: Uint8Array | undefined,
): AsyncGenerator<{ objectKey: Uint8Array; record: ObjectRecord }, void> {
  for await (const { key, value } of reader.range(objects, {
    prefix: [domainId, profileId, typeId],
    after: afterObjectKey === undefined ? undefined : [domainId, profileId, typeId, afterObjectKey],
  }))
    yield { objectKey: key[3], record: value };
};

/** The text of an object. Its type's key is needed only if the record says so. */
export const readObject = (
  domain: DomainData,
  { profileKey, typeKey }: ObjectKeys,
  address: ObjectAddress,
  record: ObjectRecord,
): string => {
  const key = contentKey({ profileKey, typeKey: record.hasTypeKey ? typeKey : undefined });
  return unseal(key, associatedData(domain.id, address), record.content).toString("utf8");
};

/** The digests of the search keys that an object supplies to its profile. */
export const keysOf = (record: ObjectRecord): Uint8Array[] => splitDigests(record.keyDigests);

/**
 * Stores an object with its index entries, in place of the one that the profile has under the same key, if it has one.
 * The caller updates the counts of the profile.
 */
export const putObject = async (
  transaction: Transaction,
  domain: DomainData,
  keys: ObjectKeys,
  address: ObjectAddress,
  object: NewObject,
  replaced: ObjectRecord | undefined,
): Promise<void> => {
  const { profileId, typeId, objectKey } = address;
  const plain = Buffer.from(object.text, "utf8");
  if (replaced !== undefined)
    transaction.delete(objectExpiries, [Number(replaced.expireMs), domain.id, typeId, objectKey]);
  transaction.put(objects, [domain.id, profileId, typeId, objectKey], {
    $typeName: "quartet.customerprofile.storage.v1.ObjectRecord",
    content: seal(contentKey(keys), associatedData(domain.id, address), plain),
    hasTypeKey: keys.typeKey !== undefined,
    expireMs: BigInt(object.expireMs),
    putMs: BigInt(object.putMs),
    contentBytes: BigInt(plain.byteLength),
    keyDigests: joinDigests(object.digests),
  });
  transaction.put(objectPlaces, [domain.id, typeId, objectKey], { profileId });
  transaction.put(objectExpiries, [object.expireMs, domain.id, typeId, objectKey], { profileId });
  await replaceKeys(transaction, domain.id, profileId, replaced === undefined ? [] : keysOf(replaced), object.digests);
};

/** Removes an object and its index entries; returns its record, or undefined if it does not exist. */
export const removeObject = async (
  transaction: Transaction,
  domainId: Uint8Array,
  address: ObjectAddress,
): Promise<ObjectRecord | undefined> => {
  const { profileId, typeId, objectKey } = address;
  const record = await findObject(transaction, domainId, address);
  if (record === undefined) return undefined;
  removeRows(transaction, domainId, address, record);
  await replaceKeys(transaction, domainId, profileId, keysOf(record), []);
  transaction.delete(objectPlaces, [domainId, typeId, objectKey]);
  return record;
};

/** Removes all objects of a profile and their index entries. */
export const removeObjectsOf = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
): Promise<void> => {
  for await (const { key, value } of transaction.range(objects, { prefix: [domainId, profileId] })) {
    removeRows(transaction, domainId, { profileId, typeId: key[2], objectKey: key[3] }, value);
    await replaceKeys(transaction, domainId, profileId, keysOf(value), []);
    transaction.delete(objectPlaces, [domainId, key[2], key[3]]);
  }
};

const removeRows = (
  transaction: Transaction,
  domainId: Uint8Array,
  { profileId, typeId, objectKey }: ObjectAddress,
  record: ObjectRecord,
): void => {
  transaction.delete(objects, [domainId, profileId, typeId, objectKey]);
  transaction.delete(objectExpiries, [Number(record.expireMs), domainId, typeId, objectKey]);
};

const contentKey = ({ profileKey, typeKey }: ObjectKeys): KeyObject =>
  typeKey === undefined ? profileKey : jointKey(profileKey, typeKey);

const associatedData = (domainId: Uint8Array, { profileId, typeId, objectKey }: ObjectAddress) => [
  "object-content",
  domainId,
  profileId,
  idText(typeId),
  objectKey,
];
