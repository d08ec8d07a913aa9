import type {
  GetContextKeysForCustomPolicyRequest,
  GetContextKeysForPrincipalPolicyRequest,
  SimulateCustomPolicyRequest,
  SimulatePrincipalPolicyRequest,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import type { ContextEntry } from "../../../gen/quartet/identity/v1/policy_simulation_pb.ts";
import type { Conditions } from "../../../services/kit/access/call-conditions.ts";
import { parsePrincipal, parseResourcePolicy, simulateMatches } from "../../../services/kit/access/simulation.ts";
import { parseArn } from "../../../services/kit/arn/arn.ts";
import { Turn } from "../../../services/kit/clock/turn.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { userCaller } from "../../../services/kit/identity/caller.ts";
import { parseIdentityPolicy } from "../../../services/kit/identity/identity-policies.ts";
import type { Policy } from "../../../services/kit/policy/document.ts";
import { PolicyError } from "../../../services/kit/policy/document.ts";
import type { StatementPlace } from "../../../services/kit/policy/evaluate.ts";
import { MatchingWork } from "../../../services/kit/policy/matching-work.ts";
import { contextKeysOf } from "../../../services/kit/policy/matches.ts";
import type { StatementRange } from "../../../services/kit/policy/statement-ranges.ts";
import { statementRanges } from "../../../services/kit/policy/statement-ranges.ts";
import type { PolicyNames } from "../../../services/launcher/policy-names.ts";
import { policyNames } from "../../../services/launcher/policy-names.ts";
import type { PolicySpelling } from "../../../services/kit/policy/spelling.ts";
import { spellingOf } from "../../../services/kit/policy/spelling.ts";
import type { Context } from "../application.ts";
import type { PolicySource } from "../domain/policy-sources.ts";
import { simulatedEntity } from "../domain/policy-sources.ts";
import { ErrorReason, fault } from "../faults.ts";

/**
 * Simulates the policies of a user, group or role. Refuses, in this order: INVALID_VALUE for what cannot be read,
 * NO_SUCH_ENTITY, INVALID_PAGE_TOKEN.
 */
export const simulatePrincipalPolicy = async (request: SimulatePrincipalPolicyRequest, context: Context) => {
  const { policySourceArn = "", policyInputList } = request;
  const given = givenSources(policyInputList);
  const asked = readAsked(request, context);
  const { sources, principal, boundary } = entityOf(context, policySourceArn);
  const whole = {
    ...asked,
    sources: [...sources, ...given],
    boundary: asked.boundary ?? boundary,
    caller: asked.caller ?? principal,
  };
  return simulated(request, context, whole, [policySourceArn]);
};

/** Simulates policies that the request has. Refuses, in this order: INVALID_VALUE, INVALID_PAGE_TOKEN. */
export const simulateCustomPolicy = async (request: SimulateCustomPolicyRequest, context: Context) => {
  const sources = givenSources(request.policyInputList);
  return simulated(request, context, { ...readAsked(request, context), sources }, []);
};

/** Returns the condition keys of an entity's policies. Refuses, in this order: INVALID_VALUE, NO_SUCH_ENTITY. */
export const getContextKeysForPrincipalPolicy = async (
  { policySourceArn = "", policyInputList }: GetContextKeysForPrincipalPolicyRequest,
  context: Context,
) => {
  const given = givenSources(policyInputList);
  const { sources } = entityOf(context, policySourceArn);
  return {
    contextKeyNames: contextKeysOf([...sources, ...given].map(({ document }) => parseIdentityPolicy(document))),
  };
};

/** Returns the condition keys of policies that the request has. Refuses: INVALID_VALUE. */
export const getContextKeysForCustomPolicy = async ({ policyInputList }: GetContextKeysForCustomPolicyRequest) => ({
  contextKeyNames: contextKeysOf(givenSources(policyInputList).map(({ document }) => parseIdentityPolicy(document))),
});

type SimulationRequest = SimulatePrincipalPolicyRequest | SimulateCustomPolicyRequest;

/** What a request asks, read. */
interface Asked {
  readonly sources: readonly PolicySource[];
  /** Undefined: none. */
  readonly boundary?: PolicySource | undefined;
  /** Who makes the requests, without policies. Undefined: nobody in particular of the account. */
  readonly caller?: Caller | undefined;
  readonly resources: readonly string[];
  readonly resourcePolicy?: { readonly document: string; readonly policy: Policy } | undefined;
  /** The account of resources whose ARNs do not say it. */
  readonly ownerAccountId: string;
  readonly conditions: Conditions;
}

/** Throws INVALID_VALUE, in the order of the members. */
const readAsked = (request: SimulationRequest, { caller: asking }: Context): Omit<Asked, "sources"> => {
  const [boundary] = givenSources(request.permissionsBoundaryPolicyInputList, "PermissionsBoundaryPolicyInputList");
  for (const action of request.actionNames)
    if (!/^[A-Za-z0-9-]+:[A-Za-z0-9]+$/.test(action)) throw invalid(`${action} is not an action with its prefix.`);
  for (const arn of request.resourceArns)
    if (arn !== "*" && parseArn(arn) === undefined) throw invalid(`Resource ${arn} must be in ARN format or "*".`);
  const { resourcePolicy: document, resourceOwner, callerArn } = request;
  const policy = document === undefined ? undefined : read("ResourcePolicy", document, parseResourcePolicy);
  const owner =
    resourceOwner === undefined ? asking.accountId : /^(?:arn:\w+:iam::)?(\d{12})(?::root)?$/.exec(resourceOwner)?.[1];
  if (owner === undefined) throw invalid("ResourceOwner must be an account: 12 digits, or the ARN of its root.");
  const named = callerArn === undefined ? undefined : parsePrincipal(callerArn);
  if (callerArn !== undefined && named?.kind !== "user") throw invalid("CallerArn must be the ARN of a user.");
  return {
    ...(boundary && { boundary }),
    ...(named && { caller: named.withPolicies([]) }),
    resources: request.resourceArns.length === 0 ? ["*"] : request.resourceArns,
    ...(document !== undefined && policy !== undefined && { resourcePolicy: { document, policy } }),
    ownerAccountId: owner,
    conditions: new Map(request.contextEntries.map(readEntry)),
  };
};

const readEntry = ({ contextKeyName = "", contextKeyType = "", contextKeyValues }: ContextEntry) => {
  if (contextKeyValues.length > 1 && contextKeyType !== "" && !contextKeyType.endsWith("List"))
    throw invalid(`${contextKeyName} of the type ${contextKeyType} must have one value.`);
  return [contextKeyName, contextKeyValues] as const;
};

const givenSources = (documents: readonly string[], member = "PolicyInputList"): PolicySource[] =>
  documents.map((document, index) => {
    const id = `${member}.${index + 1}`;
    read(id, document, parseIdentityPolicy);
    return { id, document };
  });

/** Throws INVALID_VALUE. */
const read = (id: string, document: string, parse: (text: string) => Policy): Policy => {
  try {
    return parse(document);
  } catch (error) {
    if (error instanceof PolicyError) throw invalid(`${id}: ${error.message}.`);
    throw error;
  }
};

/** Throws INVALID_VALUE, NO_SUCH_ENTITY. */
const entityOf = ({ app, caller: { accountId } }: Context, arn: string) => {
  if (!/^arn:\w+:iam::\d{12}:(?:user|group|role)\/.+/.test(arn))
    throw invalid(`Invalid Entity Arn: ${arn} does not clearly define entity type and name.`);
  return simulatedEntity(app.accounts, accountId, app.identities.state(accountId), arn);
};

/** One page of results: the decisions on a whole number of actions, at least one. Throws INVALID_PAGE_TOKEN. */
const simulated = async (request: SimulationRequest, context: Context, asked: Asked, filters: readonly string[]) => {
  const { app, method, caller } = context;
  const { actionNames, resourceArns } = request;
  const page = app.pages.open({ method, caller }, request, [...filters, actionNames.join(" "), resourceArns.join(" ")]);
  const first = page.after === undefined ? 0 : Number(page.after) + 1;
  const end = first + Math.max(1, Math.floor(page.itemsMax / asked.resources.length));
  const decide = decider(context, asked);
  const turn = new Turn();
  const evaluationResults = [];
  for (const action of actionNames.slice(first, end)) {
    const results = [];
    for (const resource of asked.resources) {
      if (turn.isOver) await turn.next();
      results.push(decide(action, resource));
    }
    evaluationResults.push(evaluationResult(action, results, resourceArns.length > 0));
  }
  const isTruncated = end < actionNames.length;
  return { evaluationResults, isTruncated, ...(isTruncated && { marker: page.tokenOf(String(end - 1)) }) };
};

/** What comparing policies may cost for each decision, in addition to what it may for the call as a whole. */
const stepsOfDecision = 100_000;

/** Decides an action on a resource as the services would. */
const decider = ({ app, caller }: Context, asked: Asked) => {
  const { sources, boundary, resourcePolicy, conditions } = asked;
  const { accountId } = caller;
  const work = new MatchingWork();
  const principal = {
    ...(asked.caller ?? userCaller(accountId, "simulation", [])),
    policies: sources.map(({ document }) => document),
    ...(boundary && { permissionsBoundary: boundary.document }),
  };
  // Nobody in particular has neither a name nor an ARN.
  const unnamed = asked.caller === undefined ? namesOfPrincipals.map((key) => [key, []] as const) : [];
  const context = new Map([...unnamed, ...conditions]);
  const statementOf = statementFinder(sources, boundary, resourcePolicy?.document);
  return (action: string, resource: string) => {
    work.grow(stepsOfDecision);
    const { spelling, everything } = namesOf(action);
    const { isAllowed, because, allows, denies, missingKeys } = simulateMatches(
      {
        spelling,
        principal,
        action,
        resourceArn: resource === "*" ? everything : resource,
        ownerAccountId: parseArn(resource)?.account || asked.ownerAccountId,
        resourcePolicies: resourcePolicy === undefined ? [] : [resourcePolicy.policy],
        context,
        nowMs: app.clock.now(),
        accounts: app.accounts,
      },
      work,
    );
    const decision = isAllowed ? "allowed" : because === "explicit-deny" ? "explicitDeny" : "implicitDeny";
    const matched = { allowed: allows, explicitDeny: denies, implicitDeny: [] }[decision];
    return {
      evalResourceName: resource,
      evalResourceDecision: decision,
      matchedStatements: matched.map(statementOf),
      missingContextValues: [...missingKeys],
      ...(boundary && { permissionsBoundaryDecisionDetail: boundaryDetail(allows, denies) }),
    };
  };
};

/** What the boundary by itself says of the request. */
const boundaryDetail = (allows: readonly StatementPlace[], denies: readonly StatementPlace[]) => {
  const isOfBoundary = ({ side }: StatementPlace): boolean => side === "boundary";
  return { allowedByPermissionsBoundary: allows.some(isOfBoundary) && !denies.some(isOfBoundary) };
};

const namesOfPrincipals = ["aws:PrincipalArn", "aws:PrincipalType", "aws:username"];

type Result = ReturnType<ReturnType<typeof decider>>;

const evaluationResult = (action: string, results: readonly Result[], isNamed: boolean) => {
  const worst =
    ["explicitDeny", "implicitDeny", "allowed"]
      .map((decision) => results.find(({ evalResourceDecision }) => evalResourceDecision === decision))
      .find((found) => found !== undefined) ?? results[0];
  return {
    evalActionName: action,
    evalResourceName: results.length === 1 ? (worst?.evalResourceName ?? "*") : "*",
    evalDecision: worst?.evalResourceDecision ?? "implicitDeny",
    matchedStatements: worst?.matchedStatements ?? [],
    missingContextValues: [...new Set(results.flatMap(({ missingContextValues }) => missingContextValues))].toSorted(),
    ...(results.length === 1 && worst?.permissionsBoundaryDecisionDetail !== undefined
      ? { permissionsBoundaryDecisionDetail: worst.permissionsBoundaryDecisionDetail }
      : {}),
    resourceSpecificResults: isNamed ? [...results] : [],
  };
};

/** Finds where statements stand; each text is read when a statement of it is first asked for. */
const statementFinder = (
  sources: readonly PolicySource[],
  boundary: PolicySource | undefined,
  resourcePolicy: string | undefined,
) => {
  const known = new Map<string, readonly StatementRange[]>();
  const rangesOf = (document: string): readonly StatementRange[] => {
    const found = known.get(document) ?? statementRanges(document);
    known.set(document, found);
    return found;
  };
  return ({ side, policy, statement }: StatementPlace) => {
    const ofResource = { id: "ResourcePolicy", document: resourcePolicy ?? "" };
    const source = side === "resource" ? ofResource : side === "boundary" ? boundary : sources[policy];
    const range = source && rangesOf(source.document)[statement];
    return {
      sourcePolicyId: source?.id ?? "",
      sourcePolicyType: side === "resource" ? "Resource Policy" : "IAM Policy",
      ...(range && { startPosition: range.start, endPosition: range.end }),
    };
  };
};

interface Named {
  readonly spelling: PolicySpelling;
  readonly everything: string;
}

const named = ({ everything = "*", ...names }: PolicyNames): Named => ({ spelling: spellingOf(names), everything });

const ownNames: readonly PolicyNames[] = [
  { public: "iam", documented: "identity" },
  { public: "sts", documented: "security-token" },
];

const namesByPrefix = new Map(
  [...Object.values(policyNames), ...ownNames].flatMap((names) => {
    const found = named(names);
    return [names.public, names.documented].map((prefix) => [prefix, found] as const);
  }),
);

/** For actions of services that are not here, of which policies may speak as well. */
const otherNames = named({ public: "", documented: "" });

const namesOf = (action: string): Named =>
  namesByPrefix.get(action.slice(0, action.indexOf(":")).toLowerCase()) ?? otherNames;

const invalid = (problem: string): Error => fault(ErrorReason.INVALID_VALUE, { problem });
