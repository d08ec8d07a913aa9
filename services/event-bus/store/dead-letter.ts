import type { DeadLetterRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { causeOf, groupIdOf } from "../domain/dead-letter-group.ts";
import { deadLetterEpochs, deadLetterGroups, deadLetters, deadLettersByGroup } from "./layout.ts";
import { countDeadLetter } from "./traffic-counts.ts";

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

/** The members of a dead letter that its caller gives. */
export type NewDeadLetter = Partial<Omit<DeadLetterRecord, "$typeName" | "$unknown" | "groupId" | "epoch">> &
  Pick<DeadLetterRecord, "targetArn" | "errorCode" | "errorMessage">;

/**
 * The number of redrives that an account has started, which each of its new dead letters records. A damaged number is
 * replaced by the time, in milliseconds since 1970: no account has started so many.
 */
export const letterEpoch = async (transaction: Transaction, account: string, nowMs: number): Promise<number> => {
  const found = await findOrDamaged(transaction.get(deadLetterEpochs, [account]));
  if (found !== "damaged") return Number(found?.epoch ?? 0n);
  transaction.put(deadLetterEpochs, [account], { epoch: BigInt(nowMs) });
  return nowMs;
};

/** Begins the next epoch of an account's dead letters and returns it; all letters so far are of earlier ones. */
export const beginLetterEpoch = async (transaction: Transaction, account: string, nowMs: number): Promise<number> => {
  const epoch = (await letterEpoch(transaction, account, nowMs)) + 1;
  transaction.put(deadLetterEpochs, [account], { epoch: BigInt(epoch) });
  return epoch;
};

/** When a new dead letter failed, and the epoch that its transaction has read. */
interface LetterOrigin extends LetterId {
  readonly epoch: number;
}

/** Creates a dead letter in its group. */
export const putDeadLetter = (
  transaction: Transaction,
  account: string,
  { failedMs, random, epoch }: LetterOrigin,
  letter: NewDeadLetter,
): void => {
  const { ruleArn = "", targetArn, errorCode } = letter;
  const group = { ruleArn, targetArn, errorCode, cause: causeOf(letter.errorMessage) };
  const groupId = groupIdOf(group);
  transaction.put(deadLetters, [account, failedMs, random], { ...letter, groupId, epoch: BigInt(epoch) });
  transaction.put(deadLetterGroups, [account, groupId], group);
  transaction.put(deadLettersByGroup, [account, groupId, epoch, failedMs, random], {});
  countDeadLetter(transaction, { account, groupId }, 1);
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
    if (accepts(value)) found.push({ id: idOf(key[1], key[2]), failedMs: key[1], letter: value });
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

/** The dead letter with an id, or undefined. */
export const findDeadLetterById = async (
  reader: Reader,
  account: string,
  id: string,
): Promise<DeadLetterRecord | undefined> => {
  const parsed = parseId(id);
  return parsed && findDeadLetter(reader, account, parsed.failedMs, parsed.random);
};

/** Deletes a dead letter that exists, by its id. */
export const deleteDeadLetter = (
  transaction: Transaction,
  account: string,
  id: string,
  letter: Pick<DeadLetterRecord, "groupId" | "epoch">,
): void => {
  const parsed = parseId(id);
  if (parsed !== undefined) deleteLetter(transaction, account, parsed, letter);
};

const deleteLetter = (
  transaction: Transaction,
  account: string,
  { failedMs, random }: LetterId,
  { groupId, epoch }: Pick<DeadLetterRecord, "groupId" | "epoch">,
): void => {
  transaction.delete(deadLetters, [account, failedMs, random]);
  transaction.delete(deadLettersByGroup, [account, groupId, Number(epoch), failedMs, random]);
  countDeadLetter(transaction, { account, groupId }, -1);
};

/** The id of a dead letter. */
export const idOf = (failedMs: number, random: string): string => `${failedMs}-${random}`;

/** The parts of the id of a dead letter. */
interface LetterId {
  /** Milliseconds since 1970. */
  readonly failedMs: number;
  /** Distinguishes it from others of the same millisecond. */
  readonly random: string;
}

const parseId = (id: string): LetterId | undefined => {
  const [, failed, random] = /^([0-9]{1,15})-(.+)$/.exec(id) ?? [];
  return random === undefined ? undefined : { failedMs: Number(failed), random };
};

/** The position of a dead letter in its group: its epoch, a slash and its id. */
export const placeOf = ({ id, letter }: DeadLetter): string => `${letter.epoch}/${id}`;

/** The parts of the key of a position in a group; undefined: it is malformed. */
export const parsePlace = (place: string): (LetterId & { readonly epoch: number }) | undefined => {
  const [, epoch, id] = /^([0-9]{1,15})\/(.+)$/.exec(place) ?? [];
  const parsed = parseId(id ?? "");
  return parsed && { epoch: Number(epoch), ...parsed };
};

/**
 * Deletes some dead letters of an account from before the instant. Returns whether there may be more. Of a damaged one
 * it is not known in which group it is, where it is found no more.
 */
export const deleteOldDeadLetters = async (
  transaction: Transaction,
  account: string,
  keptSinceMs: number,
): Promise<boolean> => {
  let count = 0;
  const range = { prefix: [account] as [string], after: [account, keptSinceMs] as [string, number], limit: sweepStep };
  for await (const { key, value } of walkTable(transaction, deadLetters, range)) {
    if (value === undefined) transaction.delete(deadLetters, key);
    else deleteLetter(transaction, account, { failedMs: key[1], random: key[2] }, value);
    count += 1;
  }
  return count === sweepStep;
};
