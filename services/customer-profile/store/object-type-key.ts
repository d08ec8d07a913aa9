import type { KeyObject } from "node:crypto";

import type { ObjectTypeRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import type { WrappedTypeKey } from "../encryption/domain-keys.ts";
import type { DomainData } from "./domain.ts";
import { objectTypeKeys } from "./layout.ts";

/** The wrapped key of a type; undefined if none of its objects ever had one. */
export const findWrappedTypeKey = (
  reader: Reader,
  domainId: Uint8Array,
  typeId: Uint8Array,
): Promise<WrappedTypeKey | undefined> => reader.get(objectTypeKeys, [domainId, typeId]);

/** The key of a type's objects; undefined if none of them ever had one. Throws NamedKeyError. */
export const findTypeKey = async (
  reader: Reader,
  domain: DomainData,
  typeId: Uint8Array,
): Promise<KeyObject | undefined> => {
  const wrapped = await findWrappedTypeKey(reader, domain.id, typeId);
  return wrapped && domain.keys.openTypeKey(typeId, wrapped);
};

/** The key of a type's new objects, created for the first of them; undefined if the type names none. */
export const typeKeyOf = async (
  transaction: Transaction,
  domain: DomainData,
  { typeId, encryptionKey }: ObjectTypeRecord,
): Promise<KeyObject | undefined> => {
  if (encryptionKey === "") return undefined;
  const found = await findTypeKey(transaction, domain, typeId);
  if (found !== undefined) return found;
  const { key, wrapped } = domain.keys.wrapNewTypeKey(typeId, encryptionKey);
  transaction.put(objectTypeKeys, [domain.id, typeId], wrapped);
  return key;
};

/** Wraps a type's key under another named key; an empty name: under the domain's key. Throws NamedKeyError. */
export const moveTypeKey = (
  transaction: Transaction,
  domain: DomainData,
  typeId: Uint8Array,
  wrapped: WrappedTypeKey,
  keyName: string,
): void => {
  const moved = domain.keys.moveTypeKey(typeId, wrapped, keyName);
  if (moved !== wrapped) transaction.put(objectTypeKeys, [domain.id, typeId], moved);
};
