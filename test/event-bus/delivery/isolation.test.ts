import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";

import { describe, expect, onTestFinished, test } from "vitest";

import { ApiDestinationHttpMethod } from "../../../gen/quartet/eventbus/v1/api_destination_pb.ts";
import { eventually } from "../../support/eventually.ts";
import { rounds } from "../../support/rounds.ts";
import type { EventBusClient } from "../harness.ts";
import { startHarness } from "../harness.ts";
import type { Shop } from "./shop.ts";
import { openShop } from "./shop.ts";

/** Sells several times, one sale after the other. */
const sellMany = async (shop: Shop, count: number): Promise<void> => {
  for (let n = 0; n < count; n += 1) await shop.sell({ n });
};

/** A server that reads requests and never answers; counts the requests that are open. */
const startHangingServer = async () => {
  let open = 0;
  const server = createServer((socket) => {
    socket.once("data", () => (open += 1));
    socket.on("error", () => {});
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, openCount: () => open };
};

/** Rules on a bus of their own that deliver each event to many destinations which never answer. */
const addHangingDestinations = async (client: EventBusClient, url: string, count: number): Promise<void> => {
  const { connectionArn } = await client.describeConnection({ name: "shop" });
  await client.createEventBus({ name: "swamp" });
  for (let n = 0; n < count; n += 1) {
    const { apiDestinationArn } = await client.createApiDestination({
      name: `bog-${n}`,
      connectionArn,
      invocationEndpoint: `${url}/${n}`,
      httpMethod: ApiDestinationHttpMethod.POST,
    });
    const rule = `bog-${n}`;
    await client.putRule({ name: rule, eventBusName: "swamp", eventPattern: '{"source":["swamp"]}' });
    await client.putTargets({ rule, eventBusName: "swamp", targets: [{ id: "bog", arn: apiDestinationArn }] });
  }
};

const putInSwamp = async (client: EventBusClient, count: number): Promise<void> => {
  const entry = { source: "swamp", detailType: "Bubble", detail: "{}", eventBusName: "swamp" };
  for (let n = 0; n < count; n += 1) await client.putEvents({ entries: [entry] });
};

describe("a destination that fails", () => {
  test("gets one try at a time after five failures, and none is counted of the deliveries that wait", async () => {
    let isUp = false;
    const { client, app, clock, deadLetters } = await startHarness();
    const shop = await openShop(client, {
      answer: () => ({ status: isUp ? 200 : 503 }),
      target: { retryPolicy: { maximumRetryAttempts: 0 } },
    });
    await sellMany(shop, 20);
    await app.jobs.idle();
    const opened = shop.till.received.length;
    expect([5, 6]).toContain(opened);
    const probes: number[] = [];
    for (let second = 0; second < 8; second += 1) {
      clock.advance(1_000);
      await app.jobs.idle();
      probes.push(shop.till.received.length - opened);
    }
    // Three quarters of 1, 2 and 4 seconds after the failure before, at whole seconds.
    expect(probes).toEqual([1, 1, 2, 2, 2, 3, 3, 3]);
    isUp = true;
    clock.advance(30_000);
    await app.jobs.idle();
    expect(shop.till.received).toHaveLength(20);
    expect(await deadLetters()).toHaveLength(opened + 3);
  });

  test("does not keep deliveries beyond their maximum age, tried or not", async () => {
    const { client, app, clock, deadLetters } = await startHarness();
    const shop = await openShop(client, {
      answer: () => ({ status: 503 }),
      target: { retryPolicy: { maximumEventAgeInSeconds: 60 } },
    });
    await sellMany(shop, 50);
    await app.jobs.idle();
    for (let step = 0; step < 13; step += 1) {
      clock.advance(5_000);
      await app.jobs.idle();
    }
    const letters = await deadLetters();
    expect(letters).toHaveLength(50);
    expect(new Set(letters.map(({ letter }) => letter.exhaustedRetryCondition))).toEqual(
      new Set(["MaximumEventAgeInSeconds"]),
    );
    expect(letters.filter(({ letter }) => letter.errorCode === "THROTTLING").length).toBeGreaterThan(30);
    expect(shop.till.received.length).toBeLessThan(20);
  });
});

describe("destinations that never answer", () => {
  test("hold up neither one that answers, nor replays and schedules", async () => {
    const hangingCount = rounds(65, 1_000);
    const limits = {
      runningDeliveriesMax: 64,
      requestMsMax: 600_000,
      apiDestinationsMax: 2_000,
      rulesPerBusMax: 2_000,
    };
    const { client, clock } = await startHarness({ limits });
    const shop = await openShop(client);
    await shop.sell({ n: 1 });
    await eventually(() => shop.till.received.length === 1, "the healthy destination has answered");
    const swamp = await startHangingServer();
    await addHangingDestinations(client, swamp.url, hangingCount);
    await putInSwamp(client, rounds(3, 300));
    // Half of the 64 places is for destinations that do not answer; one account has two thirds of these.
    await eventually(() => swamp.openCount() === 21, "the hanging destinations have their places");

    await sellMany(shop, 15);
    await eventually(() => shop.till.received.length === 16, "all is delivered to the healthy destination");

    const archive = { archiveName: "sales", eventSourceArn: "arn:aws:events:us-east-1:000000000000:event-bus/default" };
    await client.createArchive(archive);
    await sellMany(shop, 10);
    await client.putRule({ name: "hourly", scheduleExpression: "rate(1 minute)" });
    await client.putTargets({ rule: "hourly", targets: [{ id: "till", arn: shop.destinationArn }] });
    clock.advance(60_000);
    await eventually(() => shop.till.received.length === 27, "the schedule has run");
    const startTime = { seconds: BigInt(clock.now() / 1_000 - 3_600), nanos: 0 };
    const endTime = { seconds: BigInt(clock.now() / 1_000), nanos: 0 };
    await client.startReplay({
      replayName: "again",
      eventSourceArn: (await client.describeArchive({ archiveName: "sales" })).archiveArn,
      eventStartTime: startTime,
      eventEndTime: endTime,
      destination: { arn: archive.eventSourceArn },
    });
    await eventually(() => shop.till.received.length === 37, "the replay has run");
    expect(swamp.openCount()).toBe(21);
  }, 600_000);
});

describe("a rate limit", () => {
  test("that is changed acts on all deliveries that wait, none of which was tried or rewritten", async () => {
    const { client, app, clock } = await startHarness();
    const shop = await openShop(client, { destination: { invocationRateLimitPerSecond: 1 } });
    await sellMany(shop, 60);
    await app.jobs.idle();
    clock.advance(1_000);
    await app.jobs.idle();
    expect(shop.till.received).toHaveLength(2);
    expect(app.jobs.stats()).toMatchObject({ done: 2, retried: 0, ownersWaiting: 1 });
    await client.updateApiDestination({ name: "till", invocationRateLimitPerSecond: 300 });
    for (let tick = 0; tick < 15; tick += 1) {
      clock.advance(100);
      await app.jobs.idle();
    }
    expect(shop.till.received).toHaveLength(60);
    expect(app.jobs.stats()).toMatchObject({ done: 60, retried: 0, ownersWaiting: 0 });
  });

  test("is kept across a restart", async () => {
    const first = await startHarness();
    const shop = await openShop(first.client, { destination: { invocationRateLimitPerSecond: 10 } });
    await sellMany(shop, 40);
    await first.app.jobs.idle();
    await first.stop();
    const { app, clock } = await startHarness({ directory: first.directory, clock: first.clock });
    await app.jobs.idle();
    const started = shop.till.received.length;
    for (let tick = 0; tick < 10; tick += 1) {
      clock.advance(100);
      await app.jobs.idle();
    }
    expect(shop.till.received.length - started).toBe(10);
  });

  test("does not keep a delivery beyond its maximum age", async () => {
    const { client, app, clock, deadLetters } = await startHarness();
    const shop = await openShop(client, {
      destination: { invocationRateLimitPerSecond: 1 },
      target: { retryPolicy: { maximumEventAgeInSeconds: 60 } },
    });
    await sellMany(shop, 80);
    await app.jobs.idle();
    for (let second = 0; second < 62; second += 1) {
      clock.advance(1_000);
      await app.jobs.idle();
    }
    const letters = await deadLetters();
    expect(letters.length + shop.till.received.length).toBe(80);
    expect(new Set(letters.map(({ letter }) => letter.exhaustedRetryCondition))).toEqual(
      new Set(["MaximumEventAgeInSeconds"]),
    );
    expect(shop.till.received.length).toBeLessThan(65);
  });
});
