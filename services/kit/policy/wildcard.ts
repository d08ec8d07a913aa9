import { fitsLongWildcard } from "./long-wildcard.ts";

/** Escapes of the wildcards in patterns; no matched text contains these noncharacters. */
const literalStar = "\uFDD0";
const literalMark = "\uFDD1";

/** The pattern that only this text matches. */
export const literalPattern = (text: string): string => text.replaceAll("*", literalStar).replaceAll("?", literalMark);

const isSame = (wanted: string, given: string | undefined): boolean =>
  wanted === given || (wanted === literalStar && given === "*") || (wanted === literalMark && given === "?");

const fitsCharacter = (wanted: string, given: string): boolean => wanted === "?" || isSame(wanted, given);

/** The product of the lengths of a pattern and a text up to which trying again after a star is quick. */
const productMax = 1_000_000;

/**
 * True if the text matches the pattern: `*` matches any characters, `?` exactly one. Takes time in proportion to at
 * most the product of both lengths and does not recurse. A header may have 32 KiB and a policy 20 KiB, so of larger
 * products each step compares many characters.
 */
const fitsWildcard = (pattern: string, text: string): boolean => {
  if (pattern.length * text.length > productMax) return fitsLongWildcard(pattern, text, fitsCharacter);
  let textAt = 0;
  let patternAt = 0;
  let starAt = -1;
  let resumeAt = 0;
  while (textAt < text.length) {
    const wanted = pattern[patternAt];
    if (wanted === "*") {
      starAt = patternAt++;
      resumeAt = textAt;
    } else if (wanted !== undefined && (wanted === "?" || isSame(wanted, text[textAt]))) {
      patternAt++;
      textAt++;
    } else if (starAt >= 0) {
      patternAt = starAt + 1;
      textAt = ++resumeAt;
    } else {
      return false;
    }
  }
  while (pattern[patternAt] === "*") patternAt++;
  return patternAt === pattern.length;
};

/** A pattern read once: whether a text fits it. The patterns that occur most need no search. */
export const textTest = (pattern: string): ((text: string) => boolean) => {
  if (pattern === "*") return () => true;
  if (hasNothingSpecial(pattern)) return (text) => text === pattern;
  const beginning = pattern.slice(0, -1);
  if (pattern.endsWith("*") && hasNothingSpecial(beginning)) return (text) => text.startsWith(beginning);
  return (text) => fitsWildcard(pattern, text);
};

const hasNothingSpecial = (pattern: string): boolean => !/[*?\uFDD0\uFDD1]/.test(pattern);

/** An ARN that is split at most once for all patterns that it is compared with. */
export class SplitArn {
  readonly text: string;
  #parts: readonly string[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Its six parts; fewer, if it is not one. */
  get parts(): readonly string[] {
    return (this.#parts ??= arnParts(this.text));
  }
}

/**
 * A pattern read once: whether an ARN fits it part by part. A star reaches no further than its own of the six parts. A
 * pattern that ends early with a star leaves the parts after it open.
 */
export const arnTest = (pattern: string): ((arn: SplitArn) => boolean) => {
  if (pattern === "*") return () => true;
  const whole = textTest(pattern);
  const wanted = arnParts(pattern);
  // Most patterns are an ARN, or the beginning of one as far as its sixth part: then its text alone decides.
  if (wanted.length === arnLength && hasNothingSpecial(pattern.replace(/\*$/, ""))) return ({ text }) => whole(text);
  if (wanted.length < arnLength && wanted.at(-1)?.endsWith("*") !== true)
    return ({ text, parts }) => parts.length < arnLength && whole(text);
  // The last part differs most often, so it is compared first.
  const tests = wanted.map((part, index) => ({ index, fits: textTest(part) })).toReversed();
  return ({ text, parts }) =>
    parts.length < arnLength ? whole(text) : tests.every(({ index, fits }) => fits(parts[index] ?? ""));
};

const arnLength = 6;

const arnParts = (arn: string): string[] => {
  const parts = arn.split(":");
  return parts.length < arnLength ? parts : [...parts.slice(0, arnLength - 1), parts.slice(arnLength - 1).join(":")];
};
