import type { RuleMatchingRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { ruleChanges, ruleMatchings } from "./layout-resolution.ts";
import { findResolutions } from "./resolution.ts";

/** In the place of a profile: all profiles of the domain are still to be noted as changed. */
export const allProfiles = new Uint8Array();

/** The identifier of the rules that a domain applies; undefined: it applies none. */
export const findRulesId = async (reader: Reader, domainId: Uint8Array): Promise<Uint8Array | undefined> => {
  const rulesId = (await findResolutions(reader, domainId))?.rulesId;
  return rulesId === undefined || rulesId.length === 0 ? undefined : rulesId;
};

/** The rules of an identifier; undefined: they are not applied any more. */
export const findRules = (reader: Reader, rulesId: Uint8Array): Promise<RuleMatchingRecord | undefined> =>
  reader.get(ruleMatchings, [rulesId]);

/** What the rules of a domain have come to, as its settings show it; undefined: it applies none. */
export const findRulesStatus = async (reader: Reader, domainId: Uint8Array): Promise<string | undefined> => {
  const rulesId = await findRulesId(reader, domainId);
  return rulesId === undefined ? undefined : (await findRules(reader, rulesId))?.status;
};

export const putRules = (
  transaction: Transaction,
  rulesId: Uint8Array,
  record: Omit<RuleMatchingRecord, "$typeName" | "$unknown">,
): void => transaction.put(ruleMatchings, [rulesId], record);

export const removeRules = (transaction: Transaction, rulesId: Uint8Array): void =>
  transaction.delete(ruleMatchings, [rulesId]);

/** Notes that a profile is to be compared by rules, or all are. */
export const noteForRules = (transaction: Transaction, rulesId: Uint8Array, profileId: Uint8Array): void =>
  transaction.put(ruleChanges, [rulesId, profileId], {});

export const removeNote = (transaction: Transaction, rulesId: Uint8Array, profileId: Uint8Array): void =>
  transaction.delete(ruleChanges, [rulesId, profileId]);

/** Sorts behind every profile identifier. */
const behindProfiles = new Uint8Array(17).fill(0xff);

/** The identifier of the next rules that have something to compare, after the given one. */
export const nextRules = async (reader: Reader, after: Uint8Array | undefined): Promise<Uint8Array | undefined> => {
  const range = { after: after === undefined ? undefined : ([after, behindProfiles] as const), limit: 1 };
  for await (const { key } of walkTable(reader, ruleChanges, range)) return key[0];
  return undefined;
};

/** The first profiles that are to be compared by rules, also where the note of one is damaged. */
export const listNoted = async (reader: Reader, rulesId: Uint8Array, limit: number): Promise<Uint8Array[]> => {
  const noted: Uint8Array[] = [];
  for await (const { key } of walkTable(reader, ruleChanges, { prefix: [rulesId], limit })) noted.push(key[1]);
  return noted;
};
