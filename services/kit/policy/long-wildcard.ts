import type { MatchingWork } from "./matching-work.ts";

/** How single characters of a pattern are read. */
export interface PatternCharacters {
  /** Whether a character of a pattern means a character of a text. */
  readonly fits: (wanted: string, given: string) => boolean;
  /** The only text that a part without `?` fits. */
  readonly textOf: (part: string) => string;
}

/** Positions of a pattern that one word holds. */
const wordBits = 32;

/**
 * Whether a long text matches a pattern. Each part between stars is looked for once, from the left. One without `?` is
 * found in one pass over the text. For others, a word holds for 32 positions of the part whether the text up to here
 * matches as far as there, so the steps are a thirty-second of the product of both lengths.
 */
export const fitsLongWildcard = (
  pattern: string,
  text: string,
  { fits, textOf }: PatternCharacters,
  work?: MatchingWork,
): boolean => {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  work?.take(pattern.length);
  const fitsAt = (part: string, begin: number): boolean => {
    for (let at = 0; at < part.length; at += 1) if (!fits(part[at] as string, text[begin + at] as string)) return false;
    return true;
  };
  if (last === undefined) return first.length === text.length && fitsAt(first, 0);
  const end = text.length - last.length;
  if (first.length > end || !fitsAt(first, 0) || !fitsAt(last, end)) return false;
  let at = first.length;
  for (const part of others) {
    if (part === "") continue;
    if (part.length > end - at) return false;
    const found = part.includes("?")
      ? findAnyEnd(part, text, at, end, fits, work)
      : findTextEnd(textOf(part), text, at, end, work);
    if (found === undefined) return false;
    at = found;
  }
  return true;
};

/** For each length of a beginning of the searched text, the next shorter one that it ends with. */
let shorter = new Int32Array(1_024);

/** Where the first occurrence of a text ends that is within some bounds of another: Knuth, Morris and Pratt. */
const findTextEnd = (
  wanted: string,
  text: string,
  from: number,
  end: number,
  work?: MatchingWork,
): number | undefined => {
  if (shorter.length <= wanted.length) shorter = new Int32Array(2 * wanted.length);
  const table = shorter;
  table[0] = -1;
  for (let length = 0, ended = -1; length < wanted.length;) {
    while (ended >= 0 && wanted.charCodeAt(length) !== wanted.charCodeAt(ended)) ended = table[ended] as number;
    table[++length] = ++ended;
  }
  let matched = 0;
  let at = from;
  while (at < end && matched < wanted.length) {
    const given = text.charCodeAt(at++);
    while (matched >= 0 && wanted.charCodeAt(matched) !== given) matched = table[matched] as number;
    matched += 1;
  }
  work?.take(wanted.length + at - from);
  return matched === wanted.length ? at : undefined;
};

/** The same for a part with `?`. */
const findAnyEnd = (
  part: string,
  text: string,
  from: number,
  end: number,
  fits: PatternCharacters["fits"],
  work?: MatchingWork,
): number | undefined => {
  const words = Math.ceil(part.length / wordBits);
  const masks = new Map<string, Int32Array>();
  const state = new Int32Array(words);
  const lastBit = 1 << ((part.length - 1) % wordBits);
  let at = from;
  let isFound = false;
  for (; at < end && !isFound; at += 1) {
    const character = text[at] as string;
    let mask = masks.get(character);
    if (mask === undefined) {
      work?.take(part.length);
      masks.set(character, (mask = maskOf(part, character, fits)));
    }
    // A match begins at every place.
    let carry = 1;
    for (let word = 0; word < words; word += 1) {
      const before = state[word] as number;
      state[word] = ((before << 1) | carry) & (mask[word] as number);
      carry = before >>> (wordBits - 1);
    }
    isFound = ((state[words - 1] as number) & lastBit) !== 0;
  }
  // Looking up a character takes about as long as a few words.
  work?.take((at - from) * (words + 4));
  return isFound ? at : undefined;
};

/** The positions of a part that a character fits. */
const maskOf = (part: string, character: string, fits: PatternCharacters["fits"]): Int32Array => {
  const mask = new Int32Array(Math.ceil(part.length / wordBits));
  for (let at = 0; at < part.length; at += 1)
    if (fits(part[at] as string, character)) {
      const word = Math.floor(at / wordBits);
      mask[word] = (mask[word] as number) | (1 << (at % wordBits));
    }
  return mask;
};
