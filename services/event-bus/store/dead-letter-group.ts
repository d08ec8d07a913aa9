import type { DeadLetterGroupRecord, DeadLetterPlace } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { DeadLetterFilter } from "../../../gen/quartet/eventbus/v1/dead_letter_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { DeadLetter } from "./dead-letter.ts";
import { findDeadLetter, idOf, parsePlace } from "./dead-letter.ts";
import { deadLetterGroups, deadLettersByGroup } from "./layout.ts";
import { deleteGroupCount, readGroupCount } from "./traffic-counts.ts";

/** Groups that one step of a redrive or of the sweep visits, and those whose letters a new redrive counts. */
const groupsMax = 1_000;

/** The members of a filter by which groups are selected. */
export type GroupFilter = Partial<Pick<DeadLetterFilter, "groupId" | "ruleArn" | "targetArn" | "errorCode">>;

/** A group of dead letters that has some. */
export interface DeadLetterGroup {
  readonly id: string;
  readonly group: DeadLetterGroupRecord;
  readonly count: number;
  /** When the first letter failed, in milliseconds since 1970. */
  readonly firstMs: number;
  readonly last: DeadLetter;
}

/** A letter of a group by the parts of its key. */
type LetterPlace = Omit<DeadLetterPlace, "$typeName" | "$unknown">;

const accepts = (filter: GroupFilter, id: string, group: DeadLetterGroupRecord): boolean =>
  (filter.groupId ?? id) === id &&
  (filter.ruleArn ?? group.ruleArn) === group.ruleArn &&
  (filter.targetArn ?? group.targetArn) === group.targetArn &&
  (filter.errorCode ?? group.errorCode) === group.errorCode;

/** At most `limit` groups of an account that a filter accepts and that have letters, by their ids. */
export const listGroups = async (
  reader: Reader,
  account: string,
  filter: GroupFilter,
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<DeadLetterGroup[]> => {
  const found: DeadLetterGroup[] = [];
  const range = reader.range(deadLetterGroups, {
    prefix: [account],
    ...(page.after === undefined ? {} : { after: [account, page.after] as const }),
  });
  for await (const { key, value } of range) {
    const [, id] = key;
    const shown = accepts(filter, id, value) ? await readGroup(reader, account, id, value) : undefined;
    if (shown !== undefined) found.push(shown);
    if (found.length === page.limit) break;
  }
  return found;
};

const readGroup = async (
  reader: Reader,
  account: string,
  id: string,
  group: DeadLetterGroupRecord,
): Promise<DeadLetterGroup | undefined> => {
  const [first] = await reader.list(deadLettersByGroup, { prefix: [account, id], limit: 1 });
  const [last] = await listLettersOfGroup(reader, account, id, { before: undefined, limit: 1 });
  if (first === undefined || last === undefined) return undefined;
  return { id, group, count: await readGroupCount(reader, { account, groupId: id }), firstMs: first.key[3], last };
};

/** Whether a group has letters. */
export const hasLetters = async (reader: Reader, account: string, groupId: string): Promise<boolean> => {
  const first = walkTable(reader, deadLettersByGroup, { prefix: [account, groupId], limit: 1 });
  for await (const _letter of first) return true;
  return false;
};

/** At most `limit` letters of a group, the latest first, before the position of one of them. */
export const listLettersOfGroup = async (
  reader: Reader,
  account: string,
  groupId: string,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<DeadLetter[]> => {
  const { limit } = page;
  const before = page.before === undefined ? undefined : parsePlace(page.before);
  const entries = await reader.list(deadLettersByGroup, {
    prefix: [account, groupId],
    ...(before && { to: [account, groupId, before.epoch, before.failedMs, before.random] as const }),
    reverse: true,
    limit,
  });
  const found: DeadLetter[] = [];
  for (const { key } of entries) {
    const [, , , failedMs, random] = key;
    const letter = await findDeadLetter(reader, account, failedMs, random);
    if (letter !== undefined) found.push({ id: idOf(failedMs, random), failedMs, letter });
  }
  return found;
};

/** The number of letters that a filter accepts; undefined: they are in too many groups. */
export const countLetters = async (
  reader: Reader,
  account: string,
  filter: GroupFilter,
): Promise<number | undefined> => {
  let visited = 0;
  let count = 0;
  for await (const { key, value } of reader.range(deadLetterGroups, { prefix: [account], limit: groupsMax })) {
    const [, groupId] = key;
    visited += 1;
    if (accepts(filter, groupId, value)) count += await readGroupCount(reader, { account, groupId });
  }
  return visited === groupsMax ? undefined : count;
};

/** Letters of earlier epochs that a filter accepts, group by group, and where the next part begins. */
interface LettersPart {
  readonly places: readonly LetterPlace[];
  /** Undefined: there are no more. */
  readonly reached: LetterPlace | undefined;
}

/**
 * At most `limit` places of letters of earlier epochs than one after a place. New letters are of later epochs, so no
 * letter can come into this range, and it may be read without being checked; each letter may have been removed.
 */
export const listEarlierLetters = async (
  reader: Reader,
  account: string,
  filter: GroupFilter,
  { epoch, after, limit }: { readonly epoch: bigint; readonly after: LetterPlace | undefined; readonly limit: number },
): Promise<LettersPart> => {
  const places: LetterPlace[] = [];
  const begin = after === undefined ? {} : { from: [account, after.groupId] as const };
  const groups = walkTable(reader, deadLetterGroups, { prefix: [account], ...begin, limit: groupsMax });
  let visited = 0;
  let reached = after;
  for await (const { key, value } of groups) {
    const [, groupId] = key;
    visited += 1;
    if (value !== undefined && accepts(filter, groupId, value)) {
      const isBegun = after?.groupId === groupId;
      const entries = walkTable(reader, deadLettersByGroup, {
        prefix: [account, groupId],
        ...(isBegun && { after: [account, groupId, Number(after.epoch), Number(after.failedMs), after.random] }),
        to: [account, groupId, Number(epoch)],
        limit: limit - places.length,
      });
      for await (const entry of entries) places.push(placeOfKey(entry.key));
      if (places.length === limit) return { places, reached: places.at(-1) };
    }
    reached = { groupId, epoch, failedMs: 0n, random: "" };
  }
  return { places, reached: visited === groupsMax ? reached : undefined };
};

const placeOfKey = ([, groupId, epoch, failedMs, random]: readonly [string, string, number, number, string]) => ({
  groupId,
  epoch: BigInt(epoch),
  failedMs: BigInt(failedMs),
  random,
});

/** Deletes groups of an account that have no letters. Returns the id after which the next step begins, if any. */
export const deleteEmptyGroups = async (
  transaction: Transaction,
  account: string,
  after: string | undefined,
): Promise<string | undefined> => {
  const groups = walkTable(transaction.snapshot, deadLetterGroups, {
    prefix: [account],
    ...(after === undefined ? {} : { after: [account, after] as const }),
    limit: groupsMax,
  });
  let visited = 0;
  let last: string | undefined;
  for await (const { key } of groups) {
    const [, groupId] = key;
    visited += 1;
    last = groupId;
    if (await hasLetters(transaction.snapshot, account, groupId)) continue;
    // Read again, checked: a letter may come meanwhile.
    if (await hasLetters(transaction, account, groupId)) continue;
    transaction.delete(deadLetterGroups, key);
    deleteGroupCount(transaction, { account, groupId });
  }
  return visited === groupsMax ? last : undefined;
};
