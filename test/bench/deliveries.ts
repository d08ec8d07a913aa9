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
import { eventually } from "../support/eventually.ts";
import type { BenchGroup, BenchRow } from "./bench.ts";
import { startPeer } from "./peers/peer.ts";
import { detail, entry, row } from "./peers/sale.ts";
import type { ServicePeer } from "./peers/service.ts";
import { startService } from "./peers/service.ts";
import { bestInTurns } from "./peers/turns.ts";

type EventBus = Client<typeof EventBusService>;

const deliveredCount = 1_000;
const perSecond = 500;
const latencySeconds = 4;

/** A local endpoint that counts its requests, and when each came that names a number. */
const startEndpoint = async () => {
  const arrivals = new Map<number, number>();
  let received = 0;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      received += 1;
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

/** Puts so many events, ten a call, and waits until they are delivered. */
const deliver = async (bus: EventBus, endpoint: Endpoint, count: number): Promise<void> => {
  const before = endpoint.receivedCount();
  let put = 0;
  const putAll = async (): Promise<void> => {
    while (put < deliveredCount) {
      const first = put;
      put += 10;
      const entries = Array.from({ length: 10 }, (_, each) => ({
        ...entry,
        source: `shop.${(first + each) % count}`,
        eventBusName: `to-${count}`,
      }));
      await bus.putEvents({ entries });
    }
  };
  await Promise.all(Array.from({ length: 8 }, putAll));
  await eventually(() => endpoint.receivedCount() - before >= deliveredCount, "every event is delivered", 120_000);
};

/**
 * Events put and delivered by a second of the service's CPU, against posts of the same size by a second of a bare
 * client's: CPU does not depend on what else the machine does.
 */
const delivered = async (bus: EventBus, service: ServicePeer, endpoint: Endpoint, count: number): Promise<BenchRow> => {
  const poster = startPeer("event-clients", String(detail.length + 200));
  const { own, bare } = await bestInTurns(3, {
    bare: async () => {
      const before = await poster.ask<number>({ ask: "cpu" });
      const posts = await poster.ask<number>({ ask: "run", address: endpoint.url, ms: 1_000 });
      return (posts / ((await poster.ask<number>({ ask: "cpu" })) - before)) * 1_000_000;
    },
    own: async () => {
      const before = await service.cpuMs();
      await deliver(bus, endpoint, count);
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
      for (const count of [1, 10, 100]) {
        await addDestinations(bus, endpoint.url, connectionArn, count);
        rows.push(await delivered(bus, service, endpoint, count));
      }
      return [...rows, ...(await latency(bus, endpoint))];
    } finally {
      endpoint.close();
      await service.stop();
      await rm(directory, { recursive: true });
    }
  },
};
