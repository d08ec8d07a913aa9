import type { Application } from "../application.ts";
import { defaultBusName } from "../domain/arns.ts";
import { findBus, putBus } from "../store/bus.ts";

/**
 * Returns the function that creates the default bus of an account unless it exists. It reads the store only once for
 * each account.
 */
export const defaultBusMaker = ({
  store,
  clock,
}: Pick<Application, "store" | "clock">): Application["ensureDefaultBus"] => {
  const ensured = new Set<string>();
  return async (account) => {
    if (ensured.has(account)) return;
    await store.transact(async (transaction) => {
      if ((await findBus(transaction, { account, name: defaultBusName })) !== undefined) return;
      const nowMs = BigInt(clock.now());
      putBus(transaction, account, { name: defaultBusName, createdMs: nowMs, modifiedMs: nowMs });
    });
    ensured.add(account);
  };
};
