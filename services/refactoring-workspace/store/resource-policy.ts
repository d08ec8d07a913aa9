import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { resourcePolicies } from "./layout.ts";

/** The policy of an environment as it was put; undefined if it has none. */
export const findPolicy = async (reader: Reader, environmentId: string): Promise<string | undefined> =>
  (await reader.get(resourcePolicies, [environmentId]))?.policy;

/** Sets or replaces the policy of an environment. */
export const putPolicy = (transaction: Transaction, environmentId: string, policy: string, nowMs: number): void =>
  transaction.put(resourcePolicies, [environmentId], { policy, lastUpdatedMs: BigInt(nowMs) });

/** Deletes the policy of an environment. */
export const deletePolicy = (transaction: Transaction, environmentId: string): void =>
  transaction.delete(resourcePolicies, [environmentId]);
