import { expect, onTestFinished, test } from "vitest";

import type { Engine } from "../../../services/kit/store/engine.ts";
import type { Reader } from "../../../services/kit/store/store.ts";
import { defaultLimits, storeOver } from "../../../services/kit/store/store.ts";
import { memoryEngine } from "./memory-engine.ts";
import { notes } from "./tables.ts";

/** An engine each of whose single reads holds the thread for a millisecond, as a disk does. */
const slowEngine = (): Engine => {
  const engine = memoryEngine();
  return {
    ...engine,
    snapshot: () => {
      const snapshot = engine.snapshot();
      return {
        ...snapshot,
        get: (key) => {
          const untilMs = performance.now() + 1;
          while (performance.now() < untilMs);
          return snapshot.get(key);
        },
      };
    },
  };
};

/** Runs a function and counts the turns of the event loop until it ends. */
const turnsDuring = async (run: () => Promise<unknown>): Promise<number> => {
  let turns = 0;
  let isRunning = true;
  const count = (): void => {
    turns += 1;
    if (isRunning) setImmediate(count);
  };
  setImmediate(count);
  await run();
  isRunning = false;
  return turns;
};

const read100 = async (reader: Reader): Promise<void> => {
  for (let index = 0; index < 100; index += 1) await reader.get(notes, ["alice", `${index}`]);
};

test("a hundred reads of a millisecond each let other work run in between", async () => {
  const store = storeOver(slowEngine(), defaultLimits);
  onTestFinished(() => store.close());
  expect(await turnsDuring(() => store.read(read100))).toBeGreaterThan(10);
  expect(await turnsDuring(() => store.transact(read100))).toBeGreaterThan(10);
});
