import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import { orderedDeliveries, orderedLanes } from "../../../services/event-bus/store/layout.ts";
import type { Harness } from "../harness.ts";
import { refusalOf, startHarness } from "../harness.ts";
import { arnPrefix, defaultBus, startReplay } from "../operations/sales.ts";
import { openShop } from "./shop.ts";

interface Sale {
  readonly key: string;
  readonly n: number;
}

/** A shop whose target is ordered by `$.detail.key`, and which answers 200 unless a sale is in `statuses`. */
const openOrderedShop = async ({ client }: Harness, target: object = {}) => {
  const statuses = new Map<string, number>();
  const shop = await openShop(client, {
    answer: ({ body }) => {
      const { detail } = JSON.parse(body.toString()) as { detail: Sale };
      return { status: statuses.get(`${detail.key}${detail.n}`) ?? 200 };
    },
    destination: { invocationRateLimitPerSecond: 100_000 },
    target: { orderedDelivery: { keyPath: "$.detail.key" }, ...target },
  });
  /** The requests so far, as `<key><n>`. */
  const requests = (): string[] =>
    shop.till.received.map(({ body }) => {
      const { detail } = JSON.parse(body.toString()) as { detail: Sale };
      return `${detail.key}${detail.n}`;
    });
  const sellAt = async (time: Timestamp | undefined, names: readonly string[]): Promise<void> => {
    const entries = names.map((name) => ({
      source: "shop",
      ...(time && { time }),
      detailType: "Sale",
      detail: JSON.stringify({ key: name.slice(0, 1), n: Number(name.slice(1)) }),
    }));
    await client.putEvents({ entries });
  };
  const sell = (...names: string[]): Promise<void> => sellAt(undefined, names);
  return { shop, statuses, requests, sell, sellAt };
};

const ofKey = (requests: readonly string[], key: string): string[] => requests.filter((name) => name.startsWith(key));

/** Rows of the lanes that have not ended. */
const rowsLeft = async ({ store }: Harness): Promise<[lanes: number, waiting: number]> =>
  store.read(async (reader) => [
    (await reader.list(orderedLanes, { limit: 100 })).length,
    (await reader.list(orderedDeliveries, { limit: 100 })).length,
  ]);

describe("ordered delivery", () => {
  test("delivers the events of a key one after another, and a failing one holds up its key only", async () => {
    const harness = await startHarness();
    const { app, clock } = harness;
    const { statuses, requests, sell } = await openOrderedShop(harness);
    statuses.set("a1", 503);
    await sell("a0", "a1", "b0", "a2", "b1", "a3", "c0");
    await sell("b2", "a4");
    await app.jobs.idle();
    expect(ofKey(requests(), "a")).toEqual(["a0", "a1"]);
    expect(ofKey(requests(), "b")).toEqual(["b0", "b1", "b2"]);
    expect(ofKey(requests(), "c")).toEqual(["c0"]);
    expect(await rowsLeft(harness)).toEqual([1, 3]);
    clock.advance(1_000);
    await app.jobs.idle();
    expect(ofKey(requests(), "a")).toEqual(["a0", "a1", "a1"]);
    statuses.clear();
    clock.advance(2_000);
    await app.jobs.idle();
    expect(ofKey(requests(), "a")).toEqual(["a0", "a1", "a1", "a1", "a2", "a3", "a4"]);
    expect(await rowsLeft(harness)).toEqual([0, 0]);
  });

  test("goes on after a dead letter; a redriven letter comes after those that wait", async () => {
    const harness = await startHarness();
    const { app, client, clock } = harness;
    const { statuses, requests, sell } = await openOrderedShop(harness);
    statuses.set("a0", 404).set("a1", 503);
    await sell("a0", "a1", "a2");
    await app.jobs.idle();
    expect(requests()).toEqual(["a0", "a1"]);
    const ids = (await client.listDeadLetters({})).deadLetters.map(({ id }) => id);
    expect((await client.redriveDeadLetters({ ids })).redrivenCount).toBe(1);
    statuses.clear();
    clock.advance(1_000);
    await app.jobs.idle();
    expect(requests()).toEqual(["a0", "a1", "a1", "a2", "a0"]);
  });

  test("ends a delivery that holds up its key at its maximum age", async () => {
    const harness = await startHarness();
    const { app, client, clock } = harness;
    const { statuses, requests, sell } = await openOrderedShop(harness, {
      retryPolicy: { maximumEventAgeInSeconds: 60 },
    });
    statuses.set("a0", 503);
    await sell("a0");
    clock.advance(30_000);
    await sell("a1", "b0");
    for (let second = 0; second < 32; second += 1) {
      clock.advance(1_000);
      await app.jobs.idle();
    }
    expect([requests().at(-1), ofKey(requests(), "a").filter((name) => name === "a1")]).toEqual(["a1", ["a1"]]);
    expect((await client.listDeadLetters({})).deadLetters).toMatchObject([
      { exhaustedRetryCondition: "MaximumEventAgeInSeconds" },
    ]);
    expect(await rowsLeft(harness)).toEqual([0, 0]);
  });

  test("ends those that wait when their own age ends before their turn", async () => {
    const first = await startHarness();
    const { clock, directory } = first;
    const { requests } = await openOrderedShop(first, { retryPolicy: { maximumEventAgeInSeconds: 60 } });
    await first.stop();
    const idle = await startHarness({ directory, clock, works: false });
    const entry = { source: "shop", detailType: "Sale", detail: '{"key":"a","n":0}' };
    await idle.client.putEvents({ entries: [entry, entry, entry] });
    await idle.stop();
    clock.advance(120_000);
    const second = await startHarness({ directory, clock });
    for (let n = 0; n < 5; n += 1) {
      await second.app.jobs.idle();
      clock.advance(1_000);
    }
    await second.app.jobs.idle();
    expect(requests()).toEqual([]);
    expect((await second.deadLetters()).map(({ letter }) => letter.exhaustedRetryCondition)).toEqual(
      Array.from({ length: 3 }, () => "MaximumEventAgeInSeconds"),
    );
    expect(await rowsLeft(second)).toEqual([0, 0]);
  });

  test("goes on after a restart", async () => {
    const first = await startHarness();
    const { clock, directory } = first;
    const { statuses, requests, sell } = await openOrderedShop(first);
    statuses.set("a0", 503);
    await sell("a0", "a1", "a2");
    await first.app.jobs.idle();
    await first.stop();
    statuses.clear();
    const second = await startHarness({ directory, clock });
    clock.advance(1_000);
    await second.app.jobs.idle();
    expect(requests()).toEqual(["a0", "a0", "a1", "a2"]);
  });

  test("holds up no event without the key, no other target and no other rule", async () => {
    const harness = await startHarness();
    const { app, client } = harness;
    const { shop, statuses, requests, sell } = await openOrderedShop(harness);
    await client.putTargets({
      rule: "sales",
      targets: [{ id: "plain", arn: shop.destinationArn, input: '{"detail":{"key":"p","n":0}}' }],
    });
    statuses.set("a0", 503);
    await sell("a0", "a1");
    await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: '{"n":7}' }] });
    await app.jobs.idle();
    expect(requests().toSorted()).toEqual(["a0", "p0", "p0", "p0", "undefined7"]);
  });

  test("holds for events with so many targets that the others are enqueued later", async () => {
    const harness = await startHarness();
    const { app, client } = harness;
    const { shop, requests, sell } = await openOrderedShop(harness);
    for (let n = 0; n < 14; n += 1) {
      await client.putRule({ name: `wide-${n}`, eventPattern: '{"detail":{"n":[0]}}' });
      const targets = ["1", "2", "3", "4", "5"].map((id) => ({
        id,
        arn: shop.destinationArn,
        input: '{"detail":{"key":"w","n":0}}',
      }));
      await client.putTargets({ rule: `wide-${n}`, targets });
    }
    await sell("a0", "a1", "a2");
    await app.jobs.idle();
    expect(ofKey(requests(), "a")).toEqual(["a0", "a1", "a2"]);
    expect(ofKey(requests(), "w")).toHaveLength(70);
  });

  test("puts the events of a replay after those that wait, by their time", async () => {
    const harness = await startHarness();
    const { app, client, clock } = harness;
    const { statuses, requests, sell, sellAt } = await openOrderedShop(harness);
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    const startMs = clock.now();
    // In the order in which they are accepted.
    for (const [name, timeMs] of [
      ["a0", startMs],
      ["a2", startMs + 120_000],
      ["a1", startMs + 60_000],
      ["b0", startMs + 120_001],
    ] as const)
      await sellAt(timestampFromMs(timeMs), [name]);
    await app.jobs.idle();
    expect(ofKey(requests(), "a")).toEqual(["a0", "a2", "a1"]);
    clock.advance(600_000);
    statuses.set("a8", 503);
    await sell("a8");
    await app.jobs.idle();
    await startReplay(client, startMs, startMs + 300_000);
    await app.jobs.idle();
    expect((await client.describeReplay({ replayName: "again" })).state).toBe(ReplayState.COMPLETED);
    expect(requests().slice(4)).toEqual(["a8", "b0"]);
    expect(await rowsLeft(harness)).toEqual([1, 3]);
    await sell("a9");
    statuses.clear();
    clock.advance(1_000);
    await app.jobs.idle();
    expect(requests().slice(6)).toEqual(["a8", "a0", "a1", "a2", "a9"]);
    expect(await rowsLeft(harness)).toEqual([0, 0]);
  });

  test("holds over a further bus if the target that leads there has it as well", async () => {
    const harness = await startHarness();
    const { app, client, clock } = harness;
    const { shop, statuses, requests, sell } = await openOrderedShop(harness);
    await client.createEventBus({ name: "orders" });
    await client.removeTargets({ rule: "sales", ids: ["till"] });
    const orderedDelivery = { keyPath: "$.detail.key" };
    const addTarget = async (eventBusName: string, arn: string): Promise<void> => {
      await client.putRule({ eventBusName, name: "sales", eventPattern: '{"source":["shop"]}' });
      await client.putTargets({ eventBusName, rule: "sales", targets: [{ id: "1", arn, orderedDelivery }] });
    };
    await addTarget("default", `${arnPrefix}:event-bus/orders`);
    await addTarget("orders", shop.destinationArn);
    const names = Array.from({ length: 40 }, (_none, n) => `a${n}`);
    statuses.set("a20", 503);
    for (let n = 0; n < 40; n += 8) await sell(...names.slice(n, n + 8), `b${n}`);
    await app.jobs.idle();
    expect(ofKey(requests(), "a")).toEqual(names.slice(0, 21));
    expect(ofKey(requests(), "b")).toEqual(["b0", "b8", "b16", "b24", "b32"]);
    statuses.clear();
    clock.advance(1_000);
    await app.jobs.idle();
    expect(ofKey(requests(), "a")).toEqual([...names.slice(0, 21), ...names.slice(20)]);
    expect(await rowsLeft(harness)).toEqual([0, 0]);
  });

  test("is shown by the trace of an event that waits", async () => {
    const harness = await startHarness();
    const { app, client } = harness;
    const { shop, statuses, sell } = await openOrderedShop(harness);
    statuses.set("a0", 503);
    await sell("a0");
    const eventId = await shop.sell({ key: "a", n: 1 });
    await app.jobs.idle();
    const { traces } = await client.traceEvent({ eventId });
    expect(traces[0]?.deliveries).toMatchObject([{ rule: "sales", state: "WAITING", attempts: 0 }]);
  });

  test("needs a key that is a JSON path", async () => {
    const { client } = await startHarness({ works: false });
    await client.putRule({ name: "sales", eventPattern: '{"source":["shop"]}' });
    const arn = "arn:aws:events:us-east-1:000000000000:api-destination/till/1";
    const put = (keyPath: string) =>
      refusalOf(client.putTargets({ rule: "sales", targets: [{ id: "1", arn, orderedDelivery: { keyPath } }] }));
    expect(await put("detail.key")).toBe(
      "PARAMETER_REFUSED: Parameter 1 is not valid. Reason: detail.key is not a JSON path.",
    );
    expect(await put("$.detail.key")).toBe("answered");
    const { targets } = await client.listTargetsByRule({ rule: "sales" });
    expect(targets[0]?.orderedDelivery?.keyPath).toBe("$.detail.key");
  });
});
