import type { CounterRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { countAccountLetters } from "./account-letters.ts";
import { counters } from "./layout.ts";

/** The statistics of a domain. */
type Statistics = Pick<CounterRecord, "profileCount" | "meteringProfileCount" | "objectCount" | "totalBytes">;

/** The share of a profile in the statistics of its domain. */
export type Amounts = { readonly [Member in keyof Statistics]: number };

export const noAmounts: Amounts = { profileCount: 0, meteringProfileCount: 0, objectCount: 0, totalBytes: 0 };

/** The statistics of a domain now. */
export const totalOf = async (reader: Reader, domainId: Uint8Array): Promise<Statistics> =>
  (await reader.get(counters, [domainId])) ?? {
    profileCount: 0n,
    meteringProfileCount: 0n,
    objectCount: 0n,
    totalBytes: 0n,
  };

/** The dead letters of a domain that wait to be sent. */
export const letterCountOf = async (reader: Reader, domainId: Uint8Array): Promise<number> =>
  Number((await reader.get(counters, [domainId]))?.letterCount ?? 0n);

/** Counts a dead letter of a domain and its account that is stored, or one that is removed. */
export const countLetter = (transaction: Transaction, domainId: Uint8Array, account: string, by: 1 | -1): void => {
  transaction.add(counters, [domainId], { letterCount: by });
  countAccountLetters(transaction, account, by);
};

/** Replaces the share of a profile in the statistics of its domain. */
export const changeTotal = (transaction: Transaction, domainId: Uint8Array, before: Amounts, after: Amounts): void =>
  transaction.add(counters, [domainId], {
    profileCount: after.profileCount - before.profileCount,
    meteringProfileCount: after.meteringProfileCount - before.meteringProfileCount,
    objectCount: after.objectCount - before.objectCount,
    totalBytes: after.totalBytes - before.totalBytes,
  });
