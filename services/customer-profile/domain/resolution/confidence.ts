import type { ComparedValues } from "./compared-values.ts";
import { comparedValuesOf, sharedKeysOf } from "./compared-values.ts";
import type { MatchComparison } from "./match-comparison.ts";

/** How much it says that two profiles are of the same customer if they agree on a value, or say different ones. */
interface Weight {
  readonly agreed: number;
  readonly different: number;
}

/**
 * Weights as logarithms to base 2 of odds, of which the README has the table. A person has several addresses, phones
 * and mail addresses, so different ones say little; one name and one birth date, so different ones say much.
 */
const weights: Readonly<Record<keyof ComparedValues, Weight>> = {
  emails: { agreed: 8, different: -1 },
  phones: { agreed: 6, different: -1 },
  names: { agreed: 5, different: -4 },
  birthDates: { agreed: 5, different: -5 },
  addresses: { agreed: 4, different: -1 },
};

/** What must be outweighed: two profiles are seldom of the same customer. */
const prior = -6;

const compared = Object.keys(weights) as readonly (keyof ComparedValues)[];

/** The lowest confidence with which profiles are a match. */
const confidenceMin = 0.5;

/** How sure it is that two profiles are of the same customer, 0 to 1. What one of them does not say counts nothing. */
export const confidenceOf = (a: ComparedValues, b: ComparedValues): number => {
  let evidence = prior;
  for (const name of compared) evidence += evidenceOf(name, a[name], b[name]);
  return 1 / (1 + 2 ** -evidence);
};

/** The comparison by weights: the strength of a match is its confidence. */
export const comparisonByWeights: MatchComparison<ComparedValues> = {
  valuesOf: comparedValuesOf,
  keysOf: sharedKeysOf,
  strengthOf(a, b) {
    const confidence = confidenceOf(a, b);
    return confidence >= confidenceMin ? confidence : 0;
  },
  resultOf: (strength) => ({ confidenceScore: strength }),
};

const evidenceOf = (name: keyof ComparedValues, a: ReadonlySet<string>, b: ReadonlySet<string>): number => {
  if (a.size === 0 || b.size === 0) return 0;
  if (!a.isDisjointFrom(b)) return weights[name].agreed;
  const isTypingError = name === "names" && [...a].some((one) => [...b].some((other) => isOneErrorApart(one, other)));
  return isTypingError ? 0 : weights[name].different;
};

/** Whether one letter that is left out, added, replaced or exchanged with the next makes one text of the other. */
export const isOneErrorApart = (a: string, b: string): boolean => {
  if (Math.abs(a.length - b.length) > 1) return false;
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at += 1;
  const rest = (text: string, skipped: number): string => text.slice(at + skipped);
  return (
    rest(a, 1) === rest(b, 1) ||
    rest(a, 1) === rest(b, 0) ||
    rest(a, 0) === rest(b, 1) ||
    (a[at] === b[at + 1] && a[at + 1] === b[at] && rest(a, 2) === rest(b, 2))
  );
};
