import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import { describe, expect, onTestFinished, test } from "vitest";

import { ApiDestinationHttpMethod } from "../../../gen/quartet/eventbus/v1/api_destination_pb.ts";
import { eventually } from "../../support/eventually.ts";
import { isSoak, rounds } from "../../support/rounds.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import type { EventBusClient } from "../harness.ts";
import { startProcess } from "../harness.ts";
import type { Shop } from "./shop.ts";
import { openShop } from "./shop.ts";

const settings = {
  QUARTET_EVENT_BUS_PRIVATE_TARGETS: "allow",
  QUARTET_EVENT_BUS_RULES_PER_BUS_MAX: "2000",
};

/** Events that are put for each destination that hangs. */
const eventsEach = rounds(30, 300);
const salesEachPhase = rounds(40, 300);
const salesEveryMs = 50;
/** Phases in which sales are made: while the events of hanging destinations are put, and while they wait. */
const phases = rounds(1, 3);
const archivedCount = rounds(100, 1_000);

/** How many destinations hang. */
const counts = isSoak ? [4, 20, 65, 1_000] : [4, 20];

/** What a service next to hanging destinations may add to twice the times of one without them, in milliseconds. */
const waitingMs = { p50: 100, p99: 500, replay: 2_000 };
/** And while the events are put: on a busy machine, a process that works gets its turns late. */
const puttingMs = { p50: 1_000, p99: 2_000 };

/** The times from the call to the request at the endpoint, in milliseconds. */
interface Latency {
  readonly p50: number;
  readonly p99: number;
}

/** A service of its own, with a shop whose endpoint answers. */
interface Side {
  readonly client: EventBusClient;
  readonly shop: Shop;
  /** When each sale was first at the endpoint. */
  readonly arrivals: Map<number, number>;
}

/** Reads requests and never answers; no connection is closed by it. */
const startSwamp = async (): Promise<string> => {
  const server = createServer((socket) => {
    socket.resume();
    socket.on("error", () => {});
  }).listen({ port: 0, host: "127.0.0.1", backlog: 4_096 });
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** A rule for each of many destinations, all of which match every event of the swamp's bus. */
const addBogs = async (client: EventBusClient, url: string, count: number): Promise<void> => {
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

const fillSwamp = async (client: EventBusClient): Promise<void> => {
  const entry = { source: "swamp", detailType: "Bubble", detail: "{}", eventBusName: "swamp" };
  for (let n = 0; n < eventsEach; n += 1) await client.putEvents({ entries: [entry] });
};

const archiveSales = async (client: EventBusClient): Promise<void> => {
  await client.createArchive({
    archiveName: "sales",
    eventSourceArn: "arn:aws:events:us-east-1:000000000000:event-bus/default",
  });
  const entry = { source: "shop", detailType: "Sale", detail: '{"n":-1}' };
  for (let n = 0; n < archivedCount; n += 10)
    await client.putEvents({ entries: Array.from({ length: 10 }, () => entry) });
  await client.updateArchive({ archiveName: "sales", eventPattern: '{"source":["nothing"]}' });
};

const startSide = async (): Promise<Side> => {
  const { client } = await startProcess(await temporaryDirectory(), settings);
  const arrivals = new Map<number, number>();
  const shop = await openShop(client, {
    answer: ({ body }) => {
      const { n } = (JSON.parse(body.toString()) as { detail: { n: number } }).detail;
      if (!arrivals.has(n)) arrivals.set(n, performance.now());
      return { status: 200 };
    },
    destination: { invocationRateLimitPerSecond: 100_000 },
  });
  await archiveSales(client);
  return { client, shop, arrivals };
};

const latencyOf = (begins: ReadonlyMap<number, number>, arrivals: ReadonlyMap<number, number>): Latency => {
  const times = [...begins].map(([n, begin]) => (arrivals.get(n) ?? 0) - begin).toSorted((a, b) => a - b);
  const at = (share: number): number => times[Math.ceil(times.length * share) - 1] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
};

/** Sells one thing at a time, evenly and in turns on each side, and measures when each sale arrives. */
const measureSales = async (sides: readonly Side[], first: number): Promise<Latency[]> => {
  const begins = sides.map(() => new Map<number, number>());
  const selling: Promise<unknown>[] = [];
  for (let n = first; n < first + salesEachPhase; n += 1)
    for (const [index, { shop }] of sides.entries()) {
      begins[index]?.set(n, performance.now());
      selling.push(shop.sell({ n }));
      await delay(salesEveryMs / sides.length);
    }
  await Promise.all(selling);
  await eventually(
    () => sides.every(({ arrivals }, index) => begins[index]?.keys().every((n) => arrivals.has(n))),
    "all is delivered",
  );
  return sides.map(({ arrivals }, index) => latencyOf(begins[index] ?? new Map(), arrivals));
};

/** Replays the archived sales; returns the milliseconds until the last one has arrived. */
const measureReplay = async ({ client, shop }: Side, name: string): Promise<number> => {
  const bus = "arn:aws:events:us-east-1:000000000000:event-bus/default";
  const before = shop.till.received.length;
  const beginMs = performance.now();
  const nowSeconds = Math.ceil(Date.now() / 1_000);
  await client.startReplay({
    replayName: name,
    eventSourceArn: (await client.describeArchive({ archiveName: "sales" })).archiveArn,
    eventStartTime: { seconds: BigInt(nowSeconds - 3_600), nanos: 0 },
    eventEndTime: { seconds: BigInt(nowSeconds), nanos: 0 },
    destination: { arn: bus },
  });
  await eventually(() => shop.till.received.length >= before + archivedCount, "the replay has arrived", 300_000);
  return performance.now() - beginMs;
};

const isDelayed = ([alone, beside]: readonly Latency[], slack: Latency): boolean =>
  alone === undefined ||
  beside === undefined ||
  beside.p50 > 2 * alone.p50 + slack.p50 ||
  beside.p99 > 2 * alone.p99 + slack.p99;

const cells = ({ p50, p99 }: Latency): string => `${p50.toFixed(0)} / ${p99.toFixed(0)}`;

describe("destinations that never answer", () => {
  test.each(counts)(
    "%i of them, with many events each, delay neither the deliveries to one that answers nor a replay",
    async (count) => {
      // Both are measured at the same moments, so whatever else the machine does delays both.
      const [alone, beside] = [await startSide(), await startSide()];
      const sides = [alone, beside];
      await addBogs(beside.client, await startSwamp(), count);
      let first = 0;
      const measure = () => measureSales(sides, (first += 1_000));
      await measure();
      const idle = await measure();

      let isFilled = false;
      const filling = fillSwamp(beside.client).then(() => (isFilled = true));
      const whilePut: Latency[][] = [];
      for (let phase = 0; phase < phases || !isFilled; phase += 1) whilePut.push(await measure());
      await filling;
      const whileWaiting: Latency[][] = [];
      for (let phase = 0; phase < phases; phase += 1) whileWaiting.push(await measure());
      const [aloneMs = 0, besideMs = 0] = await Promise.all(sides.map((side) => measureReplay(side, "again")));

      const rows = { idle: [idle], "while they are put": whilePut, "while they wait": whileWaiting };
      for (const [row, measured] of Object.entries(rows))
        console.info(`${row}: ${measured.map(([a, b]) => `${a && cells(a)} and ${b && cells(b)}`).join(", ")}`);
      console.info(
        `${count} hanging, ${eventsEach} events each; ms p50 / p99 without and next to them. ` +
          `Replay of ${archivedCount}: ${aloneMs.toFixed(0)} and ${besideMs.toFixed(0)} ms`,
      );
      expect(whilePut.filter((latencies) => isDelayed(latencies, puttingMs))).toEqual([]);
      expect(whileWaiting.filter((latencies) => isDelayed(latencies, waitingMs))).toEqual([]);
      expect(besideMs).toBeLessThan(2 * aloneMs + waitingMs.replay);
    },
    900_000,
  );
});
