import type { Code, WasmExports, WasmFunction } from "./wasm-code.ts";
import { branchToLoop, end, get, i32, int, joined, loop, openModule, set, tee, unsigned } from "./wasm-code.ts";

/**
 * A WebAssembly module that digests several sequences of bytes at the same time, each in a lane of vectors of 32 bits.
 * MD5 (RFC 1321) cannot be faster for one sequence, because each of its steps waits for the one before, but a processor
 * does the same step of four or eight sequences in hardly more time. Of two sequences it does the steps in turns on
 * numbers, because vectors cannot be rotated in one operation.
 *
 * `one`, `two`, `four` and `eight` take blocks of 64 bytes of as many lanes. The bytes of a lane begin at `dataAt` and
 * its number times `laneBytes`; what a lane has computed is a column at `stateAt`: word `k` of lane `l` is at 64 times
 * the group, 16 times `k` and 4 times `l` within its group of four.
 */
export const stateAt = 1_024;
export const dataAt = 65_536;
export const laneBytes = 16_384;
export const lanesMax = 8;

/** The constants of the steps, as the module's memory must have them at its beginning. */
const stepConstants = Uint32Array.from({ length: 64 }, (_none, step) => Math.abs(Math.sin(step + 1)) * 2 ** 32);

/** Digests so many blocks of each lane. */
type DigestBlocks = (blocks: number) => void;

/** The module, ready to be used, and its memory. */
export interface Md5Module {
  readonly memory: ArrayBuffer;
  readonly one: DigestBlocks;
  readonly two: DigestBlocks;
  readonly four: DigestBlocks;
  readonly eight: DigestBlocks;
}

const vector = (operation: number, ...rest: number[]): Code => [0xfd, ...unsigned(operation), ...rest];

/** What the steps are made of: for one lane on numbers, for four on vectors of four numbers. */
interface Arithmetic {
  /** The type of a number, in the declarations of locals. */
  readonly type: number;
  /** How far the state of a group is from that of the one before. */
  readonly groupBytes: number;
  readonly add: Code;
  readonly and: Code;
  readonly or: Code;
  readonly xor: Code;
  readonly not: Code;
  readonly constant: (step: number) => Code;
  /** A word of the block of a group of lanes. */
  readonly word: (group: number, word: number) => Code;
  readonly rotated: (bits: number, temporary: number) => Code;
  /** A number at an offset from the address on the stack. */
  readonly load: (offset: number) => Code;
  readonly store: (offset: number) => Code;
}

/** Parameters and locals of a function: how many blocks, where they are, and nine for each group. */
const blocks = 0;
const data = 1;
const local = (group: number, name: number): number => 2 + group * 9 + name;
const temporaryName = 8;

const scalar: Arithmetic = {
  ...i32,
  groupBytes: 4,
  not: [...int(-1), ...i32.xor],
  constant: (step) => int(stepConstants[step]! | 0),
  word: (group, word) => [...get(data), ...i32.load(dataAt + group * laneBytes + word * 4)],
  rotated: (bits) => [...int(bits), ...i32.rotate],
};

/** Where the words of a group's current block are, after they were moved from their lanes into vectors. */
const wordAt = (group: number, word: number): number => 256 + group * 256 + word * 16;

const lanes: Arithmetic = {
  type: 0x7b,
  groupBytes: 64,
  add: vector(174),
  and: vector(78),
  or: vector(80),
  xor: vector(81),
  not: vector(77),
  constant: (step) => [...int(0), ...vector(9, 2, ...unsigned(step * 4))],
  word: (group, word) => [...int(0), ...lanes.load(wordAt(group, word))],
  rotated: (bits, temporary) => {
    const left = joined(tee(temporary), int(bits), vector(171));
    return joined(left, get(temporary), int(32 - bits), vector(173), lanes.or);
  },
  load: (offset) => vector(0, 4, ...unsigned(offset)),
  store: (offset) => vector(11, 4, ...unsigned(offset)),
};

const rotations = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const;

const wordOf = (step: number): number => {
  if (step < 16) return step;
  if (step < 32) return (5 * step + 1) % 16;
  return step < 48 ? (3 * step + 5) % 16 : (7 * step) % 16;
};

/** One of the 64 steps: `a` becomes `b` and the rotated sum of `a`, a mix of `b`, `c` and `d`, a word, a constant. */
const stepCode = (arithmetic: Arithmetic, group: number, step: number): Code => {
  const { add, and, or, xor, not } = arithmetic;
  const [a, b, c, d] = [0, 1, 2, 3].map((name) => local(group, (name + 64 - step) % 4)) as [
    number,
    number,
    number,
    number,
  ];
  const mixed = [
    joined(get(d), get(c), get(d), xor, get(b), and, xor, add),
    joined(get(d), not, get(c), and, add, get(b), get(d), and, add),
    joined(get(c), get(d), xor, get(b), xor, add),
    joined(get(d), not, get(b), or, get(c), xor, add),
  ];
  const round = step >> 4;
  const sum = joined(get(a), arithmetic.constant(step), add, arithmetic.word(group, wordOf(step)), add, mixed[round]!);
  const rotated = arithmetic.rotated(rotations[round]![step % 4]!, local(group, temporaryName));
  return joined(sum, rotated, get(b), add, set(a));
};

/** Moves the words of the next block of four lanes into vectors: word by word instead of lane by lane. */
const transposed = (group: number): Code => {
  const code: number[] = [];
  const rows = [4, 5, 6, 7].map((name) => local(group, name)) as [number, number, number, number];
  const pair = local(group, temporaryName);
  const shuffle = (...words: number[]): Code =>
    vector(13, ...words.flatMap((word) => [0, 1, 2, 3].map((byte) => word * 4 + byte)));
  for (let quarter = 0; quarter < 4; quarter += 1) {
    for (const [lane, row] of rows.entries())
      code.push(...get(data), ...lanes.load(dataAt + (group * 4 + lane) * laneBytes + quarter * 16), ...set(row));
    const [first, second, third, fourth] = rows;
    for (const half of [0, 2]) {
      const mixed = shuffle(half, half + 4, half + 1, half + 5);
      code.push(...get(first), ...get(second), ...mixed, ...set(pair));
      for (const [place, words] of [shuffle(0, 1, 4, 5), shuffle(2, 3, 6, 7)].entries()) {
        code.push(...int(0), ...get(pair), ...get(third), ...get(fourth), ...mixed, ...words);
        code.push(...lanes.store(wordAt(group, quarter * 4 + half + place)));
      }
    }
  }
  return code;
};

/** The code of a function that digests blocks of so many groups. */
const codeOf = (arithmetic: Arithmetic, groups: number): Code => {
  const { load, store, add } = arithmetic;
  const all = Array.from({ length: groups }, (_none, group) => group);
  const eachWord = (make: (own: number, copy: number, offset: number) => Code): Code =>
    all.flatMap((group) =>
      [0, 1, 2, 3].flatMap((word) =>
        make(local(group, word), local(group, 4 + word), stateAt + group * arithmetic.groupBytes + word * 16),
      ),
    );
  const steps = Array.from({ length: 64 }, (_none, step) => all.flatMap((group) => stepCode(arithmetic, group, step)));
  return joined(
    eachWord((own, _copy, offset) => joined(int(0), load(offset), set(own))),
    loop,
    arithmetic === lanes ? all.flatMap(transposed) : [],
    eachWord((own, copy) => joined(get(own), set(copy))),
    steps.flat(),
    eachWord((own, copy) => joined(get(own), get(copy), add, set(own))),
    joined(get(data), int(64), i32.add, set(data)),
    joined(get(blocks), int(1), i32.subtract, tee(blocks), branchToLoop, end),
    eachWord((own, _copy, offset) => joined(int(0), get(own), store(offset))),
    end,
  );
};

const memoryPages = (dataAt + laneBytes * lanesMax) / 65_536;

/** Compiles the module, which takes some milliseconds. */
export const openMd5Module = (): Md5Module => {
  const functionOf = (name: string, arithmetic: Arithmetic, groups: number): WasmFunction => ({
    name,
    // The address, and nine numbers for each group.
    locals: [
      [1, i32.type],
      [groups * 9, arithmetic.type],
    ],
    code: codeOf(arithmetic, groups),
  });
  const functions = [
    functionOf("one", scalar, 1),
    functionOf("two", scalar, 2),
    functionOf("four", lanes, 1),
    functionOf("eight", lanes, 2),
  ];
  const { memory, ...digests } = openModule<Omit<Md5Module, "memory"> & WasmExports>(
    [i32.type],
    [],
    memoryPages,
    functions,
  );
  new Uint32Array(memory.buffer).set(stepConstants);
  return { memory: memory.buffer, ...digests };
};
