/**
 * Objects of profiles. Putting refuses what is no JSON object, then a domain, then a type that is not there, then an
 * object without its unique key, then one that matches no profile, then what would be too much; listing refuses a token
 * that is not its own; the others refuse a domain, a profile and an object that is not there, in this order.
 */
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import type { Application, Operation } from "../application.ts";
import { isExpired } from "../domain/expiry.ts";
import { mapObject } from "../domain/object-mapping.ts";
import { parseObject } from "../domain/object-source.ts";
import { objectTemplates } from "../domain/object-templates.ts";
import { fault } from "../faults.ts";
import { attachObject } from "../ingestion/attach-object.ts";
import { detachObject } from "../ingestion/detach-object.ts";
import { limits } from "../limits.ts";
import type { OpenDomain } from "../store/domain.ts";
import { openDomain } from "../store/domain.ts";
import { idBytes, idText } from "../store/identifier.ts";
import { digestOf, listDigestsOf } from "../store/key-index.ts";
import { expiryMs, findObject, listObjects, readObject } from "../store/object.ts";
import { findObjectType, getObjectType, putObjectType } from "../store/object-type.ts";
import { getProfile, profileKeyOf } from "../store/profile.ts";
import { searchedKeys } from "../domain/search-key.ts";
import { implicitType } from "./object-type.ts";
import { pageOf } from "./page.ts";

/** Attaches an object to a profile; one with the same unique key is replaced. Search and listing see it at once. */
export const putProfileObject: Operation<"putProfileObject"> = async (request, { app, caller }) => {
  const object = parseObject(request.object);
  if (object === undefined) throw fault(ErrorReason.OBJECT_INVALID, { problem: "it is no JSON object" });
  const nowMs = app.clock.now();
  const newIds = { profileId: app.ids.hex(32), typeId: app.ids.hex(32) };

  const profileObjectUniqueKey = await app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, caller.accountId, request.domainName);
    const type = await typeOf(transaction, domain, request.objectTypeName, newIds.typeId, nowMs);
    const mapped = mapObject(type, object);
    if (mapped.unique === undefined)
      throw fault(ErrorReason.OBJECT_INVALID, { problem: "a field of its unique key is missing" });
    return attachObject(transaction, domain, {
      typeName: request.objectTypeName,
      type,
      text: request.object,
      mapped,
      unique: mapped.unique,
      newProfileId: newIds.profileId,
      nowMs,
    });
  });

  return { profileObjectUniqueKey };
};

/** Lists the objects of one type of a profile, by identifier. A page may be short, even empty, and not be the last. */
export const listProfileObjects: Operation<"listProfileObjects"> = async (request, { app, caller }) => {
  const { domainName, objectTypeName, profileId, objectFilter } = request;
  const filters = [domainName, objectTypeName, profileId, JSON.stringify(objectFilter ?? null)];
  const page = pageOf(app, { caller: caller.accountId, operation: "ListProfileObjects", filters }, request);

  return app.store.read(async (reader) => {
    const domain = await openDomain(reader, app.keyring, caller.accountId, domainName);
    await getProfile(reader, domain, profileId, app.clock.now());
    const type = await getObjectType(reader, domain.id, objectTypeName);
    const isWanted = filterOf(domain, objectFilter);
    return objectPage(reader, app, domain, { profileId, typeId: type.typeId, objectTypeName }, isWanted, page);
  });
};

/** Deletes an object, with the keys that it gave and the fields that came from it. A second call is refused. */
export const deleteProfileObject: Operation<"deleteProfileObject"> = async (request, { app, caller }) => {
  const { domainName, objectTypeName, profileId, profileObjectUniqueKey } = request;
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const domain = await openDomain(transaction, app.keyring, caller.accountId, domainName);
    await getProfile(transaction, domain, profileId, nowMs);
    const type = await getObjectType(transaction, domain.id, objectTypeName);
    const isKey = /^[0-9a-f]{64}$/.test(profileObjectUniqueKey);
    const objectKey = idBytes(isKey ? profileObjectUniqueKey : "");
    const address = { profileId: idBytes(profileId), typeId: type.typeId, objectKey };
    const record = await findObject(transaction, domain.id, address);
    if (record === undefined || isExpired(expiryMs(record), nowMs))
      throw fault(ErrorReason.OBJECT_NOT_FOUND, { profile_object_unique_key: profileObjectUniqueKey });
    await detachObject(transaction, domain, address);
  });

  return { message: "OK" };
};

/** The type of an object; a template's identifier is a type that is made when it is first named. */
const typeOf = async (transaction: Transaction, domain: OpenDomain, name: string, newTypeId: string, nowMs: number) => {
  const template = objectTemplates.get(name);
  const type = await findObjectType(transaction, domain.id, name);
  if (type !== undefined || template === undefined) return type ?? getObjectType(transaction, domain.id, name);
  const made = implicitType(template, idBytes(newTypeId), nowMs);
  putObjectType(transaction, domain.id, name, made);
  return made;
};

type IsWanted = (digests: readonly Uint8Array[]) => boolean;

/** Whether an object has any of the values of the key that a filter names. */
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
  of: { readonly profileId: string; readonly typeId: Uint8Array; readonly objectTypeName: string },
  isWanted: IsWanted | undefined,
  page: ReturnType<typeof pageOf>,
) => {
  const profileId = idBytes(of.profileId);
  const after = page.after === undefined ? undefined : idBytes(page.after);
  const found = await listObjects(reader, domain.id, profileId, of.typeId, after, page.itemsMax + 1);
  const profileKey = await profileKeyOf(reader, domain, profileId);
  const items: { objectTypeName: string; profileObjectUniqueKey: string; object: string }[] = [];
  let bytes = 0;
  for (const [index, { objectKey, record }] of found.entries()) {
    const previous = found[index - 1];
    if (previous !== undefined && (index === page.itemsMax || bytes >= limits.pageBytesMax))
      return { items, nextToken: page.tokenOf(idText(previous.objectKey)) };
    if (isExpired(expiryMs(record), app.clock.now())) continue;
    if (isWanted?.(await listDigestsOf(reader, domain.id, profileId, objectKey)) === false) continue;
    const object = readObject(domain, profileKey, { profileId, typeId: of.typeId, objectKey }, record);
    bytes += Buffer.byteLength(object);
    items.push({ objectTypeName: of.objectTypeName, profileObjectUniqueKey: idText(objectKey), object });
  }
  return { items };
};
