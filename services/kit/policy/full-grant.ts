import type { Policy, Statement } from "./document.ts";

/**
 * Whether the policies of one principal allow everything, whatever is asked: a statement allows the action `*` on the
 * resource `*` without a condition, and no statement denies anything. What allows as much in more words (every action
 * but one that does not exist, a list of all services) does not count.
 */
export const grantsEverything = (policies: readonly Policy[]): boolean => {
  const statements = policies.flatMap((policy) => policy.statements);
  return statements.some(allowsEverything) && statements.every((statement) => statement.effect === "Allow");
};

const allowsEverything = ({ effect, action, resource, conditions }: Statement): boolean =>
  effect === "Allow" &&
  !action.isNegated &&
  action.entries.includes("*") &&
  resource?.isNegated === false &&
  resource.entries.includes("*") &&
  conditions.length === 0;
