import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Client } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";
import { Level } from "level";

import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { defaultLimits } from "../../services/event-bus/limits.ts";
import { putEvent } from "../../services/event-bus/store/event.ts";
import { sweepLog } from "../../services/event-bus/work/log-sweep.ts";
import { openStore } from "../../services/kit/store/store.ts";
import { FakeClock } from "../support/fake-clock.ts";
import type { BenchGroup, BenchRow } from "./bench.ts";
import { startService } from "./peers/service.ts";
import { entry, row } from "./peers/sale.ts";
import { bestInTurns, rate } from "./peers/turns.ts";

type EventBus = Client<typeof EventBusService>;

const callers = 64;
const rounds = 3;
const roundMs = 400;
const sweptCount = 20_000;
/** Events that were answered, so on disk, against the same bytes written by hand. */
const published = async (bus: EventBus, directory: string): Promise<BenchRow[]> => {
  const database = new Level<string>(join(directory, "raw"));
  await database.open();
  const value = JSON.stringify(entry);
  const rows: BenchRow[] = [];
  for (const [perCall, callerCount] of [1, 10].flatMap((each) => [1, 16, 64].map((count) => [each, count] as const))) {
    const entries = Array.from({ length: perCall }, () => entry);
    const { own, raw } = await bestInTurns(rounds, {
      raw: () =>
        rate(callerCount, roundMs, (number) =>
          database.batch(
            entries.map((_, each) => ({ type: "put", key: `${number}-${each}-${performance.now()}`, value })),
            { sync: true },
          ),
        ),
      own: () => rate(callerCount, roundMs, () => bus.putEvents({ entries })),
    });
    rows.push(
      row(`events put, ${perCall} a call, callers: ${callerCount}`, "events/s", own * perCall, {
        what: "events/s in synced LevelDB batches",
        value: raw * perCall,
      }),
    );
  }
  await database.close();
  return rows;
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

/** Events put, and the log of them. */
export const group: BenchGroup = {
  name: "events",
  run: async () => {
    const directory = await mkdtemp(join(tmpdir(), "quartet-bench-"));
    const service = await startService("event-bus", directory);
    try {
      const bus = createClient(EventBusService, service.transport);
      return [...(await published(bus, directory)), await swept(bus, directory)];
    } finally {
      await service.stop();
      await rm(directory, { recursive: true });
    }
  },
};
