/**
 * Profiles. Each operation refuses, in this order: (1) a domain that does not exist, (2) a profile that does not exist
 * or has expired, (3) a profile that would be too large. A profile and its index entries change in one transaction, so
 * a search that begins after the response sees the change.
 */
import type { Operation } from "../application.ts";
import { idBytes } from "../domain/identifier.ts";
import { changedByHand, createdProfile } from "../domain/profile-state.ts";
import { valuesOf } from "../domain/profile-values.ts";
import { expiryIn, openDomain } from "../store/domain.ts";
import * as stored from "../store/profile.ts";

/** Creates a profile. Repeating the call creates another one. */
export const createProfile: Operation<"createProfile"> = async (request, { app, access }) => {
  const profileId = app.ids.hex(32);
  const nowMs = app.clock.now();
  const profile = createdProfile(valuesOf(request), nowMs);

  await app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, access.accountId, request.domainName);
    await stored.createProfile(transaction, domain, idBytes(profileId), profile, { expireMs: expiryIn(domain, nowMs) });
  });

  return { profileId };
};

/** Sets the given fields by hand; objects never overwrite these. Repeating the call changes nothing more. */
export const updateProfile: Operation<"updateProfile"> = async (request, { app, access }) => {
  const id = idBytes(request.profileId);
  const changes = valuesOf(request);
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, access.accountId, request.domainName);
    const before = await stored.getProfile(transaction, domain, id, nowMs);
    await stored.replaceProfile(transaction, domain, before, changedByHand(before.state, changes, nowMs), {
      expireMs: expiryIn(domain, nowMs),
    });
  });

  return { profileId: request.profileId };
};

/**
 * Erases a profile: its content, its index entries and its data key. Repeating the call fails with PROFILE_NOT_FOUND.
 */
export const deleteProfile: Operation<"deleteProfile"> = async (request, { app, access }) => {
  const id = idBytes(request.profileId);
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, access.accountId, request.domainName);
    await stored.deleteProfile(transaction, domain, id, nowMs);
    transaction.afterCommit(() => app.compaction.request());
  });

  return { message: "OK" };
};
