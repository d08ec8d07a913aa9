import type { PolicyRequest } from "./compiled.ts";
import { compiled, covers, SpelledRequest } from "./compiled.ts";
import type { Policy, Statement } from "./document.ts";
import type { PolicySet, StatementPlace } from "./evaluate.ts";
import { isWithinAccount, withinWork } from "./evaluate.ts";
import { MatchingWork } from "./matching-work.ts";
import type { PolicySpelling } from "./spelling.ts";

/** What a decision rests on. */
export interface Matches {
  /** All statements that speak about the request, by their effects. */
  readonly allows: readonly StatementPlace[];
  readonly denies: readonly StatementPlace[];
  /** The condition keys without a value for which statements about the action and the resource ask, as written. */
  readonly missingKeys: readonly string[];
}

/** Finds what speaks about a request, as far as work allows. */
export const matchesOf = (
  request: PolicyRequest,
  policies: PolicySet,
  spelling: PolicySpelling,
  work = new MatchingWork(),
): Matches => {
  const allows: StatementPlace[] = [];
  const denies: StatementPlace[] = [];
  const missing = new Map<string, string>();
  const spelled = new SpelledRequest(request, spelling, work, policies.boundary !== undefined);
  const note = (key: string): void => {
    const lowered = spelling.key(key).toLowerCase();
    if (request.context.get(lowered) === undefined && !missing.has(lowered)) missing.set(lowered, key);
  };
  const search = (side: StatementPlace["side"]): void => {
    for (const [policy, document] of (policies[side] ?? []).entries())
      for (const [index, each] of compiled(document, spelling).about(spelled)) {
        const { statement } = each;
        if (document.version === "2012-10-17") variablesOf(statement.resource?.entries ?? []).forEach(note);
        if (!each.resource(spelled) || !each.principal(spelled)) continue;
        conditionKeysOf(statement, document).forEach(note);
        const isLeftToIdentity =
          side === "resource" &&
          statement.effect === "Allow" &&
          isWithinAccount(request) &&
          !each.principalItself(spelled);
        if (isLeftToIdentity || !covers(each, spelled)) continue;
        const place = { side, policy, statement: index, sid: statement.sid };
        (statement.effect === "Allow" ? allows : denies).push(place);
      }
  };
  withinWork(
    () => (["identity", "boundary", "session", "resource"] as const).forEach(search),
    () => undefined,
  );
  return { allows, denies, missingKeys: [...missing.values()].toSorted() };
};

/** The condition keys for which policies ask, as written, each once whatever its case, sorted. */
export const contextKeysOf = (policies: readonly Policy[]): string[] => {
  const keys = new Map<string, string>();
  for (const policy of policies)
    for (const statement of policy.statements) {
      const hasVariables = policy.version === "2012-10-17";
      const inResource = hasVariables ? variablesOf(statement.resource?.entries ?? []) : [];
      for (const key of [...inResource, ...conditionKeysOf(statement, policy)])
        if (!keys.has(key.toLowerCase())) keys.set(key.toLowerCase(), key);
    }
  return [...keys.values()].toSorted();
};

const conditionKeysOf = ({ conditions }: Statement, { version }: Policy): string[] =>
  conditions.flatMap(({ key, operator, values }) => [
    key,
    ...(version === "2012-10-17" && operator.takesVariables ? variablesOf(values) : []),
  ]);

/** The keys of `${key}`; those with a fallback need no value. */
const variablesOf = (texts: readonly string[]): string[] =>
  texts.flatMap((text) => [...text.matchAll(/\$\{\s*([^}\s,]*:[^}\s,]*)\s*\}/g)].map(([, key = ""]) => key));
