import type { Wildcard } from "./wildcard.ts";

/** The highest allowed score of the wildcards of one field; see PATTERNS.md. */
export const wildcardComplexityMax = 10;

/** Sets of positions that are visited before a pattern counts as too complex, whatever its score. */
const visitedMax = 20_000;

/**
 * The number of positions in these patterns that one text can keep active at the same time: 3 for `*a*`, 5 for `*a*a*`,
 * 11 for `*a*a*a*a*a*`. The patterns are run together as an automaton of sets of positions. Those of one list are one
 * alternative: positions after the same beginning count once. The search ends at the limit, so the result is exact up
 * to the limit and `limit + 1` above it.
 */
export const wildcardComplexity = (
  lists: readonly (readonly Wildcard[])[],
  limit: number = wildcardComplexityMax,
): number => {
  const machine = buildMachine(lists);
  const start = machine.starts;
  const visited = new Set<string>([start.join()]);
  const waiting: (readonly number[])[] = [start];
  let greatest = 0;
  for (let transitions = waiting.pop(); transitions !== undefined; transitions = waiting.pop()) {
    for (const symbol of symbolsOf(machine, transitions)) {
      const next = step(machine, transitions, symbol);
      if (next.length === 0) continue;
      greatest = Math.max(greatest, countActive(machine, next));
      if (greatest > limit) return limit + 1;
      const key = next.join();
      if (visited.has(key)) continue;
      visited.add(key);
      if (visited.size > visitedMax) return limit + 1;
      waiting.push(next);
    }
  }
  return greatest;
};

/**
 * Positions are numbered across all patterns. Position p is after one character, or at a start; if `loops[p]`, any text
 * may follow before the next character. The transition into p has the number 2p, and the loop at p has 2p+1.
 */
interface Machine {
  /** The character that leads from position p to p+1; undefined at the end of a pattern. */
  readonly next: readonly (string | undefined)[];
  readonly loops: readonly boolean[];
  /** For each transition a number that is the same for those with the same beginning of patterns of one list. */
  readonly counted: readonly number[];
  readonly starts: readonly number[];
}

/** Represents a star, which is also a character. */
const anyText = "any text";

/** Represents every character that no pattern names, and the quote that ends a text. */
const anyOther = "";

const buildMachine = (lists: readonly (readonly Wildcard[])[]): Machine => {
  const next: (string | undefined)[] = [];
  const loops: boolean[] = [];
  const counted: number[] = [];
  const starts: number[] = [];
  let beginnings = 0;
  for (const list of lists) {
    const known = new Map<string, number>();
    const first = beginnings++;
    const after = (beginning: number, symbol: string): number => {
      const key = `${beginning}${symbol}`;
      const present = known.get(key);
      if (present === undefined) known.set(key, beginnings);
      return present ?? beginnings++;
    };
    for (const { pieces } of list) {
      let beginning = first;
      starts.push(next.length * 2);
      counted.push(beginning);
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) {
          loops[next.length] = true;
          beginning = after(beginning, anyText);
        }
        counted[next.length * 2 + 1] = beginning;
        for (const character of piece) {
          beginning = after(beginning, character);
          next.push(character);
          counted.push(beginning, beginning);
        }
      }
      next.push(undefined);
    }
  }
  return { next, loops: next.map((_none, position) => loops[position] ?? false), counted, starts };
};

/** The characters for which some position waits; every other one has the same effect as `anyOther`. */
const symbolsOf = (machine: Machine, transitions: readonly number[]): ReadonlySet<string> =>
  new Set([anyOther, ...transitions.flatMap((transition) => machine.next[transition >> 1] ?? [])]);

const step = (machine: Machine, transitions: readonly number[], symbol: string): number[] => {
  const result = new Set<number>();
  for (const transition of transitions) {
    const position = transition >> 1;
    if (machine.loops[position]) result.add(position * 2 + 1);
    if (symbol !== anyOther && machine.next[position] === symbol) result.add((position + 1) * 2);
  }
  return [...result].toSorted((a, b) => a - b);
};

/** The number of the transitions taken and of the loops that can follow them. */
const countActive = ({ loops, counted }: Machine, transitions: readonly number[]): number => {
  const active = new Set<number | undefined>();
  for (const transition of transitions) {
    active.add(counted[transition]);
    const position = transition >> 1;
    if (loops[position]) active.add(counted[position * 2 + 1]);
  }
  return active.size;
};
