/** Choices that look random and are the same in every run with the same seed (mulberry32). */
export interface Random {
  /** A whole number from 0 to `bound - 1`. */
  below(bound: number): number;
  /** True this often. */
  chance(percent: number): boolean;
  one<T>(choices: readonly T[]): T;
}

export const randomFrom = (seed: number): Random => {
  let state = seed;
  const below = (bound: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
  return {
    below,
    chance: (percent) => below(100) < percent,
    one: <T>(choices: readonly T[]): T => choices[below(choices.length)] as T,
  };
};
