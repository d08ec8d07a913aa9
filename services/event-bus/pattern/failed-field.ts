import { Turn } from "../../kit/clock/turn.ts";
import type { Branch, FieldCondition } from "./condition.ts";
import type { FlatEvent } from "./flatten.ts";
import { Matcher } from "./matcher.ts";
import type { Pattern } from "./parse.ts";
import type { Asker } from "./steps.ts";

/** Returns the leaves of an event on the wanted paths. */
type Flatten = (wanted: (path: string) => boolean) => FlatEvent;

/**
 * Whether an event matches a pattern. It is compiled and matched in turns of some milliseconds. Rejects with the reason
 * for which it was given up.
 */
export const matchesEvent = async (pattern: Pattern, flatten: Flatten, asker: Asker): Promise<boolean> => {
  const matcher = await new Matcher<true>().withInTurns([{ name: "", pattern, item: true }]);
  return (await matcher.matchInTurns(flatten(matcher.wants), asker)).length > 0;
};

/**
 * The first field, in order of their names, that keeps an event from matching a pattern; of several branches, of the
 * one that matches the most fields. Undefined: the event matches. It works in turns of some milliseconds. Rejects with
 * the reason for which it was given up. A branch is compiled a few times at most, however many fields it has.
 */
export const failedField = async (
  { branches }: Pattern,
  flatten: Flatten,
  asker: Asker,
): Promise<string | undefined> => {
  const turn = new Turn();
  const alone = await metAlone(branches, flatten, asker);
  const candidates = [];
  for (const branch of branches) {
    const fields = [...branch].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const failed = fields.findIndex(([, condition]) => !alone.met.has(condition));
    candidates.push({ fields, matchedMax: failed === -1 ? fields.length : failed });
    if (turn.isOver) await turn.next();
  }
  let best = { matched: -1, path: "" };
  for (const { fields, matchedMax } of candidates.toSorted((a, b) => b.matchedMax - a.matchedMax)) {
    if (matchedMax <= best.matched) break;
    const matchesFirst = (count: number): Promise<boolean> => {
      const reason = asker.givenUp?.();
      if (reason !== undefined) throw reason;
      return matchesEvent({ branches: [new Map(fields.slice(0, count))] }, () => alone.event, asker);
    };
    const matched = await greatest(matchedMax, matchesFirst);
    if (matched === fields.length) return undefined;
    if (matched > best.matched) best = { matched, path: fields[matched]?.[0] ?? "" };
  }
  return best.path;
};

/**
 * The conditions that an event meets, each without the others, and the leaves of all their paths. What allows that a
 * field is absent counts as met: whether it is depends on the elements that the other conditions hold for.
 */
const metAlone = async (
  branches: readonly Branch[],
  flatten: Flatten,
  asker: Asker,
): Promise<{ met: ReadonlySet<FieldCondition>; event: FlatEvent }> => {
  const paths = new Map<FieldCondition, string>();
  for (const branch of branches) for (const [path, condition] of branch) paths.set(condition, path);
  const entries = [...paths].map(([condition, path], index) => ({
    name: String(index),
    pattern: { branches: [new Map([[path, condition]])] },
    item: condition,
  }));
  const matcher = await new Matcher<FieldCondition>().withInTurns(entries);
  const event = flatten(matcher.wants);
  const met = new Set(await matcher.matchInTurns(event, asker));
  for (const condition of paths.keys())
    if (condition.alternatives.some(({ kind }) => kind === "absent")) met.add(condition);
  return { met, event };
};

/** The greatest number up to a bound for which a condition holds that holds for all smaller ones, and for 0. */
const greatest = async (max: number, holds: (count: number) => Promise<boolean>): Promise<number> => {
  if (max === 0 || (await holds(max))) return max;
  let [low, high] = [0, max];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (await holds(middle)) low = middle;
    else high = middle;
  }
  return low;
};
