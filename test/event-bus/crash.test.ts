import { describe, expect, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { openShop } from "./delivery/shop.ts";
import type { EventBusClient } from "./harness.ts";
import { startServiceProcess } from "./service-process.ts";

const asked = process.env["QUARTET_ROUNDS"] ?? "3";
const rounds = asked === "long" ? 30 : Number(asked);
const writers = 4;
const callsPerRound = 60;

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
      let service = await startServiceProcess(dataDir);
      // One answer in three is a failure, so that retries are under way when the process dies.
      let count = 0;
      const shop = await openShop(service.client, { answer: () => ({ status: ++count % 3 === 0 ? 503 : 200 }) });

      for (let round = 0; round < rounds; round += 1) {
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
        service = await startServiceProcess(dataDir);
      }

      const delivered = (): Set<string> =>
        new Set(shop.till.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id));
      await eventually(
        () => [...answered].every((id) => delivered().has(id)),
        "every answered event has been sent to the target",
        60_000,
      );
      expect(answered.size).toBeGreaterThanOrEqual(rounds * callsPerRound * 2);
      expect((await service.client.listTargetsByRule({ rule: "sales" })).targets.map(({ arn }) => arn)).toEqual([
        shop.destinationArn,
      ]);
    },
    60_000 + rounds * 20_000,
  );
});
