import { describe, expect, test } from "vitest";

import { openShop } from "../delivery/shop.ts";
import { refusalOf, startHarness } from "../harness.ts";

const entry = { source: "shop", detailType: "Sale", detail: '{"kind":"sale","amount":7}' };

describe("traceEvent", () => {
  test("names the rules that match, and the first field that failed for the others", async () => {
    const { client } = await startHarness({ works: false });
    const patterns: Record<string, string> = {
      all: '{"source":["shop"]}',
      gifts: '{"source":["shop"],"detail":{"kind":["gift"]}}',
      large: '{"detail":{"amount":[{"numeric":[">",100]}],"kind":["sale"]}}',
      other: '{"$or":[{"source":["bank"]},{"detail-type":["Sale"],"source":["bank"]}]}',
      replays: '{"replay-name":[{"exists":true}]}',
    };
    for (const [name, eventPattern] of Object.entries(patterns)) await client.putRule({ name, eventPattern });
    await client.putRule({ name: "hourly", scheduleExpression: "rate(1 hour)" });
    const { entries } = await client.putEvents({ entries: [entry] });
    const { traces } = await client.traceEvent({ eventId: entries[0]?.eventId ?? "" });
    expect(traces.map(({ eventBusArn }) => eventBusArn)).toEqual([
      "arn:aws:events:us-east-1:000000000000:event-bus/default",
    ]);
    expect(traces[0]?.rules.map(({ rule, matched, failedField }) => [rule, matched, failedField])).toEqual([
      ["all", true, undefined],
      ["gifts", false, "detail.kind"],
      ["hourly", false, undefined],
      ["large", false, "detail.amount"],
      ["other", false, "source"],
      ["replays", false, "replay-name"],
    ]);
  });

  test("shows the deliveries that wait, with their attempts, and those that were given up", async () => {
    const { client, app, clock } = await startHarness();
    const shop = await openShop(client, {
      answer: () => ({ status: 503 }),
      target: { retryPolicy: { maximumRetryAttempts: 1 } },
    });
    const eventId = await shop.sell({ n: 1 });
    await app.jobs.idle();
    const deliveries = async () => (await client.traceEvent({ eventId })).traces[0]?.deliveries;
    const dueMs = clock.now() + 750;
    expect(await deliveries()).toMatchObject([
      {
        rule: "sales",
        targetArn: shop.destinationArn,
        state: "WAITING",
        attempts: 1,
        lastFailure: "ERROR_FROM_TARGET: The endpoint answered with status 503.",
        nextAttemptTime: { seconds: BigInt(Math.floor(dueMs / 1_000)), nanos: (dueMs % 1_000) * 1_000_000 },
      },
    ]);
    clock.advance(1_000);
    await app.jobs.idle();
    expect(await deliveries()).toMatchObject([{ rule: "sales", state: "FAILED", attempts: 2 }]);
  });

  test("has a trace for each bus that the event came through", async () => {
    const { client, app } = await startHarness();
    await client.createEventBus({ name: "next" });
    await client.putRule({ name: "on", eventPattern: '{"source":["shop"]}' });
    const arn = "arn:aws:events:us-east-1:000000000000:event-bus/next";
    await client.putTargets({ rule: "on", targets: [{ id: "1", arn }] });
    const { entries } = await client.putEvents({ entries: [entry] });
    await app.jobs.idle();
    const { traces } = await client.traceEvent({ eventId: entries[0]?.eventId ?? "" });
    expect(traces.map(({ eventBusArn }) => eventBusArn.split("/")[1])).toEqual(
      expect.arrayContaining(["default", "next"]),
    );
  });

  test("refuses an event that the account's log does not have", async () => {
    const { client, clientOf } = await startHarness({ works: false });
    const { entries } = await client.putEvents({ entries: [entry] });
    const eventId = entries[0]?.eventId ?? "";
    const other = clientOf("111111111111");
    expect(await refusalOf(other.traceEvent({ eventId }))).toBe(`EVENT_NOT_FOUND: Event ${eventId} does not exist.`);
    expect(await refusalOf(client.traceEvent({ eventId: "gone" }))).toBe("EVENT_NOT_FOUND: Event gone does not exist.");
  });
});
