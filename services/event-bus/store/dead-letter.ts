import type { MessageInitShape } from "@bufbuild/protobuf";

import type { DeadLetterRecord, DeadLetterRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { deadLetters } from "./layout.ts";
import { countDeadLetters } from "./traffic-counts.ts";

/** Dead letters that one step of the sweep deletes. */
const sweepStep = 500;

/** A delivery that failed permanently. */
export interface DeadLetter {
  /** When the delivery failed (milliseconds since 1970), a hyphen, and a random part. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly failedMs: number;
  readonly letter: DeadLetterRecord;
}

/** Creates a dead letter. `random` distinguishes it from others of the same millisecond. */
export const putDeadLetter = (
  transaction: Transaction,
  account: string,
  failedMs: number,
  random: string,
  letter: MessageInitShape<typeof DeadLetterRecordSchema>,
): void => {
  transaction.put(deadLetters, [account, failedMs, random], letter);
  countDeadLetters(transaction, 1);
};

/** At most `limit` dead letters of an account, the latest first; only those that are accepted. */
export const listDeadLetters = async (
  reader: Reader,
  account: string,
  options: { readonly after: string | undefined; readonly limit: number },
  accepts: (letter: DeadLetterRecord) => boolean = () => true,
): Promise<DeadLetter[]> => {
  const after = options.after === undefined ? undefined : parseId(options.after);
  const found: DeadLetter[] = [];
  const range = reader.range(deadLetters, {
    prefix: [account],
    ...(after === undefined ? {} : { after: [account, after.failedMs, after.random] as const }),
  });
  for await (const { key, value } of range) {
    if (accepts(value)) found.push({ id: `${key[1]}-${key[2]}`, failedMs: key[1], letter: value });
    if (found.length === options.limit) break;
  }
  return found;
};

/** The dead letter, or undefined. */
export const findDeadLetter = (
  reader: Reader,
  account: string,
  failedMs: number,
  random: string,
): Promise<DeadLetterRecord | undefined> => reader.get(deadLetters, [account, failedMs, random]);

/** Deletes a dead letter and returns it; undefined if it does not exist. */
export const removeDeadLetter = async (
  transaction: Transaction,
  account: string,
  id: string,
): Promise<DeadLetterRecord | undefined> => {
  const parsed = parseId(id);
  if (parsed === undefined) return undefined;
  const key = [account, parsed.failedMs, parsed.random] as const;
  const letter = await transaction.get(deadLetters, key);
  if (letter === undefined) return undefined;
  transaction.delete(deadLetters, key);
  countDeadLetters(transaction, -1);
  return letter;
};

const parseId = (id: string): { readonly failedMs: number; readonly random: string } | undefined => {
  const [, failed, random] = /^([0-9]{1,15})-(.+)$/.exec(id) ?? [];
  return random === undefined ? undefined : { failedMs: Number(failed), random };
};

/** Deletes some dead letters of an account from before the instant. Returns whether there may be more. */
export const deleteOldDeadLetters = async (
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
  countDeadLetters(transaction, -entries.length);
  return entries.length === sweepStep;
};
