import type { CounterRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { counters } from "./layout.ts";

/** The statistics of a domain, or a change of them. */
export type Amounts = Pick<CounterRecord, "profileCount" | "meteringProfileCount" | "objectCount" | "totalBytes">;

export const noAmounts: Amounts = { profileCount: 0n, meteringProfileCount: 0n, objectCount: 0n, totalBytes: 0n };

export const addAmounts = (a: Amounts, b: Amounts): Amounts => ({
  profileCount: a.profileCount + b.profileCount,
  meteringProfileCount: a.meteringProfileCount + b.meteringProfileCount,
  objectCount: a.objectCount + b.objectCount,
  totalBytes: a.totalBytes + b.totalBytes,
});

export const subtractAmounts = (a: Amounts, b: Amounts): Amounts => ({
  profileCount: a.profileCount - b.profileCount,
  meteringProfileCount: a.meteringProfileCount - b.meteringProfileCount,
  objectCount: a.objectCount - b.objectCount,
  totalBytes: a.totalBytes - b.totalBytes,
});

/** The statistics of a domain now. */
export const totalOf = async (reader: Reader, domainId: Uint8Array): Promise<Amounts> => {
  let total = noAmounts;
  for await (const { value } of reader.range(counters, { prefix: [domainId] })) total = addAmounts(total, value);
  return total;
};

/** Adds a change of a profile to the statistics of its domain. */
export const changeTotal = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
  change: Amounts,
): Promise<void> => {
  const key = [domainId, shardOf(profileId)] as const;
  const before = (await transaction.get(counters, key)) ?? noAmounts;
  transaction.put(counters, key, addAmounts(before, change));
};

/** 0 to 4095: the first twelve bits of the identifier. */
const shardOf = (profileId: Uint8Array): number => ((profileId[0] ?? 0) << 4) | ((profileId[1] ?? 0) >>> 4);
