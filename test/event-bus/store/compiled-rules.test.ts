import { expect, onTestFinished, test } from "vitest";

import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import { CompiledRules } from "../../../services/event-bus/store/compiled-rules.ts";
import { putRule } from "../../../services/event-bus/store/rule.ts";
import { defaultLimits, storeOver } from "../../../services/kit/store/store.ts";
import { countingEngine } from "../../kit/store/counting-engine.ts";

const rule = { name: "r", state: RuleState.ENABLED, eventPattern: '{"source":["shop"]}', generation: "g" };

const busOf = (n: number) => ({ account: "000000000000", name: `bus-${n}` });

/** Uses the rules of each bus once, after all have been used before; returns the records that scans have read. */
const scansOfSecondUse = async (buses: number, bytesMax?: number): Promise<number> => {
  const { engine, scanned } = countingEngine();
  const store = storeOver(engine, defaultLimits);
  onTestFinished(() => store.close());
  const compiled = new CompiledRules(store, bytesMax);
  await store.transact(async (transaction) => {
    for (let n = 0; n < buses; n += 1) await putRule(transaction, busOf(n), rule);
  });
  let before = 0;
  for (let use = 0; use < 2; use += 1) {
    before = scanned();
    await store.read(async (reader) => {
      for (let n = 0; n < buses; n += 1) await compiled.of(reader, busOf(n));
    });
  }
  return scanned() - before;
};

test("the rules of more than a thousand buses remain compiled", async () => {
  expect(await scansOfSecondUse(1_500)).toBe(0);
});

test.each([
  // bytes of memory | records read for the second use of 10 buses with one rule each
  ["of all", 100_000, 0],
  ["of fewer", 80_000, 10],
  ["of one only", 1, 10],
])("the memory %s is bounded", async (_sets, bytesMax, scans) => {
  expect(await scansOfSecondUse(10, bytesMax)).toBe(scans);
});

test("the rules of a bus are read again only as far as they changed, however many changes there were", async () => {
  const { engine, scanned } = countingEngine();
  const store = storeOver(engine, defaultLimits);
  onTestFinished(() => store.close());
  const compiled = new CompiledRules(store);
  const use = () => store.read((reader) => compiled.of(reader, busOf(0)));
  for (let begin = 0; begin < 2_000; begin += 500)
    await store.transact(async (transaction) => {
      for (let n = begin; n < begin + 500; n += 1) await putRule(transaction, busOf(0), { ...rule, name: `rule-${n}` });
    });
  await use();
  const before = scanned();
  await store.transact(async (transaction) => {
    for (let n = 0; n < 300; n += 1) await putRule(transaction, busOf(0), { ...rule, name: "rule-7" });
  });
  expect((await use()).size).toBe(2_000);
  // The changes, of which each names the same rule.
  expect(scanned() - before).toBe(300);
});
