import type { ConditionContext } from "./condition.ts";
import { isSatisfied } from "./condition.ts";
import type { Policy, Principal, Statement } from "./document.ts";
import { fitsArn, fitsWildcard, literalPattern } from "./wildcard.ts";

/** The caller, as far as policies can name it. */
export interface Requester {
  /** Empty for an anonymous caller. */
  readonly accountId: string;
  readonly principalArn: string;
  readonly isRoot: boolean;
  readonly isAnonymous: boolean;
  /** The account's canonical id, if known. */
  readonly canonicalUserId?: string;
  /** The name of a service that calls in its own name, for example `events.example.com`. */
  readonly serviceName?: string;
}

/** A request to decide. */
export interface PolicyRequest {
  readonly requester: Requester;
  /** For example `s3:GetObject`. */
  readonly action: string;
  readonly resource: string;
  /** The account that owns the resource. */
  readonly ownerAccountId: string;
  readonly context: ConditionContext;
}

/** The policies that apply to a request. */
interface PolicySet {
  /** The requester's policies. */
  readonly identity: readonly Policy[];
  /** The resource's policies. */
  readonly resource: readonly Policy[];
  /** Another grant of the resource's owner (an ACL, a share) already allows it. */
  readonly isGrantedByOwner?: boolean;
}

/** How texts are normalized before they are compared, so that all dialects match in policies. */
export interface PolicySpelling {
  readonly action: (written: string) => string;
  readonly arn: (written: string) => string;
  readonly key: (written: string) => string;
}

/** The outcome, and the policy and statement that decided it. */
interface Decision {
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

const asWritten: PolicySpelling = { action: (text) => text, arn: (text) => text, key: (text) => text };

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
  const applies = (effect: Statement["effect"], from: readonly Policy[]): Statement | undefined =>
    findStatement(effect, request, from, spelling);

  const denied = applies("Deny", [...policies.identity, ...policies.resource]);
  if (denied !== undefined) return { isAllowed: false, because: "explicit-deny", sid: denied.sid };

  const { requester } = request;
  const byIdentity = applies("Allow", policies.identity);
  const byResource = applies("Allow", policies.resource);
  const isGranted = policies.isGrantedByOwner === true;
  if (!requester.isAnonymous && requester.accountId === request.ownerAccountId) {
    if (requester.isRoot) return { isAllowed: true, because: "owner", sid: undefined };
    if (byIdentity !== undefined) return { isAllowed: true, because: "identity-policy", sid: byIdentity.sid };
    if (byResource !== undefined) return { isAllowed: true, because: "resource-policy", sid: byResource.sid };
    if (isGranted) return { isAllowed: true, because: "owner-grant", sid: undefined };
    return { isAllowed: false, because: "no-allow", sid: undefined };
  }
  const ownSideAllows =
    requester.isAnonymous || requester.isRoot || byIdentity !== undefined || requester.serviceName !== undefined;
  if (!ownSideAllows) return { isAllowed: false, because: "no-allow", sid: undefined };
  if (byResource !== undefined)
    return {
      isAllowed: true,
      because: byIdentity === undefined ? "resource-policy" : "both-sides",
      sid: byResource.sid,
    };
  if (isGranted) return { isAllowed: true, because: "owner-grant", sid: undefined };
  return { isAllowed: false, because: "no-allow", sid: undefined };
};

/** The first statement of this effect that matches the request. */
export const findStatement = (
  effect: Statement["effect"],
  request: PolicyRequest,
  policies: readonly Policy[],
  spelling: PolicySpelling = asWritten,
): Statement | undefined =>
  policies
    .flatMap((policy) => policy.statements.map((statement) => ({ policy, statement })))
    .find(({ policy, statement }) => statement.effect === effect && covers(policy, statement, request, spelling))
    ?.statement;

/**
 * The ARN of a session's role: `arn:aws:iam::111122223333:role/reader` of
 * `arn:aws:sts::111122223333:assumed-role/reader/nightly`. Undefined for every other principal.
 */
export const roleArnOfSession = (principalArn: string): string | undefined => {
  const session = /^arn:([a-z0-9-]+):sts::(\d{12}):assumed-role\/([^/]+)\/[^/]+$/.exec(principalArn);
  return session === null ? undefined : `arn:${session[1]}:iam::${session[2]}:role/${session[3]}`;
};

const covers = (policy: Policy, statement: Statement, request: PolicyRequest, spelling: PolicySpelling): boolean => {
  const { requester, context } = request;
  const resolve = (text: string, isPattern: boolean): string | undefined =>
    policy.version === "2012-10-17" ? replaceVariables(text, context, spelling, isPattern) : text;
  const action = spelling.action(request.action).toLowerCase();
  const resource = spelling.arn(request.resource);
  const selects = <T>(
    selection: { isNegated: boolean; entries: readonly T[] } | undefined,
    test: (entry: T) => boolean,
  ): boolean => selection === undefined || selection.entries.some(test) !== selection.isNegated;
  return (
    selects(statement.principal, (principal) => names(principal, requester, spelling)) &&
    selects(statement.action, (pattern) => fitsWildcard(spelling.action(pattern).toLowerCase(), action)) &&
    selects(statement.resource, (pattern) => {
      const resolved = resolve(spelling.arn(pattern), true);
      return resolved !== undefined && fitsArn(resolved, resource);
    }) &&
    statement.conditions.every((condition) =>
      isSatisfied({ ...condition, key: spelling.key(condition.key) }, context, (text) => {
        const resolved = resolve(text, condition.operator.isPattern);
        return resolved !== undefined && condition.operator.name.startsWith("Arn") ? spelling.arn(resolved) : resolved;
      }),
    )
  );
};

const names = (principal: Principal, requester: Requester, spelling: PolicySpelling): boolean => {
  switch (principal.kind) {
    case "everyone":
      return true;
    case "account":
      return !requester.isAnonymous && requester.accountId === principal.value;
    case "arn":
      return !requester.isAnonymous && isNamed(requester.principalArn, spelling.arn(principal.value), spelling);
    case "service":
      return requester.serviceName === principal.value;
    case "canonical-user":
      return requester.canonicalUserId === principal.value;
    case "federated":
      return false;
  }
};

/** A role's ARN names all its sessions. */
const isNamed = (principalArn: string, named: string, spelling: PolicySpelling): boolean => {
  if (spelling.arn(principalArn) === named) return true;
  const roleArn = roleArnOfSession(principalArn);
  return roleArn !== undefined && spelling.arn(roleArn) === named;
};

/**
 * Replaces `${key}` and `${key, 'fallback'}`; `${*}`, `${?}` and `${$}` become the character. Undefined if a key does
 * not have exactly one value.
 */
const replaceVariables = (
  text: string,
  context: ConditionContext,
  spelling: PolicySpelling,
  isPattern: boolean,
): string | undefined => {
  let isWhole = true;
  const asWanted = (value: string): string => (isPattern ? literalPattern(value) : value);
  const replaced = text.replace(/\$\{([^}]*)\}/g, (_whole, written: string) => {
    if (written === "*" || written === "?" || written === "$") return asWanted(written);
    const match = /^\s*([^,\s]+)\s*(?:,\s*'([^']*)'\s*)?$/.exec(written);
    const values = context.get(spelling.key(match?.[1] ?? "").toLowerCase());
    const value = values?.length === 1 ? values[0] : match?.[2];
    if (value === undefined) isWhole = false;
    return asWanted(value ?? "");
  });
  return isWhole ? replaced : undefined;
};
