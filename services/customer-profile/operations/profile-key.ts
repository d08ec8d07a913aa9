/**
 * Search keys that are added by hand. Both operations refuse, in this order: (1) the key that is the profile's
 * identifier, (2) a domain that does not exist, (3) a profile that does not exist or has expired, (4) a profile that
 * would be too large.
 */
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Operation } from "../application.ts";
import { idBytes } from "../domain/identifier.ts";
import type { AddedKey } from "../domain/profile-state.ts";
import { withKeys, withoutKeys } from "../domain/profile-state.ts";
import { documentedKeyName, profileIdKeyName } from "../domain/search-key.ts";
import { fault } from "../faults.ts";
import { expiryIn, openDomain } from "../store/domain.ts";
import { getProfile, replaceProfile } from "../store/profile.ts";

/** Adds values of a key; values that the profile already has stay as they are. */
export const addProfileKey: Operation<"addProfileKey"> = async (request, { app, access }) => {
  const id = idBytes(request.profileId);
  const added = keysOf(request);
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, access.accountId, request.domainName);
    const before = await getProfile(transaction, domain, id, nowMs);
    await replaceProfile(transaction, domain, before, withKeys(before.state, added, nowMs), {
      expireMs: expiryIn(domain, nowMs),
    });
  });

  return { keyName: request.keyName, values: request.values };
};

/** Removes values of a key; a value that is also in a field of the profile still finds it. */
export const deleteProfileKey: Operation<"deleteProfileKey"> = async (request, { app, access }) => {
  const id = idBytes(request.profileId);
  const removed = keysOf(request);
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, access.accountId, request.domainName);
    const before = await getProfile(transaction, domain, id, nowMs);
    await replaceProfile(transaction, domain, before, withoutKeys(before.state, removed, nowMs), {
      expireMs: expiryIn(domain, nowMs),
    });
  });

  return { message: "OK" };
};

const keysOf = ({ keyName, values }: { keyName: string; values: readonly string[] }): readonly AddedKey[] => {
  const name = documentedKeyName(keyName);
  if (name === profileIdKeyName) throw fault(ErrorReason.KEY_NAME_FIXED, { key_name: keyName });
  return values.map((value) => ({ name, value }));
};
