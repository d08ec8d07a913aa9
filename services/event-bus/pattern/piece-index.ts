import type { TextAlternative } from "./condition.ts";
import { meetsText } from "./condition.ts";
import { foldCase } from "./letters.ts";

interface Candidate<T> {
  readonly alternative: TextAlternative;
  readonly item: T;
}

/** Candidates by a literal piece, grouped by the piece's length. */
type ByLength<T> = Map<number, Map<string, Candidate<T>[]>>;

/**
 * An index of prefixes, suffixes and wildcards by a literal piece that a matching text must contain: at its beginning,
 * at its end, or anywhere. Each length of piece costs one look-up (anywhere: one for each position in the text),
 * however many patterns share it. The candidates found are then tested in full. A wildcard without a piece is tested
 * with every text.
 */
export class PieceIndex<T> {
  readonly #front: ByLength<T> = new Map();
  readonly #back: ByLength<T> = new Map();
  readonly #foldedFront: ByLength<T> = new Map();
  readonly #foldedBack: ByLength<T> = new Map();
  readonly #anywhere: ByLength<T> = new Map();
  readonly #always: Candidate<T>[] = [];
  #folds = false;

  /** Adds the item of an alternative. */
  add(alternative: TextAlternative, item: T): void {
    const candidate = { alternative, item };
    switch (alternative.kind) {
      case "prefix":
        return alternative.ignoresCase
          ? insert(this.#foldedFront, foldCase(alternative.text), candidate)
          : insert(this.#front, alternative.text, candidate);
      case "suffix":
        return alternative.ignoresCase
          ? insert(this.#foldedBack, foldCase(alternative.text), candidate)
          : insert(this.#back, alternative.text, candidate);
      case "wildcard":
        return this.#addWildcard(alternative.wildcard.pieces, candidate);
      case "equals-ignore-case":
        throw new Error("a comparison without case has no piece");
    }
  }

  /** Builds the index after the last `add`. */
  seal(): void {
    this.#folds = this.#foldedFront.size + this.#foldedBack.size > 0;
  }

  /** Calls `found` with the item of every alternative that the text meets. */
  find(text: string, found: (item: T) => void): void {
    const test = ({ alternative, item }: Candidate<T>): void => {
      if (meetsText(alternative, text)) found(item);
    };
    findFront(this.#front, text, test);
    findBack(this.#back, text, test);
    if (this.#folds) {
      const folded = foldCase(text);
      findFront(this.#foldedFront, folded, test);
      findBack(this.#foldedBack, folded, test);
    }
    if (this.#anywhere.size > 0) this.#findAnywhere(text, test);
    this.#always.forEach(test);
  }

  #addWildcard(pieces: readonly string[], candidate: Candidate<T>): void {
    const first = pieces[0] ?? "";
    const last = pieces.at(-1) ?? "";
    if (first !== "") return insert(this.#front, first, candidate);
    if (last !== "") return insert(this.#back, last, candidate);
    const longest = pieces.reduce((best, piece) => (piece.length > best.length ? piece : best), "");
    if (longest !== "") return insert(this.#anywhere, longest, candidate);
    this.#always.push(candidate);
  }

  #findAnywhere(text: string, test: (candidate: Candidate<T>) => void): void {
    for (const [length, byPiece] of this.#anywhere) {
      const seen = new Set<string>();
      for (let start = 0; start + length <= text.length; start += 1) {
        const piece = text.slice(start, start + length);
        const candidates = byPiece.get(piece);
        if (candidates === undefined || seen.has(piece)) continue;
        seen.add(piece);
        candidates.forEach(test);
      }
    }
  }
}

const insert = <T>(index: ByLength<T>, piece: string, candidate: Candidate<T>): void => {
  let byPiece = index.get(piece.length);
  if (byPiece === undefined) index.set(piece.length, (byPiece = new Map()));
  const present = byPiece.get(piece);
  if (present === undefined) byPiece.set(piece, [candidate]);
  else present.push(candidate);
};

const findFront = <T>(index: ByLength<T>, text: string, test: (candidate: Candidate<T>) => void): void => {
  for (const [length, byPiece] of index) if (length <= text.length) byPiece.get(text.slice(0, length))?.forEach(test);
};

const findBack = <T>(index: ByLength<T>, text: string, test: (candidate: Candidate<T>) => void): void => {
  for (const [length, byPiece] of index)
    if (length <= text.length) byPiece.get(text.slice(text.length - length))?.forEach(test);
};
