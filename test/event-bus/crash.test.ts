import { describe, expect, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { rounds } from "../support/rounds.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { openShop } from "./delivery/shop.ts";
import type { EventBusClient } from "./harness.ts";
import { startProcess } from "./harness.ts";

const kills = rounds(3, 30);
const writers = 4;
const callsPerRound = 60;
/** The shop's till is on this machine. */
const settings = { QUARTET_EVENT_BUS_PRIVATE_TARGETS: "allow" };

const idOf = (body: Buffer): string => (JSON.parse(body.toString()) as { id: string }).id;

/** Puts events until the service is gone; tells the id of each that was answered. */
const sell = async (client: EventBusClient, onAnswer: (ids: string[]) => void): Promise<void> => {
  for (let n = 0; ; n += 1) {
    const entry = { source: "shop", detailType: "Sale", detail: `{"n":${n}}` };
    try {
      const { entries } = await client.putEvents({ entries: [entry, entry] });
      onAnswer(entries.map(({ eventId }) => eventId ?? ""));
    } catch {
      return;
    }
  }
};

describe("an answered event", () => {
  test(
    "is delivered however often the process is killed, and so is every rule and target kept",
    async () => {
      const dataDir = await temporaryDirectory();
      const answered = new Set<string>();
      let service = await startProcess(dataDir, settings);
      // One event in three is refused when it comes first, so that retries are under way when the process dies; no
      // event is refused so often that it waits out the longer delays.
      const seen = new Set<string>();
      const shop = await openShop(service.client, {
        answer: ({ body }) => {
          const id = idOf(body);
          const isRefused = !seen.has(id) && seen.size % 3 === 0;
          seen.add(id);
          return { status: isRefused ? 503 : 200 };
        },
        destination: { invocationRateLimitPerSecond: 100_000 },
      });

      for (let round = 0; round < kills; round += 1) {
        let calls = 0;
        const enough = Promise.withResolvers<void>();
        const onAnswer = (ids: string[]): void => {
          for (const id of ids) answered.add(id);
          if (++calls >= callsPerRound) enough.resolve();
        };
        const selling = Array.from({ length: writers }, () => sell(service.client, onAnswer));
        await enough.promise;
        await service.kill();
        await Promise.all(selling);
        service = await startProcess(dataDir, settings);
      }

      const delivered = (): Set<string> => new Set(shop.till.received.map(({ body }) => idOf(body)));
      await eventually(
        () => {
          const present = delivered();
          return [...answered].every((id) => present.has(id));
        },
        "every answered event has been sent to the target",
        60_000,
      );
      console.info(`${answered.size} events answered, ${shop.till.received.length} requests sent, ${kills} kills`);
      expect(answered.size).toBeGreaterThanOrEqual(kills * callsPerRound * 2);
      expect((await service.client.listTargetsByRule({ rule: "sales" })).targets.map(({ arn }) => arn)).toEqual([
        shop.destinationArn,
      ]);
    },
    60_000 + kills * 20_000,
  );
});
