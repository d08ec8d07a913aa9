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

/** Events of one round: about a second of the service's CPU, of which its clock counts hundredths. */
const deliveredCount = 5_000;
/** Events that are put and not yet delivered. With more, deliveries would be read from the disk. */
const openMax = 400;
/** Calls of PutEvents at the same time. */
const putsMax = 8;
/** Events before the first round, and milliseconds of posts: after fewer, code is still being compiled. */
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

/** A bus whose events go to one of so many API destinations each. */
const addDestinations = async (bus: EventBus, url: string, connectionArn: string, count: number): Promise<void> => {
  await bus.createEventBus({ name: `to-${count}` });
  for (let each = 0; each < count; each += 1) {
    const name = `to-${count}-${each}`;
    const { apiDestinationArn } = await bus.createApiDestination({
      name,
      connectionArn,
      invocationEndpoint: `${url}/${each}`,
      httpMethod: ApiDestinationHttpMethod.POST,
      invocationRateLimitPerSecond: 1_000_000,
    });
    await bus.putRule({ name, eventBusName: `to-${count}`, eventPattern: `{"source":["shop.${each}"]}` });
    await bus.putTargets({
      rule: name,
      eventBusName: `to-${count}`,
      targets: [{ id: "shop", arn: apiDestinationArn }],
    });
  }
};

/** Puts so many events and waits until they are delivered. */
const deliver = (bus: EventBus, endpoint: Endpoint, count: number, eventCount: number): Promise<void> =>
  Promise.race([putAll(bus, endpoint, count, eventCount), late()]);

const late = async (): Promise<never> => {
  await delay(120_000, undefined, { ref: false });
  throw new Error("not every event was delivered");
};

/** Puts ten events a call, of which few are not yet delivered at any time. */
const putAll = async (bus: EventBus, endpoint: Endpoint, count: number, eventCount: number): Promise<void> => {
  const before = endpoint.receivedCount();
  const calls = new Set<Promise<unknown>>();
  for (let put = 0; put < eventCount; put += 10) {
    await endpoint.received(before + put + 10 - openMax);
    const entries = Array.from({ length: 10 }, (_, each) => ({
      ...entry,
      source: `shop.${(put + each) % count}`,
      eventBusName: `to-${count}`,
    }));
    const call = bus.putEvents({ entries }).finally(() => calls.delete(call));
    calls.add(call);
    if (calls.size >= putsMax) await Promise.race(calls);
  }
  await Promise.all(calls);
  await endpoint.received(before + eventCount);
};

/**
 * Events put and delivered by a second of the service's CPU, against posts of the same size by a second of a bare
 * client's: CPU does not depend on what else the machine does. Both sides are warm and have the flags of the service.
 */
const delivered = async (bus: EventBus, service: ServicePeer, endpoint: Endpoint, count: number): Promise<BenchRow> => {
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
      await deliver(bus, endpoint, count, deliveredCount);
      return (deliveredCount / ((await service.cpuMs()) - before)) * 1_000;
    },
  });
  poster.stop();
  const what = `events put and delivered, endpoints: ${count}`;
  return row(what, "events/CPU s", own, { what: "bare undici posts/CPU s, 32 in flight", value: bare }, 0.25);
};

/** The time from the call of PutEvents to the request at the endpoint, while events are put evenly. */
const latency = async (bus: EventBus, endpoint: Endpoint): Promise<BenchRow[]> => {
  const begins: number[] = [];
  const puts: Promise<unknown>[] = [];
  const beginMs = performance.now();
  while (begins.length < perSecond * latencySeconds) {
    while (begins.length < ((performance.now() - beginMs) / 1_000) * perSecond) {
      const number = begins.push(performance.now()) - 1;
      const sale = { ...entry, source: "shop.0", eventBusName: "to-1", detail: JSON.stringify({ number }) };
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
      const counts = [1, 10, 100];
      for (const count of counts) await addDestinations(bus, endpoint.url, connectionArn, count);
      await deliver(bus, endpoint, 1, warmingCount);
      for (const count of counts) rows.push(await delivered(bus, service, endpoint, count));
      return [...rows, ...(await latency(bus, endpoint))];
    } finally {
      endpoint.close();
      await service.stop();
      await rm(directory, { recursive: true });
    }
  },
};
