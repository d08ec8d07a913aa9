/**
 * Merging. It refuses what names a profile twice or a source that is not merged, then a domain, then a profile that is not there, then objects or
 * content that would be too much. All of it is one transaction: a merge is seen whole or not at all.
 */
import type { FieldSourceProfileIds } from "../../../gen/quartet/customerprofile/v1/match_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Operation } from "../application.ts";
import { findMergeProblem, mergeProfiles as mergedState } from "../domain/merge.ts";
import { addressFields, attributesPrefix, engagementPreferencesPath, textFields } from "../domain/profile-fields.ts";
import { fault } from "../faults.ts";
import { moveObjects } from "../ingestion/move-objects.ts";
import { expiryIn, openDomain } from "../store/domain.ts";
import { idBytes } from "../store/identifier.ts";
import { getProfile, removeProfile, replaceProfile } from "../store/profile.ts";

/** Merges profiles into the main one and deletes them. It cannot be undone; a second call is refused. */
export const mergeProfiles: Operation<"mergeProfiles"> = async (request, { app, caller }) => {
  const { domainName, mainProfileId, profileIdsToBeMerged, fieldSourceProfileIds } = request;
  const sources = sourcesOf(fieldSourceProfileIds);
  const problem = findMergeProblem([mainProfileId, ...profileIdsToBeMerged], sources);
  if (problem !== undefined) throw fault(ErrorReason.MERGE_INVALID, { problem });
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, caller.accountId, domainName);
    const main = await getProfile(transaction, domain, mainProfileId, nowMs);
    const others = [];
    for (const profileId of profileIdsToBeMerged) others.push(await getProfile(transaction, domain, profileId, nowMs));
    const objects = await moveObjects(transaction, domain, main, others);
    for (const other of others) await removeProfile(transaction, domain.id, idBytes(other.id));
    const change = { expireMs: Math.max(expiryIn(domain, nowMs), objects.expireMs), objects };
    await replaceProfile(transaction, domain, main, mergedState(main, others, sources, nowMs), change);
    transaction.afterCommit(() => app.compaction.request());
  });

  return { message: "OK" };
};

/** For each field that names one, the profile whose value wins. */
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
