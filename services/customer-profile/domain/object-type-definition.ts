import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { ObjectTypeRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ObjectTypeRecordSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { PutProfileObjectTypeRequest } from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { fault } from "../faults.ts";
import type { ObjectTemplate } from "./object-templates.ts";
import { objectTemplates } from "./object-templates.ts";

/** A template by its identifier. Throws TEMPLATE_NOT_FOUND. */
export const getTemplate = (templateId: string): ObjectTemplate => {
  const template = objectTemplates.get(templateId);
  if (template === undefined) throw fault(ErrorReason.TEMPLATE_NOT_FOUND, { template_id: templateId });
  return template;
};

/**
 * The definition that a request and its template result in: the request's fields and keys, or the template's if it has
 * none. Throws TEMPLATE_NOT_FOUND.
 */
export const definitionOf = (request: PutProfileObjectTypeRequest) => {
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

const hasEntries = (members: object): boolean => Object.keys(members).length > 0;

/** The type of objects that name a template as their type while no such type was put. */
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
    createdMs: BigInt(nowMs),
    updatedMs: BigInt(nowMs),
    isImplicit: true,
  });
