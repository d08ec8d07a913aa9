import { PatternError } from "./pattern-error.ts";
import { findPiece } from "./piece-search.ts";

/**
 * A wildcard pattern, split at its stars: a matching text begins with the first piece, ends with the last, and contains
 * the others in between.
 */
export interface Wildcard {
  /** One more than the number of stars; each may be empty. */
  readonly pieces: readonly string[];
}

/**
 * Parses `*` as any text, `\*` and `\\` as the characters themselves. Throws PatternError; positions in its messages
 * count the opening quote and UTF-8 bytes.
 */
export const parseWildcard = (text: string): Wildcard => {
  const pieces: string[] = [];
  let piece = "";
  let at = 1;
  const characters = Array.from(text);
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index] ?? "";
    const next = characters[index + 1];
    if (character === "*") {
      if (next === "*") throw new PatternError(`Consecutive wildcard characters at pos ${at}`);
      pieces.push(piece);
      piece = "";
    } else if (character === "\\") {
      if (next !== "*" && next !== "\\") throw new PatternError(`Invalid escape character at pos ${at}`);
      piece += next;
      index += 1;
      at += 1;
    } else piece += character;
    at += Buffer.byteLength(character);
  }
  return { pieces: [...pieces, piece] };
};

/** Whether the whole text matches. The time is proportional to the length of the text for each piece. */
export const matchesWildcard = ({ pieces }: Wildcard, text: string): boolean => {
  const first = pieces[0] ?? "";
  const last = pieces.at(-1) ?? "";
  if (pieces.length === 1) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = findPiece(text, piece, at);
    if (found === -1 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
};
