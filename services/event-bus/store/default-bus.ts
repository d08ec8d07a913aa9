import type { Clock } from "../../kit/clock/clock.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Store } from "../../kit/store/store.ts";
import { defaultBusName } from "../domain/arns.ts";
import { createBus, findBus } from "./bus.ts";

/**
 * Returns the function that creates the default bus of an account unless it exists. It reads the store only once for
 * each account.
 */
export const defaultBusCreator = (store: Store, clock: Clock): ((account: string) => Promise<void>) => {
  const ensured = new Set<string>();
  return async (account) => {
    if (ensured.has(account)) return;
    await store.transact(async (transaction) => {
      if ((await findOrDamaged(findBus(transaction, { account, name: defaultBusName }))) !== undefined) return;
      const nowMs = BigInt(clock.now());
      await createBus(transaction, account, { name: defaultBusName, createdMs: nowMs, modifiedMs: nowMs });
    });
    ensured.add(account);
  };
};
