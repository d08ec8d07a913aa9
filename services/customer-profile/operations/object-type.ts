/**
 * Object types and templates. PutProfileObjectType refuses, in this order: (1) reserved tag keys, (2) an encryption key
 * that cannot be used, (3) a domain that does not exist, (4) a template that does not exist, (5) a type that breaks a
 * rule, (6) one type more than a domain may have, (7) an earlier key of the type, or the domain's, that cannot be used
 * when the key is another one. The others refuse (1) a domain, (2) a type or template that does not
 * exist.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { ObjectTypeRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ObjectTypeRecordSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Reader } from "../../kit/store/transaction.ts";
import type { Operation } from "../application.ts";
import { idBytes } from "../domain/identifier.ts";
import { definitionOf, getTemplate } from "../domain/object-type-definition.ts";
import { findObjectTypeProblem } from "../domain/object-type-rules.ts";
import { objectTemplates } from "../domain/object-templates.ts";
import { refuseReservedTagKeys } from "../domain/tag-rules.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { getDomain, openDomain } from "../store/domain.ts";
import { disableIntegrations } from "../store/integration.ts";
import { findWrappedTypeKey, moveTypeKey } from "../store/object-type-key.ts";
import * as stored from "../store/object-type.ts";
import { enqueueObjectTypePurge } from "../work/object-type-purge.ts";

/**
 * Creates or replaces an object type. Objects that are stored already stay as they are, but those that its key encrypts
 * are from then on under the new one; an existing type's tags stay.
 */
export const putProfileObjectType: Operation<"putProfileObjectType"> = async (request, { app, access }) => {
  refuseReservedTagKeys(request.tags);
  app.keyNames.usableId(request.encryptionKey ?? "");
  const nowMs = BigInt(app.clock.now());
  const typeId = idBytes(app.ids.hex(32));

  return app.store.transact(async (transaction) => {
    const { domainId } = await getDomain(transaction, access.accountId, request.domainName);
    const definition = definitionOf(request);
    const problem = findObjectTypeProblem(definition);
    if (problem !== undefined) throw fault(ErrorReason.OBJECT_TYPE_INVALID, { problem });
    const before = await stored.findObjectType(transaction, domainId, request.objectTypeName);
    if (before === undefined) await refuseOneMore(transaction, domainId);
    const after = create(ObjectTypeRecordSchema, {
      ...definition,
      typeId: before?.typeId ?? typeId,
      createdMs: before?.createdMs ?? nowMs,
      updatedMs: nowMs,
      tags: before === undefined || before.isImplicit ? request.tags : before.tags,
    });
    stored.putObjectType(transaction, domainId, request.objectTypeName, after);
    const wrapped = before && (await findWrappedTypeKey(transaction, domainId, before.typeId));
    if (wrapped !== undefined) {
      const domain = await openDomain(transaction, app.keyring, access.accountId, request.domainName);
      moveTypeKey(transaction, domain, after.typeId, wrapped, after.encryptionKey);
    }
    return typeAnswer(request.objectTypeName, after);
  });
};

/** Returns an object type. */
export const getProfileObjectType: Operation<"getProfileObjectType"> = (request, { app, access }) =>
  app.store.read(async (reader) => {
    const { domainId } = await getDomain(reader, access.accountId, request.domainName);
    return typeAnswer(request.objectTypeName, await stored.getObjectType(reader, domainId, request.objectTypeName));
  });

/**
 * Deletes an object type and stops its integrations; a job removes its objects and the fields and keys that came from
 * them. Repeating the call fails with OBJECT_TYPE_NOT_FOUND.
 */
export const deleteProfileObjectType: Operation<"deleteProfileObjectType"> = async (request, { app, access }) => {
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const { domainId } = await getDomain(transaction, access.accountId, request.domainName);
    const { typeId } = await stored.getObjectType(transaction, domainId, request.objectTypeName);
    stored.deleteObjectType(transaction, domainId, request.objectTypeName);
    await disableIntegrations(transaction, domainId, request.objectTypeName);
    enqueueObjectTypePurge(app.jobs, transaction, access.accountId, { domainId, typeId }, nowMs);
  });

  return { message: "OK" };
};

/** Lists the object types of a domain by name. */
export const listProfileObjectTypes: Operation<"listProfileObjectTypes"> = async (request, context) => {
  const { app, access } = context;
  const page = app.pages.open(context, request, [request.domainName]);
  const found = await app.store.read(async (reader) => {
    const { domainId } = await getDomain(reader, access.accountId, request.domainName);
    return stored.listObjectTypes(reader, domainId, page.after, page.lookFor);
  });

  const { items, ...next } = page.cut(found, ({ key }) => key[1]);
  return { items: items.map(({ key, value }) => typeItem(key[1], value)), ...next };
};

/** Returns a template. */
export const getProfileObjectTypeTemplate: Operation<"getProfileObjectTypeTemplate"> = async (request) => ({
  ...getTemplate(request.templateId),
});

/** Lists the templates by identifier. */
export const listProfileObjectTypeTemplates: Operation<"listProfileObjectTypeTemplates"> = async (request, context) => {
  const page = context.app.pages.open(context, request);
  const found = [...objectTemplates.values()].filter(
    ({ templateId }) => page.after === undefined || templateId > page.after,
  );

  const { items, ...next } = page.cut(found, ({ templateId }) => templateId);
  const shown = items.map(({ templateId, sourceName, sourceObject }) => ({ templateId, sourceName, sourceObject }));
  return { items: shown, ...next };
};

const refuseOneMore = async (reader: Reader, domainId: Uint8Array): Promise<void> => {
  const countMax = limits.objectTypesPerDomainMax;
  const others = await stored.listObjectTypes(reader, domainId, undefined, countMax);
  if (others.length >= countMax) throw fault(ErrorReason.TOO_MANY_OBJECT_TYPES, { limit: String(countMax) });
};

const typeItem = (objectTypeName: string, record: ObjectTypeRecord) => {
  const { description, createdMs, updatedMs, maxProfileObjectCount, sourcePriority, tags } = record;
  return {
    objectTypeName,
    description,
    createdAt: timestampFromMs(Number(createdMs)),
    lastUpdatedAt: timestampFromMs(Number(updatedMs)),
    maxAvailableProfileObjectCount: limits.objectsPerProfileMax,
    ...(maxProfileObjectCount === 0 ? {} : { maxProfileObjectCount }),
    ...(sourcePriority === 0 ? {} : { sourcePriority }),
    tags,
  };
};

const typeAnswer = (objectTypeName: string, record: ObjectTypeRecord) => {
  const { templateId, expirationDays, encryptionKey, sourceLastUpdatedTimestampFormat } = record;
  return {
    ...typeItem(objectTypeName, record),
    ...(templateId === "" ? {} : { templateId }),
    ...(expirationDays === 0 ? {} : { expirationDays }),
    ...(encryptionKey === "" ? {} : { encryptionKey }),
    ...(sourceLastUpdatedTimestampFormat === "" ? {} : { sourceLastUpdatedTimestampFormat }),
    allowProfileCreation: record.allowProfileCreation,
    fields: record.fields,
    keys: record.keys,
  };
};
