import type { Accounts } from "../../kit/accounts/accounts.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Transaction } from "../../kit/store/store.ts";
import { findCodeStep } from "../domain/one-time-code.ts";
import type { Bucket } from "../store/bucket.ts";
import { mfaUses } from "../store/mfa-uses.ts";
import type { RefusedCall } from "./refusals.ts";
import { refuse } from "./refusals.ts";

/** The parts of a call that its second factor is checked by. */
export type SecondFactorCall = RefusedCall &
  Pick<CallContext<unknown>, "caller"> & {
    readonly app: { readonly clock: Pick<Clock, "now">; readonly accounts: Pick<Accounts, "findMfaDevice"> };
  };

/**
 * Checks the second factor of a call in the transaction of its change. Throws ACCESS_DENIED unless the caller is the
 * root of the bucket's owner, and `mfa` is the serial number of a declared device of it and a code that the device
 * shows now, with a space between them. No code is accepted twice, and none that is older than one that was.
 */
export const checkSecondFactor = async (
  transaction: Transaction,
  call: SecondFactorCall,
  bucket: Bucket,
  mfa: string | undefined,
  action: string,
  shownAs = bucket.name,
): Promise<void> => {
  const { app, caller } = call;
  const [serial = "", code = ""] = (mfa ?? "").trim().split(/\s+/);
  const isOwnersRoot = caller.isRoot && !caller.isAnonymous && caller.accountId === bucket.accountId;
  const device = isOwnersRoot ? app.accounts.findMfaDevice(bucket.accountId, serial) : undefined;
  const step = device && findCodeStep(device.secret, code, app.clock.now());
  const used = step === undefined ? undefined : await transaction.get(mfaUses, [serial]);
  if (step === undefined || (used !== undefined && BigInt(step) <= used.counter))
    throw refuse(call, action, shownAs, "second-factor");
  transaction.put(mfaUses, [serial], { counter: BigInt(step) });
};
