import type { ObjectTypeRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { Ids } from "../../kit/ids/ids.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import { idBytes } from "../domain/identifier.ts";
import type { MappedObject } from "../domain/object-mapping.ts";
import { mapObject } from "../domain/object-mapping.ts";
import type { JsonValue } from "../domain/source-value.ts";
import { parseObject } from "../domain/object-source.ts";
import { objectTemplates } from "../domain/object-templates.ts";
import { implicitType } from "../domain/object-type-definition.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import type { OpenDomain } from "../store/domain.ts";
import { findSharedObjectType, putObjectType } from "../store/object-type.ts";
import { attachObject } from "./attach-object.ts";

/** An object that is to be put, with all that its transaction must not make itself. */
export interface RequestedObject {
  readonly objectTypeName: string;
  /** JSON text as in the request. */
  readonly text: string;
  readonly parsed: { readonly [name: string]: JsonValue };
  readonly newProfileId: Uint8Array;
  readonly newTypeId: Uint8Array;
  readonly nowMs: number;
}

/** An object by its type, and what that makes of it. */
export interface MappedRequest {
  readonly type: Readonly<ObjectTypeRecord>;
  readonly mapped: MappedObject;
  /** The values of its unique key. */
  readonly unique: readonly string[];
}

/** Reads an object that is to be put. Throws OBJECT_INVALID. */
export const requestObject = (
  { ids, clock }: { readonly ids: Ids; readonly clock: Clock },
  objectTypeName: string,
  text: string,
): RequestedObject => {
  const parsed = parseObject(text);
  if (parsed === undefined) throw fault(ErrorReason.OBJECT_INVALID, { problem: "it is not a JSON object" });
  const [newProfileId, newTypeId] = [idBytes(ids.hex(32)), idBytes(ids.hex(32))];
  return { objectTypeName, text, parsed, newProfileId, newTypeId, nowMs: clock.now() };
};

/** Maps an object by its type. Throws OBJECT_TYPE_NOT_FOUND and OBJECT_INVALID. */
export const mapRequested = async (
  transaction: Transaction,
  domain: OpenDomain,
  requested: RequestedObject,
): Promise<MappedRequest> => {
  const type = await typeOf(transaction, domain, requested);
  const mapped = mapObject(type, requested.parsed);
  if (mapped === undefined)
    throw fault(ErrorReason.OBJECT_INVALID, {
      problem: `its keys and texts have more than ${limits.composedCharactersMax} characters together`,
    });
  if (mapped.unique === undefined)
    throw fault(ErrorReason.OBJECT_INVALID, { problem: "a field of its unique key is missing" });
  return { type, mapped, unique: mapped.unique };
};

/** Maps an object and attaches it. Throws what `mapRequested` and `attachObject` throw. */
export const attachRequested = async (
  transaction: Transaction,
  domain: OpenDomain,
  requested: RequestedObject,
): Promise<Uint8Array> => {
  const found = await mapRequested(transaction, domain, requested);
  const { objectTypeName: typeName, text, newProfileId, nowMs } = requested;
  return attachObject(transaction, domain, { ...found, typeName, text, newProfileId, nowMs });
};

/** The type of an object. The first object that names a template as its type creates that type. */
const typeOf = async (
  transaction: Transaction,
  domain: OpenDomain,
  { objectTypeName: name, newTypeId, nowMs }: RequestedObject,
): Promise<Readonly<ObjectTypeRecord>> => {
  const type = await findSharedObjectType(transaction, domain.id, name);
  if (type !== undefined) return type;
  const template = objectTemplates.get(name);
  if (template === undefined) throw fault(ErrorReason.OBJECT_TYPE_NOT_FOUND, { object_type_name: name });
  const created = implicitType(template, newTypeId, nowMs);
  putObjectType(transaction, domain.id, name, created);
  return created;
};
