import { expect, onTestFinished, test } from "vitest";

import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import { flattenEvent } from "../../../services/event-bus/pattern/flatten.ts";
import type { BusMatcher } from "../../../services/event-bus/store/compiled-rules.ts";
import { CompiledRules } from "../../../services/event-bus/store/compiled-rules.ts";
import { putRule } from "../../../services/event-bus/store/rule.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { isSoak, rounds } from "../../support/rounds.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import type { Turns } from "../../support/turns.ts";
import { shownTurns, turnsOf } from "../../support/turns.ts";

const bus = { account: "000000000000", name: "default" };
const count = rounds(10_000, 100_000);
/** The last of them that are added one by one; those before, in parts. */
const singleCount = rounds(10_000, 5_000);
const partCount = 100;

/**
 * Expects that no turn has more than a share of the CPU of all turns, collections of garbage left out; of 100,000
 * rules, that it has at most as many milliseconds as are promised, collections included.
 */
const expectShort = ({ all, longest, longestWork }: Turns, share: number): void => {
  if (isSoak) expect(longest).toBeLessThan(20);
  else expect(longestWork).toBeLessThan(all / share);
};

/** A rule of a shop; some have ranges, some prefixes. */
const ruleOf = (n: number) => {
  const detail = [{ amount: [{ numeric: [">", n] }] }, { city: [{ prefix: `c-${n}` }] }, { kind: ["sale"] }][n % 3];
  const eventPattern = JSON.stringify({ source: [n % 3 === 0 ? "shop" : `shop.${n}`], detail });
  return { name: `rule-${n}`, state: RuleState.ENABLED, eventPattern, generation: "g" };
};

/** The names of the rules that the sale of a shop matches. */
const matched = (matcher: BusMatcher, source: string): string[] => {
  const envelope = { id: "e", detailType: "Sale", source, account: "0", time: "t", region: "r", resources: [] };
  return matcher.match(flattenEvent(envelope, '{"kind":"sale"}', matcher.wants)).map(({ name }) => name);
};

const openRules = async (): Promise<{ store: Store; rules: CompiledRules }> => {
  const store = await openStore({ directory: await temporaryDirectory(), sync: false });
  onTestFinished(() => store.close());
  const rules = new CompiledRules(store);
  onTestFinished(() => rules.close());
  return { store, rules };
};

const use = (store: Store, rules: CompiledRules): Promise<BusMatcher> => store.read((reader) => rules.of(reader, bus));

test("many rules that are added hold up nothing", async () => {
  const { store, rules } = await openRules();
  const add = async (from: number, to: number): Promise<void> => {
    await store.transact(async (transaction) => {
      for (let n = from; n < to; n += 1) await putRule(transaction, bus, ruleOf(n));
    });
    await use(store, rules);
  };
  const turns = await turnsOf(async () => {
    for (let n = 0; n < count - singleCount; n += partCount) await add(n, n + partCount);
    for (let n = count - singleCount; n < count; n += 1) await add(n, n + 1);
  });
  expect(matched(await use(store, rules), "shop.8")).toEqual(["rule-8"]);
  console.info(`${count} rules added, ${singleCount} of them one by one: ${shownTurns(turns)}`);
  expectShort(turns, 150);
}, 900_000);

test("many rules hold up nothing while they are compiled for the first event, with which all are matched", async () => {
  const { store, rules } = await openRules();
  for (let begin = 0; begin < count; begin += 500)
    await store.transact(async (transaction) => {
      for (let n = begin; n < begin + 500; n += 1) await putRule(transaction, bus, ruleOf(n));
    });
  let matcher: BusMatcher | undefined;
  const beginMs = performance.now();
  const turns = await turnsOf(async () => {
    matcher = await use(store, rules);
    expect(matched(matcher, "shop.5")).toEqual(["rule-5"]);
  });
  const seconds = ((performance.now() - beginMs) / 1_000).toFixed(1);
  console.info(`${count} rules compiled in ${seconds} s: ${shownTurns(turns)}`);
  expect(matcher?.size).toBe(count);
  expectShort(turns, 5);
}, 900_000);
