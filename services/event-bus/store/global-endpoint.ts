import type { MessageInitShape } from "@bufbuild/protobuf";

import type {
  GlobalEndpointRecord,
  GlobalEndpointRecordSchema,
} from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { ErrorReason, fault } from "../faults.ts";
import { globalEndpoints } from "./layout.ts";
import type { NamePage } from "./named-records.ts";
import { listByName } from "./named-records.ts";

/** The endpoint, or undefined. */
export const findEndpoint = (
  reader: Reader,
  account: string,
  name: string,
): Promise<GlobalEndpointRecord | undefined> => reader.get(globalEndpoints, [account, name]);

/** The endpoint. Throws ENDPOINT_NOT_FOUND. */
export const getEndpoint = async (reader: Reader, account: string, name: string): Promise<GlobalEndpointRecord> => {
  const endpoint = await findEndpoint(reader, account, name);
  if (endpoint === undefined) throw fault(ErrorReason.ENDPOINT_NOT_FOUND, { name });
  return endpoint;
};

/** The account's endpoint with an id, or undefined. Rejects if it may be one whose record is damaged. */
export const findEndpointById = async (
  reader: Reader,
  account: string,
  id: string,
): Promise<GlobalEndpointRecord | undefined> => {
  let damaged: string | undefined;
  for await (const { key, value } of walkTable(reader, globalEndpoints, { prefix: [account] })) {
    if (value?.id === id) return value;
    if (value === undefined) damaged = key[1];
  }
  return damaged === undefined ? undefined : findEndpoint(reader, account, damaged);
};

/** Endpoints of an account by name. */
export const listEndpoints = (reader: Reader, account: string, page: NamePage): Promise<GlobalEndpointRecord[]> =>
  listByName(reader, globalEndpoints, [account], page);

/** The health checks of all endpoints, each once; those of damaged ones are left out. */
export const listHealthChecks = async (reader: Reader): Promise<ReadonlySet<string>> => {
  const checks = new Set<string>();
  for await (const { value } of walkTable(reader, globalEndpoints))
    if (value !== undefined) checks.add(value.healthCheck);
  return checks;
};

/** Creates or replaces an endpoint. */
export const putEndpoint = (
  transaction: Transaction,
  account: string,
  endpoint: MessageInitShape<typeof GlobalEndpointRecordSchema> & { readonly name: string },
): void => transaction.put(globalEndpoints, [account, endpoint.name], endpoint);

/** Deletes an endpoint. */
export const deleteEndpoint = (transaction: Transaction, account: string, name: string): void =>
  transaction.delete(globalEndpoints, [account, name]);
