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
const salesEachPhase = rounds(40, 100);
const salesEveryMs = 50;
const phases = rounds(2, 6);
const archivedCount = rounds(100, 1_000);

/** How many destinations hang. */
const counts = isSoak ? [4, 20, 65, 1_000] : [4, 20];

/** A busy machine delays a few sales by this much, in milliseconds, whatever the service does. */
const busyMs = 1_000;

/** The times from the call to the request at the endpoint, in milliseconds. */
interface Latency {
  readonly p50: number;
  readonly p99: number;
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

/** Sells one thing at a time, evenly, and measures when each sale arrives. */
const measureSales = async (shop: Shop, arrivals: Map<number, number>, first: number): Promise<Latency> => {
  const begins = new Map<number, number>();
  const selling: Promise<unknown>[] = [];
  for (let n = first; n < first + salesEachPhase; n += 1) {
    begins.set(n, performance.now());
    selling.push(shop.sell({ n }));
    await delay(salesEveryMs);
  }
  await Promise.all(selling);
  await eventually(() => [...begins.keys()].every((n) => arrivals.has(n)), "all is delivered");
  const times = [...begins].map(([n, begin]) => (arrivals.get(n) ?? 0) - begin).toSorted((a, b) => a - b);
  return { p50: times[Math.floor(times.length / 2)] ?? 0, p99: times[Math.floor(times.length * 0.99)] ?? 0 };
};

/** Archives sales at once, then replays them; returns the milliseconds until the last one has arrived. */
const measureReplay = async (client: EventBusClient, shop: Shop, name: string): Promise<number> => {
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

describe("destinations that never answer", () => {
  test.each(counts)(
    "%i of them, with many events each, delay neither the deliveries to one that answers nor a replay",
    async (count) => {
      const service = await startProcess(await temporaryDirectory(), settings);
      const { client } = service;
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
      await addBogs(client, await startSwamp(), count);
      await measureSales(shop, arrivals, 0);
      const idle = await measureSales(shop, arrivals, 10_000);
      const idleReplayMs = await measureReplay(client, shop, "idle");

      const filling = fillSwamp(client);
      const beside: Latency[] = [];
      for (let phase = 1; phase <= phases; phase += 1)
        beside.push(await measureSales(shop, arrivals, 10_000 + phase * 1_000));
      await filling;
      const replayMs = await measureReplay(client, shop, "beside");

      const cells = ({ p50, p99 }: Latency): string => `${p50.toFixed(0)} / ${p99.toFixed(0)}`;
      console.info(
        `${count} hanging, ${eventsEach} events each; ms p50 / p99: idle ${cells(idle)}, ` +
          `beside ${beside.map(cells).join(", ")}; ` +
          `replay of ${archivedCount}: idle ${idleReplayMs.toFixed(0)} ms, beside ${replayMs.toFixed(0)} ms`,
      );
      for (const { p50, p99 } of beside) {
        expect(p50).toBeLessThan(2 * idle.p50 + busyMs);
        expect(p99).toBeLessThan(2 * idle.p99 + 2 * busyMs);
      }
      expect(replayMs).toBeLessThan(2 * idleReplayMs + 10 * busyMs);
    },
    900_000,
  );
});
