import type { DescMethod } from "@bufbuild/protobuf";

import { grantsEverything } from "../policy/full-grant.ts";
import { PolicyError } from "../policy/document.ts";
import type { Authenticate } from "./authenticate.ts";
import type { Caller } from "./caller.ts";
import { parseIdentityPolicy } from "./identity-policies.ts";

const decided = new WeakMap<Caller, boolean>();

/**
 * True if the caller may do everything that its account may do: the account's root, or a user or role whose identity
 * policies allow the action `*` on the resource `*` without a condition and deny nothing. An unreadable policy allows
 * nothing. False for anonymous callers.
 */
export const mayActForAccount = (caller: Caller): boolean => {
  if (caller.isAnonymous) return false;
  if (caller.isRoot) return true;
  let may = decided.get(caller);
  if (may === undefined) {
    may = hasFullGrant(caller.policies);
    decided.set(caller, may);
  }
  return may;
};

const hasFullGrant = (policies: readonly string[]): boolean => {
  try {
    return grantsEverything(policies.map(parseIdentityPolicy));
  } catch (error) {
    if (error instanceof PolicyError) return false;
    throw error;
  }
};

/**
 * For services that check only a caller's account: accepts callers who may act for the account, preauthorized calls,
 * and anonymous callers, whom such a service refuses itself. All others get the refusal.
 */
export const guardAccounts =
  (authenticate: Authenticate, refusal: (caller: Caller, method: DescMethod) => Error): Authenticate =>
  async (authorization, method) => {
    const caller = await authenticate(authorization, method);
    if (caller.isAnonymous || caller.isPreauthorized === true || mayActForAccount(caller)) return caller;
    throw refusal(caller, method);
  };
