import { once } from "node:events";

import { expect, test } from "vitest";

import type { StoreWriteError } from "../../../services/kit/store/errors.ts";
import { defaultLimits, storeOver } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { memoryEngine } from "../store/memory-engine.ts";
import { notes } from "../store/tables.ts";
import { startFiller } from "./start-filler.ts";

test("a service whose disk refuses a write logs it fatally, ends with status 1 and can be started again", async () => {
  const dataDir = await temporaryDirectory();
  const { child, lines } = await startFiller(dataDir, "4096");
  // Closed: it has ended and all that it wrote was read.
  const ended = once(child, "close");
  child.stdin?.write("fill\n");
  expect(await ended).toEqual([1, null]);
  expect(lines.slice(-2).map(({ msg, err }) => [msg, err?.type])).toEqual([
    ["the store is broken", "StoreWriteError"],
    ["ends because it can serve no longer", "StoreWriteError"],
  ]);

  const again = await startFiller(dataDir, "unlimited");
  again.child.kill("SIGTERM");
  expect(await once(again.child, "close")).toEqual([0, null]);
});

test("a store reports once that it is broken, and accepts no more writes", async () => {
  const engine = memoryEngine();
  const reported: StoreWriteError[] = [];
  const store = storeOver(engine, defaultLimits, { onBroken: (error) => reported.push(error) });
  const write = (title: string) =>
    store.transact((transaction) => transaction.put(notes, ["alice", title], { value: "text" }));
  await write("first");
  expect(reported).toEqual([]);
  engine.failNext(new Error("no space left"));
  const outcomes = await Promise.allSettled([write("second"), write("third")]);
  outcomes.push(...(await Promise.allSettled([write("fourth")])));
  expect(outcomes.map((outcome) => outcome.status === "rejected" && (outcome.reason as Error).name)).toEqual([
    "StoreWriteError",
    "StoreWriteError",
    "StoreWriteError",
  ]);
  expect(reported.map(({ cause }) => (cause as Error).message)).toEqual(["no space left"]);
  await store.close();
});
