import type { MessageInitShape } from "@bufbuild/protobuf";

import type { ConnectionRecord, ConnectionRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { parseNamedArn } from "../domain/arns.ts";
import { ErrorReason, fault } from "../faults.ts";
import { connections } from "./layout.ts";

export const findConnection = (reader: Reader, account: string, name: string): Promise<ConnectionRecord | undefined> =>
  reader.get(connections, [account, name]);

/** The connection. Throws CONNECTION_NOT_FOUND. */
export const getConnection = async (reader: Reader, account: string, name: string): Promise<ConnectionRecord> => {
  const connection = await findConnection(reader, account, name);
  if (connection === undefined) throw fault(ErrorReason.CONNECTION_NOT_FOUND, { name });
  return connection;
};

/** The connection that an ARN names, of this account and not of an earlier one of the same name; or undefined. */
export const findConnectionByArn = async (
  reader: Reader,
  account: string,
  arn: string,
): Promise<ConnectionRecord | undefined> => {
  const named = parseNamedArn(arn, "connection");
  if (named === undefined || named.account !== account) return undefined;
  const connection = await findConnection(reader, account, named.name);
  return connection?.id === named.id ? connection : undefined;
};

/** At most `limit` connections of an account, by name. */
export const listConnections = async (
  reader: Reader,
  account: string,
  options: { readonly namePrefix: string; readonly after: string | undefined; readonly limit: number },
  accepts: (connection: ConnectionRecord) => boolean = () => true,
): Promise<ConnectionRecord[]> => {
  const found: ConnectionRecord[] = [];
  const range = reader.range(connections, {
    prefix: [account, options.namePrefix],
    textPrefix: true,
    ...(options.after === undefined ? {} : { after: [account, options.after] as const }),
  });
  for await (const { value } of range) {
    if (accepts(value)) found.push(value);
    if (found.length === options.limit) break;
  }
  return found;
};

export const putConnection = (
  transaction: Transaction,
  account: string,
  connection: MessageInitShape<typeof ConnectionRecordSchema> & { readonly name: string },
): void => transaction.put(connections, [account, connection.name], connection);

export const deleteConnection = (transaction: Transaction, account: string, name: string): void =>
  transaction.delete(connections, [account, name]);
