import { runInNewContext } from "node:vm";

import type { SeededRandom } from "../../kit/store/seeded-random.ts";

const names = ["a", "b", "detail", "a.b", "", "é", "\\u0061", "__proto__", "10", "x\\ny", "$or"];
const texts = [
  "",
  "a",
  "ab c",
  "é",
  "日本",
  "😀",
  "\\u00e9",
  "\\ud83d\\ude00",
  "\\ud83d",
  '\\"',
  "\\\\",
  "\\/\\b\\f\\n\\r\\t",
  "]}",
  '\\\\\\"',
  "\u2028",
  "\u007f",
];
/** No name holds a backslash, after which JSON.parse cannot be relied on (see `isReadAs`). */
const namable = texts.filter((text) => !text.includes("\\\\"));
const numbers = [
  "0",
  "-0",
  "1",
  "-1",
  "10",
  "0.5",
  "-0.0",
  "1e3",
  "1E+3",
  "2.5e-7",
  "12345678901234567890",
  "1e400",
  "-1e-400",
  "0.1000",
];
const words = ["true", "false", "null"];
const blanks = ["", "", "", " ", "\n", "\t", "\r\n  "];

/** A valid JSON document of any spelling: blanks, escapes, repeated names, numbers as people write them. */
export const documentOf = (random: SeededRandom): string => valueOf(random, 0) + random.pick(blanks);

const valueOf = (random: SeededRandom, depth: number): string => {
  const literals = [() => `"${textOf(random, texts)}"`, () => random.pick(numbers), () => random.pick(words)];
  const composites = [() => objectOf(random, depth), () => objectOf(random, depth), () => listOf(random, depth)];
  const isLiteral = depth > 5 || random.chance(0.15 + depth * 0.12);
  return random.pick(blanks) + random.pick(isLiteral ? literals : composites)();
};

const textOf = (random: SeededRandom, parts: readonly string[]): string =>
  Array.from({ length: random.pick([0, 1, 1, 2, 3]) }, () => random.pick(parts)).join("");

const listOf = (random: SeededRandom, depth: number): string => {
  const items = Array.from({ length: random.below(4) }, () => valueOf(random, depth + 1) + random.pick(blanks));
  return `[${items.join() || random.pick(blanks)}]`;
};

const objectOf = (random: SeededRandom, depth: number): string => {
  const members = Array.from({ length: random.below(5) }, () => {
    const name = random.chance(0.8) ? random.pick(names) : textOf(random, namable);
    const [before, after, end] = [random.pick(blanks), random.pick(blanks), random.pick(blanks)];
    return `${before}"${name}"${after}:${valueOf(random, depth + 1)}${end}`;
  });
  return `{${members.join() || random.pick(blanks)}}`;
};

const pieces = [
  ...Array.from('{}[]",:\\-+.eE0123456789tfnu \n\t'),
  "\u0000",
  "\u001f",
  "\u00a0",
  "\ufeff",
  "true",
  "nul",
  "01",
  "1.",
  ".5",
  "\\x",
  "\\u12",
  "'",
  "//",
  "NaN",
  "Infinity",
  "undefined",
  ",,",
  ",}",
  ",]",
];

/** The document with one to three changes, valid or not. */
export const mutated = (random: SeededRandom, document: string): string => {
  let text = document;
  for (let changes = 1 + random.below(3); changes > 0; changes -= 1) {
    const at = random.below(text.length + 1);
    const [head, tail] = [text.slice(0, at), text.slice(at)];
    const other = random.below(text.length + 1);
    text = random.pick([
      () => head + random.pick(pieces) + tail,
      () => head + random.pick(pieces) + tail.slice(1),
      () => head + tail.slice(1),
      () => head + tail.slice(1 + random.below(4)),
      () => head + text.slice(Math.min(at, other), Math.max(at, other)).slice(0, 20) + tail,
      () => head,
    ])();
  }
  return text;
};

const showing = `(value) =>
  JSON.stringify(value, (_name, each) => (typeof each === "number" ? "number " + (Object.is(each, -0) ? "-0" : each) : each))`;

/** A value as text that keeps the order of members and tells -0 from 0 and Infinity from null. */
export const shown = runInNewContext(showing) as (value: unknown) => string;

/**
 * True if JSON.parse reads a valid document to a value. The JSON.parse of V8 13.6 may read a name with an escape as
 * one with a backslash that it has read before (nodejs/node#63785), so where the two differ it is asked once more in a
 * context in which nothing was read.
 */
export const isReadAs = (text: string, value: unknown): boolean =>
  shown(JSON.parse(text)) === shown(value) ||
  runInNewContext(`(${showing})(JSON.parse(text))`, { text }) === shown(value);
