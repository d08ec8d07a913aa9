import { fitsLongWildcard } from "./long-wildcard.ts";
import type { MatchingWork } from "./matching-work.ts";

/** Escapes of the wildcards in patterns; no matched text contains these noncharacters. */
const literalStar = "\uFDD0";
const literalMark = "\uFDD1";

/** The pattern that only this text matches. */
export const literalPattern = (text: string): string => text.replaceAll("*", literalStar).replaceAll("?", literalMark);

const isSame = (wanted: string, given: string | undefined): boolean =>
  wanted === given || (wanted === literalStar && given === "*") || (wanted === literalMark && given === "?");

const characters = {
  fits: (wanted: string, given: string): boolean => wanted === "?" || isSame(wanted, given),
  textOf: (part: string): string => part.replaceAll(literalStar, "*").replaceAll(literalMark, "?"),
};

/** The product of the lengths of a pattern and a text up to which trying again after a star is quick. */
const productMax = 4_096;

/**
 * True if the text matches the pattern: `*` matches any characters, `?` exactly one. Does not recurse. A header may
 * have 32 KiB and a policy 20 KiB, so longer ones are not compared character by character from each place.
 */
const fitsWildcard = (pattern: string, text: string, work?: MatchingWork): boolean => {
  if (pattern.length * text.length > productMax) return fitsLongWildcard(pattern, text, characters, work);
  let steps = 0;
  let textAt = 0;
  let patternAt = 0;
  let starAt = -1;
  let resumeAt = 0;
  while (textAt < text.length) {
    steps += 1;
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
      break;
    }
  }
  work?.take(steps);
  if (textAt < text.length) return false;
  while (pattern[patternAt] === "*") patternAt++;
  return patternAt === pattern.length;
};

/** Whether a text fits a pattern that was read once. Without `work` it may take as long as it takes. */
export type TextTest = (text: string, work?: MatchingWork) => boolean;

/** Reads a pattern. Those that occur most need no search. */
export const textTest = (pattern: string): TextTest => {
  if (pattern === "*") return () => true;
  if (hasNothingSpecial(pattern)) return (text) => text === pattern;
  const beginning = pattern.slice(0, -1);
  if (pattern.endsWith("*") && hasNothingSpecial(beginning)) return (text) => text.startsWith(beginning);
  return (text, work) => fitsWildcard(pattern, text, work);
};

const hasNothingSpecial = (pattern: string): boolean => !/[*?\uFDD0\uFDD1]/.test(pattern);

/** An ARN that is split at most once for all patterns that it is compared with. */
export class SplitArn {
  readonly text: string;
  #parts: readonly string[] | undefined;
  #head: string | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Its six parts; fewer, if it is not one. */
  get parts(): readonly string[] {
    return (this.#parts ??= arnParts(this.text));
  }

  /** The beginning of its sixth part up to the first slash; empty, if it has fewer parts. */
  get head(): string {
    return (this.#head ??= arnHead(this.text));
  }
}

/** The head of all ARNs that fit a pattern; undefined, if they may have several. */
export const headOfPattern = (pattern: string): string | undefined => {
  const beginning = pattern.replace(/\*$/, "");
  if (!hasNothingSpecial(beginning)) return undefined;
  const isWhole = beginning === pattern || beginning.includes("/", sixthPartAt(beginning));
  return (isWhole && arnHead(beginning)) || undefined;
};

const arnHead = (arn: string): string => {
  const from = sixthPartAt(arn);
  if (from === arn.length) return "";
  const slash = arn.indexOf("/", from);
  return arn.slice(from, slash < 0 ? arn.length : slash);
};

/** Where the sixth part of an ARN begins; the length of a text with fewer parts. */
const sixthPartAt = (arn: string): number => {
  let from = 0;
  for (let part = 1; part < arnLength; part += 1) {
    from = arn.indexOf(":", from) + 1;
    if (from === 0) return arn.length;
  }
  return from;
};

/**
 * A pattern read once: whether an ARN fits it part by part. A star reaches no further than its own of the six parts. A
 * pattern that ends early with a star leaves the parts after it open.
 */
export const arnTest = (pattern: string): ((arn: SplitArn, work?: MatchingWork) => boolean) => {
  if (pattern === "*") return () => true;
  const whole = textTest(pattern);
  const wanted = arnParts(pattern);
  // Most patterns are an ARN, or the beginning of one as far as its sixth part: then its text alone decides.
  if (wanted.length === arnLength && hasNothingSpecial(pattern.replace(/\*$/, "")))
    return ({ text }, work) => whole(text, work);
  if (wanted.length < arnLength && wanted.at(-1)?.endsWith("*") !== true)
    return ({ text, parts }, work) => parts.length < arnLength && whole(text, work);
  // The last part differs most often, so it is compared first.
  const tests = wanted.map((part, index) => ({ index, fits: textTest(part) })).toReversed();
  return ({ text, parts }, work) =>
    parts.length < arnLength ? whole(text, work) : tests.every(({ index, fits }) => fits(parts[index] ?? "", work));
};

const arnLength = 6;

/** The last part has all further colons. */
const arnParts = (arn: string): string[] => {
  const parts: string[] = [];
  let from = 0;
  while (parts.length < arnLength - 1) {
    const colon = arn.indexOf(":", from);
    if (colon < 0) break;
    parts.push(arn.slice(from, colon));
    from = colon + 1;
  }
  return [...parts, arn.slice(from)];
};
