import { expect, test } from "vitest";

import { createMetrics } from "../../../services/kit/metrics/metrics.ts";
import { trafficMetrics } from "../../../services/event-bus/store/traffic-counts.ts";
import { samplesNow } from "../../kit/metrics/samples.ts";
import { openShop } from "../delivery/shop.ts";
import { startHarness } from "../harness.ts";

test("events, the ends of deliveries and dead letters are counted", async () => {
  const { client, clock, app, store } = await startHarness();
  const metrics = createMetrics();
  trafficMetrics(metrics, store);
  const statuses = [200, 404, 500];
  const shop = await openShop(client, {
    answer: () => ({ status: statuses.shift() ?? 200 }),
    target: { retryPolicy: { maximumRetryAttempts: 0 } },
  });
  for (let n = 0; n < 3; n += 1) {
    await shop.sell({ n });
    await app.jobs.idle();
    clock.advance(1_000);
  }
  await client.putEvents({ entries: [{ source: "bank", detailType: "Deposit", detail: "{}" }] });
  expect(await samplesNow(metrics)).toEqual([
    "event_bus_dead_letters 2",
    'event_bus_deliveries_total{outcome="delivered"} 1',
    'event_bus_deliveries_total{outcome="expired"} 1',
    'event_bus_deliveries_total{outcome="refused"} 1',
    "event_bus_events_total 4",
  ]);
  const ids = (await client.listDeadLetters({})).deadLetters.map(({ id }) => id);
  await client.redriveDeadLetters({ ids });
  await app.jobs.idle();
  expect(await samplesNow(metrics)).toEqual([
    "event_bus_dead_letters 0",
    'event_bus_deliveries_total{outcome="delivered"} 3',
    'event_bus_deliveries_total{outcome="expired"} 1',
    'event_bus_deliveries_total{outcome="refused"} 1',
    "event_bus_events_total 6",
  ]);
});
