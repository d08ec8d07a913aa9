import { expect, test, vi } from "vitest";

import type { NewEvent } from "../../../services/event-bus/ingestion/ingest.ts";
import { ingestEvent, openBus } from "../../../services/event-bus/ingestion/ingest.ts";
import { events } from "../../../services/event-bus/store/layout.ts";
import { eventually } from "../../support/eventually.ts";
import type { Harness } from "../harness.ts";
import { ownerAccount, startHarness } from "../harness.ts";
import { openShop } from "./shop.ts";

const sale: NewEvent = {
  id: "sale-2",
  detailType: "Sale",
  source: "shop",
  account: ownerAccount,
  timeMs: 1_767_225_600_000n,
  region: "us-east-1",
  resources: [],
  detail: '{"n":2}',
  traceHeader: undefined,
  replayName: undefined,
  hops: 0,
};

/** Puts an event and takes it out of the log again, in one transaction. */
const putUnlogged = ({ app, store }: Harness, name: string): Promise<void> =>
  store.transact(async (tx) => {
    await ingestEvent(app, tx, await openBus(app, tx, { account: ownerAccount, name }), sale);
    await tx.deleteRange(events, { prefix: [ownerAccount] });
  });

test("a delivery that begins right after its event was put does not read it", async () => {
  const harness = await startHarness();
  const shop = await openShop(harness.client);
  await shop.sell({ n: 1 });
  await eventually(() => shop.till.received.length === 1, "the destination answers");
  await harness.app.jobs.idle();
  await putUnlogged(harness, "default");
  await eventually(() => shop.till.received.length === 2, "the sale is delivered");
  expect(JSON.parse(shop.till.received[1]?.body.toString() ?? "")).toMatchObject({ id: "sale-2", detail: { n: 2 } });
});

test("an event of a bus with an encryption key is not kept in memory in clear", async () => {
  const harness = await startHarness();
  const shop = await openShop(harness.client);
  await harness.client.createEventBus({ name: "sealed", kmsKeyIdentifier: "shop-key" });
  await harness.client.putRule({ name: "sales", eventBusName: "sealed", eventPattern: '{"source":["shop"]}' });
  const targets = [{ id: "till", arn: shop.destinationArn }];
  await harness.client.putTargets({ rule: "sales", eventBusName: "sealed", targets });
  await shop.sell({ n: 1 });
  await eventually(() => shop.till.received.length === 1, "the destination answers");
  await harness.app.jobs.idle();
  await putUnlogged(harness, "sealed");
  await harness.app.jobs.idle();
  expect(shop.till.received).toHaveLength(1);
});

/** Adds rules for the sales, which together have 65 targets at the destination. */
const addMany = async ({ client }: Harness, arn: string): Promise<void> => {
  for (let n = 0; n < 13; n += 1) {
    await client.putRule({ name: `many-${n}`, eventPattern: '{"source":["shop"]}' });
    const targets = Array.from({ length: 5 }, (_, each) => ({ id: `till-${each}`, arn }));
    await client.putTargets({ rule: `many-${n}`, targets });
  }
};

test("deliveries that are enqueued in parts right after their event was put do not read it", async () => {
  const harness = await startHarness();
  const shop = await openShop(harness.client, { destination: { invocationRateLimitPerSecond: 100_000 } });
  await shop.sell({ n: 1 });
  await eventually(() => shop.till.received.length === 1, "the destination answers");
  await addMany(harness, shop.destinationArn);
  await harness.app.jobs.idle();
  await putUnlogged(harness, "default");
  await eventually(() => shop.till.received.length === 67, "the sale is delivered to all");
  const sales = shop.till.received.map(({ body }) => JSON.parse(body.toString()) as { id: string });
  expect(sales.filter(({ id }) => id === "sale-2")).toHaveLength(66);
});

test("a scheduled event whose deliveries are enqueued in parts is read once for each part", async () => {
  const { client, clock, app, store } = await startHarness({ limits: { targetsPerRuleMax: 100 } });
  const shop = await openShop(client, { destination: { invocationRateLimitPerSecond: 100_000 } });
  await shop.sell({ n: 1 });
  await eventually(() => shop.till.received.length === 1, "the destination answers");
  await client.putRule({ name: "hourly", scheduleExpression: "rate(1 hour)" });
  const targets = Array.from({ length: 65 }, (_, each) => ({ id: `till-${each}`, arn: shop.destinationArn }));
  await client.putTargets({ rule: "hourly", targets });
  await app.jobs.idle();
  const read = vi.spyOn(store, "read");
  clock.advance(3_600_000);
  await eventually(() => shop.till.received.length === 66, "it is delivered to all");
  await app.jobs.idle();
  expect(read.mock.calls.length).toBeLessThan(30);
});
