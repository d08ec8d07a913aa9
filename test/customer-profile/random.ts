/** Random choices that are the same for the same seed (Mulberry32). */
export interface Random {
  /** A whole number from 0 to `bound - 1`. */
  below(bound: number): number;
  one<T>(choices: readonly T[]): T;
}

export const randomFrom = (seed: number): Random => {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    below: (bound) => Math.floor(next() * bound),
    one: <T>(choices: readonly T[]): T => choices[Math.floor(next() * choices.length)] as T,
  };
};
