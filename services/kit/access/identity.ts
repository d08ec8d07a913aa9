import type { Caller } from "../identity/caller.ts";
import { parseIdentityPolicy } from "../identity/identity-policies.ts";
import type { Requester } from "../policy/compiled.ts";
import type { Policy } from "../policy/document.ts";
import { PolicyError } from "../policy/document.ts";
import type { PolicySet } from "../policy/evaluate.ts";
import { policyCache } from "../policy/policy-cache.ts";

const parsed = policyCache(parseIdentityPolicy);
const known = new WeakMap<readonly string[], readonly Policy[] | "unreadable">();

/** The policies of callers as one text in lower case, and the keys that were looked for in it. */
const lowered = new WeakMap<readonly string[], { readonly text: string; readonly asked: Map<string, boolean> }>();

/** A caller's own policies: those of its identity, its boundary, and those that narrow its session. */
export type CallerPolicies = Pick<PolicySet, "identity" | "boundary" | "session">;

const none: CallerPolicies = { identity: [] };

/**
 * The policies of a caller; undefined if one cannot be read: it may deny what the others allow, so none of them allows
 * anything. Those of its identity do not count for a root, and none where another service has already decided on the
 * call.
 */
export const callerPoliciesOf = (caller: Caller): CallerPolicies | undefined => {
  if (caller.isAnonymous) return none;
  const { isPreauthorized, isRoot, policies, permissionsBoundary, sessionPolicies } = caller;
  if (isPreauthorized === true) return none;
  const boundary = permissionsBoundary === undefined ? undefined : parseAll([permissionsBoundary]);
  const session = sessionPolicies && readAll(sessionPolicies);
  const identity = isRoot ? none.identity : readAll(policies);
  if (identity === "unreadable" || boundary === "unreadable" || session === "unreadable") return undefined;
  if (boundary === undefined) return session === undefined ? { identity } : { identity, session };
  return session === undefined ? { identity, boundary } : { identity, boundary, session };
};

/**
 * Whether a policy of the caller or one of the texts asks for a condition key, so that what it costs to find the key's
 * value is spent only then. `key` is in lower case and may be a part of one.
 */
export const asksFor = (key: string, caller: Caller, ...policyTexts: readonly (string | undefined)[]): boolean => {
  return (
    asks(caller.policies, key) ||
    caller.permissionsBoundary?.toLowerCase().includes(key) === true ||
    (caller.sessionPolicies !== undefined && asks(caller.sessionPolicies, key)) ||
    policyTexts.some((text) => text?.toLowerCase().includes(key) === true)
  );
};

const asks = (policies: readonly string[], key: string): boolean => {
  let found = lowered.get(policies);
  if (found === undefined) {
    found = { text: policies.join("\n").toLowerCase(), asked: new Map() };
    lowered.set(policies, found);
  }
  let isAsked = found.asked.get(key);
  if (isAsked === undefined) {
    isAsked = found.text.includes(key);
    found.asked.set(key, isAsked);
  }
  return isAsked;
};

/** A caller as policies can name it. */
export const requesterOf = (caller: Caller): Requester => ({
  accountId: caller.accountId,
  // A service has no ARN.
  principalArn: caller.service === undefined ? caller.principalArn : "",
  ...(caller.rolePath === undefined ? {} : { rolePath: caller.rolePath }),
  isRoot: actsForAccount(caller),
  isAnonymous: caller.isAnonymous,
  ...(caller.service === undefined ? {} : { serviceName: caller.service.name }),
  ...(caller.canonicalUserId === undefined ? {} : { canonicalUserId: caller.canonicalUserId }),
});

const actsForAccount = (caller: Caller): boolean =>
  !caller.isAnonymous && (caller.isRoot || caller.isPreauthorized === true);

/** A caller's policies are one list for many calls, so what was read is kept by the list. */
const readAll = (texts: readonly string[]): readonly Policy[] | "unreadable" => {
  let policies = known.get(texts);
  if (policies === undefined) {
    policies = parseAll(texts);
    known.set(texts, policies);
  }
  return policies;
};

const parseAll = (texts: readonly string[]): readonly Policy[] | "unreadable" => {
  try {
    return texts.map(parsed);
  } catch (error) {
    if (error instanceof PolicyError) return "unreadable";
    throw error;
  }
};
