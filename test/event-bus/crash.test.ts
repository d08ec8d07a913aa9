import { describe, expect, test } from "vitest";

import { DeadLetterRedriveState } from "../../gen/quartet/eventbus/v1/dead_letter_pb.ts";
import { eventually, untilNoneLeft } from "../support/eventually.ts";
import { rounds } from "../support/rounds.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { openShop } from "./delivery/shop.ts";
import type { EventBusClient } from "./harness.ts";
import { startProcess } from "./harness.ts";

const kills = rounds(3, 200);
const replayKills = rounds(2, 200);
const replayedCount = 300;
const redriveKills = rounds(3, 20);
const letterCount = 400;
const orderKeys = 10;
const salesOfKey = 40;
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
      /** The events that were accepted, how often any was, and those that were answered and not accepted yet. */
      const delivered = new Set<string>();
      const missing = new Set<string>();
      let accepted = 0;
      const shop = await openShop(service.client, {
        answer: ({ body }) => {
          const id = idOf(body);
          const isRefused = !seen.has(id) && seen.size % 3 === 0;
          if (!isRefused) {
            accepted += 1;
            delivered.add(id);
            missing.delete(id);
          }
          seen.add(id);
          return { status: isRefused ? 503 : 200 };
        },
        destination: { invocationRateLimitPerSecond: 100_000 },
      });

      for (let round = 0; round < kills; round += 1) {
        let calls = 0;
        const enough = Promise.withResolvers<void>();
        const onAnswer = (ids: string[]): void => {
          for (const id of ids) {
            answered.add(id);
            if (!delivered.has(id)) missing.add(id);
          }
          if (++calls >= callsPerRound) enough.resolve();
        };
        const selling = Array.from({ length: writers }, () => sell(service.client, onAnswer));
        await enough.promise;
        await service.kill();
        await Promise.all(selling);
        service = await startProcess(dataDir, settings);
      }

      await untilNoneLeft(() => missing.size, "the target has accepted every answered event");
      const twice = accepted - delivered.size;
      console.info(
        `${answered.size} events answered, ${missing.size} lost, ${twice} accepted once more, ${kills} kills`,
      );
      expect(answered.size).toBeGreaterThanOrEqual(kills * callsPerRound * 2);
      expect((await service.client.listTargetsByRule({ rule: "sales" })).targets.map(({ arn }) => arn)).toEqual([
        shop.destinationArn,
      ]);
    },
    60_000 + kills * 20_000,
  );
});

describe("a replay and a schedule", () => {
  test(
    "go on however often the process is killed: each archived event is replayed, and runs are made",
    async () => {
      const dataDir = await temporaryDirectory();
      let service = await startProcess(dataDir, settings);
      const sold = new Set<string>();
      const replayed = new Map<string, Set<string>>();
      let requests = 0;
      const shop = await openShop(service.client, {
        answer: ({ body }) => {
          const event = JSON.parse(body.toString()) as { id: string; "replay-name"?: string; source: string };
          const name = event.source === "aws.events" ? "ticks" : (event["replay-name"] ?? "");
          replayed.set(name, (replayed.get(name) ?? new Set()).add(event.id));
          requests += 1;
          return { status: 200 };
        },
        destination: { invocationRateLimitPerSecond: 100_000 },
      });
      const bus = "arn:aws:events:us-east-1:000000000000:event-bus/default";
      await service.client.createArchive({ archiveName: "sales", eventSourceArn: bus });
      await service.client.putRule({ name: "tick", scheduleExpression: "rate(1 minute)" });
      const tickMs = Date.now();
      await service.client.putTargets({ rule: "tick", targets: [{ id: "till", arn: shop.destinationArn }] });
      const entry = { source: "shop", detailType: "Sale", detail: "{}" };
      while (sold.size < replayedCount) {
        const { entries } = await service.client.putEvents({ entries: Array.from({ length: 10 }, () => entry) });
        for (const { eventId = "" } of entries) sold.add(eventId);
      }
      const beginMs = Date.now();
      const { archiveArn } = await service.client.describeArchive({ archiveName: "sales" });
      for (let round = 0; round < replayKills; round += 1) {
        await service.client.startReplay({
          replayName: `round-${round}`,
          eventSourceArn: archiveArn,
          eventStartTime: { seconds: BigInt(Math.floor(beginMs / 1_000) - 600), nanos: 0 },
          eventEndTime: { seconds: BigInt(Math.floor(beginMs / 1_000) + 600), nanos: 0 },
          destination: { arn: bus },
        });
        await eventually(() => (replayed.get(`round-${round}`)?.size ?? 0) > 20 * (round % 4), "the replay has begun");
        await service.kill();
        service = await startProcess(dataDir, settings);
      }
      for (let round = 0; round < replayKills; round += 1)
        await untilNoneLeft(
          () => sold.size - (replayed.get(`round-${round}`)?.size ?? 0),
          `all of replay ${round} has been sent`,
          120_000,
        );
      // A run that was due while the process was away is made at its start: none is lost, and none is made twice.
      const runs = () => replayed.get("ticks")?.size ?? 0;
      const minutes = () => Math.floor((Date.now() - tickMs) / 60_000);
      await eventually(() => runs() >= minutes() - 1, "the runs of the schedule were made");
      const repeated = requests - [...replayed.values()].reduce((sum, ids) => sum + ids.size, 0);
      console.info(
        `${replayKills} kills during replays of ${replayedCount} events and ${runs()} runs of a schedule in ` +
          `${minutes()} minutes: 0 lost, ${repeated} of ${requests} deliveries made once more`,
      );
      expect(runs()).toBeLessThanOrEqual(minutes() + 1);
    },
    60_000 + replayKills * 60_000,
  );
});

describe("a redrive of dead letters", () => {
  test(
    "delivers each letter again however often the process is killed, and moves each exactly once",
    async () => {
      const dataDir = await temporaryDirectory();
      let service = await startProcess(dataDir, settings);
      const accepted = new Map<string, number>();
      let isOpen = false;
      await openShop(service.client, {
        answer: ({ body }) => {
          const id = idOf(body);
          if (isOpen) accepted.set(id, (accepted.get(id) ?? 0) + 1);
          return { status: isOpen ? 200 : 404 };
        },
        destination: { invocationRateLimitPerSecond: 100_000 },
      });
      const entry = { source: "shop", detailType: "Sale", detail: "{}" };
      const sold = new Set<string>();
      while (sold.size < letterCount) {
        const { entries } = await service.client.putEvents({ entries: Array.from({ length: 10 }, () => entry) });
        for (const { eventId = "" } of entries) sold.add(eventId);
      }
      const lettersLeft = async () =>
        Number((await service.client.listDeadLetterGroups({})).deadLetterGroups[0]?.letterCount);
      await eventually(async () => (await lettersLeft()) === letterCount, "every sale is a dead letter", 60_000);

      isOpen = true;
      const maxLettersPerSecond = 100;
      await service.client.startDeadLetterRedrive({ redriveName: "again", maxLettersPerSecond });
      const redrive = async () => (await service.client.describeDeadLetterRedrive({ redriveName: "again" })).redrive;
      for (let round = 0; round < redriveKills; round += 1) {
        const before = accepted.size;
        const wanted = Math.min(before + letterCount / (2 * redriveKills), letterCount);
        await eventually(() => accepted.size >= wanted, "the redrive goes on", 60_000);
        await service.kill();
        service = await startProcess(dataDir, settings);
      }
      await untilNoneLeft(() => sold.size - accepted.size, "all letters were delivered again");
      await eventually(
        async () => (await redrive())?.state === DeadLetterRedriveState.COMPLETED,
        "the redrive ends after its last letter",
      );
      expect(await redrive()).toMatchObject({ letterCount: 400n, redrivenCount: 400n, failedCount: 0n });
      expect((await service.client.listDeadLetters({})).deadLetters).toEqual([]);
      const twice = [...accepted.values()].reduce((sum, count) => sum + count - 1, 0);
      console.info(
        `${redriveKills} kills during a redrive of ${letterCount} letters: 0 lost, ${twice} accepted once more`,
      );
      expect(Math.max(...accepted.values())).toBeLessThanOrEqual(1 + redriveKills);
    },
    60_000 + redriveKills * 20_000,
  );
});

describe("an entry with a deduplication id", () => {
  test(
    "is one event, however often its call is repeated because the process was killed",
    async () => {
      const dataDir = await temporaryDirectory();
      let service = await startProcess(dataDir, settings);
      /** The ids of the events of each sale that were delivered. */
      const delivered = new Map<number, Set<string>>();
      await openShop(service.client, {
        answer: ({ body }) => {
          const { id, detail } = JSON.parse(body.toString()) as { id: string; detail: { n: number } };
          delivered.set(detail.n, (delivered.get(detail.n) ?? new Set()).add(id));
          return { status: 200 };
        },
        destination: { invocationRateLimitPerSecond: 100_000 },
      });
      let count = 0;
      let repeated = 0;
      const sellOnce = async (n: number): Promise<void> => {
        const entry = { source: "shop", detailType: "Sale", detail: `{"n":${n}}`, deduplicationId: `sale-${n}` };
        for (;;) {
          const { client } = service;
          const isPut = await client.putEvents({ entries: [entry] }).then(
            () => true,
            () => false,
          );
          if (isPut) return;
          repeated += 1;
          await eventually(() => service.client !== client, "the service runs again", 60_000);
        }
      };
      const sellUntil = async (limit: number): Promise<void> => {
        while (count < limit) await sellOnce(count++);
      };
      for (let round = 1; round <= redriveKills; round += 1) {
        const selling = Array.from({ length: writers }, () => sellUntil(round * 200));
        await eventually(() => count >= round * 200 - 100, "sales are made", 60_000);
        await service.kill();
        service = await startProcess(dataDir, settings);
        await Promise.all(selling);
      }
      await untilNoneLeft(() => count - delivered.size, "every sale is delivered");
      console.info(`${count} sales, ${repeated} calls repeated after ${redriveKills} kills, each one event`);
      expect([...delivered.values()].filter((ids) => ids.size > 1)).toEqual([]);
      expect(repeated).toBeGreaterThan(0);
    },
    60_000 + redriveKills * 20_000,
  );
});

describe("ordered deliveries", () => {
  test(
    "of each key follow one another however often the process is killed",
    async () => {
      const dataDir = await temporaryDirectory();
      let service = await startProcess(dataDir, settings);
      const accepted = Array.from({ length: orderKeys }, (): number[] => []);
      let requests = 0;
      await openShop(service.client, {
        answer: ({ body }) => {
          const { detail } = JSON.parse(body.toString()) as { detail: { key: number; n: number } };
          requests += 1;
          const isRefused = requests % 7 === 0;
          if (!isRefused) accepted[detail.key]?.push(detail.n);
          return { status: isRefused ? 503 : 200 };
        },
        destination: { invocationRateLimitPerSecond: 100_000 },
        target: { orderedDelivery: { keyPath: "$.detail.key" } },
      });
      for (let n = 0; n < salesOfKey; n += 1)
        await service.client.putEvents({
          entries: Array.from({ length: orderKeys }, (_, key) => ({
            source: "shop",
            detailType: "Sale",
            detail: JSON.stringify({ key, n }),
          })),
        });
      for (let round = 1; round <= redriveKills; round += 1) {
        const wanted = (orderKeys * salesOfKey * round) / (redriveKills + 1);
        await eventually(() => accepted.flat().length >= wanted, "deliveries go on", 120_000);
        await service.kill();
        service = await startProcess(dataDir, settings);
      }
      const acceptedOnce = () => accepted.reduce((sum, numbers) => sum + new Set(numbers).size, 0);
      await untilNoneLeft(
        () => orderKeys * salesOfKey - acceptedOnce(),
        "every sale of every key is accepted",
        120_000,
      );
      const inOrder = Array.from({ length: salesOfKey }, (_, n) => n);
      // A delivery that was accepted when the process died is made again before the next one of its key.
      const withoutRepeats = accepted.map((numbers) => numbers.filter((n, index) => n !== numbers[index - 1]));
      expect(withoutRepeats).toEqual(Array.from({ length: orderKeys }, () => inOrder));
      const twice = accepted.flat().length - orderKeys * salesOfKey;
      console.info(
        `${redriveKills} kills during ${orderKeys * salesOfKey} ordered deliveries: ${twice} accepted once more`,
      );
    },
    120_000 + redriveKills * 60_000,
  );
});
