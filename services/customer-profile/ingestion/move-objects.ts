import type { KeyObject } from "node:crypto";

import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import { idText } from "../domain/identifier.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import type { DomainData } from "../store/domain.ts";
import { objects } from "../store/layout.ts";
import { keysOf, putObject, readObject, removeObject } from "../store/object.ts";
import { findTypeKey } from "../store/object-type-key.ts";
import type { ObjectAmounts, StoredProfile } from "../store/profile.ts";

/** The number and size of the objects of some profiles. Throws TOO_MANY_OBJECTS and OBJECTS_TOO_LARGE. */
export const amountsTogether = (profiles: readonly StoredProfile[]): ObjectAmounts => {
  const objectCount = profiles.reduce((sum, { record }) => sum + record.objectCount, 0);
  const objectBytes = profiles.reduce((sum, { record }) => sum + record.objectBytes, 0n);
  const countMax = limits.objectsPerProfileMax;
  if (objectCount > countMax) throw fault(ErrorReason.TOO_MANY_OBJECTS, { limit: String(countMax) });
  const bytesMax = limits.objectBytesPerProfileMax;
  if (objectBytes > bytesMax) throw fault(ErrorReason.OBJECTS_TOO_LARGE, { limit_bytes: String(bytesMax) });
  return { objectCount, objectBytes };
};

/**
 * Moves all objects of some profiles to another one, with the keys that came from them: each is decrypted, and
 * encrypted under the other profile's key. Returns the last of their expiries.
 */
export const moveObjects = async (
  transaction: Transaction,
  domain: DomainData,
  to: StoredProfile,
  from: readonly StoredProfile[],
): Promise<number> => {
  const typeKeys = new Map<string, KeyObject | undefined>();
  let lastExpireMs = 0;
  for (const { id: profileId, key: fromKey } of from) {
    for await (const { key, value } of transaction.range(objects, { prefix: [domain.id, profileId] })) {
      const [, , typeId, objectKey] = key;
      const address = { profileId, typeId, objectKey };
      if (value.hasTypeKey && !typeKeys.has(idText(typeId)))
        typeKeys.set(idText(typeId), await findTypeKey(transaction, domain, typeId));
      const typeKey = value.hasTypeKey ? typeKeys.get(idText(typeId)) : undefined;
      const text = readObject(domain, { profileKey: fromKey, typeKey }, address, value);
      await removeObject(transaction, domain.id, address);
      const moved = { text, putMs: Number(value.putMs), expireMs: Number(value.expireMs), digests: keysOf(value) };
      const keys = { profileKey: to.key, typeKey };
      await putObject(transaction, domain, keys, { profileId: to.id, typeId, objectKey }, moved, undefined);
      lastExpireMs = Math.max(lastExpireMs, moved.expireMs);
    }
  }
  return lastExpireMs;
};
