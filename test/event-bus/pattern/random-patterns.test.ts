import { expect, test } from "vitest";

import type { Branch, Leaf } from "../../../services/event-bus/pattern/condition.ts";
import { meets } from "../../../services/event-bus/pattern/condition.ts";
import { flattenText } from "../../../services/event-bus/pattern/flatten.ts";
import { Matcher } from "../../../services/event-bus/pattern/matcher.ts";
import type { Pattern } from "../../../services/event-bus/pattern/parse.ts";
import { parsePattern } from "../../../services/event-bus/pattern/parse.ts";
import { rounds } from "../../support/rounds.ts";

/*
 * Hundreds of random patterns are compiled together and changed at random; what the compiled set finds in random events
 * without arrays is compared with each pattern tried by itself, condition by condition.
 */

const seeds = rounds(20, 2_000);

/** A small generator, so that a failing seed can be run again. */
const randomOf = (seed: number) => {
  let state = seed;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return { pick: <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)] as T, chance: next };
};
type Random = ReturnType<typeof randomOf>;

const names = ["a", "b", "c.d", "c.e"];
const texts = ["", "a", "ab", "abc", "bca", "ABC", "äb", "10.0.0.1", "010.0.0.1", "::1", "5"];
const numbers = ["0", "-0.0", "5", "5.0", "0.5e1", "7.25", "-3", "12345678901234567890", "1e300"];
const words = ["true", "false", "null"];

const quoted = (random: Random): string => JSON.stringify(random.pick(texts));
const alternative = (random: Random): string =>
  random.pick([
    () => quoted(random),
    () => random.pick(numbers),
    () => random.pick(words),
    () => `{"exactly":${quoted(random)}}`,
    () => `{"prefix":${quoted(random)}}`,
    () => `{"suffix":${quoted(random)}}`,
    () => `{"prefix":{"equals-ignore-case":${quoted(random)}}}`,
    () => `{"suffix":{"equals-ignore-case":${quoted(random)}}}`,
    () => `{"equals-ignore-case":${quoted(random)}}`,
    () => `{"wildcard":"${random.pick(["*", "a*", "*c", "*b*", "a*c", "*a*b*", "abc"])}"}`,
    () => `{"numeric":["${random.pick(["=", "<", "<=", ">", ">="])}",${random.pick(["0", "5", "7.25"])}]}`,
    () => `{"numeric":["${random.pick([">", ">="])}",-3,"${random.pick(["<", "<="])}",${random.pick(["0", "5"])}]}`,
    () => `{"cidr":"${random.pick(["10.0.0.0/8", "10.0.0.1/31", "0.0.0.0/0", "::/64"])}"}`,
    () => `{"exists":${random.pick(["true", "false"])}}`,
    () => `{"anything-but":${random.pick(['"a"', '["a","abc"]', "5", "[5,0]"])}}`,
    () => `{"anything-but":{"${random.pick(["prefix", "suffix"])}":["a","b"]}}`,
    () => `{"anything-but":{"equals-ignore-case":"abc"}}`,
    () => `{"anything-but":{"wildcard":"*b*"}}`,
  ])();

const list = (random: Random, make: () => string): string =>
  Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, make).join();
const fields = (random: Random): string =>
  list(random, () => `"${random.pick(names)}":[${list(random, () => alternative(random))}]`);
const pattern = (random: Random): string =>
  random.chance() < 0.2 ? `{${fields(random)},"$or":[{${fields(random)}},{${fields(random)}}]}` : `{${fields(random)}}`;

const value = (random: Random): string =>
  random.pick([() => quoted(random), () => random.pick(numbers), () => random.pick(words)])();
const event = (random: Random): string =>
  `{${names.flatMap((name) => (random.chance() < 0.7 ? [`"${name}":${value(random)}`] : [])).join()}}`;

const leafOf = (text: string): Leaf => {
  if (text.startsWith('"')) return { kind: "text", text: JSON.parse(text) as string };
  return { kind: words.includes(text) ? "keyword" : "number", text };
};

const matchesBranch = (branch: Branch, leaves: ReadonlyMap<string, Leaf>): boolean =>
  [...branch].every(([path, { alternatives }]) => {
    const leaf = leaves.get(path);
    return alternatives.some((each) => (leaf === undefined ? each.kind === "absent" : meets(each, leaf)));
  });

test.each(Array.from({ length: seeds }, (_, seed) => [seed]))(
  "compiled patterns find what each finds alone, seed %i",
  (seed) => {
    const random = randomOf(seed);
    const alone = new Map<string, Pattern>();
    let matcher = new Matcher<string>();
    for (let change = 0; change < 12; change += 1) {
      const put = Array.from({ length: random.pick([1, 5, 30]) }, () => {
        const name = `rule-${Math.floor(random.chance() * 80)}`;
        return { name, pattern: parsePattern(pattern(random)), item: name };
      });
      const removed = [...alone.keys()].filter(() => random.chance() < 0.1);
      matcher = matcher.with(put, removed);
      for (const name of removed) alone.delete(name);
      for (const entry of put) alone.set(entry.name, entry.pattern);
      for (let count = 0; count < 10; count += 1) {
        const source = event(random);
        const members = [...source.slice(1, -1).matchAll(/"([abcde.]+)":("(?:[^"\\]|\\.)*"|[^,]+)/g)];
        const leaves = new Map(members.map(([, name = "", text = ""]) => [name, leafOf(text)]));
        const expected = [...alone]
          .filter(([, { branches }]) => branches.some((branch) => matchesBranch(branch, leaves)))
          .map(([name]) => name)
          .toSorted();
        expect([source, matcher.match(flattenText(source, matcher.wants))]).toEqual([source, expected]);
      }
    }
  },
);
