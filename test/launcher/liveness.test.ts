import { setImmediate } from "node:timers/promises";

import { expect, test } from "vitest";

import { defaultLivenessLimits, watchLiveness } from "../../services/launcher/liveness.ts";
import { capturingLogger } from "../support/capturing-logger.ts";
import { FakeClock } from "../support/fake-clock.ts";

const refused = new Error("connection refused");

/** Probes a process whose answers the test settles one after the other. */
const watch = () => {
  const clock = new FakeClock();
  const { log, lines } = capturingLogger();
  const asked: Array<PromiseWithResolvers<void>> = [];
  const hanging: unknown[] = [];
  const end = watchLiveness({
    name: "shop",
    probe: () => {
      const answer = Promise.withResolvers<void>();
      asked.push(answer);
      return answer.promise;
    },
    clock,
    log,
    limits: defaultLivenessLimits,
    onHanging: (reason) => hanging.push((reason as Error).message),
  });
  /** Waits for the next probe; then it is answered, refused, or not answered for so many milliseconds. */
  const probe = async (outcome: "answer" | "refusal" | number): Promise<void> => {
    clock.advance(3_000);
    if (outcome === "answer") asked.at(-1)?.resolve();
    else if (outcome === "refusal") asked.at(-1)?.reject(refused);
    else clock.advance(outcome);
    await setImmediate();
  };
  return { asked, end, hanging, lines, probe };
};

// outcomes of the probes, misses in a row as they are logged, why the process counts as hanging
test.each([
  [["answer", "answer", "answer", "answer"], [], []],
  [[4_999], [], []],
  [[5_000, 5_000], [1, 2], []],
  [[5_000, 5_000, "answer", 5_000, 5_000], [1, 2, 1, 2], []],
  [["refusal", 5_000, "refusal"], [1, 2, 3], ["connection refused"]],
  [[5_000, 5_000, 5_000], [1, 2, 3], ["no answer within 5000 ms"]],
  // The launcher was not running itself: its machine slept.
  [[5_000, 5_000, 60_000], [1, 2], []],
] as const)("after %j", async (outcomes, misses, reasons) => {
  const { hanging, lines, probe } = watch();
  for (const outcome of outcomes) await probe(outcome);
  expect([lines.map((line) => line["misses"]), hanging]).toEqual([misses, reasons]);
});

test("a process that counts as hanging, or is not watched any more, is asked nothing", async () => {
  const hung = watch();
  for (const miss of [5_000, 5_000, 5_000, 5_000]) await hung.probe(miss);
  expect([hung.asked.length, hung.hanging.length]).toEqual([3, 1]);

  const ended = watch();
  await ended.probe("answer");
  ended.end();
  await ended.probe("answer");
  expect(ended.asked).toHaveLength(1);
});

test("an answer that comes after the limit, or after the end, changes nothing", async () => {
  const { asked, end, hanging, lines, probe } = watch();
  await probe(5_000);
  asked[0]?.reject(refused);
  await probe(1_000);
  end();
  asked[1]?.reject(refused);
  await setImmediate();
  expect([lines.map((line) => line["misses"]), hanging]).toEqual([[1], []]);
});
