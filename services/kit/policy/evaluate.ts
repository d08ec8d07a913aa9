import type { CompiledStatement, PolicyRequest, SpelledRequest } from "./compiled.ts";
import { compiled, covers, spelledRequest } from "./compiled.ts";
import type { Policy, Statement } from "./document.ts";
import type { PolicySpelling } from "./spelling.ts";
import { asWritten } from "./spelling.ts";

/** The policies that apply to a request. */
export interface PolicySet {
  /** The requester's policies. */
  readonly identity: readonly Policy[];
  /** The resource's policies. */
  readonly resource: readonly Policy[];
  /** Another grant of the resource's owner (an ACL, a share) already allows it. */
  readonly isGrantedByOwner?: boolean;
}

/** The outcome and what decided it. */
export interface Decision {
  readonly isAllowed: boolean;
  readonly because:
    | "explicit-deny"
    | "no-allow"
    | "owner"
    | "identity-policy"
    | "resource-policy"
    | "both-sides"
    | "owner-grant";
  /** The deciding statement's Sid, if it has one. */
  readonly sid: string | undefined;
}

/** Where a statement is: the side, the index of its policy there, and its own index in that policy. */
export interface StatementPlace {
  readonly side: "identity" | "resource";
  readonly policy: number;
  readonly statement: number;
  readonly sid: string | undefined;
}

/** A statement that would speak about the request if one element were another. */
export interface NearMiss extends StatementPlace {
  readonly effect: Statement["effect"];
  readonly failed: "principal" | "action" | "resource" | "condition";
  /** The condition key that failed, as written. */
  readonly key?: string;
}

/** A decision with its reasons, for operators and never for callers. */
export interface Explanation extends Decision {
  /** The deciding statement; undefined where none decided. */
  readonly statement: StatementPlace | undefined;
  /** The statements of which one element failed, those with the wrong action last. */
  readonly nearMisses: readonly NearMiss[];
}

/**
 * Decides a request: an explicit deny of any policy wins; then, within one account, one allow is enough and the root
 * needs none; across accounts both the requester's and the resource's policies must allow it; an anonymous requester
 * has no policies. Everything else is denied.
 */
export const evaluate = (
  request: PolicyRequest,
  policies: PolicySet,
  spelling: PolicySpelling = asWritten,
): Decision => {
  const { because, at } = decide(request, policies, spelling);
  return { isAllowed: isAllow(because), because, sid: at?.sid };
};

/** Decides as `evaluate` does, and says which statement decided and which nearly matched. */
export const explain = (
  request: PolicyRequest,
  policies: PolicySet,
  spelling: PolicySpelling = asWritten,
): Explanation => {
  const { because, at } = decide(request, policies, spelling);
  const spelled = spelledRequest(request, spelling);
  const nearMisses = [...placed(policies, spelling)].flatMap(({ place, statement }): NearMiss[] => {
    const failures = failuresOf(statement, spelled);
    const [only] = failures;
    if (failures.length !== 1 || only === undefined) return [];
    return [{ ...place, effect: statement.statement.effect, ...only }];
  });
  return {
    isAllowed: isAllow(because),
    because,
    sid: at?.sid,
    statement: at,
    nearMisses: [
      ...nearMisses.filter(({ failed }) => failed !== "action"),
      ...nearMisses.filter(({ failed }) => failed === "action"),
    ],
  };
};

/** The first statement of this effect that matches the request. */
export const findStatement = (
  effect: Statement["effect"],
  request: PolicyRequest,
  policies: readonly Policy[],
  spelling: PolicySpelling = asWritten,
): Statement | undefined => {
  const spelled = spelledRequest(request, spelling);
  for (const policy of policies)
    for (const each of compiled(policy, spelling))
      if (each.statement.effect === effect && covers(each, spelled)) return each.statement;
  return undefined;
};

interface Outcome {
  readonly because: Decision["because"];
  readonly at: StatementPlace | undefined;
}

const isAllow = (because: Decision["because"]): boolean => because !== "explicit-deny" && because !== "no-allow";

const noAllow: Outcome = { because: "no-allow", at: undefined };
const ownerGrant: Outcome = { because: "owner-grant", at: undefined };

const decide = (request: PolicyRequest, policies: PolicySet, spelling: PolicySpelling): Outcome => {
  const { requester, ownerAccountId } = request;
  const spelled = spelledRequest(request, spelling);
  const identity = findBoth("identity", policies.identity, spelled, spelling);
  if (identity.deny !== undefined) return { because: "explicit-deny", at: identity.deny };
  const resource = findBoth("resource", policies.resource, spelled, spelling);
  if (resource.deny !== undefined) return { because: "explicit-deny", at: resource.deny };

  const isGranted = policies.isGrantedByOwner === true;
  if (!requester.isAnonymous && requester.accountId === ownerAccountId) {
    if (requester.isRoot) return { because: "owner", at: undefined };
    if (identity.allow !== undefined) return { because: "identity-policy", at: identity.allow };
    if (resource.allow !== undefined) return { because: "resource-policy", at: resource.allow };
    return isGranted ? ownerGrant : noAllow;
  }
  const ownSideAllows =
    requester.isAnonymous || requester.isRoot || identity.allow !== undefined || requester.serviceName !== undefined;
  if (!ownSideAllows) return noAllow;
  if (resource.allow !== undefined)
    return { because: identity.allow === undefined ? "resource-policy" : "both-sides", at: resource.allow };
  return isGranted ? ownerGrant : noAllow;
};

interface Found {
  readonly deny: StatementPlace | undefined;
  readonly allow: StatementPlace | undefined;
}

/** The first statement of each effect of one side that speaks about the request; a deny ends the search. */
const findBoth = (
  side: StatementPlace["side"],
  policies: readonly Policy[],
  request: SpelledRequest,
  spelling: PolicySpelling,
): Found => {
  let allow: StatementPlace | undefined;
  for (const [policy, document] of policies.entries())
    for (const [index, each] of compiled(document, spelling).entries()) {
      if (each.statement.effect === "Allow" && allow !== undefined) continue;
      if (!covers(each, request)) continue;
      const place = { side, policy, statement: index, sid: each.statement.sid };
      if (each.statement.effect === "Deny") return { deny: place, allow };
      allow = place;
    }
  return { deny: undefined, allow };
};

function* placed(
  policies: PolicySet,
  spelling: PolicySpelling,
): Generator<{ readonly place: StatementPlace; readonly statement: CompiledStatement }> {
  for (const side of ["identity", "resource"] as const)
    for (const [policy, document] of policies[side].entries())
      for (const [index, statement] of compiled(document, spelling).entries())
        yield { place: { side, policy, statement: index, sid: statement.statement.sid }, statement };
}

const failuresOf = (statement: CompiledStatement, request: SpelledRequest): Pick<NearMiss, "failed" | "key">[] => [
  ...(["principal", "action", "resource"] as const)
    .filter((element) => !statement[element](request))
    .map((failed) => ({ failed })),
  ...statement.conditions
    .filter(({ holds }) => !holds(request.context))
    .map(({ key }) => ({ failed: "condition" as const, key })),
];
