import type { ServiceError } from "../../services/kit/faults/service-error.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import { parseJson as parseDocument } from "../../services/kit/json/parse-json.ts";

/** What a form may upload, as its author has signed it. */
export interface FormPolicy {
  readonly expiresMs: number;
  readonly conditions: readonly FormCondition[];
}

/** A condition on one field, whose name is lower case, or on the size of the file in bytes. */
export type FormCondition =
  | { readonly kind: "equals" | "starts-with"; readonly field: string; readonly value: string }
  | { readonly kind: "size"; readonly bytesMin: number; readonly bytesMax: number };

/** Fields that need no condition: those of the policy and its signature, and those that are ignored. */
const isExempt = (field: string, signatureFields: readonly string[]): boolean =>
  field === "policy" || field === "file" || signatureFields.includes(field) || field.startsWith("x-ignore-");

/** Parses a policy in base64. Throws MALFORMED_POLICY. */
export const parseFormPolicy = (text: string): FormPolicy => {
  const document = parseJson(Buffer.from(text, "base64").toString("utf8"));
  if (!isRecord(document)) throw malformed("It is not a JSON object.");
  const { expiration, conditions } = document;
  const expiresMs = typeof expiration === "string" ? parseInstant(expiration) : Number.NaN;
  if (Number.isNaN(expiresMs)) throw malformed("Its expiration is not an instant like 2007-12-01T12:00:00.000Z.");
  if (!Array.isArray(conditions)) throw malformed("Its conditions are not a list.");
  return { expiresMs, conditions: conditions.flatMap(parseCondition) };
};

/**
 * Returns the sizes, in bytes, that the policy allows the file. Throws POLICY_EXPIRED, and POLICY_VIOLATED for a
 * condition that does not hold and for a field without a condition.
 */
export const checkFormPolicy = (
  policy: FormPolicy,
  fields: ReadonlyMap<string, string>,
  signatureFields: readonly string[],
  nowMs: number,
): { readonly bytesMin: number; readonly bytesMax: number } => {
  if (nowMs > policy.expiresMs) throw refusal(ErrorReason.POLICY_EXPIRED);
  const allowed = new Set<string>();
  let [bytesMin, bytesMax] = [0, Number.MAX_SAFE_INTEGER];
  for (const condition of policy.conditions) {
    if (condition.kind === "size") {
      bytesMin = Math.max(bytesMin, condition.bytesMin);
      bytesMax = Math.min(bytesMax, condition.bytesMax);
      continue;
    }
    const { kind, field, value } = condition;
    allowed.add(field);
    const given = fields.get(field) ?? "";
    const holds = kind === "equals" ? given === value : valuesOf(field, given).every((each) => each.startsWith(value));
    if (!holds)
      throw violated(`Policy Condition failed: ["${kind === "equals" ? "eq" : kind}", "$${field}", "${value}"]`);
  }
  const extra = [...fields.keys()].filter((field) => !allowed.has(field) && !isExempt(field, signatureFields));
  if (extra.length > 0) throw violated(`Extra input fields: ${extra.join(", ")}`);
  return { bytesMin, bytesMax };
};

/** The texts of a field that must begin as a condition says: a content type with commas is a list, each value of it. */
const valuesOf = (field: string, given: string): string[] =>
  field === "content-type" ? given.split(",").map((each) => each.trim()) : [given];

/**
 * `{"acl": "private"}`, `["eq", "$acl", "private"]`, `["starts-with", "$key", "a/"]`, `["content-length-range", 1,
 * 10]`.
 */
const parseCondition = (condition: unknown): FormCondition[] => {
  if (isRecord(condition))
    return Object.entries(condition).map(([field, value]) => {
      if (typeof value !== "string") throw malformed("A condition's value is not a text.");
      return { kind: "equals", field: field.toLowerCase(), value };
    });
  if (!Array.isArray(condition) || condition.length !== 3)
    throw malformed("A condition is neither an object nor a list of three.");
  const [operator, first, second] = condition as unknown[];
  const kind = typeof operator === "string" ? operator.toLowerCase() : "";
  if (kind === "content-length-range") {
    const [bytesMin, bytesMax] = [Number(first), Number(second)];
    if (!Number.isSafeInteger(bytesMin) || !Number.isSafeInteger(bytesMax) || bytesMin < 0)
      throw malformed("A content-length-range has no two sizes.");
    return [{ kind: "size", bytesMin, bytesMax }];
  }
  if (kind !== "eq" && kind !== "starts-with") throw malformed("A condition's operator is not known.");
  if (typeof first !== "string" || !first.startsWith("$") || typeof second !== "string")
    throw malformed("A condition does not compare a $field with a text.");
  return [{ kind: kind === "eq" ? "equals" : kind, field: first.slice(1).toLowerCase(), value: second }];
};

const parseInstant = (text: string): number =>
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/.test(text) ? Date.parse(text) : Number.NaN;

const parseJson = (text: string): unknown => {
  try {
    return parseDocument(text);
  } catch {
    throw malformed("It is not JSON in base64.");
  }
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const malformed = (problem: string): ServiceError => refusal(ErrorReason.MALFORMED_POLICY, { problem });

const violated = (problem: string): ServiceError => refusal(ErrorReason.POLICY_VIOLATED, { problem });
