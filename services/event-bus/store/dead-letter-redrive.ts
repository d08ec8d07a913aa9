import type { MessageInitShape } from "@bufbuild/protobuf";

import type {
  DeadLetterRedriveRecord,
  DeadLetterRedriveRecordSchema,
} from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { DeadLetterRedriveState } from "../../../gen/quartet/eventbus/v1/dead_letter_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { ErrorReason, fault } from "../faults.ts";
import { deadLetterRedrives } from "./layout.ts";
import type { NamePage } from "./named-records.ts";
import { firstNames, listByName } from "./named-records.ts";

/** The redrive, or undefined. */
export const findRedrive = (
  reader: Reader,
  account: string,
  name: string,
): Promise<DeadLetterRedriveRecord | undefined> => reader.get(deadLetterRedrives, [account, name]);

/** The redrive. Throws REDRIVE_NOT_FOUND. */
export const getRedrive = async (reader: Reader, account: string, name: string): Promise<DeadLetterRedriveRecord> => {
  const redrive = await findRedrive(reader, account, name);
  if (redrive === undefined) throw fault(ErrorReason.REDRIVE_NOT_FOUND, { name });
  return redrive;
};

/** Redrives of an account by name; only those that are accepted. */
export const listRedrives = (
  reader: Reader,
  account: string,
  page: NamePage,
  accepts?: (redrive: DeadLetterRedriveRecord) => boolean,
): Promise<DeadLetterRedriveRecord[]> => listByName(reader, deadLetterRedrives, [account], page, accepts);

/** Whether a redrive has not ended yet. */
export const isRunning = ({ state }: Pick<DeadLetterRedriveRecord, "state">): boolean =>
  state === DeadLetterRedriveState.RUNNING;

/** Creates or replaces a redrive. */
export const putRedrive = (
  transaction: Transaction,
  account: string,
  redrive: MessageInitShape<typeof DeadLetterRedriveRecordSchema> & { readonly name: string },
): void => transaction.put(deadLetterRedrives, [account, redrive.name], redrive);

/** Deletes at most `limit` redrives of an account that ended before an instant. Returns whether there may be more. */
export const deleteOldRedrives = async (
  transaction: Transaction,
  account: string,
  keptSinceMs: number,
  limit: number,
): Promise<boolean> => {
  const isOld = ({ endedMs }: DeadLetterRedriveRecord): boolean => endedMs > 0n && endedMs < BigInt(keptSinceMs);
  const old = await listRedrives(transaction, account, firstNames(limit), isOld);
  for (const { name } of old) transaction.delete(deadLetterRedrives, [account, name]);
  return old.length === limit;
};
