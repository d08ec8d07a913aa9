import type { MessageInitShape } from "@bufbuild/protobuf";

import type {
  ApiDestinationRecord,
  ApiDestinationRecordSchema,
} from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Reader, Store, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { ErrorReason, fault } from "../faults.ts";
import { changeCount, countRecords } from "./account-count.ts";
import { apiDestinations, destinationsByConnection } from "./layout.ts";
import type { NamePage } from "./named-records.ts";
import { listByName, listNames } from "./named-records.ts";

/** The API destination, or undefined. */
export const findApiDestination = (
  reader: Reader,
  account: string,
  name: string,
): Promise<ApiDestinationRecord | undefined> => reader.get(apiDestinations, [account, name]);

/** As `findApiDestination`; shared by all readers, so it is frozen. */
export const findSharedApiDestination = (
  reader: Reader,
  account: string,
  name: string,
): Promise<Readonly<ApiDestinationRecord> | undefined> => reader.getShared(apiDestinations, [account, name]);

/** The API destination if it is in memory, as all reads that begin now would see it; frozen. */
export const findKeptApiDestination = (
  store: Pick<Store, "findKept">,
  account: string,
  name: string,
): Readonly<ApiDestinationRecord> | undefined => store.findKept(apiDestinations, [account, name]);

/** The API destination. Throws API_DESTINATION_NOT_FOUND, whose text begins with the failure. */
export const getApiDestination = async (
  reader: Reader,
  account: string,
  name: string,
  failure = "",
): Promise<ApiDestinationRecord> => {
  const destination = await findApiDestination(reader, account, name);
  if (destination === undefined) throw fault(ErrorReason.API_DESTINATION_NOT_FOUND, { failure, name });
  return destination;
};

/** API destinations of an account by name: all, or those of one connection. */
export const listApiDestinations = async (
  reader: Reader,
  account: string,
  page: NamePage,
  connectionArn?: string,
): Promise<ApiDestinationRecord[]> => {
  if (connectionArn === undefined) return listByName(reader, apiDestinations, [account], page);
  const names = await listNames(reader, destinationsByConnection, [account, connectionArn], page);
  return Promise.all(names.map((name) => getApiDestination(reader, account, name)));
};

/** The number of an account's API destinations. */
export const countApiDestinations = (reader: Reader, account: string): Promise<number> =>
  countRecords(reader, apiDestinations, account);

/** Creates or replaces an API destination. */
export const putApiDestination = async (
  transaction: Transaction,
  account: string,
  destination: MessageInitShape<typeof ApiDestinationRecordSchema> & {
    readonly name: string;
    readonly connectionArn: string;
  },
): Promise<void> => {
  const present = await findApiDestination(transaction, account, destination.name);
  if (present === undefined) await changeCount(transaction, apiDestinations, account, 1);
  else transaction.delete(destinationsByConnection, [account, present.connectionArn, present.name]);
  transaction.put(apiDestinations, [account, destination.name], destination);
  transaction.put(destinationsByConnection, [account, destination.connectionArn, destination.name], {});
};

/** Deletes an API destination; nothing happens if it does not exist. */
export const deleteApiDestination = async (transaction: Transaction, account: string, name: string): Promise<void> => {
  const present = await findOrDamaged(findApiDestination(transaction, account, name));
  if (present === undefined) return;
  await changeCount(transaction, apiDestinations, account, -1);
  transaction.delete(apiDestinations, [account, name]);
  const arns = present === "damaged" ? await connectionsOf(transaction, account, name) : [present.connectionArn];
  for (const arn of arns) transaction.delete(destinationsByConnection, [account, arn, name]);
};

/** The connections with which an API destination is found, for one whose record is damaged. */
const connectionsOf = async (reader: Reader, account: string, name: string): Promise<string[]> => {
  const arns: string[] = [];
  for await (const { key } of walkTable(reader, destinationsByConnection, { prefix: [account] }))
    if (key[2] === name) arns.push(key[1]);
  return arns;
};
