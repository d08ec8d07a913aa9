/** Code of WebAssembly, as bytes: what the modules of digests are written with. */
export type Code = readonly number[];

/** The part of WebAssembly's API that is used; Node's types leave it to those of browsers. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

export const joined = (...parts: readonly Code[]): Code => parts.flat();

/** Numbers as the format has them: seven bits in each byte, the lowest first. */
export const unsigned = (value: number): Code =>
  value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
const signed = (value: number): Code =>
  value >= -64 && value < 64 ? [value & 127] : [(value & 127) | 128, ...signed(value >> 7)];

export const get = (local: number): Code => [0x20, ...unsigned(local)];
export const set = (local: number): Code => [0x21, ...unsigned(local)];
export const tee = (local: number): Code => [0x22, ...unsigned(local)];
export const loop: Code = [0x03, 0x40];
export const branchToLoop: Code = [0x0d, 0];
export const end: Code = [0x0b];

/** Constants, and the operations on them that are used. */
export const int = (value: number): Code => [0x41, ...signed(value)];
export const i32 = {
  type: 0x7f,
  add: [0x6a],
  subtract: [0x6b],
  and: [0x71],
  or: [0x72],
  xor: [0x73],
  shiftLeft: [0x74],
  rotate: [0x77],
  load: (offset: number): Code => [0x28, 2, ...unsigned(offset)],
  store: (offset: number): Code => [0x36, 2, ...unsigned(offset)],
} as const;
export const long = (value: number): Code => [0x42, ...signed(value)];
export const i64 = {
  type: 0x7e,
  xor: [0x85],
  shiftRight: [0x88],
  toInt: [0xa7],
  load: (offset: number): Code => [0x29, 3, ...unsigned(offset)],
} as const;

/** A function of a module: all have the module's one type. */
export interface WasmFunction {
  readonly name: string;
  /** Its locals after the parameters, in groups of one type, and its code. */
  readonly locals: readonly (readonly [count: number, type: number])[];
  readonly code: Code;
}

const section = (id: number, content: Code): Code => [id, ...unsigned(content.length), ...content];
const named = (name: string): Code => [name.length, ...Buffer.from(name)];

/** The memory of a module, and its functions by their names. */
export interface WasmExports {
  readonly memory: { readonly buffer: ArrayBuffer };
}

/** Compiles a module of so many pages of memory, whose functions have these types of parameters and of results. */
export const openModule = <Exports extends WasmExports>(
  parameters: Code,
  results: Code,
  memoryPages: number,
  functions: readonly WasmFunction[],
): Exports => {
  const bodies = functions.map(({ locals, code }) =>
    joined([locals.length], ...locals.map(([count, type]) => [...unsigned(count), type]), code),
  );
  const exported = functions.flatMap(({ name }, index) => [...named(name), 0, index]);
  const bytes = joined(
    [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    section(1, [1, 0x60, parameters.length, ...parameters, results.length, ...results]),
    section(3, [functions.length, ...functions.map(() => 0)]),
    section(5, [1, 0, memoryPages]),
    section(7, [1 + functions.length, ...named("memory"), 2, 0, ...exported]),
    section(10, [functions.length, ...bodies.flatMap((body) => [...unsigned(body.length), ...body])]),
  );
  return new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(bytes))).exports as Exports;
};
