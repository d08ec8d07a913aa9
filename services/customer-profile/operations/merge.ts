/**
 * Merging. It refuses, in this order: (1) a profile that is named twice, or a field's source that is not merged, (2) a
 * domain that does not exist, (3) a profile that does not exist or has expired, (4) too many or too large objects or
 * content. All of it is one transaction: others see a merge as a whole or not at all.
 */
import type { FieldSourceProfileIds } from "../../../gen/quartet/customerprofile/v1/match_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Operation } from "../application.ts";
import { idBytes } from "../domain/identifier.ts";
import { findMergeProblem } from "../domain/merge.ts";
import { addressFields, attributesPrefix, engagementPreferencesPath, textFields } from "../domain/profile-fields.ts";
import { fault } from "../faults.ts";
import { mergeInto } from "../ingestion/merge-profiles.ts";
import { openDomain } from "../store/domain.ts";
import type { StoredProfile } from "../store/profile.ts";
import { getProfile } from "../store/profile.ts";

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
    const others: StoredProfile[] = [];
    for (const id of profileIdsToBeMerged) others.push(await getProfile(transaction, domain, idBytes(id), nowMs));
    await mergeInto(transaction, domain, main, others, sources, nowMs);
    transaction.afterCommit(() => app.compaction.request());
  });

  return { message: "OK" };
};

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
