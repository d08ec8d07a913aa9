import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { environmentShares, resourcePolicies } from "./layout.ts";

/** The policy of an environment as it was put; undefined if it has none. */
export const findPolicy = async (reader: Reader, environmentId: string): Promise<string | undefined> =>
  (await reader.get(resourcePolicies, [environmentId]))?.policy;

/** Sets or replaces the policy of an environment. `namedAccounts` are those that it may be shared with; `*`: all. */
export const putPolicy = async (
  transaction: Transaction,
  environmentId: string,
  policy: string,
  namedAccounts: readonly string[],
  nowMs: number,
): Promise<void> => {
  await deletePolicy(transaction, environmentId);
  const record = { policy, namedAccounts: [...namedAccounts], lastUpdatedMs: BigInt(nowMs) };
  transaction.put(resourcePolicies, [environmentId], record);
  for (const account of namedAccounts) transaction.put(environmentShares, [account, environmentId], {});
};

/**
 * Deletes the policy of an environment if it has one. Of a damaged one it is not known whom it named: their entries
 * stay, and show them nothing without a policy.
 */
export const deletePolicy = async (transaction: Transaction, environmentId: string): Promise<void> => {
  const record = await findOrDamaged(transaction.get(resourcePolicies, [environmentId]));
  if (record === undefined) return;
  transaction.delete(resourcePolicies, [environmentId]);
  if (record === "damaged") return;
  for (const account of record.namedAccounts) transaction.delete(environmentShares, [account, environmentId]);
};
