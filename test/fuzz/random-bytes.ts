import type { SeededRandom } from "../kit/store/seeded-random.ts";

/** The longest input of the ordinary kind, and of one that shows how time grows. */
const inputBytesMax = 2_048;
export const longBytesMax = 65_536;

const oddBytes = [0, 9, 10, 13, 32, 34, 37, 38, 47, 60, 92, 127, 128, 192, 239, 255];
const oddNumbers = ["0", "-1", "1", "255", "65536", "4294967295", "9007199254740993", "1e999", "0.1", "9".repeat(40)];

type Change = (input: Buffer, random: SeededRandom, source: Source) => Buffer;

/** What mutations draw from. */
export interface Source {
  readonly dictionary: readonly string[];
  readonly corpus: readonly Buffer[];
}

const cut = (input: Buffer, at: number, removed: number, added: Uint8Array): Buffer =>
  Buffer.concat([input.subarray(0, at), added, input.subarray(at + removed)]);
const place = (input: Buffer, random: SeededRandom): number => random.below(input.length + 1);
const span = (random: SeededRandom): number => 1 + random.below(random.chance(0.8) ? 4 : 64);

const changes: readonly Change[] = [
  (input, random) => {
    if (input.length === 0) return input;
    const changed = Buffer.from(input);
    const at = random.below(changed.length);
    changed[at] = (changed[at] as number) ^ (1 << random.below(8));
    return changed;
  },
  (input, random) => cut(input, place(input, random), 1, Buffer.of(random.below(256))),
  (input, random) => cut(input, place(input, random), random.below(2), Buffer.of(random.pick(oddBytes))),
  (input, random) => cut(input, place(input, random), span(random), Buffer.alloc(0)),
  (input, random, { dictionary }) =>
    cut(input, place(input, random), random.below(3), Buffer.from(random.pick(dictionary))),
  (input, random, { dictionary }) => cut(input, place(input, random), 0, Buffer.from(random.pick(dictionary))),
  (input, random) => cut(input, place(input, random), random.below(4), Buffer.from(random.pick(oddNumbers))),
  (input, random) => {
    const from = place(input, random);
    const copied = input.subarray(from, from + span(random) * 2);
    return cut(
      input,
      place(input, random),
      0,
      Buffer.concat(Array.from({ length: 1 + random.below(4) }, () => copied)),
    );
  },
  (input, random, { corpus }) => {
    const other = random.pick(corpus);
    return Buffer.concat([input.subarray(0, place(input, random)), other.subarray(place(other, random))]);
  },
  (input, random, { corpus }) => {
    const other = random.pick(corpus);
    const from = place(other, random);
    return cut(input, place(input, random), span(random), other.subarray(from, from + span(random) * 4));
  },
];

/** An input that differs from this one in one to eight places. */
export const mutated = (input: Buffer, random: SeededRandom, source: Source): Buffer => {
  let changed = input;
  for (let left = 1 + random.below(random.chance(0.7) ? 3 : 8); left > 0; left -= 1)
    changed = random.pick(changes)(changed, random, source);
  return changed.subarray(0, inputBytesMax);
};

/** The input with one part of it repeated until it is long, for parsers whose time may grow with a square. */
export const inflated = (input: Buffer, random: SeededRandom): Buffer => {
  if (input.length === 0) return input;
  const from = random.below(input.length);
  const part = input.subarray(from, from + span(random));
  const count = Math.floor((longBytesMax - input.length) / part.length);
  return Buffer.concat([input.subarray(0, from), Buffer.alloc(count * part.length, part), input.subarray(from)]);
};
