import { parseJson } from "../../kit/json/parse-json.ts";

/**
 * The condition keys of a rule's pattern: `events:source`, `events:detail-type`, and `events:detail.<path>` for each
 * field of the detail, where the pattern lists whole texts for the field. A field with other matchers has no key, so
 * that a policy which asks for it does not hold; nor has one that is listed twice, or in two spellings that keys do not
 * distinguish. Where there are alternatives the detail has no keys, and the whole pattern none if they are alternatives
 * of all of it, for they may list a field again. Empty for a text that is not a pattern, which the operation refuses.
 */
export const patternConditions = (pattern: string): Map<string, readonly string[]> => {
  const conditions = new Map<string, readonly string[]>();
  const leaves = leavesOf("", parsed(pattern));
  const alternatives = leaves.filter(([path]) => /(?:^|\.)\$or$/.test(path));
  if (alternatives.some(([path]) => path === "$or")) return conditions;
  const seen = new Set<string>();
  for (const [path, matchers] of leaves) {
    const isOfDetail = path.startsWith("detail.");
    if (path !== "source" && path !== "detail-type" && !(isOfDetail && alternatives.length === 0)) continue;
    const key = `events:${path.toLowerCase()}`;
    if (isWholeTexts(matchers) && !seen.has(key)) conditions.set(key, matchers);
    else conditions.delete(key);
    seen.add(key);
  }
  return conditions;
};

const isWholeTexts = (matchers: unknown): matchers is readonly string[] =>
  Array.isArray(matchers) && matchers.length > 0 && matchers.every((value) => typeof value === "string");

/** The fields of an object with their matchers. Names are joined by dots, as where events are matched. */
const leavesOf = (path: string, value: unknown): (readonly [string, unknown])[] =>
  typeof value !== "object" || value === null || Array.isArray(value)
    ? [[path, value]]
    : Object.entries(value).flatMap(([name, inner]) => leavesOf(path === "" ? name : `${path}.${name}`, inner));

const parsed = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = parseJson(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
};
