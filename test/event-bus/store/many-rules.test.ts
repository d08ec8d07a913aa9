import { expect, onTestFinished, test } from "vitest";

import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import { flattenEvent } from "../../../services/event-bus/pattern/flatten.ts";
import type { BusMatcher } from "../../../services/event-bus/store/compiled-rules.ts";
import { CompiledRules } from "../../../services/event-bus/store/compiled-rules.ts";
import { putRule } from "../../../services/event-bus/store/rule.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { rounds } from "../../support/rounds.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const bus = { account: "000000000000", name: "default" };
const count = rounds(10_000, 100_000);
/** Milliseconds; the garbage of a hundred thousand rules is some hundred MiB, whose collection takes a part of them. */
const turnMsMax = rounds(20, 60);

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

/**
 * The longest time for which work held the event loop, in milliseconds of the thread's CPU: other processes of the
 * machine do not count.
 */
const longestTurn = async (work: () => Promise<unknown>): Promise<number> => {
  let longest = 0;
  let isWorking = true;
  let before = process.threadCpuUsage();
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.threadCpuUsage();
    if (isWorking) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isWorking = false;
  look();
  return longest;
};

const openRules = async (): Promise<{ store: Store; rules: CompiledRules }> => {
  const store = await openStore({ directory: await temporaryDirectory(), sync: false });
  onTestFinished(() => store.close());
  const rules = new CompiledRules(store);
  onTestFinished(() => rules.close());
  return { store, rules };
};

const use = (store: Store, rules: CompiledRules): Promise<BusMatcher> => store.read((reader) => rules.of(reader, bus));

test("many rules that are added one by one hold up nothing", async () => {
  const { store, rules } = await openRules();
  const longest = await longestTurn(async () => {
    for (let n = 0; n < count; n += 1) {
      await store.transact((transaction) => putRule(transaction, bus, ruleOf(n)));
      await use(store, rules);
    }
  });
  expect(matched(await use(store, rules), "shop.8")).toEqual(["rule-8"]);
  console.info(`${count} rules added one by one: longest turn ${longest.toFixed(1)} ms of CPU`);
  expect(longest).toBeLessThan(turnMsMax);
}, 900_000);

test("many rules hold up nothing while they are compiled for the first event, with which all are matched", async () => {
  const { store, rules } = await openRules();
  for (let begin = 0; begin < count; begin += 500)
    await store.transact(async (transaction) => {
      for (let n = begin; n < begin + 500; n += 1) await putRule(transaction, bus, ruleOf(n));
    });
  let matcher: BusMatcher | undefined;
  const beginMs = performance.now();
  const longest = await longestTurn(async () => {
    matcher = await use(store, rules);
    expect(matched(matcher, "shop.5")).toEqual(["rule-5"]);
  });
  const seconds = ((performance.now() - beginMs) / 1_000).toFixed(1);
  console.info(`${count} rules compiled in ${seconds} s: longest turn ${longest.toFixed(1)} ms of CPU`);
  expect(matcher?.size).toBe(count);
  expect(longest).toBeLessThan(turnMsMax);
}, 900_000);
