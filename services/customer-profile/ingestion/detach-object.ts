import type { Transaction } from "../../kit/store/transaction.ts";
import { idText } from "../domain/identifier.ts";
import { withoutObject } from "../domain/profile-state.ts";
import type { DomainData } from "../store/domain.ts";
import type { ObjectAddress } from "../store/object.ts";
import { removeObject } from "../store/object.ts";
import { findProfileEvenExpired, replaceProfile } from "../store/profile.ts";

/**
 * Removes an object from its profile, and the keys and fields that came from it. Returns false if the object does not
 * exist.
 */
export const detachObject = async (
  transaction: Transaction,
  domain: DomainData,
  address: ObjectAddress,
): Promise<boolean> => {
  const removed = await removeObject(transaction, domain.id, address);
  if (removed === undefined) return false;
  const profile = await findProfileEvenExpired(transaction, domain, address.profileId);
  if (profile === undefined) return true;
  const { objectCount, objectBytes } = profile.record;
  const state = withoutObject(profile.state, idText(address.typeId), idText(address.objectKey));
  const objects = { objectCount: objectCount - 1, objectBytes: objectBytes - removed.contentBytes };
  await replaceProfile(transaction, domain, profile, state, { expireMs: 0, objects });
  return true;
};
