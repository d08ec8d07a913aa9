import { expect, test } from "vitest";

import { eventHolders, events } from "../../../services/event-bus/store/layout.ts";
import { startHarness } from "../harness.ts";
import { openShop } from "./shop.ts";

const rulesCount = 40;
const salesCount = 10;

test("deliveries of an event that is older than the log end together, without a conflict", async () => {
  const { client, app, clock, store } = await startHarness({ limits: { eventLogMs: 60_000 } });
  let isOpen = false;
  const shop = await openShop(client, {
    answer: () => ({ status: isOpen ? 200 : 503 }),
    destination: { invocationRateLimitPerSecond: 1_000_000 },
  });
  for (let n = 1; n < rulesCount; n += 1) {
    await client.putRule({ name: `sales-${n}`, eventPattern: '{"source":["shop"]}' });
    await client.putTargets({ rule: `sales-${n}`, targets: [{ id: "till", arn: shop.destinationArn }] });
  }
  for (let n = 0; n < salesCount; n += 1) await shop.sell({ n });
  await app.jobs.idle();
  clock.advance(120_000);
  isOpen = true;
  const { conflicts, commits } = store.stats();
  await app.jobs.idle();
  clock.advance(600_000);
  await app.jobs.idle();
  const [left, held] = await store.read(async (reader) => [
    await reader.list(events, { limit: 1 }),
    await reader.list(eventHolders, { limit: 1 }),
  ]);
  expect([left, held]).toEqual([[], []]);
  expect(app.jobs.stats().done).toBe(rulesCount * salesCount);
  // One by one they are 400 transactions, which meet at the holders of their events.
  expect(store.stats().conflicts - conflicts).toBe(0);
  expect(store.stats().commits - commits).toBeLessThan((rulesCount * salesCount) / 4);
});
