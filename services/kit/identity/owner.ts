import type { Caller } from "./caller.ts";

/** Whether the caller belongs to the account that owns a resource. Nobody owns anything anonymously. */
export const isOwner = (caller: Caller, ownerAccountId: string): boolean =>
  !caller.isAnonymous && ownerAccountId !== "" && caller.accountId === ownerAccountId;

/** Throws the refusal unless the caller belongs to the owning account. The refusal is made only when it is needed. */
export const requireOwner = (caller: Caller, ownerAccountId: string, refusal: () => Error): void => {
  if (!isOwner(caller, ownerAccountId)) throw refusal();
};
