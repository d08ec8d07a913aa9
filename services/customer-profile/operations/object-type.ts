/**
 * Object types and templates. Putting refuses reserved tag keys, then an encryption key that cannot be used, then a
 * domain or a template that is not there, then a type that breaks a rule, then one type too many; the others refuse a domain, then a type, that is not there.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { ObjectTypeRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ObjectTypeRecordSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { PutProfileObjectTypeRequest } from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Operation } from "../application.ts";
import type { ObjectTemplate } from "../domain/object-templates.ts";
import { objectTemplates } from "../domain/object-templates.ts";
import { findObjectTypeProblem } from "../domain/object-type-rules.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { enqueueObjectTypePurge } from "../work/object-type-purge.ts";
import { getDomain } from "../store/domain.ts";
import { idBytes } from "../store/identifier.ts";
import { disableIntegrations } from "../store/integration.ts";
import * as stored from "../store/object-type.ts";
import { pageAnswer, pageOf } from "./page.ts";
import { refuseReservedTagKeys } from "./tag.ts";

/** Makes or replaces an object type. Only objects that are put later are read by it; tags of an existing type stay. */
export const putProfileObjectType: Operation<"putProfileObjectType"> = async (request, { app, caller }) => {
  refuseReservedTagKeys(request.tags);
  app.keyNames.usableId(request.encryptionKey ?? "");
  const now = timestampFromMs(app.clock.now());
  const typeId = idBytes(app.ids.hex(32));

  return app.store.transact(async (transaction) => {
    const { domainId } = await getDomain(transaction, caller.accountId, request.domainName);
    const definition = definitionOf(request);
    const problem = findObjectTypeProblem(definition);
    if (problem !== undefined) throw fault(ErrorReason.OBJECT_TYPE_INVALID, { problem });
    const before = await stored.findObjectType(transaction, domainId, request.objectTypeName);
    const countMax = limits.objectTypesPerDomainMax;
    const others = await stored.listObjectTypes(transaction, domainId, undefined, countMax);
    if (before === undefined && others.length >= countMax)
      throw fault(ErrorReason.TOO_MANY_OBJECT_TYPES, { limit: String(countMax) });
    const after = create(ObjectTypeRecordSchema, {
      ...definition,
      typeId: before?.typeId ?? typeId,
      createdTime: before?.createdTime ?? now,
      updatedTime: now,
      tags: before === undefined || before.isImplicit ? request.tags : before.tags,
    });
    stored.putObjectType(transaction, domainId, request.objectTypeName, after);
    return typeAnswer(request.objectTypeName, after);
  });
};

/** Tells an object type. */
export const getProfileObjectType: Operation<"getProfileObjectType"> = (request, { app, caller }) =>
  app.store.read(async (reader) => {
    const { domainId } = await getDomain(reader, caller.accountId, request.domainName);
    return typeAnswer(request.objectTypeName, await stored.getObjectType(reader, domainId, request.objectTypeName));
  });

/** Deletes an object type and stops its integrations; a job removes its objects and what they gave to profiles. */
export const deleteProfileObjectType: Operation<"deleteProfileObjectType"> = async (request, { app, caller }) => {
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const { domainId } = await getDomain(transaction, caller.accountId, request.domainName);
    const { typeId } = await stored.getObjectType(transaction, domainId, request.objectTypeName);
    stored.deleteObjectType(transaction, domainId, request.objectTypeName);
    await disableIntegrations(transaction, domainId, request.objectTypeName);
    enqueueObjectTypePurge(app.jobs, transaction, domainId, typeId, nowMs);
  });

  return { message: "OK" };
};

/** Lists the object types of a domain, by name. */
export const listProfileObjectTypes: Operation<"listProfileObjectTypes"> = async (request, { app, caller }) => {
  const filters = [request.domainName];
  const page = pageOf(app, { caller: caller.accountId, operation: "ListProfileObjectTypes", filters }, request);
  const found = await app.store.read(async (reader) => {
    const { domainId } = await getDomain(reader, caller.accountId, request.domainName);
    return stored.listObjectTypes(reader, domainId, page.after, page.itemsMax + 1);
  });

  return pageAnswer(page, found, {
    positionOf: ({ key }) => key[1],
    itemOf: ({ key, value }) => ({
      objectTypeName: key[1],
      description: value.description,
      createdAt: value.createdTime,
      lastUpdatedAt: value.updatedTime,
      ...countsOf(value),
      tags: value.tags,
    }),
  });
};

/** Tells a template. */
export const getProfileObjectTypeTemplate: Operation<"getProfileObjectTypeTemplate"> = async (request) => ({
  ...getTemplate(request.templateId),
});

/** Lists the templates, by identifier. */
export const listProfileObjectTypeTemplates: Operation<"listProfileObjectTypeTemplates"> = async (
  request,
  { app, caller },
) => {
  const binding = { caller: caller.accountId, operation: "ListProfileObjectTypeTemplates", filters: [] };
  const page = pageOf(app, binding, request);
  const found = [...objectTemplates.values()].filter(
    ({ templateId }) => page.after === undefined || templateId > page.after,
  );

  return pageAnswer(page, found, {
    positionOf: ({ templateId }) => templateId,
    itemOf: ({ templateId, sourceName, sourceObject }) => ({ templateId, sourceName, sourceObject }),
  });
};

/** The type that objects have which name a template as their type and nobody has put such a type. */
export const implicitType = (
  { templateId, fields, keys, allowProfileCreation }: ObjectTemplate,
  typeId: Uint8Array,
  nowMs: number,
): ObjectTypeRecord =>
  create(ObjectTypeRecordSchema, {
    typeId,
    description: `Made from template ${templateId}`,
    templateId,
    fields,
    keys,
    allowProfileCreation,
    createdTime: timestampFromMs(nowMs),
    updatedTime: timestampFromMs(nowMs),
    isImplicit: true,
  });

const getTemplate = (templateId: string): ObjectTemplate => {
  const template = objectTemplates.get(templateId);
  if (template === undefined) throw fault(ErrorReason.TEMPLATE_NOT_FOUND, { template_id: templateId });
  return template;
};

const hasEntries = (members: object): boolean => Object.keys(members).length > 0;

/** What a request and its template say together: the request's fields and keys, or else the template's. */
const definitionOf = (request: PutProfileObjectTypeRequest) => {
  const template = request.templateId === undefined ? undefined : getTemplate(request.templateId);
  return {
    description: request.description,
    templateId: request.templateId ?? "",
    expirationDays: request.expirationDays ?? 0,
    encryptionKey: request.encryptionKey ?? "",
    allowProfileCreation: request.allowProfileCreation ?? template?.allowProfileCreation ?? false,
    sourceLastUpdatedTimestampFormat: request.sourceLastUpdatedTimestampFormat ?? "",
    maxProfileObjectCount: request.maxProfileObjectCount ?? 0,
    sourcePriority: request.sourcePriority ?? 0,
    fields: hasEntries(request.fields) ? request.fields : (template?.fields ?? {}),
    keys: hasEntries(request.keys) ? request.keys : (template?.keys ?? {}),
  } satisfies MessageInitShape<typeof ObjectTypeRecordSchema>;
};

const typeAnswer = (objectTypeName: string, record: ObjectTypeRecord) => ({
  objectTypeName,
  description: record.description,
  ...(record.templateId === "" ? {} : { templateId: record.templateId }),
  ...(record.expirationDays === 0 ? {} : { expirationDays: record.expirationDays }),
  ...(record.encryptionKey === "" ? {} : { encryptionKey: record.encryptionKey }),
  ...(record.sourceLastUpdatedTimestampFormat === ""
    ? {}
    : { sourceLastUpdatedTimestampFormat: record.sourceLastUpdatedTimestampFormat }),
  allowProfileCreation: record.allowProfileCreation,
  ...countsOf(record),
  fields: record.fields,
  keys: record.keys,
  createdAt: record.createdTime,
  lastUpdatedAt: record.updatedTime,
  tags: record.tags,
});

const countsOf = ({ maxProfileObjectCount, sourcePriority }: ObjectTypeRecord) => ({
  maxAvailableProfileObjectCount: limits.objectsPerProfileMax,
  ...(maxProfileObjectCount === 0 ? {} : { maxProfileObjectCount }),
  ...(sourcePriority === 0 ? {} : { sourcePriority }),
});
