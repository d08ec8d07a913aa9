import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { ObjectTypePurgeSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { JobOutcome, Jobs } from "../../kit/jobs/jobs.ts";
import type { Store } from "../../kit/store/store.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { DomainKeyring } from "../encryption/domain-keys.ts";
import { detachObject } from "../ingestion/detach-object.ts";
import { limits } from "../limits.ts";
import { findDomainData } from "../store/domain.ts";
import { objectPlaces, objectTypeKeys } from "../store/layout.ts";
import { findProfileOfObject } from "../store/object.ts";
import { unlessDamaged } from "./damage.ts";
import { removalOwner } from "./removal-policy.ts";

/**
 * The removal of a deleted object type's objects, of the keys and fields that came from them, and of its encryption
 * key. An interrupted removal simply runs again, with whatever is left.
 */
export const objectTypePurgeKind = "object-type-purge";

/** Enqueues the removal in the transaction that deletes the object type. */
export const enqueueObjectTypePurge = (
  jobs: Jobs,
  transaction: Transaction,
  account: string,
  { domainId, typeId }: { readonly domainId: Uint8Array; readonly typeId: Uint8Array },
  nowMs: number,
): void => {
  jobs.enqueue(transaction, {
    kind: objectTypePurgeKind,
    owner: removalOwner(account),
    dueMs: nowMs,
    payload: toBinary(ObjectTypePurgeSchema, create(ObjectTypePurgeSchema, { domainId, typeId })),
  });
};

/**
 * Removes all objects of a deleted type. One of which a record is damaged stays, with the key of the type, and the
 * removal is repeated later; all others are removed.
 */
export const purgeObjectType = async (
  store: Store,
  keyring: DomainKeyring,
  payload: Uint8Array,
  signal: AbortSignal,
): Promise<JobOutcome> => {
  const { domainId, typeId } = fromBinary(ObjectTypePurgeSchema, payload);
  const detach = (places: readonly PlaceKey[]) =>
    store.transact((transaction) => detachAll(transaction, keyring, domainId, places));
  const limit = limits.expiryBatch;
  let hasDamage = false;
  let after: PlaceKey | undefined;
  for (let isLast = false; !isLast;) {
    signal.throwIfAborted();
    const range = { prefix: [domainId, typeId] as [Uint8Array, Uint8Array], limit, after };
    const found = await store.read((reader) => Array.fromAsync(walkTable(reader, objectPlaces, range)));
    const places = found.map(({ key }) => key);
    await unlessDamaged(places, detach, () => (hasDamage = true));
    after = places.at(-1);
    isLast = places.length < limit;
  }
  if (hasDamage) return { retry: true, reason: "a record of an object is damaged; the others are removed" };
  await store.transact((transaction) => transaction.delete(objectTypeKeys, [domainId, typeId]));
  await store.compact(objectTypeKeys, { prefix: [domainId] });
  return { done: true };
};

type PlaceKey = readonly [domainId: Uint8Array, typeId: Uint8Array, objectKey: Uint8Array];

/** Detaches objects, unless the whole domain is removed meanwhile. */
const detachAll = async (
  transaction: Transaction,
  keyring: DomainKeyring,
  domainId: Uint8Array,
  places: readonly PlaceKey[],
): Promise<void> => {
  const domain = await findDomainData(transaction, keyring, domainId);
  if (domain === undefined) return;
  for (const key of places) {
    const [, typeId, objectKey] = key;
    // A merge may have moved it since it was found.
    const profileId = await findProfileOfObject(transaction, domainId, typeId, objectKey);
    if (profileId !== undefined) await detachObject(transaction, domain, { profileId, typeId, objectKey });
    transaction.delete(objectPlaces, key);
  }
};
