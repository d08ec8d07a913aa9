import type { Wildcard } from "./wildcard.ts";

/** The highest allowed score of the wildcards of one field; see PATTERNS.md. */
export const wildcardComplexityMax = 10;

/** Positions that are looked at before a pattern counts as too complex, whatever its score. */
const looksMax = 50_000;

/**
 * The number of positions in these patterns that one text can keep active at the same time: 3 for `*a*`, 5 for `*a*a*`,
 * 11 for `*a*a*a*a*a*`. The patterns are run together as an automaton of sets of positions. Those of one list are one
 * alternative: positions after the same beginning are one. The search ends at the limit, so the result is exact up to
 * the limit and `limit + 1` above it, and after a bounded time.
 */
export const wildcardComplexity = (
  lists: readonly (readonly Wildcard[])[],
  limit: number = wildcardComplexityMax,
): number => {
  const start = startsOf(lists);
  const visited = new Set<string>([keyOf(start)]);
  const waiting: (readonly Position[])[] = [start];
  let greatest = 0;
  let looks = 0;
  for (let positions = waiting.pop(); positions !== undefined; positions = waiting.pop()) {
    for (const symbol of symbolsOf(positions)) {
      looks += positions.length;
      if (looks > looksMax) return limit + 1;
      const next = step(positions, symbol);
      if (next.length === 0) continue;
      greatest = Math.max(greatest, countActive(next));
      if (greatest > limit) return limit + 1;
      const key = keyOf(next);
      if (visited.has(key)) continue;
      visited.add(key);
      waiting.push(next);
    }
  }
  return greatest;
};

/** A position after the beginning of one or more patterns of a list. */
interface Position {
  readonly number: number;
  /** The position after one more character. */
  readonly next: Map<string, Position>;
  /** The position after a star, in which any text is passed; one after a star is its own. */
  star: Position | undefined;
}

/** Represents every character that no pattern names, and the quote that ends a text. */
const anyOther = "";

/** The position before each list. */
const startsOf = (lists: readonly (readonly Wildcard[])[]): Position[] => {
  let positions = 0;
  const newPosition = (): Position => ({ number: positions++, next: new Map(), star: undefined });
  const afterStar = (): Position => {
    const position = newPosition();
    position.star = position;
    return position;
  };
  return lists.map((list) => {
    const start = newPosition();
    for (const { pieces } of list) {
      let at = start;
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) at = at.star ??= afterStar();
        for (const character of piece) {
          const next = at.next.get(character) ?? newPosition();
          at.next.set(character, next);
          at = next;
        }
      }
    }
    return start;
  });
};

/**
 * The characters that lead somewhere else than `anyOther` does. It leads to the stars alone, which are looked at as a
 * set of their own; so what only they wait for is left to that set.
 */
const symbolsOf = (positions: readonly Position[]): ReadonlySet<string> => {
  const others = positions.filter((position) => position.star !== position);
  return new Set([anyOther, ...(others.length > 0 ? others : positions).flatMap(({ next }) => [...next.keys()])]);
};

const step = (positions: readonly Position[], symbol: string): Position[] => {
  const result = new Set<Position>();
  for (const { next, star } of positions) {
    if (star !== undefined) result.add(star);
    for (const from of [next, star?.next]) {
      const after = from?.get(symbol);
      if (after !== undefined) result.add(after);
    }
  }
  return [...result].toSorted((a, b) => a.number - b.number);
};

const keyOf = (positions: readonly Position[]): string => positions.map(({ number }) => number).join();

/** The number of the positions and of those in which any text can follow them. */
const countActive = (positions: readonly Position[]): number =>
  new Set(positions.flatMap((position) => [position, ...(position.star === undefined ? [] : [position.star])])).size;
