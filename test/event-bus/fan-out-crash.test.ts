import { expect, test } from "vitest";

import { untilNoneLeft } from "../support/eventually.ts";
import { rounds } from "../support/rounds.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { openShop } from "./delivery/shop.ts";
import type { EventBusClient } from "./harness.ts";
import { startProcess } from "./harness.ts";

const kills = rounds(2, 200);
const writers = 2;
const callsPerRound = 12;
const settings = { QUARTET_EVENT_BUS_PRIVATE_TARGETS: "allow" };

/** The rules of each source; each has five targets. Events of the second one are delivered in parts. */
const rulesOf = { few: 2, many: 14 };
const targetsOfRule = 5;

type Source = keyof typeof rulesOf;

/** The names of the targets to which the events of a source go. */
const targetsOf = (source: Source): string[] =>
  Array.from({ length: rulesOf[source] * targetsOfRule }, (_, n) => `${source}-${Math.floor(n / 5)}/${n % 5}`);

/** Rules whose targets send their own names with the id of the event. */
const addRules = async (client: EventBusClient, source: Source, arn: string): Promise<void> => {
  for (let rule = 0; rule < rulesOf[source]; rule += 1) {
    const name = `${source}-${rule}`;
    await client.putRule({ name, eventPattern: JSON.stringify({ source: [source] }) });
    const targets = Array.from({ length: targetsOfRule }, (_, n) => ({
      id: String(n),
      arn,
      inputTransformer: {
        inputPathsMap: { id: "$.id" },
        inputTemplate: `{"delivery": "<id> ${name}/${n}"}`,
      },
    }));
    await client.putTargets({ rule: name, targets });
  }
};

/** Puts an event of each source, again and again, until the service is gone. */
const put = async (client: EventBusClient, onAnswer: (source: Source, id: string) => void): Promise<void> => {
  const sources: readonly Source[] = ["few", "many"];
  for (;;) {
    try {
      const entries = sources.map((source) => ({ source, detailType: "Sale", detail: "{}" }));
      const answer = await client.putEvents({ entries });
      for (const [index, source] of sources.entries()) onAnswer(source, answer.entries[index]?.eventId ?? "");
    } catch {
      return;
    }
  }
};

test(
  "an answered event reaches each of its 10 or 70 targets, however often the process is killed",
  async () => {
    const dataDir = await temporaryDirectory();
    let service = await startProcess(dataDir, settings);
    const seen = new Set<string>();
    const delivered = new Set<string>();
    const missing = new Set<string>();
    let accepted = 0;
    const { destinationArn } = await openShop(service.client, {
      answer: ({ body }) => {
        const { delivery } = JSON.parse(body.toString()) as { delivery: string };
        // Some are refused when they come first, so that retries are under way when the process dies.
        const isRefused = !seen.has(delivery) && seen.size % 7 === 0;
        seen.add(delivery);
        if (isRefused) return { status: 503 };
        accepted += 1;
        delivered.add(delivery);
        missing.delete(delivery);
        return { status: 200 };
      },
      destination: { invocationRateLimitPerSecond: 100_000 },
    });
    for (const source of ["few", "many"] as const) await addRules(service.client, source, destinationArn);

    let answered = 0;
    for (let round = 0; round < kills; round += 1) {
      const enough = Promise.withResolvers<void>();
      const wanted = answered + 2 * callsPerRound;
      const onAnswer = (source: Source, id: string): void => {
        answered += 1;
        for (const target of targetsOf(source)) if (!delivered.has(`${id} ${target}`)) missing.add(`${id} ${target}`);
        if (answered >= wanted) enough.resolve();
      };
      const putting = Array.from({ length: writers }, () => put(service.client, onAnswer));
      await enough.promise;
      await service.kill();
      await Promise.all(putting);
      service = await startProcess(dataDir, settings);
    }

    await untilNoneLeft(() => missing.size, "each target has accepted every answered event");
    const twice = accepted - delivered.size;
    console.info(
      `${answered} events answered, ${delivered.size} deliveries, ${missing.size} lost, ` +
        `${twice} accepted once more, ${kills} kills`,
    );
    expect(answered).toBeGreaterThanOrEqual(kills * callsPerRound * 2);
  },
  60_000 + kills * 30_000,
);
