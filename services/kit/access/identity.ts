import type { Caller } from "../identity/caller.ts";
import { parseIdentityPolicy } from "../identity/identity-policies.ts";
import type { Requester } from "../policy/compiled.ts";
import type { Policy } from "../policy/document.ts";
import { PolicyError } from "../policy/document.ts";
import { policyCache } from "../policy/policy-cache.ts";

const parsed = policyCache(parseIdentityPolicy);
const known = new WeakMap<readonly string[], readonly Policy[] | "unreadable">();

/** The texts of callers' policies in lower case. */
const lowered = new WeakMap<readonly string[], string>();

/**
 * The identity policies of a caller; undefined if one cannot be read: it may deny what the others allow, so none of
 * them allows anything. None count for a root, or where another service has already decided on the call.
 */
export const identityPoliciesOf = (caller: Caller): readonly Policy[] | undefined => {
  if (actsForAccount(caller)) return [];
  let policies = known.get(caller.policies);
  if (policies === undefined) {
    policies = readAll(caller.policies);
    known.set(caller.policies, policies);
  }
  return policies === "unreadable" ? undefined : policies;
};

/**
 * Whether a policy of the caller or one of the texts asks for a condition key, so that what it costs to find the key's
 * value is spent only then. `key` is in lower case and may be a part of one.
 */
export const asksFor = (key: string, caller: Caller, ...policyTexts: readonly (string | undefined)[]): boolean => {
  let own = lowered.get(caller.policies);
  if (own === undefined) {
    own = caller.policies.join("\n").toLowerCase();
    lowered.set(caller.policies, own);
  }
  return own.includes(key) || policyTexts.some((text) => text?.toLowerCase().includes(key) === true);
};

/** A caller as policies can name it. */
export const requesterOf = (caller: Caller): Requester => ({
  accountId: caller.accountId,
  principalArn: caller.principalArn,
  isRoot: actsForAccount(caller),
  isAnonymous: caller.isAnonymous,
  ...(caller.canonicalUserId === undefined ? {} : { canonicalUserId: caller.canonicalUserId }),
});

const actsForAccount = (caller: Caller): boolean =>
  !caller.isAnonymous && (caller.isRoot || caller.isPreauthorized === true);

const readAll = (texts: readonly string[]): readonly Policy[] | "unreadable" => {
  try {
    return texts.map(parsed);
  } catch (error) {
    if (error instanceof PolicyError) return "unreadable";
    throw error;
  }
};
