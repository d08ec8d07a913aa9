/**
 * Profiles. Each operation refuses a domain that is not there, then a profile that is not there (or has expired), then
 * a profile that would be too large. A profile and its index entries change in one transaction, so a search that
 * begins after the answer sees the change.
 */
import type { Operation } from "../application.ts";
import { changedByHand, createdProfile } from "../domain/profile-state.ts";
import { valuesOf } from "../domain/profile-values.ts";
import { expiryIn, openDomain } from "../store/domain.ts";
import { idBytes } from "../store/identifier.ts";
import * as stored from "../store/profile.ts";

/** Makes a profile; each call makes another one. */
export const createProfile: Operation<"createProfile"> = async (request, { app, caller }) => {
  const profileId = app.ids.hex(32);
  const nowMs = app.clock.now();
  const profile = createdProfile(valuesOf(request), nowMs);

  await app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, caller.accountId, request.domainName);
    await stored.createProfile(transaction, domain, profileId, profile, { expireMs: expiryIn(domain, nowMs) });
  });

  return { profileId };
};

/** Changes what is given by hand; values by hand are never overwritten by objects. Repeating it changes nothing more. */
export const updateProfile: Operation<"updateProfile"> = async (request, { app, caller }) => {
  const changes = valuesOf(request);
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, caller.accountId, request.domainName);
    const before = await stored.getProfile(transaction, domain, request.profileId, nowMs);
    await stored.replaceProfile(transaction, domain, before, changedByHand(before.state, changes, nowMs), {
      expireMs: expiryIn(domain, nowMs),
    });
  });

  return { profileId: request.profileId };
};

/** Erases a profile: its content, its index entries and its data key. A second call is refused. */
export const deleteProfile: Operation<"deleteProfile"> = async (request, { app, caller }) => {
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, caller.accountId, request.domainName);
    await stored.getProfile(transaction, domain, request.profileId, nowMs);
    await stored.removeProfile(transaction, domain.id, idBytes(request.profileId));
    transaction.afterCommit(() => app.compaction.request());
  });

  return { message: "OK" };
};
