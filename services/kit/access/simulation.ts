import { principalConditions } from "../accounts/principal-conditions.ts";
import type { Accounts } from "../accounts/accounts.ts";
import type { Caller } from "../identity/caller.ts";
import { anonymousCaller, roleCaller, rootCaller, userCaller } from "../identity/caller.ts";
import type { Policy } from "../policy/document.ts";
import { parsePolicy } from "../policy/document.ts";
import type { PolicyRequest } from "../policy/compiled.ts";
import type { Explanation, PolicySet } from "../policy/evaluate.ts";
import { evaluate, explain } from "../policy/evaluate.ts";
import type { Matches } from "../policy/matches.ts";
import { matchesOf } from "../policy/matches.ts";
import type { MatchingWork } from "../policy/matching-work.ts";
import type { PolicySpelling } from "../policy/spelling.ts";
import type { Conditions } from "./call-conditions.ts";
import { callerPoliciesOf, requesterOf } from "./identity.ts";

/** A request that nobody makes. */
export interface Simulation {
  readonly spelling: PolicySpelling;
  /** With its policies, and those of its session. */
  readonly principal: Caller;
  /** With its prefix. */
  readonly action: string;
  readonly resourceArn: string;
  readonly ownerAccountId: string;
  readonly resourcePolicies: readonly Policy[];
  /** Another grant of the owner, such as an ACL, allows the action. Unset: none does. */
  readonly isGrantedByOwner?: boolean | undefined;
  /** Condition keys as written, which replace those of the principal and of time. */
  readonly context: Conditions;
  readonly nowMs: number;
  readonly accounts?: Pick<Accounts, "findOrganizationId"> | undefined;
}

/** The outcome of a simulation. */
export type Simulated = Omit<Explanation, "because"> & {
  readonly because: Explanation["because"] | "unreadable-policy";
};

/** Decides as the services do, and says why. */
export const simulate = (simulation: Simulation): Simulated => {
  const { request, policies, isReadable } = simulatedRequest(simulation);
  const explained = explain(request, policies, simulation.spelling);
  return isReadable
    ? explained
    : { ...explained, isAllowed: false, because: "unreadable-policy", sid: undefined, statement: undefined };
};

/** Decides as the services do, and returns every statement that speaks about the request. */
export const simulateMatches = (
  simulation: Simulation,
  work: MatchingWork,
): Matches & { readonly because: Simulated["because"]; readonly isAllowed: boolean } => {
  const { request, policies, isReadable } = simulatedRequest(simulation);
  const { because, isAllowed } = evaluate(request, policies, simulation.spelling, work);
  const matches = matchesOf(request, policies, simulation.spelling, work);
  return isReadable
    ? { ...matches, because, isAllowed }
    : { ...matches, because: "unreadable-policy", isAllowed: false };
};

/** The request with the policies that apply to it; those of a principal count for nothing if one cannot be read. */
const simulatedRequest = (
  simulation: Simulation,
): { readonly request: PolicyRequest; readonly policies: PolicySet; readonly isReadable: boolean } => {
  const { spelling, principal, action, resourceArn, ownerAccountId, resourcePolicies, nowMs } = simulation;
  const isGrantedByOwner = simulation.isGrantedByOwner === true;
  const context = principalConditions(simulation.accounts ?? noOrganizations, principal);
  context.set("aws:currenttime", [new Date(nowMs).toISOString()]);
  context.set("aws:epochtime", [String(Math.floor(nowMs / 1000))]);
  for (const [key, values] of simulation.context) {
    const spelled = spelling.key(key).toLowerCase();
    if (values.length === 0) context.delete(spelled);
    else context.set(spelled, values);
  }
  const own = callerPoliciesOf(principal);
  const request = { requester: requesterOf(principal), action, resource: resourceArn, ownerAccountId, context };
  const policies = { ...(own ?? { identity: [] }), resource: resourcePolicies, isGrantedByOwner };
  return { request, policies, isReadable: own !== undefined };
};

const noOrganizations = { findOrganizationId: () => undefined };

/** The largest resource policy that a simulation reads, in bytes of UTF-8. */
const resourcePolicyBytesMax = 1_200_000;

/** Parses the policy of a resource of any service. Throws PolicyError. */
export const parseResourcePolicy = (text: string): Policy =>
  parsePolicy(text, { principals: "required", accountMembers: ["SVC"], bytesMax: resourcePolicyBytesMax });

/** A principal by its ARN, without policies. */
export interface NamedPrincipal {
  readonly kind: "anonymous" | "root" | "user" | "role";
  /** Empty for an anonymous caller. */
  readonly accountId: string;
  /** The user's or role's name with its path, that of a session's role without it; empty for the others. */
  readonly name: string;
  /** Whether the ARN is that of a session, which does not say its role's path. */
  readonly isSession: boolean;
  /** The principal with these policies, a session with those of a role that is named with its path. */
  withPolicies(policies: readonly string[], sessionPolicies?: readonly string[], role?: string): Caller;
}

/** Reads the ARN of a root, a user, a role or a role's session; `*` is an anonymous caller. Undefined for others. */
export const parsePrincipal = (text: string): NamedPrincipal | undefined => {
  const lasting = { isSession: false };
  if (text === "*")
    return { ...lasting, kind: "anonymous", accountId: "", name: "", withPolicies: () => anonymousCaller };
  const [, partition = "", accountId = "", kind = "", path = ""] =
    /^arn:([a-z0-9-]+):(?:iam|sts)::(\d{12}):(root|user|role|assumed-role)(?:\/(.+))?$/.exec(text) ?? [];
  const ofSession = kind === "assumed-role" ? /^([^/]+)\/([^/]+)$/.exec(path) : null;
  const [, name = path, session = ""] = ofSession ?? [];
  if (kind === "root" && name === "")
    return {
      ...lasting,
      kind,
      accountId,
      name,
      withPolicies: (_policies, sessionPolicies) => narrowed(rootCaller(accountId, partition), sessionPolicies),
    };
  if (name === "") return undefined;
  if (kind === "user")
    return {
      ...lasting,
      kind,
      accountId,
      name,
      withPolicies: (policies, sessionPolicies) =>
        narrowed(userCaller(accountId, name, policies, partition), sessionPolicies),
    };
  return {
    kind: "role",
    accountId,
    name,
    isSession: ofSession !== null,
    withPolicies: (policies, sessionPolicies, role = name) =>
      narrowed(
        roleCaller(accountId, role, session === "" ? "simulation" : session, policies, partition),
        sessionPolicies,
      ),
  };
};

const narrowed = (caller: Caller, sessionPolicies: readonly string[] | undefined): Caller =>
  sessionPolicies === undefined ? caller : { ...caller, sessionPolicies };
