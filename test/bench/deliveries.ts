import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import type { Client } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";

import { ApiDestinationHttpMethod } from "../../gen/quartet/eventbus/v1/api_destination_pb.ts";
import { ConnectionAuthorizationType } from "../../gen/quartet/eventbus/v1/connection_pb.ts";
import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { processes } from "../../services/launcher/processes.ts";
import { eventually } from "../support/eventually.ts";
import type { BenchGroup, BenchRow } from "./bench.ts";
import { startPeer } from "./peers/peer.ts";
import { detail, entry, row } from "./peers/sale.ts";
import type { ServicePeer } from "./peers/service.ts";
import { startService } from "./peers/service.ts";
import { bestInTurns } from "./peers/turns.ts";

type EventBus = Client<typeof EventBusService>;

/** Deliveries of one round: most of a second of the service's CPU, of which its clock counts hundredths. */
const deliveredCount = 5_000;
/** Deliveries of events that are put and not yet delivered. With more, they would be read from the disk. */
const openMax = 400;
/** Deliveries of the events of one call. */
const callMax = 100;
/** Calls of PutEvents at the same time. */
const putsMax = 8;
/** Deliveries before the first round, and milliseconds of posts: after fewer, code is still being compiled. */
const warmingCount = 25_000;
const warmingMs = 3_000;
const perSecond = 500;
const latencySeconds = 4;

/** A local endpoint that counts its requests, and when each came that names a number. */
const startEndpoint = async () => {
  const arrivals = new Map<number, number>();
  let received = 0;
  let onReceived = (): void => {};
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      received += 1;
      onReceived();
      const number = /"number":([0-9]+)/.exec(Buffer.concat(parts).toString())?.[1];
      if (number !== undefined) arrivals.set(Number(number), performance.now());
      response.end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    receivedCount: () => received,
    /** Resolves when it has received so many requests. */
    async received(count: number): Promise<void> {
      while (received < count) await new Promise<void>((resolve) => (onReceived = resolve));
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};

type Endpoint = Awaited<ReturnType<typeof startEndpoint>>;

/** A bus, and how many of its API destinations each of its events goes to. */
interface BusShape {
  readonly eventBusName: string;
  readonly endpoints: number;
  readonly fan: number;
}

/** Targets of one rule, of which a rule has no more. */
const ruleTargetsMax = 5;

/** A bus whose events go to one of so many API destinations each, or to all of them. */
const addBus = async (
  bus: EventBus,
  url: string,
  connectionArn: string,
  { eventBusName, endpoints, fan }: BusShape,
): Promise<void> => {
  await bus.createEventBus({ name: eventBusName });
  const arns = await Promise.all(
    Array.from({ length: endpoints }, async (_, each) => {
      const { apiDestinationArn } = await bus.createApiDestination({
        name: `${eventBusName}-${each}`,
        connectionArn,
        invocationEndpoint: `${url}/${each}`,
        httpMethod: ApiDestinationHttpMethod.POST,
        invocationRateLimitPerSecond: 1_000_000,
      });
      return apiDestinationArn;
    }),
  );
  const step = fan === 1 ? 1 : ruleTargetsMax;
  for (let first = 0; first < endpoints; first += step) {
    const rule = `rule-${first}`;
    const eventPattern = fan === 1 ? `{"source":["shop.${first}"]}` : `{"source":[{"prefix":"shop."}]}`;
    await bus.putRule({ name: rule, eventBusName, eventPattern });
    const targets = arns.slice(first, first + step).map((arn, each) => ({ id: `shop-${each}`, arn }));
    await bus.putTargets({ rule, eventBusName, targets });
  }
};

/** Puts events with so many deliveries and waits until all are made. */
const deliver = (bus: EventBus, endpoint: Endpoint, shape: BusShape, deliveryCount: number): Promise<void> =>
  Promise.race([putAll(bus, endpoint, shape, deliveryCount / shape.fan), late()]);

const late = async (): Promise<never> => {
  await delay(120_000, undefined, { ref: false });
  throw new Error("not every event was delivered");
};

/** Puts at most ten events a call, of which few are not yet delivered at any time. */
const putAll = async (
  bus: EventBus,
  endpoint: Endpoint,
  { eventBusName, endpoints, fan }: BusShape,
  eventCount: number,
): Promise<void> => {
  const before = endpoint.receivedCount();
  const calls = new Set<Promise<unknown>>();
  const perCall = Math.min(10, callMax / fan);
  for (let put = 0; put < eventCount; put += perCall) {
    await endpoint.received(before + (put + perCall) * fan - openMax);
    const entries = Array.from({ length: perCall }, (_, each) => ({
      ...entry,
      source: `shop.${(put + each) % endpoints}`,
      eventBusName,
    }));
    const call = bus.putEvents({ entries }).finally(() => calls.delete(call));
    calls.add(call);
    if (calls.size >= putsMax) await Promise.race(calls);
  }
  await Promise.all(calls);
  await endpoint.received(before + eventCount * fan);
};

/**
 * Deliveries of events that are put, by a second of the service's CPU, against posts of the same size by a second of a
 * bare client's: CPU does not depend on what else the machine does. Both sides are warm and have the service's flags.
 */
const delivered = async (
  bus: EventBus,
  service: ServicePeer,
  endpoint: Endpoint,
  shape: BusShape,
): Promise<BenchRow> => {
  const poster = startPeer("event-clients", String(detail.length + 200), processes["event-bus"].nodeFlags);
  await poster.ask<number>({ ask: "run", address: endpoint.url, ms: warmingMs });
  const { own, bare } = await bestInTurns(3, {
    bare: async () => {
      const before = await poster.ask<number>({ ask: "cpu" });
      const posts = await poster.ask<number>({ ask: "run", address: endpoint.url, ms: 1_000 });
      return (posts / ((await poster.ask<number>({ ask: "cpu" })) - before)) * 1_000_000;
    },
    own: async () => {
      const before = await service.cpuMs();
      await deliver(bus, endpoint, shape, deliveredCount);
      return (deliveredCount / ((await service.cpuMs()) - before)) * 1_000;
    },
  });
  poster.stop();
  const { endpoints, fan } = shape;
  const what = `events put and delivered to ${fan} of ${endpoints} endpoints`;
  return row(what, "deliveries/CPU s", own, { what: "bare undici posts/CPU s, 32 in flight", value: bare }, 0.25);
};

/** The time from the call of PutEvents to the request at the endpoint, while events are put evenly. */
const latency = async (bus: EventBus, endpoint: Endpoint): Promise<BenchRow[]> => {
  const begins: number[] = [];
  const puts: Promise<unknown>[] = [];
  const beginMs = performance.now();
  while (begins.length < perSecond * latencySeconds) {
    while (begins.length < ((performance.now() - beginMs) / 1_000) * perSecond) {
      const number = begins.push(performance.now()) - 1;
      const sale = { ...entry, source: "shop.0", eventBusName: "one-of-1", detail: JSON.stringify({ number }) };
      puts.push(bus.putEvents({ entries: [sale] }));
    }
    await delay(1);
  }
  await Promise.all(puts);
  await eventually(() => endpoint.arrivals.size === begins.length, "every event is delivered", 60_000);
  const times = begins.map((begin, number) => (endpoint.arrivals.get(number) ?? 0) - begin).toSorted((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? 0;
  return [0.5, 0.99].map((share) => ({
    ...row(`put to delivery at ${perSecond}/s, p${share * 100}`, "ms", at(share), {
      what: "ms that are wanted",
      value: share === 0.5 ? 20 : 100,
    }),
    ratio: (share === 0.5 ? 20 : 100) / at(share),
  }));
};

/** Deliveries to API destinations. */
export const group: BenchGroup = {
  name: "deliveries",
  run: async () => {
    const directory = await mkdtemp(join(tmpdir(), "quartet-bench-"));
    const service = await startService("event-bus", directory);
    const endpoint = await startEndpoint();
    try {
      const bus = createClient(EventBusService, service.transport);
      const { connectionArn } = await bus.createConnection({
        name: "shop",
        authorizationType: ConnectionAuthorizationType.API_KEY,
        authParameters: { apiKeyAuthParameters: { apiKeyName: "x-key", apiKeyValue: "k-1" } },
      });
      const rows: BenchRow[] = [];
      const shapes = [
        ...[1, 10, 100].map((endpoints) => ({ eventBusName: `one-of-${endpoints}`, endpoints, fan: 1 })),
        ...[10, 100].map((endpoints) => ({ eventBusName: `all-of-${endpoints}`, endpoints, fan: endpoints })),
      ];
      for (const shape of shapes) await addBus(bus, endpoint.url, connectionArn, shape);
      const [warming] = shapes;
      if (warming !== undefined) await deliver(bus, endpoint, warming, warmingCount);
      for (const shape of shapes) {
        if (shape.fan > 1) await deliver(bus, endpoint, shape, warmingCount);
        rows.push(await delivered(bus, service, endpoint, shape));
      }
      return [...rows, ...(await latency(bus, endpoint))];
    } finally {
      endpoint.close();
      await service.stop();
      await rm(directory, { recursive: true });
    }
  },
};
