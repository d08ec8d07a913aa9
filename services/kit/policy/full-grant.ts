import type { Policy, Statement } from "./document.ts";

/**
 * True if the policies of one principal allow every request: a statement allows the action `*` on the resource `*`
 * without a condition, and no statement denies anything. Longer equivalents (every action but one that does not exist,
 * a list of all services) do not count.
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
