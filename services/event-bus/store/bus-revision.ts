import type { BusRevisionRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Reader } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { BusReference } from "../domain/arns.ts";
import { busRevisions, ruleChanges, rules } from "./layout.ts";

/** How often the rules of a bus changed, and how many it has. */
export type BusRevision = Pick<BusRevisionRecord, "revision" | "ruleCount">;

/** More than the changes of any bus: what is added to a lost revision so that it is above each earlier one. */
const revisionLeap = 2n ** 32n;

/** The revision for which a damaged record counts: above those before the damage, below the next one. */
const damagedRevision = revisionLeap - 1n;

/** A revision, without the number of rules if its record is damaged. */
export type FoundRevision = Pick<BusRevision, "revision"> & Partial<BusRevision>;

/** The revision of a bus; undefined: no rule of it was ever changed. */
export const findRevision = async (
  reader: Reader,
  { account, name }: BusReference,
): Promise<FoundRevision | undefined> => {
  try {
    return await reader.getShared(busRevisions, [account, name]);
  } catch (error) {
    undefinedIfDamaged(error);
    return { revision: damagedRevision };
  }
};

/**
 * The revision of a bus as a change of it goes on from; 0 before the first. Where the record is damaged, the rules are
 * counted, and the revision is above all that the bus can have had.
 */
export const readRevision = async (reader: Reader, bus: BusReference): Promise<BusRevision> => {
  const found = await findRevision(reader, bus);
  if (found === undefined) return { revision: 0n, ruleCount: 0 };
  const { revision, ruleCount } = found;
  if (ruleCount !== undefined) return { revision, ruleCount };
  const prefix: [string, string] = [bus.account, bus.name];
  let [last, count] = [0, 0];
  for await (const { key } of walkTable(reader, ruleChanges, { prefix })) last = key[2];
  for await (const _rule of walkTable(reader, rules, { prefix })) count += 1;
  return { revision: BigInt(last) + revisionLeap, ruleCount: count };
};
