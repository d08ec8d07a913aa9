/**
 * Whether a text is the pattern in other cases, letter by letter: each letter of the pattern stands for itself, its
 * lower case and its upper case, which may be longer. So a pattern's ß matches SS, and a pattern's SS not ß.
 */
export const equalsIgnoringCase = (pattern: string, text: string): boolean =>
  pattern === text || endsOf(pattern, text).has(text.length);

/** Whether a text begins with the pattern in other cases. */
export const startsIgnoringCase = (pattern: string, text: string): boolean => endsOf(pattern, text).size > 0;

/** Whether a text ends with the pattern in other cases. */
export const endsIgnoringCase = (pattern: string, text: string): boolean => {
  let starts: ReadonlySet<number> = new Set([text.length]);
  for (const letter of Array.from(pattern).toReversed())
    starts = follow(starts, letter, (at, written) => (text.endsWith(written, at) ? at - written.length : undefined));
  return starts.size > 0;
};

/** A text that is the same for all texts that may compare equal. Texts with the same one still need a comparison. */
export const foldCase = (text: string): string => {
  if (asciiShape.test(text)) return text.toLowerCase();
  let folded = "";
  for (const letter of text) folded += letter.toLowerCase().toUpperCase().toLowerCase();
  return folded;
};

// eslint-disable-next-line no-control-regex -- ASCII begins with control characters.
const asciiShape = /^[\u0000-\u007f]*$/;

/** The positions at which a beginning of the text ends that is the pattern in other cases. */
const endsOf = (pattern: string, text: string): ReadonlySet<number> => {
  let ends: ReadonlySet<number> = new Set([0]);
  for (const letter of pattern)
    ends = follow(ends, letter, (at, written) => (text.startsWith(written, at) ? at + written.length : undefined));
  return ends;
};

/** The positions to which the ways to write a letter lead. */
const follow = (
  positions: ReadonlySet<number>,
  letter: string,
  next: (at: number, written: string) => number | undefined,
): ReadonlySet<number> => {
  const reached = new Set<number>();
  for (const at of positions)
    for (const written of [letter, letter.toLowerCase(), letter.toUpperCase()]) {
      const position = next(at, written);
      if (position !== undefined) reached.add(position);
    }
  return reached;
};
