/**
 * Compares without case, one character at a time: a character of the text must be the pattern's character, its lower
 * case or its upper case. A character never becomes longer, so `ß` is not `SS`.
 */
export const equalsIgnoringCase = (pattern: string, text: string): boolean => {
  if (pattern === text) return true;
  const wanted = Array.from(pattern);
  const given = Array.from(text);
  return wanted.length === given.length && wanted.every((letter, index) => isSameLetter(letter, given[index] ?? ""));
};

/** A text that is the same for all texts that may compare equal. Texts with the same one still need a comparison. */
export const foldCase = (text: string): string => {
  if (asciiShape.test(text)) return text.toLowerCase();
  let folded = "";
  for (const letter of text) folded += singleLetter(singleLetter(letter.toUpperCase(), letter).toLowerCase(), letter);
  return folded;
};

// eslint-disable-next-line no-control-regex -- ASCII begins with control characters.
const asciiShape = /^[\u0000-\u007f]*$/;

const isSameLetter = (pattern: string, text: string): boolean =>
  text === pattern || text === pattern.toLowerCase() || text === pattern.toUpperCase();

/** The mapped letter if it is as long as the original; otherwise the original. */
const singleLetter = (mapped: string, original: string): string =>
  mapped.length === original.length ? mapped : original;
