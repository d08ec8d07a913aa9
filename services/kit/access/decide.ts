import type { DescEnum, Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

import { FaultRole } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import type { Accounts } from "../accounts/accounts.ts";
import { parseArn } from "../arn/arn.ts";
import type { Clock } from "../clock/clock.ts";
import { Turn } from "../clock/turn.ts";
import type { ReadMember } from "../contract/permissions.ts";
import { faultTable, roleFault } from "../faults/service-error.ts";
import type { PolicyRequest } from "../policy/compiled.ts";
import type { Policy } from "../policy/document.ts";
import type { PolicySet } from "../policy/evaluate.ts";
import { evaluate, explain } from "../policy/evaluate.ts";
import { MatchingWork } from "../policy/matching-work.ts";
import type { ServiceNames, PolicySpelling } from "../policy/spelling.ts";
import { spellingOf } from "../policy/spelling.ts";
import type { CallContext } from "../server/handlers.ts";
import { ProtocolError } from "../wire/protocol-error.ts";
import type { Conditions } from "./call-conditions.ts";
import { conditionsOf, entityTagConditions } from "./call-conditions.ts";
import { DecisionRecorder, recordDecision } from "./decision-recorder.ts";
import type { CallerPolicies } from "./identity.ts";
import { asksFor, callerPoliciesOf, requesterOf } from "./identity.ts";
import type { Question } from "./questions.ts";
import { questionsOf } from "./questions.ts";

/** How a service's operations are named in policies and in refusals. */
export interface AccessRules {
  readonly names: ServiceNames;
  readonly spelling: PolicySpelling;
  /** The prefix of actions in refusals. */
  readonly refusalPrefix: string;
  /** The name under which roles trust the service: the value of `iam:PassedToService`. */
  readonly principal: string;
  /** The service's reasons, of which one has the role ACCESS_DENIED. */
  readonly errors: DescEnum;
  /** The resource of actions that have none, where policies name it otherwise than `*`. */
  readonly everything?: string;
}

/** What a service knows of the resource of a question. */
export interface Resource {
  /** In either dialect; `*` for an action that has no resource. */
  readonly arn: string;
  readonly ownerAccountId: string;
  /** The policies that the owner has put on the resource. Unset: none. */
  readonly policies?: readonly Policy[];
  /** Another grant of the owner, such as an ACL, allows the action. Unset: none does. */
  readonly isGrantedByOwner?: boolean;
  /** Condition keys of the resource, such as its tags. Unset: none. */
  readonly conditions?: Conditions;
  /** The action that is decided on where it depends on the resource. Unset: the one that the contract names. */
  readonly action?: string;
  /** What a refusal names. Unset: the ARN. */
  readonly shownAs?: string;
  /** The refusal of whoever may not do it. Unset: access denied. */
  readonly refusal?: () => Error;
}

/** Finds the resource of a question. What it throws is the refusal, for example of a text that is not an ARN. */
export type ResourceResolver = (question: Question) => Resource | Promise<Resource>;

/** What deciding needs of a service's dependencies. */
export interface AccessApplication {
  readonly clock: Pick<Clock, "now">;
  readonly accounts?: AccessAccounts | undefined;
  /** The region of the service. Unset: its policies cannot ask for it. */
  readonly region?: string;
}

/** The organizations of accounts, and roles with their tags. Unset: no account has one, no role has tags. */
export type AccessAccounts = Pick<Accounts, "findOrganizationId"> &
  Partial<Pick<Accounts, "findRole" | "knowsAllRoles">>;

/** The parts of a call that are decided on. Without an audit log nothing is recorded. */
export type AccessCall = Pick<CallContext<AccessApplication>, "app" | "method" | "caller" | "log"> &
  Partial<Pick<CallContext<unknown>, "audit" | "requestId" | "isQuestion">>;

/** An action on a resource. */
export interface Asked {
  /** Less the service's prefix; an action of another service has its own. */
  readonly action: string;
  readonly resource: Resource;
  /** Reads the members of the request that conditions may ask for. Unset: it has none. */
  readonly read?: ReadMember;
}

/** The outcome of a call that may go on. */
export interface CallDecision {
  /** The indexes of the list's elements that are refused; the rest of the call goes on. */
  readonly refusedElements: ReadonlySet<number>;
}

/** The rules of a service. `refusalPrefix` is one of its names. */
export const accessRules = (rules: Omit<AccessRules, "spelling">): AccessRules => ({
  ...rules,
  spelling: spellingOf(rules.names),
});

/**
 * Decides a call by what its method declares: every permission that the request needs must be allowed on its resource.
 * Throws the refusal of the first that is not, and logs why; elements of a list that are decided on by themselves are
 * returned instead. An anonymous caller may do only what the owner of the resource allows to everybody. A call that
 * only asks is refused where no policy of the resource could allow it either, whatever its document has.
 */
export const decideCall = async (
  rules: AccessRules,
  call: AccessCall,
  request: Message,
  resolve: ResourceResolver,
): Promise<CallDecision> => decideQuestions(rules, call, questionsOf(call.method, request, call.isQuestion), resolve);

/** The same for given questions: those that depend on what is stored, so that the contract cannot ask them. */
export const decideQuestions = async (
  rules: AccessRules,
  call: AccessCall,
  questions: Iterable<Question>,
  resolve: ResourceResolver,
): Promise<CallDecision> => {
  const refusedElements = new Set<number>();
  const recorder = new DecisionRecorder(call);
  const costs = { deciding: new MatchingWork(), explaining: new MatchingWork() };
  const turn = new Turn();
  try {
    for (const question of questions) {
      if (turn.isOver) await turn.next();
      costs.deciding.grow(stepsOfQuestion);
      const resource = resourceOf(rules, question, call) ?? (await resolve(question));
      if (call.isQuestion === true && (resource.policies ?? []).length > 0) continue;
      const action = resource.action ?? question.permission.action;
      if (mayAct(rules, call, recorder, { action, resource, read: question.read }, costs)) continue;
      if (question.element === undefined) throw refusalOf(rules, question, resource);
      refusedElements.add(question.element);
    }
  } finally {
    recorder.finish();
  }
  return { refusedElements };
};

/** What comparing policies may cost for each question of a call, in addition to what it may for the call as a whole. */
const stepsOfQuestion = 100_000;

/** The refusal of an action on a resource. */
const accessDenied = (
  { errors, refusalPrefix }: Pick<AccessRules, "errors" | "refusalPrefix">,
  action: string,
  resource: string,
): Error =>
  roleFault(faultTable(errors), FaultRole.ACCESS_DENIED, { action: withPrefix(action, refusalPrefix), resource });

/** The resources that are no service's own: nothing, and what other services' actions name. */
const resourceOf = (
  { everything = "*" }: AccessRules,
  { permission, resource }: Question,
  { caller, app }: AccessCall,
): Resource | undefined => {
  if (permission.template === "*") return { arn: everything, ownerAccountId: caller.accountId, shownAs: "*" };
  if (!permission.action.includes(":")) return undefined;
  const ownerAccountId = parseArn(resource)?.account ?? caller.accountId;
  const conditions = asksFor("resourcetag/", caller) ? roleTags(app.accounts, resource) : noConditions;
  return { arn: resource, ownerAccountId, conditions };
};

const noConditions: Conditions = new Map();

/** The tags of a role under both of their keys. Throws while it is unknown which roles there are. */
const roleTags = (accounts: AccessAccounts | undefined, roleArn: string): Conditions => {
  const role = accounts?.findRole?.(roleArn);
  if (role === undefined && accounts?.knowsAllRoles?.() === false)
    throw new ProtocolError(Code.Unavailable, "The role cannot be found now.", FaultRole.UNAVAILABLE);
  return entityTagConditions(role?.tags);
};

/** Whether the caller may do something. Nothing is logged. */
export const isAllowed = (rules: AccessRules, call: Omit<AccessCall, "log">, asked: Asked): boolean => {
  const own = callerPoliciesOf(call.caller);
  if (own === undefined) return false;
  return evaluate(policyRequest(rules, call, asked), policySet(own, asked.resource), rules.spelling).isAllowed;
};

/**
 * Decides what the contract cannot name because it depends on what is stored, such as the key that an object is
 * encrypted with. Throws the refusal, and logs why.
 */
export const assertAllowed = (rules: AccessRules, call: AccessCall, asked: Asked): void => {
  const recorder = new DecisionRecorder(call);
  try {
    if (mayAct(rules, call, recorder, asked)) return;
  } finally {
    recorder.finish();
  }
  throw asked.resource.refusal?.() ?? accessDenied(rules, asked.action, asked.resource.shownAs ?? asked.resource.arn);
};

/** The refusal of a call as a whole, which is recorded as a decision on `*` or on the named resource. */
export const refuseCall = (rules: AccessRules, call: AccessCall, resource = "*"): Error => {
  const { method } = call;
  const action = withPrefix(method.name, rules.names.public);
  recordDecision(call, { action, resource, isAllowed: false, reason: "no-allow" });
  return accessDenied(rules, method.name, resource);
};

/** What comparing the policies of one call may cost. Explanations are logged or not, so they have their own. */
type Costs = Readonly<Record<"deciding" | "explaining", MatchingWork>>;

const mayAct = (
  rules: AccessRules,
  call: AccessCall,
  recorder: DecisionRecorder,
  asked: Asked,
  costs: Costs = { deciding: new MatchingWork(), explaining: new MatchingWork() },
): boolean => {
  const { spelling } = rules;
  const own = callerPoliciesOf(call.caller);
  const request = policyRequest(rules, call, asked);
  const policies = policySet(own ?? { identity: [] }, asked.resource);
  const { isAllowed: mayBe, because: why, statement: by } = evaluate(request, policies, spelling, costs.deciding);
  const isAllowedNow = own !== undefined && mayBe;
  const reason = own === undefined ? "unreadable-policy" : why;
  recorder.record(request, isAllowedNow, call.caller.isPreauthorized === true ? "preauthorized" : reason, by);
  if (isAllowedNow) return true;
  if (call.log.isLevelEnabled("info")) {
    const { statement, nearMisses } = explain(request, policies, spelling, costs.explaining);
    const { action, resource: on } = request;
    const misses = nearMisses.slice(0, nearMissesLoggedMax);
    const principal = call.caller.isAnonymous ? "anonymous" : call.caller.principalArn;
    call.log.info({ principal, action, resource: on, reason, statement, nearMisses: misses }, "access denied");
  }
  return false;
};

/** Statements that nearly matched, in the log line of a refusal. */
const nearMissesLoggedMax = 5;

const policySet = (own: CallerPolicies, resource: Resource): PolicySet => ({
  ...own,
  resource: resource.policies ?? [],
  isGrantedByOwner: resource.isGrantedByOwner === true,
});

const policyRequest = (
  { names, spelling, principal }: AccessRules,
  { app, method, caller }: Omit<AccessCall, "log">,
  { action, resource, read = readsNothing }: Asked,
): PolicyRequest => {
  const isForeign = action.includes(":");
  const conditions = isForeign
    ? new Map([["iam:passedtoservice", [principal]], ...(resource.conditions ?? [])])
    : resource.conditions;
  const conditioned = { app, method, caller, prefix: names.documented, spelling };
  return {
    requester: requesterOf(caller),
    action: withPrefix(action, names.public),
    resource: resource.arn,
    ownerAccountId: resource.ownerAccountId,
    context: conditionsOf(conditioned, read, conditions),
  };
};

const readsNothing: ReadMember = () => undefined;

const refusalOf = (rules: AccessRules, question: Question, resource: Resource): Error =>
  resource.refusal?.() ??
  accessDenied(rules, resource.action ?? question.permission.action, resource.shownAs ?? resource.arn);

const withPrefix = (action: string, prefix: string): string => (action.includes(":") ? action : `${prefix}:${action}`);
