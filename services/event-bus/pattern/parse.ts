import type { Alternative, Branch, FieldCondition } from "./condition.ts";
import { conditionOf } from "./condition.ts";
import type { JsonNode, JsonObject } from "./json-text.ts";
import { readJson } from "./json-text.ts";
import { parseAlternatives, reservedInOr } from "./operators.ts";
import { PatternError } from "./pattern-error.ts";
import { wildcardComplexity, wildcardComplexityMax } from "./wildcard-complexity.ts";
import type { Wildcard } from "./wildcard.ts";

/** A pattern as branches: an event matches if all conditions of any branch hold. */
export interface Pattern {
  readonly branches: readonly Branch[];
}

/** The number of branches to which the `$or`s of one pattern may multiply, and of all their conditions together. */
const branchesMax = 1000;
const conditionsMax = 10_000;

/**
 * Parses a pattern. Throws PatternError, with the messages that clients of such APIs expect. If an `$or` is not a list
 * of alternatives, the pattern is parsed again with `$or` as the name of a field.
 */
export const parsePattern = (source: string): Pattern => {
  const root = readJson(source);
  if (root.kind !== "object") throw new PatternError("Filter is not an object", root.end);
  let branches: MutableBranch[];
  try {
    branches = parseFields(root, undefined, [new Map()], { knowsOr: true, isInsideOr: false });
  } catch (error) {
    if (!(error instanceof PatternError) || error instanceof TooComplexError || !mentionsOr(root)) throw error;
    branches = parseFields(root, undefined, [new Map()], { knowsOr: false, isInsideOr: false });
  }
  for (const branch of branches) for (const [path, condition] of branch) checkComplexity(path, condition);
  return { branches };
};

type MutableBranch = Map<string, FieldCondition>;

class TooComplexError extends PatternError {}

/** How `$or` is treated in an object. */
interface OrContext {
  readonly knowsOr: boolean;
  readonly isInsideOr: boolean;
}

/**
 * Adds the fields of one object to the branches. A later condition on a path replaces an earlier one. The path of the
 * whole pattern is undefined, because a name may be empty.
 */
const parseFields = (
  object: JsonObject,
  path: string | undefined,
  before: MutableBranch[],
  context: OrContext,
): MutableBranch[] => {
  if (object.members.length === 0) throw new PatternError("Empty objects are not allowed", object.end);
  let branches = before;
  for (const { name, value } of object.members) {
    if (name === "$or" && context.knowsOr) {
      branches = parseOr(value, path, branches);
      continue;
    }
    if (context.isInsideOr && reservedInOr.has(name))
      throw new PatternError(`${name} is Ruler reserved fieldName which cannot be used inside $or.`, value.end);
    const inner = path === undefined ? name : `${path}.${name}`;
    if (value.kind === "object") branches = parseFields(value, inner, branches, context);
    else if (value.kind === "list") {
      const alternatives = value.items.flatMap(parseAlternatives);
      if (alternatives.length === 0) throw new PatternError("Empty arrays are not allowed", value.end);
      const condition = conditionOf(alternatives);
      for (const branch of branches) branch.set(inner, condition);
      if (branches.length > 1) checkConditions(branches, 1);
    } else throw new PatternError(`"${name}" must be an object or an array`, value.end);
  }
  return branches;
};

const parseOr = (value: JsonNode, path: string | undefined, before: MutableBranch[]): MutableBranch[] => {
  if (value.kind !== "list") throw new PatternError("It must be an Array followed with $or.", value.end);
  const branches: MutableBranch[] = [];
  for (const item of value.items) {
    if (item.kind !== "object")
      throw new PatternError("Only JSON object is allowed in array of $or relationship.", item.end);
    if (before.length * value.items.length > branchesMax) throw tooManyBranches();
    checkConditions(before, value.items.length);
    const copies = before.map((branch) => new Map(branch));
    branches.push(...parseFields(item, path, copies, { knowsOr: true, isInsideOr: true }));
    if (branches.length > branchesMax) throw tooManyBranches();
  }
  checkConditions(branches, 1);
  if (value.items.length < 2)
    throw new PatternError("There must have at least 2 Objects in $or relationship.", value.end);
  return branches;
};

const tooManyBranches = (): PatternError =>
  new TooComplexError(`Rule is too complex - $or makes more than ${branchesMax} combinations`);

/** Throws if so many copies of the branches have too many conditions: what a rule needs in memory grows with them. */
const checkConditions = (branches: readonly Branch[], copies: number): void => {
  const count = branches.reduce((sum, { size }) => sum + size, 0) * copies;
  if (count > conditionsMax)
    throw new TooComplexError(
      `Rule is too complex - the combinations of its $or have more than ${conditionsMax} conditions together`,
    );
};

const mentionsOr = (node: JsonNode): boolean => {
  if (node.kind === "list") return node.items.some(mentionsOr);
  if (node.kind !== "object") return false;
  return node.members.some(({ name, value }) => name === "$or" || mentionsOr(value));
};

/** The wildcards of an alternative; those that `anything-but` excludes are a list. */
const wildcardsOf = (alternative: Alternative): Wildcard[] => {
  if (alternative.kind === "wildcard") return [alternative.wildcard];
  if (alternative.kind !== "anything-but") return [];
  return alternative.alternatives.flatMap((each) => (each.kind === "wildcard" ? [each.wildcard] : []));
};

/** The highest score that a refusal names. */
const scoreShownMax = 100;

const checkComplexity = (path: string, condition: FieldCondition): void => {
  const wildcards = condition.alternatives.map(wildcardsOf).filter((list) => list.length > 0);
  if (wildcards.length === 0 || wildcardComplexity(wildcards) <= wildcardComplexityMax) return;
  const score = wildcardComplexity(wildcards, scoreShownMax);
  const shown = score > scoreShownMax ? `more than ${scoreShownMax}` : score;
  throw new PatternError(
    "Rule is too complex - try using fewer wildcard characters or fewer repeating character sequences after a " +
      `wildcard character\n at "${path}", whose complexity is ${shown}, above ${wildcardComplexityMax}`,
  );
};
