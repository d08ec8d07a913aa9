import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { ObjectTypePurgeSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { JobOutcome, Jobs } from "../../kit/jobs/jobs.ts";
import type { Store } from "../../kit/store/store.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import type { DomainKeyring } from "../encryption/domain-keys.ts";
import { detachObject } from "../ingestion/detach-object.ts";
import { idText } from "../domain/identifier.ts";
import { limits } from "../limits.ts";
import { findDomainData } from "../store/domain.ts";
import { objectPlaces, objectTypeKeys } from "../store/layout.ts";

/**
 * The removal of a deleted object type's objects, of the keys and fields that came from them, and of its encryption
 * key. An interrupted removal simply runs again, with whatever is left.
 */
export const objectTypePurgeKind = "object-type-purge";

/** Enqueues the removal in the transaction that deletes the object type. */
export const enqueueObjectTypePurge = (
  jobs: Jobs,
  transaction: Transaction,
  domainId: Uint8Array,
  typeId: Uint8Array,
  nowMs: number,
): void => {
  jobs.enqueue(transaction, {
    kind: objectTypePurgeKind,
    owner: idText(domainId),
    dueMs: nowMs,
    payload: toBinary(ObjectTypePurgeSchema, create(ObjectTypePurgeSchema, { domainId, typeId })),
  });
};

/** Removes all objects of a deleted type. */
export const purgeObjectType = async (
  store: Store,
  keyring: DomainKeyring,
  payload: Uint8Array,
  signal: AbortSignal,
): Promise<JobOutcome> => {
  const { domainId, typeId } = fromBinary(ObjectTypePurgeSchema, payload);
  let isEmpty = false;
  while (!isEmpty) {
    signal.throwIfAborted();
    isEmpty = await store.transact((transaction) => detachSome(transaction, keyring, domainId, typeId));
  }
  await store.compact(objectTypeKeys, { prefix: [domainId] });
  return { done: true };
};

/**
 * Detaches at most a batch of objects. Returns true if nothing is left, or the removal of the whole domain removes it.
 */
const detachSome = async (
  transaction: Transaction,
  keyring: DomainKeyring,
  domainId: Uint8Array,
  typeId: Uint8Array,
): Promise<boolean> => {
  const domain = await findDomainData(transaction, keyring, domainId);
  if (domain === undefined) return true;
  const places = await transaction.list(objectPlaces, { prefix: [domainId, typeId], limit: limits.expiryBatch });
  for (const { key, value } of places) {
    await detachObject(transaction, domain, { profileId: value.profileId, typeId, objectKey: key[2] });
    transaction.delete(objectPlaces, key);
  }
  const isEmpty = places.length < limits.expiryBatch;
  // Until then an object may be read by a merge of its profile.
  if (isEmpty) transaction.delete(objectTypeKeys, [domainId, typeId]);
  return isEmpty;
};
