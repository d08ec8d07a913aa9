import { inPublicPartition } from "../arn/arn.ts";
import type { Caller } from "../identity/caller.ts";
import { roleCaller } from "../identity/caller.ts";
import { parseIdentityPolicy } from "../identity/identity-policies.ts";
import type { ConditionContext } from "../policy/condition.ts";
import type { Policy, Statement } from "../policy/document.ts";
import type { PolicyRequest, Requester } from "../policy/compiled.ts";
import { hasMatchingStatement } from "../policy/evaluate.ts";
import { MatchingWork } from "../policy/matching-work.ts";
import { policyCache } from "../policy/policy-cache.ts";
import type { PolicySpelling } from "../policy/spelling.ts";
import type { Accounts, IdentityProvider, Role } from "./accounts.ts";
import { pathNameOfArn } from "./entity-arn.ts";
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
  /** What must be allowed besides `sts:AssumeRole`, such as `sts:TagSession`. Unset: nothing. */
  readonly furtherActions?: readonly string[];
}

/** The role and the caller of the session, or the reason of the refusal. */
export type AssumeRoleOutcome =
  | { readonly role: Role; readonly caller: Caller }
  | { readonly refusal: "unknown-role" | "denied" | "not-trusted" | "not-allowed" };

const action = "sts:AssumeRole";
const webIdentityAction = "sts:AssumeRoleWithWebIdentity";

/** Partitions are equal, and so are the prefixes of condition keys. */
const anyPartition: PolicySpelling = {
  action: (written) => written,
  arn: inPublicPartition,
  key: (written) => written.toLowerCase().replace(/^svc:/, "aws:"),
};

/**
 * Assumes a role. An explicit deny on either side refuses. The role's trust policy must allow the principal, also the
 * root of its own account. That is enough for a service, for a root, and for a principal of the same account that the
 * trust policy names itself; every other principal, also one that it names only by its account, needs an identity
 * policy that allows `sts:AssumeRole` on the role. A permissions boundary of the principal must allow it, too, unless
 * the trust policy names the principal by its own ARN, and so must policies that limit its session. The session has the
 * role's policies and boundary and none of the principal's. Throws an Error for a session name of another form.
 */
export const assumeRole = (
  accounts: RoleDirectory,
  principal: Caller | ServicePrincipal,
  request: AssumeRoleRequest,
): AssumeRoleOutcome => {
  const role = accounts.findRole(request.roleArn);
  if (role === undefined) return { refusal: "unknown-role" };
  const { sessionName, context = new Map(), furtherActions = [] } = request;
  const caller = sessionOf(accounts, role, sessionName);
  const conditions = new Map([...context, ["sts:rolesessionname", [sessionName]]]);
  const refusal =
    "serviceNames" in principal
      ? serviceRefusal(role, principal, conditions)
      : principalRefusal(accounts, role, principal, conditions, [action, ...furtherActions]);
  return refusal === undefined ? { role, caller } : { refusal };
};

/**
 * Assumes a role for whoever an identity provider vouches for: the role's trust policy must allow the provider, and so
 * must no statement of it deny it. `context` has the claims, `<host and path of the issuer>:sub` and so on.
 */
export const assumeRoleWithWebIdentity = (
  accounts: RoleDirectory,
  { roleArn, sessionName, context = new Map(), provider }: AssumeRoleRequest & { readonly provider: IdentityProvider },
): AssumeRoleOutcome => {
  const role = accounts.findRole(roleArn);
  if (role === undefined || role.accountId !== provider.accountId) return { refusal: "unknown-role" };
  const caller = sessionOf(accounts, role, sessionName);
  const conditions = new Map([...context, ["sts:rolesessionname", [sessionName]]]);
  const requester = { ...nobody, federatedArn: provider.arn };
  const request = requestOf(role, requester, conditions, webIdentityAction);
  const work = new MatchingWork();
  if (hasStatement("Deny", request, [role.trustPolicy], work)) return { refusal: "denied" };
  return hasStatement("Allow", request, [role.trustPolicy], work) ? { role, caller } : { refusal: "not-trusted" };
};

/** The lookups that assuming a role needs. */
export type RoleDirectory = Pick<Accounts, "findRole" | "canonicalUserId" | "findOrganizationId" | "knowsAllRoles">;

/** Those of a caller are the same for many calls. */
const parsed = policyCache(parseIdentityPolicy);

type Refusal = "denied" | "not-trusted" | "not-allowed";

const serviceRefusal = (
  role: Role,
  { serviceNames }: ServicePrincipal,
  conditions: Conditions,
): Refusal | undefined => {
  const requests = serviceNames.map((name) => requestOf(role, serviceRequester(name), conditions, action));
  const work = new MatchingWork();
  if (requests.some((request) => hasStatement("Deny", request, [role.trustPolicy], work))) return "denied";
  const isTrusted = requests.some((request) => hasStatement("Allow", request, [role.trustPolicy], work));
  return isTrusted ? undefined : "not-trusted";
};

const principalRefusal = (
  accounts: RoleDirectory,
  role: Role,
  principal: Caller,
  sessionConditions: Conditions,
  actions: readonly string[],
): Refusal | undefined => {
  const conditions = new Map([...principalConditions(accounts, principal), ...sessionConditions]);
  const requests = actions.map((each) => requestOf(role, requesterOf(accounts, principal), conditions, each));
  const identity = principal.policies.map(parsed);
  const { permissionsBoundary } = principal;
  const boundary = permissionsBoundary === undefined ? undefined : [parsed(permissionsBoundary)];
  const ofSession = principal.sessionPolicies?.map(parsed);
  const work = new MatchingWork();
  const all = [role.trustPolicy, ...identity, ...(boundary ?? []), ...(ofSession ?? [])];
  if (requests.some((request) => hasStatement("Deny", request, all, work))) return "denied";
  const isTrusted = (request: PolicyRequest): boolean => hasStatement("Allow", request, [role.trustPolicy], work);
  if (principal.isAnonymous || !requests.every(isTrusted)) return "not-trusted";
  if (ofSession !== undefined && !requests.every((request) => hasStatement("Allow", request, ofSession, work)))
    return "not-allowed";
  const isOfAccount = principal.accountId === role.accountId;
  const ownArn = inPublicPartition(principal.principalArn);
  const trustsItself = isOfAccount ? [trustOf(role.trustPolicy, () => true)] : [];
  const trustsByOwnArn =
    isOfAccount && boundary !== undefined
      ? [trustOf(role.trustPolicy, (named) => inPublicPartition(named) === ownArn)]
      : [];
  const mayAct = (request: PolicyRequest): boolean => {
    if (principal.isRoot) return true;
    const isLimited = boundary !== undefined && !hasStatement("Allow", request, boundary, work);
    const enough = isLimited ? trustsByOwnArn : [...trustsItself, ...identity];
    return hasStatement("Allow", request, enough, work);
  };
  return requests.every(mayAct) ? undefined : "not-allowed";
};

type Conditions = ReadonlyMap<string, readonly string[]>;

/** One session is decided with the work of one decision, however many policies and actions are compared for it. */
const hasStatement = (
  effect: Statement["effect"],
  request: PolicyRequest,
  policies: readonly Policy[],
  work: MatchingWork,
): boolean => hasMatchingStatement(effect, request, policies, anyPartition, work);

const requestOf = (role: Role, requester: Requester, context: ConditionContext, asked: string): PolicyRequest => ({
  requester,
  action: asked,
  resource: role.arn,
  ownerAccountId: role.accountId,
  context,
});

const requesterOf = (accounts: RoleDirectory, caller: Caller): Requester => ({
  accountId: caller.accountId,
  principalArn: caller.principalArn,
  isRoot: caller.isRoot,
  isAnonymous: caller.isAnonymous,
  ...(caller.rolePath === undefined ? {} : { rolePath: caller.rolePath }),
  ...(caller.isAnonymous ? {} : { canonicalUserId: accounts.canonicalUserId(caller.accountId) }),
});

const nobody: Requester = { accountId: "", principalArn: "", isRoot: false, isAnonymous: false };

const serviceRequester = (serviceName: string): Requester => ({ ...nobody, serviceName });

/** The part of the policy that names single principals, those by whose ARNs it counts. */
const trustOf = (policy: Policy, names: (principalArn: string) => boolean): Policy => ({
  ...policy,
  statements: policy.statements.flatMap((statement) => {
    if (statement.principal?.isNegated !== false) return [];
    const entries = statement.principal.entries.filter(({ kind, value }) => kind === "arn" && names(value));
    return [{ ...statement, principal: { isNegated: false, entries } }];
  }),
});

const sessionOf = (accounts: RoleDirectory, role: Role, sessionName: string): Caller => {
  if (!/^[A-Za-z0-9_+=,.@-]{2,64}$/.test(sessionName)) throw new Error("the session name is not valid");
  return {
    ...roleCaller(role.accountId, pathNameOfArn(role.arn), sessionName, role.policies),
    ...(role.permissionsBoundary === undefined ? {} : { permissionsBoundary: role.permissionsBoundary }),
    canonicalUserId: accounts.canonicalUserId(role.accountId),
    ...(role.tags === undefined ? {} : { principalTags: role.tags }),
  };
};
