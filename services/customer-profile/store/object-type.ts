import type { MessageInitShape } from "@bufbuild/protobuf";

import type { ObjectTypeRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ObjectTypeRecordSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Entry, Reader, Transaction } from "../../kit/store/transaction.ts";
import { fault } from "../faults.ts";
import { objectTypes } from "./layout.ts";

/** A domain's object type; undefined if it does not exist. */
export const findObjectType = (
  reader: Reader,
  domainId: Uint8Array,
  name: string,
): Promise<ObjectTypeRecord | undefined> => reader.get(objectTypes, [domainId, name]);

/** A domain's object type. Throws OBJECT_TYPE_NOT_FOUND. */
export const getObjectType = async (reader: Reader, domainId: Uint8Array, name: string): Promise<ObjectTypeRecord> => {
  const record = await findObjectType(reader, domainId, name);
  if (record === undefined) throw fault(ErrorReason.OBJECT_TYPE_NOT_FOUND, { object_type_name: name });
  return record;
};

/** The first object types of a domain by name, after the given one. */
export const listObjectTypes = (
  reader: Reader,
  domainId: Uint8Array,
  afterName: string | undefined,
  limit: number,
): Promise<Entry<readonly [Uint8Array, string], ObjectTypeRecord>[]> =>
  reader.list(objectTypes, {
    prefix: [domainId],
    after: afterName === undefined ? undefined : [domainId, afterName],
    limit,
  });

/** The same for many objects: the record must not be changed. */
export const findSharedObjectType = (
  reader: Reader,
  domainId: Uint8Array,
  name: string,
): Promise<Readonly<ObjectTypeRecord> | undefined> => reader.getShared(objectTypes, [domainId, name]);

/** Stores an object type, new or changed. */
export const putObjectType = (
  transaction: Transaction,
  domainId: Uint8Array,
  name: string,
  record: MessageInitShape<typeof ObjectTypeRecordSchema>,
): void => transaction.put(objectTypes, [domainId, name], record);

/** Deletes an object type; its objects can still be found by its identifier. */
export const deleteObjectType = (transaction: Transaction, domainId: Uint8Array, name: string): void =>
  transaction.delete(objectTypes, [domainId, name]);
