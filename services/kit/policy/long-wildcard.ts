/** Whether a character of a pattern means a character of a text. */
type Fits = (wanted: string, given: string) => boolean;

/** Positions of a pattern that one word holds. */
const wordBits = 32;

/**
 * Whether a long text matches a pattern with many characters between two stars. Each part between stars is looked for
 * once, from the left, at all places at the same time: a word holds for 32 positions of the part whether the text up to
 * here matches as far as there. So the steps are a thirty-second of the product of both lengths.
 */
export const fitsLongWildcard = (pattern: string, text: string, fits: Fits): boolean => {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
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
    const found = findEnd(part, text, at, end, fits);
    if (found === undefined) return false;
    at = found;
  }
  return true;
};

/** Where the first occurrence of a part ends that is within some bounds of a text. */
const findEnd = (part: string, text: string, from: number, end: number, fits: Fits): number | undefined => {
  const words = Math.ceil(part.length / wordBits);
  const masks = new Map<string, Int32Array>();
  const state = new Int32Array(words);
  const lastBit = 1 << ((part.length - 1) % wordBits);
  for (let at = from; at < end; at += 1) {
    const character = text[at] as string;
    let mask = masks.get(character);
    if (mask === undefined) masks.set(character, (mask = maskOf(part, character, fits)));
    // A match begins at every place.
    let carry = 1;
    for (let word = 0; word < words; word += 1) {
      const before = state[word] as number;
      state[word] = ((before << 1) | carry) & (mask[word] as number);
      carry = before >>> (wordBits - 1);
    }
    if (((state[words - 1] as number) & lastBit) !== 0) return at + 1;
  }
  return undefined;
};

/** The positions of a part that a character fits. */
const maskOf = (part: string, character: string, fits: Fits): Int32Array => {
  const mask = new Int32Array(Math.ceil(part.length / wordBits));
  for (let at = 0; at < part.length; at += 1)
    if (fits(part[at] as string, character)) {
      const word = Math.floor(at / wordBits);
      mask[word] = (mask[word] as number) | (1 << (at % wordBits));
    }
  return mask;
};
