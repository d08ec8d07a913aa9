import type { Caller } from "../identity/caller.ts";
import { roleCaller } from "../identity/caller.ts";
import { parseIdentityPolicy } from "../identity/identity-policies.ts";
import type { ConditionContext } from "../policy/condition.ts";
import type { Policy, Statement } from "../policy/document.ts";
import type { PolicyRequest, Requester } from "../policy/compiled.ts";
import { findStatement } from "../policy/evaluate.ts";
import type { PolicySpelling } from "../policy/spelling.ts";
import type { Accounts, Role } from "./accounts.ts";
import { principalConditions } from "./principal-conditions.ts";

/** A service that assumes a role in its own name, with every name that trust policies may use for it. */
export interface ServicePrincipal {
  /** For example `["events.amazonaws.com"]`. */
  readonly serviceNames: readonly string[];
}

export interface AssumeRoleRequest {
  readonly roleArn: string;
  /** Ends the session's ARN: 2 to 64 letters, digits or `_+=,.@-`. */
  readonly sessionName: string;
  /** Condition keys next to the principal's, in lower case: `aws:sourceaccount`, `aws:sourcearn`, `sts:externalid`. */
  readonly context?: ReadonlyMap<string, readonly string[]>;
}

/** The caller of the session, or the reason of the refusal. */
export type AssumeRoleOutcome =
  | { readonly caller: Caller }
  | { readonly refusal: "unknown-role" | "denied" | "not-trusted" | "not-allowed" };

const action = "sts:AssumeRole";

/** Partitions are equal, and so are the prefixes of condition keys. */
const anyPartition: PolicySpelling = {
  action: (written) => written,
  arn: (written) => written.replace(/^arn:[a-z0-9-]+:/, "arn:aws:"),
  key: (written) => written.toLowerCase().replace(/^svc:/, "aws:"),
};

/**
 * Assumes a role. An explicit deny on either side refuses. The role's trust policy must allow the principal, also the
 * root of its own account. That is enough for a service, for a root, and for a principal of the same account that the
 * trust policy names itself; every other principal, also one that it names only by its account, needs an identity
 * policy that allows `sts:AssumeRole` on the role. The session has the role's policies and none of the principal's.
 * Throws an Error for a session name of another form.
 */
export const assumeRole = (
  accounts: Accounts,
  principal: Caller | ServicePrincipal,
  { roleArn, sessionName, context = new Map() }: AssumeRoleRequest,
): AssumeRoleOutcome => {
  const role = accounts.findRole(roleArn);
  if (role === undefined) return { refusal: "unknown-role" };
  if (!/^[A-Za-z0-9_+=,.@-]{2,64}$/.test(sessionName)) throw new Error("the session name is not valid");
  const session = { caller: sessionOf(accounts, role, sessionName) };
  const sessionConditions = new Map([...context, ["sts:rolesessionname", [sessionName]]]);

  if ("serviceNames" in principal) {
    const requests = principal.serviceNames.map((name) => requestOf(role, serviceRequester(name), sessionConditions));
    if (requests.some((request) => hasStatement("Deny", request, [role.trustPolicy]))) return { refusal: "denied" };
    return requests.some((request) => hasStatement("Allow", request, [role.trustPolicy]))
      ? session
      : { refusal: "not-trusted" };
  }

  const conditions = new Map([...principalConditions(accounts, principal), ...sessionConditions]);
  const request = requestOf(role, requesterOf(accounts, principal), conditions);
  const identity = principal.policies.map(parseIdentityPolicy);
  if (hasStatement("Deny", request, [role.trustPolicy, ...identity])) return { refusal: "denied" };
  if (principal.isAnonymous || !hasStatement("Allow", request, [role.trustPolicy])) return { refusal: "not-trusted" };
  const isNamedItself =
    principal.accountId === role.accountId && hasStatement("Allow", request, [withoutAccounts(role.trustPolicy)]);
  if (principal.isRoot || isNamedItself || hasStatement("Allow", request, identity)) return session;
  return { refusal: "not-allowed" };
};

const hasStatement = (effect: Statement["effect"], request: PolicyRequest, policies: readonly Policy[]): boolean =>
  findStatement(effect, request, policies, anyPartition) !== undefined;

const requestOf = (role: Role, requester: Requester, context: ConditionContext): PolicyRequest => ({
  requester,
  action,
  resource: role.arn,
  ownerAccountId: role.accountId,
  context,
});

const requesterOf = (accounts: Accounts, caller: Caller): Requester => ({
  accountId: caller.accountId,
  principalArn: caller.principalArn,
  isRoot: caller.isRoot,
  isAnonymous: caller.isAnonymous,
  ...(caller.isAnonymous ? {} : { canonicalUserId: accounts.canonicalUserId(caller.accountId) }),
});

const serviceRequester = (serviceName: string): Requester => ({
  accountId: "",
  principalArn: "",
  isRoot: false,
  isAnonymous: false,
  serviceName,
});

/** The part of the policy that names single principals. */
const withoutAccounts = (policy: Policy): Policy => ({
  ...policy,
  statements: policy.statements.flatMap((statement) => {
    if (statement.principal?.isNegated !== false) return [];
    const entries = statement.principal.entries.filter(({ kind }) => kind === "arn");
    return [{ ...statement, principal: { isNegated: false, entries } }];
  }),
});

const sessionOf = (accounts: Accounts, role: Role, sessionName: string): Caller => ({
  ...roleCaller(role.accountId, role.name, sessionName, role.policies),
  canonicalUserId: accounts.canonicalUserId(role.accountId),
});
