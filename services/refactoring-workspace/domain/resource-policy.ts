/** Stands for every account in the list of those that a policy names. */
export const everyAccount = "*";

/** Why a policy's text is not one line; undefined if it is. Its content is checked by the policy parser. */
export const findLineProblem = (policy: string): string | undefined => {
  if (policy.trim() === "") return "it is blank";
  return /[\r\n\u0085\u2028\u2029]/.test(policy) ? "it has a line break" : undefined;
};

/** The prefixes of this service's actions in both spellings. */
const actionPrefixes = ["refactor-spaces:", "refactoring-workspace:"];

/** The first action that is not one of this service's; undefined if all are. */
export const findForeignAction = (actions: readonly string[]): string | undefined =>
  actions.find((action) => !actionPrefixes.some((prefix) => action.toLowerCase().startsWith(prefix)));

/** A statement of a policy, as far as it says for whom it is. */
interface NamingStatement {
  readonly effect: "Allow" | "Deny";
  readonly principal:
    | { readonly isNegated: boolean; readonly entries: readonly { readonly kind: string; readonly value: string }[] }
    | undefined;
}

/**
 * The accounts whose principals the allowing statements of a policy may mean, each once; `everyAccount` if one means
 * everybody, or everybody but some.
 */
export const namedAccounts = (statements: readonly NamingStatement[]): string[] => {
  const named = statements.flatMap(({ effect, principal }) => {
    if (effect === "Deny" || principal === undefined) return [];
    if (principal.isNegated) return [everyAccount];
    return principal.entries.flatMap(({ kind, value }) => {
      if (kind === "everyone") return [everyAccount];
      if (kind === "account") return [value];
      return kind === "arn" ? [value.split(":")[4] ?? everyAccount] : [];
    });
  });
  return [...new Set(named)];
};
