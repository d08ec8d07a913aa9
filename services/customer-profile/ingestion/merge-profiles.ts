import type { Transaction } from "../../kit/store/transaction.ts";
import { idText } from "../domain/identifier.ts";
import type { MergedProfile } from "../domain/merge.ts";
import { ProfileMerge } from "../domain/merge.ts";
import type { OpenDomain } from "../store/domain.ts";
import { expiryIn } from "../store/domain.ts";
import type { StoredProfile } from "../store/profile.ts";
import { refuseTooLarge, removeProfile, replaceProfile } from "../store/profile.ts";
import { amountsTogether, moveObjects } from "./move-objects.ts";

/**
 * Merges profiles into a main one and removes them. `sources` names, for fields of which not the main profile decides,
 * the profile that does. Throws TOO_MANY_OBJECTS, OBJECTS_TOO_LARGE, PROFILE_TOO_LARGE.
 */
export const mergeInto = async (
  transaction: Transaction,
  domain: OpenDomain,
  main: StoredProfile,
  others: readonly StoredProfile[],
  sources: ReadonlyMap<string, string>,
  nowMs: number,
): Promise<void> => {
  const merge = new ProfileMerge(mergedProfile(main), sources);
  for (const other of others) merge.add(mergedProfile(other));
  const objects = amountsTogether([main, ...others]);
  const state = merge.stateAt(nowMs);
  refuseTooLarge(state);
  const movedExpireMs = await moveObjects(transaction, domain, main, others);
  for (const other of others) await removeProfile(transaction, domain.id, other.id);
  const expireMs = Math.max(expiryIn(domain, nowMs), movedExpireMs);
  await replaceProfile(transaction, domain, main, state, { expireMs, objects });
};

/** The profile under the identifier by which requests name it. */
export const mergedProfile = ({ id, state }: StoredProfile): MergedProfile => ({ id: idText(id), state });
