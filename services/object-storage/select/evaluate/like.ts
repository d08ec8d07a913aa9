import { refusal, shown } from "../refusal.ts";

/** Decides whether a text has the form of a pattern. */
export type LikeMatcher = (text: string) => boolean;

/** Characters of a pattern, each of which may be compared at each place of a text. */
const patternCharactersMax = 1024;

/** A part of a pattern between two `%`: the characters, or undefined for `_`. */
type Segment = readonly (string | undefined)[];

/**
 * Compiles a LIKE pattern: `%` matches any text, `_` one character, and the escape makes either a character of its own.
 * Each segment between two `%` is looked for once, from the left, so that nothing is tried again. Throws
 * LIKE_INVALID_INPUTS.
 */
export const compileLike = (pattern: string, escape: string | undefined): LikeMatcher => {
  if (pattern.length > patternCharactersMax)
    throw refusal("LIKE_INVALID_INPUTS", `the pattern has more than ${patternCharactersMax} characters`);
  const segments = segmentsOf(pattern, escape);
  const [first = [], ...others] = segments;
  const last = others.pop();
  if (last === undefined) return (text) => matchAt(first, text, 0) === text.length;
  const middles = others.filter((segment) => segment.length > 0).map(finderOf);
  return (text) => {
    let at = matchAt(first, text, 0);
    for (const find of middles) {
      if (at === -1) return false;
      at = find(text, at);
    }
    return at !== -1 && matchesEnd(last, text, at);
  };
};

const segmentsOf = (pattern: string, escape: string | undefined): Segment[] => {
  if (escape !== undefined && Array.from(escape).length !== 1)
    throw refusal("LIKE_INVALID_INPUTS", "the escape is not one character");
  let segment: (string | undefined)[] = [];
  const segments: Segment[] = [segment];
  let isEscaped = false;
  for (const character of pattern) {
    if (isEscaped) {
      if (character !== "%" && character !== "_" && character !== escape)
        throw refusal("LIKE_INVALID_INPUTS", `the escape precedes ${shown(character)}`);
      segment.push(character);
      isEscaped = false;
    } else if (character === escape) isEscaped = true;
    else if (character === "%") segments.push((segment = []));
    else segment.push(character === "_" ? undefined : character);
  }
  if (isEscaped) throw refusal("LIKE_INVALID_INPUTS", "the escape ends the pattern");
  return segments;
};

/** The place after the segment if the text has it at a place, else -1. */
const matchAt = (segment: Segment, text: string, from: number): number => {
  let at = from;
  for (const character of segment) {
    if (character === undefined) {
      const code = text.codePointAt(at);
      if (code === undefined) return -1;
      at += code > 0xffff ? 2 : 1;
    } else if (text.startsWith(character, at)) at += character.length;
    else return -1;
  }
  return at;
};

/** Finds the place after the first occurrence of a segment; -1 if there is none. */
const finderOf = (segment: Segment): ((text: string, from: number) => number) => {
  if (segment.includes(undefined))
    return (text, from) => {
      for (let at = from; at <= text.length; at++) {
        const end = matchAt(segment, text, at);
        if (end !== -1) return end;
      }
      return -1;
    };
  const literal = segment.join("");
  return (text, from) => {
    const found = text.indexOf(literal, from);
    return found === -1 ? -1 : found + literal.length;
  };
};

const matchesEnd = (segment: Segment, text: string, from: number): boolean => {
  let at = text.length;
  for (let left = segment.length; left > 0; left--) {
    const character = segment[left - 1];
    if (character === undefined) at -= isPairBefore(text, at) ? 2 : 1;
    else if (text.endsWith(character, at)) at -= character.length;
    else return false;
  }
  return at >= from;
};

/** Whether two units before a place are one character. */
const isPairBefore = (text: string, at: number): boolean => at >= 2 && (text.codePointAt(at - 2) ?? 0) > 0xffff;
