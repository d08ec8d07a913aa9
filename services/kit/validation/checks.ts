import type { FieldConstraints, TextConstraints } from "../contract/constraints.ts";
import type { WireNames } from "../contract/spellings.ts";
import { mustBeOneOf, mustHaveLength, mustHaveValue, mustMatch } from "./wording.ts";

/** Returns the constraint that a value violates, or undefined. */
export type Check<Value> = (value: Value) => string | undefined;

/** The check of a text; undefined: nothing to check. */
export const textCheck = (constraints: TextConstraints, names: WireNames): Check<string> | undefined => {
  const { lengthMin, lengthMax, pattern, oneOf } = constraints;
  const checks: Check<string>[] = [];
  if (lengthMin !== undefined && lengthMin > 0) {
    const description = mustHaveLength("min", lengthMin);
    checks.push((text) => (isShorter(text, lengthMin) ? description : undefined));
  }
  if (lengthMax !== undefined) {
    const description = mustHaveLength("max", lengthMax);
    checks.push((text) => (isLonger(text, lengthMax) ? description : undefined));
  }
  if (oneOf.length > 0) {
    const allowed = new Set(oneOf);
    const description = mustBeOneOf(oneOf.map(names.value));
    checks.push((text) => (allowed.has(text) ? undefined : description));
  }
  if (pattern !== undefined) {
    const expression = wholeExpression(pattern);
    const description = mustMatch(pattern);
    checks.push((text) => (expression.test(text) ? undefined : description));
  }
  return firstOf(checks);
};

/** The check of a number of bytes, elements or entries; undefined: nothing to check. */
export const sizeCheck = (constraints: TextConstraints): Check<number> | undefined => {
  const { lengthMin, lengthMax } = constraints;
  const checks: Check<number>[] = [];
  if (lengthMin !== undefined && lengthMin > 0) {
    const description = mustHaveLength("min", lengthMin);
    checks.push((size) => (size < lengthMin ? description : undefined));
  }
  if (lengthMax !== undefined) {
    const description = mustHaveLength("max", lengthMax);
    checks.push((size) => (size > lengthMax ? description : undefined));
  }
  return firstOf(checks);
};

/** The check of a number; undefined: nothing to check. NaN satisfies no bound. */
export const numberCheck = (constraints: FieldConstraints): Check<number | bigint> | undefined => {
  const { rangeMin, rangeMax } = constraints;
  const checks: Check<number | bigint>[] = [];
  if (rangeMin !== undefined) {
    const description = mustHaveValue("min", rangeMin);
    checks.push((value) => (value >= rangeMin ? undefined : description));
  }
  if (rangeMax !== undefined) {
    const description = mustHaveValue("max", rangeMax);
    checks.push((value) => (value <= rangeMax ? undefined : description));
  }
  return firstOf(checks);
};

/** The declared pattern as an expression that must match the whole text. */
const wholeExpression = (pattern: string): RegExp => {
  try {
    return new RegExp(`^(?:${pattern})$`, "u");
  } catch {
    // NOTE: some public patterns escape characters that need no escape, which Unicode mode refuses.
    return new RegExp(`^(?:${pattern})$`);
  }
};

const firstOf = <Value>(checks: readonly Check<Value>[]): Check<Value> | undefined => {
  if (checks.length <= 1) return checks[0];
  return (value) => {
    for (const check of checks) {
      const description = check(value);
      if (description !== undefined) return description;
    }
    return undefined;
  };
};

// A text has at most as many characters as UTF-16 units and at least half as many, so most texts need no counting.
const isLonger = (text: string, max: number): boolean =>
  text.length > max && (text.length > max * 2 || countCharacters(text) > max);

const isShorter = (text: string, min: number): boolean =>
  text.length < min || (text.length < min * 2 && countCharacters(text) < min);

const countCharacters = (text: string): number => {
  let count = 0;
  for (const _character of text) count += 1;
  return count;
};
