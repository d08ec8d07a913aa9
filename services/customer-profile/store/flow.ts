import type { MessageInitShape } from "@bufbuild/protobuf";

import type { FlowRecord, FlowRecordSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { Entry, Reader, Transaction } from "../../kit/store/transaction.ts";
import { flows } from "./layout.ts";

/** How far the flow of an integration is; undefined: it has none. */
export const findFlow = (reader: Reader, domainId: Uint8Array, uri: string): Promise<FlowRecord | undefined> =>
  reader.get(flows, [domainId, uri]);

/** The first flows of all domains, after the given one. */
export const listFlows = (
  reader: Reader,
  after: readonly [Uint8Array, string] | undefined,
  limit: number,
): Promise<Entry<readonly [Uint8Array, string], FlowRecord>[]> => reader.list(flows, { limit, after });

/** Stores how far a flow is. */
export const putFlow = (
  transaction: Transaction,
  domainId: Uint8Array,
  uri: string,
  record: MessageInitShape<typeof FlowRecordSchema>,
): void => transaction.put(flows, [domainId, uri], record);

/** Removes a flow, if it exists. */
export const removeFlow = (transaction: Transaction, domainId: Uint8Array, uri: string): void =>
  transaction.delete(flows, [domainId, uri]);
