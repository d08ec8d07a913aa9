import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

import type {
  PolicyDocuments,
  SimulatePolicyRequest,
  SimulatePolicyResponse,
} from "../../../gen/quartet/kit/policy/v1/policy_service_pb.ts";
import {
  PolicyService,
  PolicySide,
  Reason,
  SimulatePolicyResponseSchema,
} from "../../../gen/quartet/kit/policy/v1/policy_service_pb.ts";
import type { Accounts } from "../accounts/accounts.ts";
import { namedWithPath, pathNameOfArn } from "../accounts/entity-arn.ts";
import { parseArn } from "../arn/arn.ts";
import type { Clock } from "../clock/clock.ts";
import type { Caller } from "../identity/caller.ts";
import type { Policy } from "../policy/document.ts";
import { PolicyError } from "../policy/document.ts";
import type { StatementPlace } from "../policy/evaluate.ts";
import { evaluate } from "../policy/evaluate.ts";
import type { CallContext, Handlers } from "../server/handlers.ts";
import type { OfferedService } from "../server/route.ts";
import { ProtocolError } from "../wire/protocol-error.ts";
import type { AccessRules, Resource } from "./decide.ts";
import { callerPoliciesOf, requesterOf } from "./identity.ts";
import type { NamedPrincipal } from "./simulation.ts";
import { parsePrincipal, parseResourcePolicy, simulate } from "./simulation.ts";

/** What a service knows of a resource by its ARN. */
export type KnownResource = Pick<Resource, "ownerAccountId" | "policies" | "conditions" | "isGrantedByOwner">;

/** A request that nobody makes, as far as a service's own knowledge of a resource depends on it. */
export interface AskedResource {
  /** In either dialect. */
  readonly arn: string;
  /** Less the prefix. */
  readonly action: string;
  readonly principal: Caller;
}

/** A service whose decisions are explained. */
export interface ExplainedService {
  readonly rules: Pick<AccessRules, "spelling" | "everything">;
  readonly clock: Pick<Clock, "now">;
  readonly accounts: Pick<Accounts, "findUser" | "findRoleByName" | "findOrganizationId">;
  /** Finds a resource. Undefined: the service keeps none with the ARN. */
  readonly findResource: (asked: AskedResource) => Promise<KnownResource | undefined>;
}

/** Offers the explanations of a service's decisions on its own server. */
export const policyService = (explained: ExplainedService): OfferedService => ({
  service: PolicyService,
  handlers,
  app: explained,
});

type Context = Pick<CallContext<ExplainedService>, "app" | "caller">;

/**
 * Decides a request that nobody makes. Refuses, in this order: (1) what cannot be read, (2) a caller who may not
 * simulate the principal, (3) a principal that is not declared, (4) a resource of another account.
 */
export const simulatePolicy = async (
  request: SimulatePolicyRequest,
  context: Context,
): Promise<SimulatePolicyResponse> => {
  const { app } = context;
  const { action, resourceArn } = request;
  if (!/^[A-Za-z0-9-]+:[A-Za-z0-9]+$/.test(action)) throw invalid("action must be a name with its prefix");
  if (resourceArn !== "*" && parseArn(resourceArn) === undefined) throw invalid("resource_arn must be an ARN or *");
  const named = request.principalArn === "" ? undefined : parsePrincipal(request.principalArn);
  if (named === undefined && request.principalArn !== "") throw invalid("principal_arn names no principal");
  refuseUnlessAllowed(request, named, context);

  const principal = principalOf(request, named, context);
  const simulated = simulate({
    spelling: app.rules.spelling,
    principal,
    action,
    // As a call is decided that has no resource.
    resourceArn: resourceArn === "*" ? (app.rules.everything ?? "*") : resourceArn,
    ...(await resourceOf(request, principal, context)),
    nowMs: app.clock.now(),
    accounts: app.accounts,
  });
  return create(SimulatePolicyResponseSchema, {
    isAllowed: simulated.isAllowed,
    reason: reasons[simulated.because],
    ...(simulated.statement && { statement: placeOf(simulated.statement) }),
    nearMisses: simulated.nearMisses.map((miss) => ({
      statement: placeOf(miss),
      effect: miss.effect,
      failedElement: miss.failed,
      failedKey: miss.key ?? "",
    })),
  });
};

const handlers: Handlers<typeof PolicyService, ExplainedService> = { simulatePolicy };

/**
 * Throws PERMISSION_DENIED for an anonymous caller, for a principal of another account, and for a caller whose policies
 * do not allow it to simulate.
 */
const refuseUnlessAllowed = (
  request: SimulatePolicyRequest,
  named: NamedPrincipal | undefined,
  { app, caller }: Context,
): void => {
  const { accountId } = caller;
  const own = callerPoliciesOf(caller);
  if (caller.isAnonymous || own === undefined) throw denied();
  if (named !== undefined && named.kind !== "anonymous" && named.accountId !== accountId) throw denied();
  const isCustom = request.identityPolicies !== undefined || named?.kind === "anonymous";
  const asked = {
    requester: requesterOf(caller),
    action: isCustom ? "iam:SimulateCustomPolicy" : "iam:SimulatePrincipalPolicy",
    resource: isCustom ? "*" : (named?.withPolicies([]).principalArn ?? caller.principalArn),
    ownerAccountId: accountId,
    context: new Map(),
  };
  if (!evaluate(asked, { ...own, resource: [] }, app.rules.spelling).isAllowed) throw denied();
};

/** Whose request it is, with the boundary that the request has in place of its own. Throws as `ownPrincipalOf`. */
const principalOf = (request: SimulatePolicyRequest, named: NamedPrincipal | undefined, context: Context): Caller => {
  const principal = ownPrincipalOf(request, named, context);
  const { permissionsBoundary } = request;
  return permissionsBoundary === undefined ? principal : { ...principal, permissionsBoundary };
};

/** Throws NOT_FOUND, INVALID_ARGUMENT. */
const ownPrincipalOf = (
  { identityPolicies, sessionPolicies }: SimulatePolicyRequest,
  named: NamedPrincipal | undefined,
  { app, caller }: Context,
): Caller => {
  const session = sessionPolicies && documentsOf(sessionPolicies);
  if (named === undefined)
    return {
      ...caller,
      ...(identityPolicies && { policies: documentsOf(identityPolicies) }),
      ...(session && { sessionPolicies: session }),
    };
  if (identityPolicies !== undefined) return named.withPolicies(documentsOf(identityPolicies), session);
  const { kind, accountId, name } = named;
  if (kind === "anonymous" || kind === "root") return named.withPolicies([], session);
  const role = kind === "role" ? app.accounts.findRoleByName(accountId, namedWithPath(name).name) : undefined;
  const roleName = role && pathNameOfArn(role.arn);
  const isMeant = named.isSession || roleName === name;
  const declared = kind === "user" ? app.accounts.findUser(accountId, name) : isMeant ? role : undefined;
  if (declared === undefined)
    throw new ProtocolError(
      Code.NotFound,
      "There is no such principal; its name has its path, as in its ARN. Its policies can be given.",
    );
  const { policies, permissionsBoundary } = declared;
  const principal = named.withPolicies(policies, session, roleName);
  return permissionsBoundary === undefined ? principal : { ...principal, permissionsBoundary };
};

/** The resource's side. The policies of another account's resource are not read. */
const resourceOf = async (
  request: SimulatePolicyRequest,
  principal: Caller,
  { app, caller }: Context,
): Promise<{
  readonly ownerAccountId: string;
  readonly resourcePolicies: readonly Policy[];
  readonly isGrantedByOwner?: boolean | undefined;
  readonly context: ReadonlyMap<string, readonly string[]>;
}> => {
  const { resourceArn: arn, resourcePolicies, ownerAccountId } = request;
  const action = request.action.slice(request.action.indexOf(":") + 1);
  const given = new Map(Object.entries(request.context).map(([key, { values }]) => [key, values] as const));
  if (given.size > contextKeysMax) throw invalid(`context must have at most ${contextKeysMax} keys`);
  if (resourcePolicies !== undefined) {
    const owner = ownerAccountId || parseArn(arn)?.account || caller.accountId;
    return { ownerAccountId: owner, resourcePolicies: parsedPolicies(documentsOf(resourcePolicies)), context: given };
  }
  const known = arn === "*" ? undefined : await app.findResource({ arn, action, principal });
  const owner = known?.ownerAccountId ?? (parseArn(arn)?.account || caller.accountId);
  if (owner !== caller.accountId) throw denied();
  return {
    ownerAccountId: ownerAccountId || owner,
    resourcePolicies: known?.policies ?? [],
    isGrantedByOwner: known?.isGrantedByOwner,
    context: new Map([...(known?.conditions ?? []), ...given]),
  };
};

/** A user has at most its own policies and those of ten groups. */
const documentsMax = 500;
const contextKeysMax = 100;

const documentsOf = ({ documents }: PolicyDocuments): readonly string[] => {
  if (documents.length > documentsMax) throw invalid(`at most ${documentsMax} policies can be given for a side`);
  return documents;
};

const parsedPolicies = (documents: readonly string[]): Policy[] => {
  try {
    return documents.map(parseResourcePolicy);
  } catch (error) {
    if (error instanceof PolicyError) throw invalid(`resource_policies: ${error.message}`);
    throw error;
  }
};

const invalid = (message: string): ProtocolError => new ProtocolError(Code.InvalidArgument, message);
const denied = (): ProtocolError =>
  new ProtocolError(Code.PermissionDenied, "Not authorized to simulate this request.");

const reasons = {
  "explicit-deny": Reason.EXPLICIT_DENY,
  "no-allow": Reason.NO_ALLOW,
  "no-boundary-allow": Reason.NO_BOUNDARY_ALLOW,
  "no-session-allow": Reason.NO_SESSION_ALLOW,
  "unreadable-policy": Reason.UNREADABLE_POLICY,
  "too-costly": Reason.TOO_COSTLY,
  owner: Reason.OWNER,
  "identity-policy": Reason.IDENTITY_POLICY,
  "resource-policy": Reason.RESOURCE_POLICY,
  "both-sides": Reason.BOTH_SIDES,
  "owner-grant": Reason.OWNER_GRANT,
} as const;

const sides = {
  identity: PolicySide.IDENTITY,
  boundary: PolicySide.BOUNDARY,
  session: PolicySide.SESSION,
  resource: PolicySide.RESOURCE,
} as const;

const placeOf = ({ side, policy, statement, sid }: StatementPlace) => ({
  side: sides[side],
  policyIndex: policy,
  statementIndex: statement,
  sid: sid ?? "",
});
