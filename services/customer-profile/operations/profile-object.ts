/**
 * Objects of profiles. PutProfileObject refuses, in this order: (1) text that is not a JSON object, (2) a domain that
 * does not exist, (3) a type that does not exist, (4) an object whose keys and texts are too long, and one without its
 * unique key, (5) an object that matches no profile, (6) too many or too large objects; a domain with a dead letter
 * queue accepts (5) and (6). ListProfileObjects and DeleteProfileObject refuse (1) a page token of another listing, (2)
 * a domain, (3) a profile, (4) a type, (5) an object that does not exist.
 */
import type { KeyObject } from "node:crypto";

import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Page } from "../../kit/page-tokens/pages.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import type { Application, Operation } from "../application.ts";
import { isExpired } from "../domain/expiry.ts";
import { idBytes, idText, parseObjectKey } from "../domain/identifier.ts";
import { searchedKeys } from "../domain/search-key.ts";
import { fault } from "../faults.ts";
import { detachObject } from "../ingestion/detach-object.ts";
import { attachRequested, requestObject } from "../ingestion/requested-object.ts";
import { findQueue, isPlaceless, leaveLetterOf } from "../work/leave-dead-letter.ts";
import { limits } from "../limits.ts";
import type { OpenDomain } from "../store/domain.ts";
import { openDomain } from "../store/domain.ts";
import { digestOf } from "../store/key-index.ts";
import { findObject, keysOf, objectsAfter, readObject } from "../store/object.ts";
import { getObjectType } from "../store/object-type.ts";
import { findTypeKey } from "../store/object-type-key.ts";
import type { StoredProfile } from "../store/profile.ts";
import { assertProfile, getProfile } from "../store/profile.ts";

/**
 * Attaches an object to a profile; an object with the same unique key is replaced. Search and listing see it at once.
 * An object that finds no place in a profile is sent to the domain's dead letter queue; without one it is refused.
 */
export const putProfileObject: Operation<"putProfileObject"> = async (request, { app, access }) => {
  const requested = requestObject(app, request.objectTypeName, request.object);
  const open = (transaction: Transaction) => openDomain(transaction, app.keyring, access.accountId, request.domainName);

  const attached = app.store.transact(async (transaction) =>
    attachRequested(transaction, await open(transaction), requested),
  );
  const objectKey = await attached.catch((error: unknown) => {
    if (!isPlaceless(error)) throw error;
    // What the refused transaction wrote is gone, so the letter has one of its own.
    const letterId = idBytes(app.ids.hex(32));
    return app.store.transact(async (transaction) => {
      const domain = await open(transaction);
      const queue = await findQueue(app, transaction, domain);
      if (queue === undefined) throw error;
      return leaveLetterOf(app, transaction, domain, queue, {
        domainName: request.domainName,
        requested,
        letterId,
        error,
      });
    });
  });

  return { profileObjectUniqueKey: idText(objectKey) };
};

/**
 * Lists the objects of one type of a profile by identifier. A page may be short, even empty, without being the last.
 */
export const listProfileObjects: Operation<"listProfileObjects"> = async (request, context) => {
  const { app, access } = context;
  const { domainName, objectTypeName, objectFilter } = request;
  const filters = [domainName, objectTypeName, request.profileId, JSON.stringify(objectFilter ?? null)];
  const page = app.pages.open(context, request, filters);
  const profileId = idBytes(request.profileId);

  return app.store.read(async (reader) => {
    const domain = await openDomain(reader, app.keyring, access.accountId, domainName);
    const profile = await getProfile(reader, domain, profileId, app.clock.now());
    const type = await getObjectType(reader, domain.id, objectTypeName);
    const isWanted = filterOf(domain, objectFilter);
    return objectPage(reader, app, domain, { profile, typeId: type.typeId, objectTypeName }, isWanted, page);
  });
};

/**
 * Deletes an object, and the keys and fields that came from it. Repeating the call fails with OBJECT_NOT_FOUND.
 */
export const deleteProfileObject: Operation<"deleteProfileObject"> = async (request, { app, access }) => {
  const { domainName, objectTypeName, profileObjectUniqueKey } = request;
  const profileId = idBytes(request.profileId);
  const objectKey = parseObjectKey(profileObjectUniqueKey);
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, access.accountId, domainName);
    await assertProfile(transaction, domain, profileId, nowMs);
    const { typeId } = await getObjectType(transaction, domain.id, objectTypeName);
    const address = objectKey && { profileId, typeId, objectKey };
    const record = address && (await findObject(transaction, domain.id, address));
    if (address === undefined || record === undefined || isExpired(Number(record.expireMs), nowMs))
      throw fault(ErrorReason.OBJECT_NOT_FOUND, { profile_object_unique_key: profileObjectUniqueKey });
    await detachObject(transaction, domain, address);
  });

  return { message: "OK" };
};

type IsWanted = (digests: readonly Uint8Array[]) => boolean;

/** Whether an object has one of the filter's values of the filter's key. */
const filterOf = (
  domain: OpenDomain,
  filter: { keyName: string; values: readonly string[] } | undefined,
): IsWanted | undefined => {
  if (filter === undefined) return undefined;
  const wanted = new Set(
    filter.values
      .flatMap((value) => searchedKeys(filter.keyName, value))
      .map((key) => idText(digestOf(domain.keys, key))),
  );
  return (digests) => digests.some((digest) => wanted.has(idText(digest)));
};

const objectPage = async (
  reader: Reader,
  app: Application,
  domain: OpenDomain,
  of: { readonly profile: StoredProfile; readonly typeId: Uint8Array; readonly objectTypeName: string },
  isWanted: IsWanted | undefined,
  page: Page,
) => {
  const { profile, typeId, objectTypeName } = of;
  const profileId = profile.id;
  const after = page.after === undefined ? undefined : idBytes(page.after);
  const items: { objectTypeName: string; profileObjectUniqueKey: string; object: string }[] = [];
  let typeKey: KeyObject | undefined;
  let previous: Uint8Array | undefined;
  let seen = 0;
  let bytes = 0;
  for await (const { objectKey, record } of objectsAfter(reader, domain.id, profileId, typeId, after)) {
    if (previous !== undefined && (seen === page.itemsMax || bytes >= limits.pageBytesMax))
      return { items, nextToken: page.tokenOf(idText(previous)) };
    previous = objectKey;
    seen += 1;
    if (isExpired(Number(record.expireMs), app.clock.now())) continue;
    if (isWanted?.(keysOf(record)) === false) continue;
    if (record.hasTypeKey) typeKey ??= await findTypeKey(reader, domain, typeId);
    const object = readObject(domain, { profileKey: profile.key, typeKey }, { profileId, typeId, objectKey }, record);
    bytes += Buffer.byteLength(object);
    items.push({ objectTypeName, profileObjectUniqueKey: idText(objectKey), object });
  }
  return { items };
};
