import type { MessageInitShape } from "@bufbuild/protobuf";

import type { DeadLetterRecord, DeadLetterRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { deadLetters } from "./layout.ts";

/** Dead letters that one step of the sweep deletes. */
const sweepStep = 500;

/** One delivery that was given up. */
export interface DeadLetter {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly failedMs: number;
  readonly letter: DeadLetterRecord;
}

export const putDeadLetter = (
  transaction: Transaction,
  account: string,
  failedMs: number,
  id: string,
  letter: MessageInitShape<typeof DeadLetterRecordSchema>,
): void => transaction.put(deadLetters, [account, failedMs, id], letter);

/** At most `limit` dead letters of an account, the latest first. */
export const listDeadLetters = async (reader: Reader, account: string, limit: number): Promise<DeadLetter[]> => {
  const entries = await reader.list(deadLetters, { prefix: [account], limit });
  return entries.map(({ key, value }) => ({ id: key[2], failedMs: key[1], letter: value }));
};

/** Deletes some dead letters of an account that failed before the instant; says whether there may be more. */
export const sweepDeadLetters = async (
  transaction: Transaction,
  account: string,
  keptSinceMs: number,
): Promise<boolean> => {
  const entries = await transaction.list(deadLetters, {
    prefix: [account],
    after: [account, keptSinceMs],
    limit: sweepStep,
  });
  for (const { key } of entries) transaction.delete(deadLetters, key);
  return entries.length === sweepStep;
};

/** The accounts that have dead letters, each once. */
export const listDeadLetterAccounts = async (reader: Reader): Promise<string[]> => {
  const accounts: string[] = [];
  for (;;) {
    const last = accounts.at(-1);
    const [entry] = await reader.list(deadLetters, {
      ...(last === undefined ? {} : { after: [last] as const }),
      limit: 1,
    });
    if (entry === undefined) return accounts;
    accounts.push(entry.key[0]);
  }
};
