import type { MessageInitShape } from "@bufbuild/protobuf";

import type { ConnectionRecord, ConnectionRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Reader, Store, Transaction } from "../../kit/store/store.ts";
import { parseIdentifiedArn } from "../domain/arns.ts";
import { ErrorReason, fault } from "../faults.ts";
import { changeCount, countRecords } from "./account-count.ts";
import { connections } from "./layout.ts";
import type { NamePage } from "./named-records.ts";
import { listByName } from "./named-records.ts";

/** The connection, or undefined. */
export const findConnection = (reader: Reader, account: string, name: string): Promise<ConnectionRecord | undefined> =>
  reader.get(connections, [account, name]);

/** The connection. Throws CONNECTION_NOT_FOUND, whose text begins with the failure. */
export const getConnection = async (
  reader: Reader,
  account: string,
  name: string,
  failure = "",
): Promise<ConnectionRecord> => {
  const connection = await findConnection(reader, account, name);
  if (connection === undefined) throw fault(ErrorReason.CONNECTION_NOT_FOUND, { failure, name });
  return connection;
};

/**
 * The connection of this account that an ARN names, or undefined. A deleted one of the same name is not it. All readers
 * share it, so it is frozen.
 */
export const findConnectionByArn = async (
  reader: Reader,
  account: string,
  arn: string,
): Promise<Readonly<ConnectionRecord> | undefined> => {
  const parsed = parseIdentifiedArn(arn, "connection");
  if (parsed === undefined || parsed.account !== account) return undefined;
  const connection = await reader.getShared(connections, [account, parsed.name]);
  return connection?.id === parsed.id ? connection : undefined;
};

/** The connection if it is in memory, as all reads that begin now would see it; frozen. */
export const findKeptConnection = (
  store: Pick<Store, "findKept">,
  account: string,
  name: string,
): Readonly<ConnectionRecord> | undefined => store.findKept(connections, [account, name]);

/** Connections of an account by name; only those that are accepted. */
export const listConnections = (
  reader: Reader,
  account: string,
  page: NamePage,
  accepts?: (connection: ConnectionRecord) => boolean,
): Promise<ConnectionRecord[]> => listByName(reader, connections, [account], page, accepts);

/** The number of an account's connections. */
export const countConnections = (reader: Reader, account: string): Promise<number> =>
  countRecords(reader, connections, account);

/** Creates a connection that does not exist. */
export const createConnection = async (
  transaction: Transaction,
  account: string,
  connection: MessageInitShape<typeof ConnectionRecordSchema> & { readonly name: string },
): Promise<void> => {
  await changeCount(transaction, connections, account, 1);
  putConnection(transaction, account, connection);
};

/** Replaces a connection. */
export const putConnection = (
  transaction: Transaction,
  account: string,
  connection: MessageInitShape<typeof ConnectionRecordSchema> & { readonly name: string },
): void => transaction.put(connections, [account, connection.name], connection);

/** Deletes an existing connection. */
export const deleteConnection = async (transaction: Transaction, account: string, name: string): Promise<void> => {
  await changeCount(transaction, connections, account, -1);
  transaction.delete(connections, [account, name]);
};
