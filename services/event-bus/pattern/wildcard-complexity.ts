import type { Wildcard } from "./wildcard.ts";

/** What the wildcards of one field may score; see PATTERNS.md. */
export const wildcardComplexityMax = 10;

/** Sets of places that are looked at before a pattern counts as too complex whatever its score. */
const visitedMax = 20_000;

/**
 * How many places in these patterns one text can keep alive at the same time: 3 for `*a*`, 5 for `*a*a*`, 11 for
 * `*a*a*a*a*a*`. The patterns are walked together as an automaton of sets of places; the search ends at the limit, so
 * the answer is exact up to the limit and `limit + 1` beyond it.
 */
export const wildcardComplexity = (wildcards: readonly Wildcard[], limit: number = wildcardComplexityMax): number => {
  const machine = buildMachine(wildcards);
  const start = machine.starts;
  const visited = new Set<string>([start.join()]);
  const waiting: (readonly number[])[] = [start];
  let greatest = 0;
  for (let taken = waiting.pop(); taken !== undefined; taken = waiting.pop()) {
    for (const symbol of symbolsOf(machine, taken)) {
      const next = step(machine, taken, symbol);
      if (next.length === 0) continue;
      greatest = Math.max(greatest, countAlive(machine, next));
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
 * Places are numbered through all patterns. Place p is behind one character (or is a start); `loops[p]` says that any
 * text may follow before the next character. A taken transition is written 2p for the step into p and 2p+1 for a turn
 * of p's loop.
 */
interface Machine {
  /** The character that leads from place p to p+1; undefined at the end of a pattern. */
  readonly next: readonly (string | undefined)[];
  readonly loops: readonly boolean[];
  readonly starts: readonly number[];
}

/** Stands for every character that no pattern names, and for the quote that ends a text. */
const anyOther = "";

const buildMachine = (wildcards: readonly Wildcard[]): Machine => {
  const next: (string | undefined)[] = [];
  const loops: boolean[] = [];
  const starts: number[] = [];
  for (const { pieces } of wildcards) {
    starts.push(next.length * 2);
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) loops[next.length] = true;
      for (const character of piece) {
        next.push(character);
        loops[next.length] ??= false;
      }
    }
    loops[next.length] ??= false;
    next.push(undefined);
  }
  return { next, loops: Array.from(loops, (isLoop) => isLoop ?? false), starts };
};

/** The characters that some place waits for; every other one does the same as `anyOther`. */
const symbolsOf = (machine: Machine, taken: readonly number[]): ReadonlySet<string> =>
  new Set([anyOther, ...taken.flatMap((transition) => machine.next[transition >> 1] ?? [])]);

const step = (machine: Machine, taken: readonly number[], symbol: string): number[] => {
  const result = new Set<number>();
  for (const transition of taken) {
    const place = transition >> 1;
    if (machine.loops[place]) result.add(place * 2 + 1);
    if (symbol !== anyOther && machine.next[place] === symbol) result.add((place + 1) * 2);
  }
  return [...result].toSorted((a, b) => a - b);
};

/** The transitions taken, and the loops that stand open behind them. */
const countAlive = (machine: Machine, taken: readonly number[]): number => {
  const alive = new Set(taken);
  for (const transition of taken) {
    const place = transition >> 1;
    if (machine.loops[place]) alive.add(place * 2 + 1);
  }
  return alive.size;
};
