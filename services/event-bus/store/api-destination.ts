import type { MessageInitShape } from "@bufbuild/protobuf";

import type {
  ApiDestinationRecord,
  ApiDestinationRecordSchema,
} from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { ErrorReason, fault } from "../faults.ts";
import { apiDestinations, destinationsByConnection } from "./layout.ts";

export const findApiDestination = (
  reader: Reader,
  account: string,
  name: string,
): Promise<ApiDestinationRecord | undefined> => reader.get(apiDestinations, [account, name]);

/** The API destination. Throws API_DESTINATION_NOT_FOUND. */
export const getApiDestination = async (
  reader: Reader,
  account: string,
  name: string,
): Promise<ApiDestinationRecord> => {
  const destination = await findApiDestination(reader, account, name);
  if (destination === undefined) throw fault(ErrorReason.API_DESTINATION_NOT_FOUND, { name });
  return destination;
};

/** At most `limit` API destinations of an account by name, all or those of one connection. */
export const listApiDestinations = async (
  reader: Reader,
  account: string,
  options: {
    readonly namePrefix: string;
    readonly connectionArn: string | undefined;
    readonly after: string | undefined;
    readonly limit: number;
  },
): Promise<ApiDestinationRecord[]> => {
  const { namePrefix, connectionArn: arn, after, limit } = options;
  if (arn === undefined) {
    const entries = await reader.list(apiDestinations, {
      prefix: [account, namePrefix],
      textPrefix: true,
      ...(after === undefined ? {} : { after: [account, after] as const }),
      limit,
    });
    return entries.map((entry) => entry.value);
  }
  const entries = await reader.list(destinationsByConnection, {
    prefix: [account, arn, namePrefix],
    textPrefix: true,
    ...(after === undefined ? {} : { after: [account, arn, after] as const }),
    limit,
  });
  return Promise.all(entries.map(({ key }) => getApiDestination(reader, account, key[2])));
};

/** Creates or replaces an API destination. */
export const putApiDestination = async (
  transaction: Transaction,
  account: string,
  destination: MessageInitShape<typeof ApiDestinationRecordSchema> & {
    readonly name: string;
    readonly connectionArn: string;
  },
): Promise<void> => {
  await deleteApiDestination(transaction, account, destination.name);
  transaction.put(apiDestinations, [account, destination.name], destination);
  transaction.put(destinationsByConnection, [account, destination.connectionArn, destination.name], {});
};

/** Deletes an API destination; nothing happens when there is none. */
export const deleteApiDestination = async (transaction: Transaction, account: string, name: string): Promise<void> => {
  const present = await findApiDestination(transaction, account, name);
  if (present === undefined) return;
  transaction.delete(apiDestinations, [account, name]);
  transaction.delete(destinationsByConnection, [account, present.connectionArn, name]);
};
