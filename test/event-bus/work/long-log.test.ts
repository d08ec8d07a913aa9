import { randomUUID } from "node:crypto";
import { join } from "node:path";

import { expect, test } from "vitest";

import { putEvent } from "../../../services/event-bus/store/event.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { rounds } from "../../support/rounds.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { ownerAccount, startProcess } from "../harness.ts";

/** Events that are in the log already, of times at which it keeps them while the test runs: no sweep deletes them. */
const loggedCount = rounds(20_000, 10_000_000);
const stepCount = 1_000;
const spreadMs = 600_000;
/** Events that are put in a round. */
const roundCount = rounds(2_000, 5_000);
const roundsCount = rounds(3, 9);

/** Writes events into the log of a service that does not run. */
const fillLog = async (dataDir: string): Promise<void> => {
  const store = await openStore({ directory: join(dataDir, "event-bus", "leveldb"), sync: false });
  const beginMs = Date.now() + loggedCount / 2;
  const event = { source: "shop", detailType: "Sale", detail: '{"order":"4711-0815","amount":250}' };
  for (let first = 0; first < loggedCount; first += stepCount)
    await store.transact((transaction) => {
      for (let each = first; each < first + stepCount; each += 1) {
        const ingestedMs = beginMs + Math.floor((each / loggedCount) * spreadMs);
        const id = randomUUID();
        putEvent(transaction, { account: ownerAccount, ingestedMs, eventId: id }, { id, ...event }, []);
      }
    });
  await store.close();
};

test("puts cost the same with many events in the log", { timeout: 240_000 + loggedCount / 2 }, async () => {
  const [emptyDir, fullDir] = [await temporaryDirectory(), await temporaryDirectory()];
  const first = await startProcess(fullDir);
  await first.kill();
  await fillLog(fullDir);
  const sides = { empty: await startProcess(emptyDir), full: await startProcess(fullDir) };
  const costs = { empty: Array<number>(), full: Array<number>() };
  const entries = Array.from({ length: 10 }, () => ({ source: "shop", detailType: "Sale", detail: '{"n":1}' }));
  // A round before the others warms up.
  for (let round = 0; round <= roundsCount; round += 1)
    for (const side of ["empty", "full"] as const) {
      const { client, cpuMs } = sides[side];
      const before = await cpuMs();
      let put = 0;
      const putOn = async (): Promise<void> => {
        while ((put += entries.length) <= roundCount) await client.putEvents({ entries });
      };
      await Promise.all(Array.from({ length: 8 }, putOn));
      if (round > 0) costs[side].push((((await cpuMs()) - before) * 1_000) / roundCount);
    }
  const [empty, full] = [Math.min(...costs.empty), Math.min(...costs.full)];
  console.info(`µs of CPU of an event put into an empty log, and next to ${loggedCount}: ${empty} and ${full}`);
  expect(full).toBeLessThan(1.5 * empty);
});
