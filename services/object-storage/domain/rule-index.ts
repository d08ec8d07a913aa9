import type { RuleFilter } from "./lifecycle.ts";

/** A rule with the conditions that the index is made of. */
interface Indexed {
  readonly conditions: Pick<RuleFilter, "prefix" | "tags">;
}

/** A version's key and tags. */
interface Subject {
  readonly key: string;
  readonly tags: readonly { readonly key: string; readonly value: string }[];
}

/** The rules of one prefix. */
interface Prefix<Rule> {
  readonly prefix: string;
  /** The longest other prefix that this one begins with. */
  readonly shorter: Prefix<Rule> | undefined;
  /** Numbers of the rules that ask for no tag. */
  readonly untagged: readonly number[];
  /** Numbers of the rules that ask for tags, by the one that the fewest rules ask for. */
  readonly byTag: ReadonlyMap<string, readonly number[]>;
}

/**
 * An index of rules by prefix and tags: returns the function that finds the rules whose prefix and tags a version
 * meets, in the order of the rules. It costs about as much as there are such rules, however many others there are: the
 * prefixes are in order, so that all that a key begins with are found from one of them, and a rule with tags is looked
 * at only for a version that has the rarest of them.
 */
export const indexRules = <Rule extends Indexed>(rules: readonly Rule[]): ((subject: Subject) => readonly Rule[]) => {
  const prefixes = prefixesOf(rules);
  const asked = rules.map(({ conditions }) => conditions.tags.map(pairOf));
  return ({ key, tags }) => {
    let at = longestOf(prefixes, key);
    if (at === undefined) return [];
    const pairs = new Set(tags.map(pairOf));
    const found: number[] = [];
    for (; at !== undefined; at = at.shorter) {
      found.push(...at.untagged);
      if (at.byTag.size === 0) continue;
      for (const pair of pairs)
        for (const number of at.byTag.get(pair) ?? [])
          if (asked[number]?.every((tag) => pairs.has(tag))) found.push(number);
    }
    found.sort((a, b) => a - b);
    return found.map((number) => rules[number] as Rule);
  };
};

const prefixesOf = <Rule extends Indexed>(rules: readonly Rule[]): Prefix<Rule>[] => {
  const uses = new Map<string, number>();
  for (const { conditions } of rules)
    for (const tag of conditions.tags) uses.set(pairOf(tag), (uses.get(pairOf(tag)) ?? 0) + 1);
  const rarest = ({ conditions: { tags } }: Rule): string =>
    tags.map(pairOf).reduce((one, other) => ((uses.get(other) ?? 0) < (uses.get(one) ?? 0) ? other : one));

  const numbers = Map.groupBy(rules.keys(), (number) => rules[number]?.conditions.prefix ?? "");
  const sorted: Prefix<Rule>[] = [];
  for (const prefix of [...numbers.keys()].toSorted()) {
    const [untagged = [], tagged = []] = [true, false].map((isUntagged) =>
      (numbers.get(prefix) ?? []).filter((number) => (rules[number]?.conditions.tags.length === 0) === isUntagged),
    );
    const byTag = Map.groupBy(tagged, (number) => rarest(rules[number] as Rule));
    sorted.push({ prefix, shorter: longestIn(sorted.at(-1), prefix), untagged, byTag });
  }
  return sorted;
};

/** The longest prefix of a key. The last one that is not after the key begins with each that the key begins with. */
const longestOf = <Rule>(prefixes: readonly Prefix<Rule>[], key: string): Prefix<Rule> | undefined => {
  let [low, high] = [0, prefixes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((prefixes[middle]?.prefix ?? "") <= key) low = middle + 1;
    else high = middle;
  }
  return longestIn(prefixes[low - 1], key);
};

const longestIn = <Rule>(from: Prefix<Rule> | undefined, key: string): Prefix<Rule> | undefined => {
  let at = from;
  while (at !== undefined && !key.startsWith(at.prefix)) at = at.shorter;
  return at;
};

/** Neither part of a tag has a zero character. */
const pairOf = ({ key, value }: { readonly key: string; readonly value: string }): string => `${key}\0${value}`;
