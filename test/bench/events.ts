import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Client } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";
import { Level } from "level";

import { ApiDestinationHttpMethod } from "../../gen/quartet/eventbus/v1/api_destination_pb.ts";
import { ConnectionAuthorizationType } from "../../gen/quartet/eventbus/v1/connection_pb.ts";
import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { defaultLimits } from "../../services/event-bus/limits.ts";
import { flattenEvent } from "../../services/event-bus/pattern/flatten.ts";
import { Matcher } from "../../services/event-bus/pattern/matcher.ts";
import { parsePattern } from "../../services/event-bus/pattern/parse.ts";
import { putEvent } from "../../services/event-bus/store/event.ts";
import { sweepLog } from "../../services/event-bus/work/log-sweep.ts";
import { openStore } from "../../services/kit/store/store.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake-clock.ts";
import type { BenchGroup, BenchRow } from "./bench.ts";
import { startPeer } from "./peers/peer.ts";
import { startService } from "./peers/service.ts";
import { bestInTurns, rate, rateSync } from "./peers/turns.ts";

type EventBus = Client<typeof EventBusService>;

const callers = 64;
const rounds = 3;
const roundMs = 400;
const deliveredCount = 1_000;
const sweptCount = 20_000;
const detail = JSON.stringify({
  order: "4711-0815",
  kind: "sale",
  amount: 250,
  customer: { name: "Ann Lee", mail: "ann.lee@example.com", since: "2024-05-01" },
  lines: [
    { article: "tea", count: 3, price: 4.5 },
    { article: "cup", count: 1, price: 12 },
  ],
});
const entry = { source: "shop.7", detailType: "Sale", detail };

const row = (what: string, unit: string, value: number, baseline: BenchRow["baseline"], target?: number): BenchRow => ({
  what,
  value,
  unit,
  baseline,
  ratio: value / baseline.value,
  ...(target === undefined ? {} : { target }),
});

/** Events that were answered, so on disk, against the same bytes written by hand. */
const published = async (bus: EventBus, directory: string): Promise<BenchRow[]> => {
  const database = new Level<string>(join(directory, "raw"));
  await database.open();
  const value = JSON.stringify(entry);
  const rows: BenchRow[] = [];
  for (const perCall of [1, 10]) {
    const entries = Array.from({ length: perCall }, () => entry);
    const { own, raw } = await bestInTurns(rounds, {
      raw: () =>
        rate(callers, roundMs, (number) =>
          database.batch(
            entries.map((_, each) => ({ type: "put", key: `${number}-${each}-${performance.now()}`, value })),
            { sync: true },
          ),
        ),
      own: () => rate(callers, roundMs, () => bus.putEvents({ entries })),
    });
    rows.push(
      row(`events put, ${perCall} a call, ${callers} callers`, "events/s", own * perCall, {
        what: "events/s in synced LevelDB batches",
        value: raw * perCall,
      }),
    );
  }
  await database.close();
  return rows;
};

/** Events looked at by so many rules, one of which matches, against merely reading the detail. */
const matched = async (): Promise<BenchRow[]> => {
  const rows: BenchRow[] = [];
  const { source, detailType } = entry;
  const envelope = { id: "e", detailType, source, account: "0", time: "t", region: "r", resources: [] };
  for (const count of [1, 1_000, 100_000]) {
    const matcher = new Matcher<number>().with(
      Array.from({ length: count }, (_, each) => {
        const shop = `shop.${each === 0 ? 7 : each + 7}`;
        const pattern = { source: [shop], detail: { kind: ["sale"], amount: [{ numeric: [">", 100] }] } };
        return { name: shop, pattern: parsePattern(JSON.stringify(pattern)), item: each };
      }),
    );
    const { own, parse } = await bestInTurns(rounds, {
      parse: () => rateSync(roundMs / 2, () => void JSON.parse(detail)),
      own: () =>
        rateSync(roundMs / 2, () => {
          const found = matcher.match(flattenEvent(envelope, detail, matcher.wants));
          if (found.length !== 1) throw new Error(`${found.length} rules match`);
        }),
    });
    const name = `events matched, rules: ${count.toLocaleString("en-US")}`;
    rows.push(row(name, "events/s", own, { what: "JSON.parse of the detail/s", value: parse }));
  }
  return rows;
};

/** Events put and delivered to a local endpoint, against posts of the same size to it. */
const delivered = async (bus: EventBus): Promise<BenchRow> => {
  let received = 0;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      received += 1;
      response.end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { connectionArn } = await bus.createConnection({
    name: "shop",
    authorizationType: ConnectionAuthorizationType.API_KEY,
    authParameters: { apiKeyAuthParameters: { apiKeyName: "x-key", apiKeyValue: "k-1" } },
  });
  const { apiDestinationArn } = await bus.createApiDestination({
    name: "shop",
    connectionArn,
    invocationEndpoint: `${url}/`,
    httpMethod: ApiDestinationHttpMethod.POST,
    invocationRateLimitPerSecond: 1_000_000,
  });
  await bus.putRule({ name: "delivered", eventPattern: '{"source":["shop.7"]}' });
  await bus.putTargets({ rule: "delivered", targets: [{ id: "shop", arn: apiDestinationArn }] });
  const poster = startPeer("event-clients", String(detail.length + 200));
  const entries = Array.from({ length: 10 }, () => entry);
  const { own, bare } = await bestInTurns(2, {
    bare: () => poster.ask<number>({ ask: "run", address: url, ms: 1_000 }),
    own: async () => {
      received = 0;
      const beginMs = performance.now();
      let put = 0;
      const putAll = async (): Promise<void> => {
        while (put < deliveredCount) {
          put += entries.length;
          await bus.putEvents({ entries });
        }
      };
      await Promise.all(Array.from({ length: 8 }, putAll));
      await eventually(() => received >= deliveredCount, "every event has been delivered", 30_000);
      return (deliveredCount / (performance.now() - beginMs)) * 1_000;
    },
  });
  poster.stop();
  server.close();
  server.closeAllConnections();
  return row("events put and delivered to one API destination", "events/s", own, {
    what: "bare undici posts/s, 32 in flight",
    value: bare,
  });
};

/** Events of a log that a sweep deletes, against events put: a log swept slower than it is filled only grows. */
const swept = async (bus: EventBus, directory: string): Promise<BenchRow> => {
  const store = await openStore({ directory: join(directory, "swept") });
  const clock = new FakeClock();
  const entries = Array.from({ length: 10 }, () => entry);
  const { own, put } = await bestInTurns(rounds, {
    put: () => rate(callers, roundMs, () => bus.putEvents({ entries })),
    own: async () => {
      for (let first = 0; first < sweptCount; first += 500) {
        clock.advance(1);
        await store.transact((transaction) => {
          for (let each = first; each < first + 500; each += 1)
            putEvent(transaction, { account: "0", ingestedMs: clock.now(), eventId: randomUUID() }, entry, []);
        });
      }
      clock.advance(defaultLimits.eventLogMs + 1);
      const beginMs = performance.now();
      await sweepLog({ store, clock, limits: defaultLimits }, new AbortController().signal);
      return (sweptCount / (performance.now() - beginMs)) * 1_000;
    },
  });
  await store.close();
  return row("events swept from the log", "events/s", own, { what: "events/s put, 10 a call", value: put * 10 }, 2);
};

/** From an event to its deliveries. */
export const group: BenchGroup = {
  name: "events",
  run: async () => {
    const directory = await mkdtemp(join(tmpdir(), "quartet-bench-"));
    const service = await startService("event-bus", directory);
    try {
      const bus = createClient(EventBusService, service.transport);
      return [
        ...(await published(bus, directory)),
        await swept(bus, directory),
        ...(await matched()),
        await delivered(bus),
      ];
    } finally {
      await service.stop();
      await rm(directory, { recursive: true });
    }
  },
};
