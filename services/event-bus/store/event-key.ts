import type { MessageInitShape } from "@bufbuild/protobuf";

import type { EventKeyRecord, EventKeyRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { eventKeys } from "./layout.ts";

/** The data key of an account's events, or undefined. */
export const findEventKey = (reader: Reader, account: string, id: string): Promise<EventKeyRecord | undefined> =>
  reader.get(eventKeys, [account, id]);

/** Creates or replaces a data key. */
export const putEventKey = (
  transaction: Transaction,
  account: string,
  id: string,
  key: MessageInitShape<typeof EventKeyRecordSchema>,
): void => transaction.put(eventKeys, [account, id], key);
