import type { Caller } from "./caller.ts";

/** True if the caller belongs to the account that owns a resource. False for anonymous callers. */
export const isOwner = (caller: Caller, ownerAccountId: string): boolean =>
  !caller.isAnonymous && ownerAccountId !== "" && caller.accountId === ownerAccountId;
