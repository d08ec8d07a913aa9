import { parseJson } from "../../kit/json/parse-json.ts";

/**
 * The condition keys of a rule's pattern: `events:source` and `events:detail-type`, where the pattern lists whole texts
 * for the field. A field with other matchers has no key, so that a policy which asks for it does not hold. A pattern
 * with alternatives has none at all, for they may list the field again. Empty for a text that is not a pattern, which
 * the operation refuses.
 */
export const patternConditions = (pattern: string): Map<string, readonly string[]> => {
  const conditions = new Map<string, readonly string[]>();
  const fields = parsed(pattern);
  if (Object.hasOwn(fields, "$or")) return conditions;
  for (const [field, key] of [
    ["source", "events:source"],
    ["detail-type", "events:detail-type"],
  ] as const) {
    const listed: unknown = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (Array.isArray(listed) && listed.length > 0 && listed.every((value) => typeof value === "string"))
      conditions.set(key, listed);
  }
  return conditions;
};

const parsed = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = parseJson(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
};
