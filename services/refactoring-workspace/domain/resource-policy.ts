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
