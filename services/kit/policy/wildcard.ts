/** Escapes of the wildcards in patterns; no matched text contains these noncharacters. */
const literalStar = "\uFDD0";
const literalMark = "\uFDD1";

/** The pattern that only this text matches. */
export const literalPattern = (text: string): string => text.replaceAll("*", literalStar).replaceAll("?", literalMark);

const isSame = (wanted: string, given: string | undefined): boolean =>
  wanted === given || (wanted === literalStar && given === "*") || (wanted === literalMark && given === "?");

/**
 * True if the text matches the pattern: `*` matches any characters, `?` exactly one. Takes time in proportion to at
 * most the product of both lengths and does not recurse, so no pattern is expensive.
 */
export const fitsWildcard = (pattern: string, text: string): boolean => {
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

/**
 * True if the ARN matches the pattern part by part: a star matches only within its own of the six parts. A pattern that
 * ends early with a star matches any further parts.
 */
export const fitsArn = (pattern: string, arn: string): boolean => {
  if (pattern === "*") return true;
  const wanted = arnParts(pattern);
  const given = arnParts(arn);
  if (given.length < arnLength) return fitsWildcard(pattern, arn);
  if (wanted.length < arnLength && wanted.at(-1)?.endsWith("*") !== true) return false;
  return given.every((part, index) => fitsWildcard(wanted[index] ?? "*", part));
};

const arnLength = 6;

const arnParts = (arn: string): string[] => {
  const parts = arn.split(":");
  return parts.length < arnLength ? parts : [...parts.slice(0, arnLength - 1), parts.slice(arnLength - 1).join(":")];
};
