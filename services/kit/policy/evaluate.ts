import type { CompiledStatement, PolicyRequest } from "./compiled.ts";
import { compiled, covers, namesEverybody, namesRequester, SpelledRequest } from "./compiled.ts";
import type { Policy, Statement } from "./document.ts";
import { MatchingWork, TooMuchMatchingError } from "./matching-work.ts";
import type { PolicySpelling } from "./spelling.ts";
import { asWritten } from "./spelling.ts";

/** The policies that apply to a request. */
export interface PolicySet {
  /** The requester's policies. */
  readonly identity: readonly Policy[];
  /**
   * The requester's permissions boundary: its own policies allow nothing that no statement of it allows as well. Unset:
   * it has none. An empty list allows nothing.
   */
  readonly boundary?: readonly Policy[] | undefined;
  /** The resource's policies. */
  readonly resource: readonly Policy[];
  /**
   * The policies with which a session was narrowed when it began: it may do only what one of them allows as well.
   * Unset: it was not narrowed. An empty list allows nothing.
   */
  readonly session?: readonly Policy[] | undefined;
  /** Another grant of the resource's owner (an ACL, a share) already allows it. */
  readonly isGrantedByOwner?: boolean;
}

/** The outcome and what decided it. */
export interface Decision {
  readonly isAllowed: boolean;
  readonly because:
    | "explicit-deny"
    | "no-allow"
    | "no-boundary-allow"
    | "no-session-allow"
    | "too-costly"
    | "owner"
    | "identity-policy"
    | "resource-policy"
    | "both-sides"
    | "owner-grant";
  /** The deciding statement's Sid, if it has one. */
  readonly sid: string | undefined;
  /** The deciding statement; undefined where none decided. */
  readonly statement: StatementPlace | undefined;
}

/** Where a statement is: the side, the index of its policy there, and its own index in that policy. */
export interface StatementPlace {
  readonly side: "identity" | "boundary" | "session" | "resource";
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
  /** The statements of which one element failed, those with the wrong action last. */
  readonly nearMisses: readonly NearMiss[];
}

/**
 * Decides a request: an explicit deny of any policy wins; then, within one account, one allow is enough and the root
 * needs none, but a resource policy that names the account leaves it to the account's own policies which of its users
 * and roles may; across accounts both the requester's and the resource's policies must allow it; an anonymous requester
 * has no policies. Everything else is denied. Of all this a requester with a permissions boundary may do only what the
 * boundary allows, and what a resource policy of its own account grants to it by its own ARN or to everybody; a
 * narrowed session may do only what its session policies allow, and what a resource policy of its own account grants to
 * the session by its own ARN. What policies speak about only after more comparing than `work` allows is denied.
 */
export const evaluate = (
  request: PolicyRequest,
  policies: PolicySet,
  spelling: PolicySpelling = asWritten,
  work = new MatchingWork(),
): Decision => {
  const { because, at } = decide(request, policies, spelling, work);
  return { isAllowed: isAllow(because), because, sid: at?.sid, statement: at };
};

/** Decides as `evaluate` does, and says which statement decided and which nearly matched, as far as work allows. */
export const explain = (
  request: PolicyRequest,
  policies: PolicySet,
  spelling: PolicySpelling = asWritten,
  work = new MatchingWork(),
): Explanation => {
  const { because, at } = decide(request, policies, spelling, work);
  const spelled = new SpelledRequest(request, spelling, work, policies.boundary !== undefined);
  const nearMisses = [...nearMissesOf(spelled, policies, spelling, isWithinAccount(request))];
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

/**
 * Whether a statement of this effect matches the request. A deny that takes longer to compare than `work` allows is
 * said to match.
 */
export const hasMatchingStatement = (
  effect: Statement["effect"],
  request: PolicyRequest,
  policies: readonly Policy[],
  spelling: PolicySpelling = asWritten,
  work = new MatchingWork(),
): boolean => {
  const spelled = new SpelledRequest(request, spelling, work);
  const matches = (policy: Policy): boolean =>
    compiled(policy, spelling)
      .about(spelled)
      .some(([, each]) => each.statement.effect === effect && covers(each, spelled));
  return withinWork(
    () => policies.some(matches),
    () => effect === "Deny",
  );
};

/** The result, or another one where finding it takes too long. */
export const withinWork = <T>(find: () => T, otherwise: () => T): T => {
  try {
    return find();
  } catch (error) {
    if (error instanceof TooMuchMatchingError) return otherwise();
    throw error;
  }
};

interface Outcome {
  readonly because: Decision["because"];
  readonly at: StatementPlace | undefined;
}

const refusals: ReadonlySet<Decision["because"]> = new Set([
  "explicit-deny",
  "no-allow",
  "no-boundary-allow",
  "no-session-allow",
  "too-costly",
]);

const isAllow = (because: Decision["because"]): boolean => !refusals.has(because);

const noAllow: Outcome = { because: "no-allow", at: undefined };
const ownerGrant: Outcome = { because: "owner-grant", at: undefined };
const tooCostly: Outcome = { because: "too-costly", at: undefined };

const decide = (request: PolicyRequest, policies: PolicySet, spelling: PolicySpelling, work: MatchingWork): Outcome =>
  withinWork(
    () => outcomeOf(request, policies, spelling, work),
    () => tooCostly,
  );

const outcomeOf = (
  request: PolicyRequest,
  policies: PolicySet,
  spelling: PolicySpelling,
  work: MatchingWork,
): Outcome => {
  const spelled = new SpelledRequest(request, spelling, work, policies.boundary !== undefined);
  const identity = findBoth("identity", policies.identity, spelled, spelling);
  if (identity.deny !== undefined) return { because: "explicit-deny", at: identity.deny };
  const boundary = policies.boundary && findBoth("boundary", policies.boundary, spelled, spelling);
  if (boundary?.deny !== undefined) return { because: "explicit-deny", at: boundary.deny };
  const session = policies.session && findBoth("session", policies.session, spelled, spelling);
  if (session?.deny !== undefined) return { because: "explicit-deny", at: session.deny };
  const resource = findBoth("resource", policies.resource, spelled, spelling, isWithinAccount(request));
  if (resource.deny !== undefined) return { because: "explicit-deny", at: resource.deny };

  const outcome = allowOf(request, identity.allow, resource.allow, policies.isGrantedByOwner === true);
  const isBounded = boundary !== undefined && boundary.allow === undefined;
  const isNarrowed = session !== undefined && session.allow === undefined;
  if (outcome.because === "no-allow" || !(isBounded || isNarrowed)) return outcome;
  const isWithin = request.requester.accountId === request.ownerAccountId;
  // What everybody is granted a boundary does not limit, but a session was narrowed for what it is to do.
  const own = isWithin ? findOwnGrant(policies, spelled, spelling, !isNarrowed) : undefined;
  if (own !== undefined) return { because: "resource-policy", at: own };
  return { because: isBounded ? "no-boundary-allow" : "no-session-allow", at: undefined };
};

/** Whether the requester is of the account that owns the resource. */
export const isWithinAccount = ({ requester, ownerAccountId }: PolicyRequest): boolean =>
  !requester.isAnonymous && requester.accountId === ownerAccountId;

/** What the policies and grants allow where no statement denies, before a boundary or a session limits it. */
const allowOf = (
  request: PolicyRequest,
  identity: StatementPlace | undefined,
  resource: StatementPlace | undefined,
  isGranted: boolean,
): Outcome => {
  const { requester } = request;
  if (isWithinAccount(request)) {
    if (requester.isRoot) return { because: "owner", at: undefined };
    if (identity !== undefined) return { because: "identity-policy", at: identity };
    if (resource !== undefined) return { because: "resource-policy", at: resource };
    return isGranted ? ownerGrant : noAllow;
  }
  const ownSideAllows =
    requester.isAnonymous || requester.isRoot || identity !== undefined || requester.serviceName !== undefined;
  if (!ownSideAllows) return noAllow;
  if (resource !== undefined)
    return { because: identity === undefined ? "resource-policy" : "both-sides", at: resource };
  return isGranted ? ownerGrant : noAllow;
};

/**
 * The resource's statement that allows the request to the requester by its own ARN, not by its role or account, or with
 * `orEverybody` to everybody.
 */
const findOwnGrant = (
  policies: PolicySet,
  request: SpelledRequest,
  spelling: PolicySpelling,
  orEverybody: boolean,
): StatementPlace | undefined => {
  for (const { place, statement } of placed(policies, spelling, ["resource"]))
    if (
      statement.statement.effect === "Allow" &&
      statement.action(request) &&
      (namesRequester(statement, request, spelling) || (orEverybody && namesEverybody(statement))) &&
      covers(statement, request)
    )
      return place;
  return undefined;
};

interface Found {
  readonly deny: StatementPlace | undefined;
  readonly allow: StatementPlace | undefined;
}

/**
 * The first statement of each effect of one side that speaks about the request; a deny ends the search. With
 * `itself`, the first allow that names the requester by more than its account.
 */
const findBoth = (
  side: StatementPlace["side"],
  policies: readonly Policy[],
  request: SpelledRequest,
  spelling: PolicySpelling,
  itself = false,
): Found => {
  let allow: StatementPlace | undefined;
  for (const [policy, document] of policies.entries())
    for (const [index, each] of compiled(document, spelling).about(request)) {
      if (each.statement.effect === "Allow" && allow !== undefined) continue;
      if (!covers(each, request)) continue;
      if (each.statement.effect === "Allow" && itself && !each.principalItself(request)) continue;
      const place = { side, policy, statement: index, sid: each.statement.sid };
      if (each.statement.effect === "Deny") return { deny: place, allow };
      allow = place;
    }
  return { deny: undefined, allow };
};

function* placed(
  policies: PolicySet,
  spelling: PolicySpelling,
  sides: readonly StatementPlace["side"][],
): Generator<{ readonly place: StatementPlace; readonly statement: CompiledStatement }> {
  for (const side of sides)
    for (const [policy, document] of (policies[side] ?? []).entries())
      for (const [index, statement] of compiled(document, spelling).statements.entries())
        yield { place: { side, policy, statement: index, sid: statement.statement.sid }, statement };
}

/** The statements that fail the request by one element, as many as work allows. */
function* nearMissesOf(
  request: SpelledRequest,
  policies: PolicySet,
  spelling: PolicySpelling,
  isWithin: boolean,
): Generator<NearMiss> {
  for (const { place, statement } of placed(policies, spelling, ["identity", "boundary", "session", "resource"])) {
    const failures = withinWork(
      () => failuresOf(statement, request, isWithin && place.side === "resource"),
      () => undefined,
    );
    if (failures === undefined) return;
    const [only] = failures;
    if (failures.length === 1 && only !== undefined) yield { ...place, effect: statement.statement.effect, ...only };
  }
}

const failuresOf = (
  statement: CompiledStatement,
  request: SpelledRequest,
  itself: boolean,
): Pick<NearMiss, "failed" | "key">[] => [
  ...(["principal", "action", "resource"] as const)
    .filter((element) => !statement[element](request))
    .map((failed) => ({ failed })),
  ...(statement.statement.effect === "Allow" &&
  itself &&
  statement.principal(request) &&
  !statement.principalItself(request)
    ? [{ failed: "principal" as const }]
    : []),
  ...statement.conditions
    .filter(({ holds }) => !holds(request.context, request.work))
    .map(({ key }) => ({ failed: "condition" as const, key })),
];
