/**
 * Merging. It refuses, in this order: (1) a profile that is named twice, or a field's source that is not merged, (2) a
 * domain that does not exist, (3) a profile that does not exist or has expired, (4) too many or too large objects or
 * content. All of it is one transaction: others see a merge as a whole or not at all.
 */
import type { FieldSourceProfileIds } from "../../../gen/quartet/customerprofile/v1/match_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Operation } from "../application.ts";
import { idBytes, idText } from "../domain/identifier.ts";
import { findMergeProblem, ProfileMerge } from "../domain/merge.ts";
import { addressFields, attributesPrefix, engagementPreferencesPath, textFields } from "../domain/profile-fields.ts";
import { fault } from "../faults.ts";
import { amountsTogether, moveObjects } from "../ingestion/move-objects.ts";
import { expiryIn, openDomain } from "../store/domain.ts";
import type { StoredProfile } from "../store/profile.ts";
import { getProfile, refuseTooLarge, removeProfile, replaceProfile } from "../store/profile.ts";

/** Merges profiles into the main one and deletes them. It cannot be undone; repeating the call fails. */
export const mergeProfiles: Operation<"mergeProfiles"> = async (request, { app, access }) => {
  const { domainName, mainProfileId, profileIdsToBeMerged, fieldSourceProfileIds } = request;
  const sources = sourcesOf(fieldSourceProfileIds);
  const problem = findMergeProblem([mainProfileId, ...profileIdsToBeMerged], sources);
  if (problem !== undefined) throw fault(ErrorReason.MERGE_INVALID, { problem });
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, access.accountId, domainName);
    const main = await getProfile(transaction, domain, idBytes(mainProfileId), nowMs);
    const merge = new ProfileMerge(mergedProfile(main), sources);
    const others: StoredProfile[] = [];
    for (const id of profileIdsToBeMerged) {
      const other = await getProfile(transaction, domain, idBytes(id), nowMs);
      others.push(other);
      merge.add(mergedProfile(other));
    }
    const objects = amountsTogether([main, ...others]);
    const state = merge.stateAt(nowMs);
    refuseTooLarge(state);
    const movedExpireMs = await moveObjects(transaction, domain, main, others);
    for (const other of others) await removeProfile(transaction, domain.id, other.id);
    const expireMs = Math.max(expiryIn(domain, nowMs), movedExpireMs);
    await replaceProfile(transaction, domain, main, state, { expireMs, objects });
    transaction.afterCommit(() => app.compaction.request());
  });

  return { message: "OK" };
};

/** The profile under the identifier by which the request's field sources name it. */
const mergedProfile = ({ id, state }: StoredProfile) => ({ id: idText(id), state });

/** For each field with a named source, the profile whose value is kept. */
const sourcesOf = (named: FieldSourceProfileIds | undefined): ReadonlyMap<string, string> => {
  const sources = new Map<string, string>();
  if (named === undefined) return sources;
  const members = named as unknown as Readonly<Record<string, string | undefined>>;
  for (const { path, member } of [
    ...textFields,
    ...addressFields,
    { path: engagementPreferencesPath, member: "engagementPreferences" },
  ]) {
    const profileId = members[member];
    if (profileId !== undefined) sources.set(path, profileId);
  }
  for (const [name, profileId] of Object.entries(named.attributes)) sources.set(attributesPrefix + name, profileId);
  return sources;
};
