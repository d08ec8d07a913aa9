import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { describe, expect, it } from "vitest";

import { openStore } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { surveyParts } from "./parts.ts";
import { rounds } from "../../support/rounds.ts";
import { seededRandom } from "./seeded-random.ts";
import { events } from "./tables.ts";

const child = fileURLToPath(new URL("store-child.ts", import.meta.url));
const recordBytes = 5_000;

/** Lets a process commit until it has answered this many, kills it, and gives what it had answered. */
const commitAndKill = async (directory: string, first: number, killAfter: number): Promise<number[]> => {
  const running = spawn(process.execPath, [child, directory, "sync", `${first}`, "0", `${recordBytes}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const answered: number[] = [];
  for await (const line of createInterface({ input: running.stdout })) {
    answered.push(Number(line));
    if (answered.length === killAfter) running.kill("SIGKILL");
  }
  if (running.exitCode === null && running.signalCode === null) await once(running, "close");
  return answered;
};

describe("a process that is killed while it commits, again and again", () => {
  it("has every answered commit whole, and no commit in part", async () => {
    const directory = await temporaryDirectory();
    const random = seededRandom(5);
    const answered: number[] = [];
    let answeredCount = 0;
    for (let round = 0; round < rounds(3, 150); round += 1) {
      answered.push(...(await commitAndKill(directory, round * 1_000_000, 1 + random.below(300))));
      const store = await openStore({ directory });
      const { whole, broken } = await surveyParts(store, recordBytes);
      expect([...broken]).toEqual([]);
      expect(answered.filter((number) => !whole.has(number))).toEqual([]);
      answeredCount += answered.length;
      // Begins anew now and then, so that many rounds do not take longer and longer.
      if (round % 5 === 4) await store.transact((tx) => tx.deleteRange(events, {}));
      if (round % 5 === 4) answered.length = 0;
      await store.close();
    }
    expect(answeredCount).toBeGreaterThan(0);
  }, 600_000);
});
