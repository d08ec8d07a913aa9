import type { ConditionContext, ConditionTest } from "./condition.ts";
import { conditionTest } from "./condition.ts";
import type { Policy, Principal, Selection, Statement } from "./document.ts";
import type { MatchingWork } from "./matching-work.ts";
import type { PolicySpelling } from "./spelling.ts";
import { arnTest, headOfPattern, literalPattern, SplitArn, textTest } from "./wildcard.ts";

/** Who asks, as far as policies can name it. */
export interface Requester {
  /** Empty for an anonymous caller. */
  readonly accountId: string;
  readonly principalArn: string;
  /** Of a session: the path of its role, which its ARN does not have. Unset: `/`. */
  readonly rolePath?: string;
  readonly isRoot: boolean;
  readonly isAnonymous: boolean;
  /** The account's canonical id, where the caller has one. */
  readonly canonicalUserId?: string;
  /** A service that calls in its own name, for example `events.example.com`. */
  readonly serviceName?: string;
  /** The ARN of the identity provider that vouches for whoever has no principal of its own yet. */
  readonly federatedArn?: string;
}

/** What is asked. */
export interface PolicyRequest {
  readonly requester: Requester;
  /** For example `s3:GetObject`. */
  readonly action: string;
  readonly resource: string;
  /** The account that owns the resource. */
  readonly ownerAccountId: string;
  readonly context: ConditionContext;
}

/** A request whose texts are spelled and split once for all statements, and what comparing them may still cost. */
export class SpelledRequest {
  readonly requester: Requester;
  readonly action: string;
  readonly resource: SplitArn;
  readonly context: ConditionContext;
  readonly work: MatchingWork;
  /** Whether the requester has a permissions boundary. */
  readonly isBounded: boolean;
  readonly #spelling: PolicySpelling;
  #principal: { readonly arn: string; readonly roleArn: string | undefined } | undefined;

  constructor(
    { requester, action, resource, context }: PolicyRequest,
    spelling: PolicySpelling,
    work: MatchingWork,
    isBounded = false,
  ) {
    this.requester = requester;
    this.action = spelling.action(action).toLowerCase();
    this.resource = new SplitArn(spelling.arn(resource));
    this.context = context;
    this.work = work;
    this.isBounded = isBounded;
    this.#spelling = spelling;
  }

  get principalArn(): string {
    return this.#named.arn;
  }

  /** Of a session's role. */
  get roleArn(): string | undefined {
    return this.#named.roleArn;
  }

  /** Spelled when a statement names principals, which those of identities never do. */
  get #named(): { readonly arn: string; readonly roleArn: string | undefined } {
    if (this.#principal === undefined) {
      const { principalArn, rolePath } = this.requester;
      const roleArn = roleArnOfSession(principalArn, rolePath);
      const { arn } = this.#spelling;
      this.#principal = { arn: arn(principalArn), roleArn: roleArn === undefined ? undefined : arn(roleArn) };
    }
    return this.#principal;
  }
}

/** One statement, read once: a test for each of its elements. */
export interface CompiledStatement {
  readonly statement: Statement;
  readonly principal: (request: SpelledRequest) => boolean;
  /** The same without the accounts that it names, as which alone nobody of them is allowed anything. */
  readonly principalItself: (request: SpelledRequest) => boolean;
  readonly action: (request: SpelledRequest) => boolean;
  readonly resource: (request: SpelledRequest) => boolean;
  /** The head of every resource that it names; undefined, if they may have several. */
  readonly head: string | undefined;
  readonly conditions: readonly { readonly key: string; readonly holds: ConditionTest }[];
}

/** A statement with its index in its policy. */
type IndexedStatement = readonly [index: number, statement: CompiledStatement];

/** Actions of which a policy remembers its statements; those of a service are fewer. */
const rememberedActionsMax = 256;

/** Up to so many statements are compared one by one. */
const comparedMax = 4;

/** The statements about one action, by the only head of the resources that they name. */
interface ByHead {
  readonly byHead: ReadonlyMap<string, readonly IndexedStatement[]>;
  /** Those that name no resources or resources of several heads. */
  readonly others: readonly IndexedStatement[];
}

/** The statements of one policy, read once. */
class CompiledPolicy {
  readonly statements: readonly CompiledStatement[];
  readonly #byAction = new Map<string, ByHead>();

  constructor(statements: readonly CompiledStatement[]) {
    this.statements = statements;
  }

  /**
   * The statements whose action is the request's, in their order, less those that name only resources of other heads.
   * Which those are depends on nothing else of a request, so they are found once.
   */
  about(request: SpelledRequest): readonly IndexedStatement[] {
    let found = this.#byAction.get(request.action);
    if (found === undefined) {
      found = groupByHead([...this.statements.entries()].filter(([, { action }]) => action(request)));
      if (this.#byAction.size >= rememberedActionsMax) this.#byAction.clear();
      this.#byAction.set(request.action, found);
    }
    const { byHead, others } = found;
    const own = byHead.size === 0 ? undefined : byHead.get(request.resource.head);
    if (own === undefined) return others;
    return others.length === 0 ? own : [...own, ...others].toSorted(([one], [other]) => one - other);
  }
}

const groupByHead = (statements: readonly IndexedStatement[]): ByHead => {
  if (statements.length <= comparedMax) return { byHead: new Map(), others: statements };
  const byHead = Map.groupBy(statements, ([, { head }]) => head ?? "");
  const others = byHead.get("") ?? [];
  byHead.delete("");
  return { byHead, others };
};

const compiledBySpelling = new WeakMap<PolicySpelling, WeakMap<Policy, CompiledPolicy>>();

/** A policy in a spelling, read once and kept for as long as the policy is. */
export const compiled = (policy: Policy, spelling: PolicySpelling): CompiledPolicy => {
  let known = compiledBySpelling.get(spelling);
  if (known === undefined) {
    known = new WeakMap();
    compiledBySpelling.set(spelling, known);
  }
  let found = known.get(policy);
  if (found === undefined) {
    const hasVariables = policy.version === "2012-10-17";
    found = new CompiledPolicy(policy.statements.map((statement) => compile(statement, spelling, hasVariables)));
    known.set(policy, found);
  }
  return found;
};

/** Whether a statement about the request's action speaks about it. The elements that fail most often come first. */
export const covers = (statement: CompiledStatement, request: SpelledRequest): boolean =>
  statement.resource(request) &&
  statement.principal(request) &&
  statement.conditions.every(({ holds }) => holds(request.context, request.work));

/** Whether a statement names the requester by its own ARN: a session not by its role's. */
export const namesRequester = (
  { statement }: CompiledStatement,
  request: SpelledRequest,
  spelling: PolicySpelling,
): boolean =>
  !request.requester.isAnonymous &&
  statement.principal?.isNegated === false &&
  statement.principal.entries.some(({ kind, value }) => kind === "arn" && spelling.arn(value) === request.principalArn);

/** Whether a statement names everybody, anonymous callers included. */
export const namesEverybody = ({ statement: { principal } }: CompiledStatement): boolean =>
  principal?.isNegated === false && principal.entries.some(({ kind }) => kind === "everyone");

/**
 * The ARN of the role behind a session's: `arn:aws:iam::111122223333:role/team/reader` of
 * `arn:aws:sts::111122223333:assumed-role/reader/nightly` and the path `/team/`. Undefined for every other principal.
 */
export const roleArnOfSession = (principalArn: string, rolePath = "/"): string | undefined => {
  if (!principalArn.includes(":assumed-role/")) return undefined;
  const session = /^arn:([a-z0-9-]+):sts::(\d{12}):assumed-role\/([^/]+)\/[^/]+$/.exec(principalArn);
  return session === null ? undefined : `arn:${session[1]}:iam::${session[2]}:role${rolePath}${session[3]}`;
};

type Test = (request: SpelledRequest) => boolean;

const compile = (statement: Statement, spelling: PolicySpelling, hasVariables: boolean): CompiledStatement => {
  const resolve = (
    text: string,
    context: ConditionContext,
    isPattern: boolean,
    work: MatchingWork,
  ): string | undefined => replaceVariables(text, context, spelling, isPattern, work);
  const reading = { key: spelling.key, arn: spelling.arn, ...(hasVariables && { resolve }) };
  const named = selection(statement.principal, (each) => principalTest(each, spelling));
  // A denial of all but some denies whoever has a boundary, whomever it excepts, as it does at the public service.
  const isOfOthers = statement.effect === "Deny" && statement.principal?.isNegated === true;
  const principal = isOfOthers ? (request: SpelledRequest) => request.isBounded || named(request) : named;
  return {
    statement,
    principal,
    principalItself: namesAccounts(statement.principal)
      ? selection(withoutAccounts(statement.principal), (each) => principalTest(each, spelling))
      : principal,
    action: selection(statement.action, (pattern) => {
      const fits = textTest(spelling.action(pattern).toLowerCase());
      return ({ action, work }) => fits(action, work);
    }),
    resource: selection(statement.resource, (pattern) => {
      const spelled = spelling.arn(pattern);
      if (hasVariables && spelled.includes("${"))
        return ({ resource, context, work }) => {
          const resolved = resolve(spelled, context, true, work);
          return resolved !== undefined && arnTest(resolved)(resource, work);
        };
      const fits = arnTest(spelled);
      return ({ resource, work }) => fits(resource, work);
    }),
    head: onlyHead(statement, spelling),
    conditions: statement.conditions.map((condition) => ({
      key: condition.key,
      holds: conditionTest(condition, reading),
    })),
  };
};

/** Variables have a dollar sign, and what they become is known with a request only. */
const onlyHead = ({ resource }: Statement, spelling: PolicySpelling): string | undefined => {
  if (resource === undefined || resource.isNegated) return undefined;
  const heads = new Set(
    resource.entries.map((pattern) => (pattern.includes("$") ? undefined : headOfPattern(spelling.arn(pattern)))),
  );
  const [head] = heads;
  return heads.size === 1 ? head : undefined;
};

const selection = <T>(selected: Selection<T> | undefined, testOf: (entry: T) => Test): Test => {
  if (selected === undefined) return () => true;
  const { isNegated } = selected;
  const tests = selected.entries.map(testOf);
  const [only] = tests;
  if (tests.length === 1 && only !== undefined) return isNegated ? (request) => !only(request) : only;
  return (request) => tests.some((test) => test(request)) !== isNegated;
};

const namesAccounts = (principals: Statement["principal"]): principals is Selection<Principal> =>
  principals?.isNegated === false && principals.entries.some(({ kind }) => kind === "account");

const withoutAccounts = ({ isNegated, entries }: Selection<Principal>): Selection<Principal> => ({
  isNegated,
  entries: entries.filter(({ kind }) => kind !== "account"),
});

const principalTest = (principal: Principal, spelling: PolicySpelling): Test => {
  const { kind, value } = principal;
  switch (kind) {
    case "everyone":
      return () => true;
    case "account":
      return ({ requester }) => !requester.isAnonymous && requester.accountId === value;
    case "arn": {
      // A role's ARN names all its sessions.
      const named = spelling.arn(value);
      return (request) =>
        !request.requester.isAnonymous && (request.principalArn === named || request.roleArn === named);
    }
    case "service":
      return ({ requester }) => requester.serviceName === value;
    case "canonical-user":
      return ({ requester }) => requester.canonicalUserId === value;
    case "federated": {
      const named = spelling.arn(value);
      return ({ requester }) => requester.federatedArn !== undefined && spelling.arn(requester.federatedArn) === named;
    }
  }
};

/** The most characters of a replaced text. Nothing that is compared is as long: headers have 32 KiB together. */
const replacedLengthMax = 65_536;

/**
 * Replaces `${key}` and `${key, 'fallback'}`; `${*}`, `${?}` and `${$}` stand for the character. Undefined when a key
 * has no single value, or when the text would be so long that nothing fits it.
 */
const replaceVariables = (
  text: string,
  context: ConditionContext,
  spelling: PolicySpelling,
  isPattern: boolean,
  work: MatchingWork,
): string | undefined => {
  let isWhole = true;
  let length = text.length;
  const asWanted = (value: string): string => (isPattern ? literalPattern(value) : value);
  // After the last brace no variable ends, and an expression would look for its end from each beginning.
  const end = text.lastIndexOf("}") + 1;
  const replaced = text.slice(0, end).replace(/\$\{([^}]*)\}/g, (_whole, written: string) => {
    if (written === "*" || written === "?" || written === "$") return asWanted(written);
    const match = /^\s*([^,\s]+)\s*(?:,\s*'([^']*)'\s*)?$/.exec(written);
    const values = context.get(spelling.key(match?.[1] ?? "").toLowerCase());
    const value = values?.length === 1 ? values[0] : match?.[2];
    length += value?.length ?? 0;
    if (value === undefined || length > replacedLengthMax) isWhole = false;
    return isWhole ? asWanted(value ?? "") : "";
  });
  work.take(Math.min(length, replacedLengthMax));
  return isWhole ? replaced + text.slice(end) : undefined;
};
