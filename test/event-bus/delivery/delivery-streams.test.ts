import { randomUUID } from "node:crypto";

import { create } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test } from "vitest";

import { EventRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { TargetSchema } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { DeliveryAttempt } from "../../../services/event-bus/delivery/connector.ts";
import { DeliveryStreams, deliveryStreamConnector } from "../../../services/event-bus/delivery/delivery-streams.ts";
import type { DeliveryStream } from "../../../services/event-bus/domain/delivery-stream.ts";
import { streamObjectKey } from "../../../services/event-bus/domain/delivery-stream.ts";
import type { Engine } from "../../../services/kit/store/engine.ts";
import { defaultLimits, openStore, storeOver } from "../../../services/kit/store/store.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { rounds } from "../../support/rounds.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { countingEngine } from "../../kit/store/counting-engine.ts";
import type { EventBusClient, HarnessOptions } from "../harness.ts";
import { startHarness, startProcess } from "../harness.ts";
import { startProcess as startObjectStorage } from "../../object-storage/harness.ts";

const kills = rounds(2, 20);
const streamArn = "arn:aws:firehose:us-east-1:000000000000:deliverystream/sales";
const sales: DeliveryStream = {
  account: "000000000000",
  name: "sales",
  bucket: "archive",
  prefix: "sales/",
  bytesMax: 1_000,
  ageMsMax: 300_000,
};

interface Written {
  readonly key: string;
  readonly lines: readonly string[];
}

/** A service with a declared stream; `written` has its objects. While `isDown` none can be put; `refused` counts. */
const startStreaming = async (options: HarnessOptions = {}) => {
  const written: Written[] = [];
  const storage = { isDown: false, refused: 0 };
  const harness = await startHarness({
    ...options,
    deliveryStreams: {
      declared: [sales],
      put: (account, { bucket, key, body }) => {
        if (storage.isDown) {
          storage.refused += 1;
          return Promise.reject(new Error("object storage is down"));
        }
        expect([account, bucket]).toEqual(["000000000000", "archive"]);
        written.push({ key, lines: Buffer.from(body).toString().trimEnd().split("\n") });
        return Promise.resolve();
      },
    },
  });
  return { ...harness, written, storage };
};

const addTarget = async (client: EventBusClient): Promise<void> => {
  await client.putRule({ name: "all", eventPattern: '{"source":["shop"]}' });
  await client.putTargets({ rule: "all", targets: [{ id: "s", arn: streamArn, inputPath: "$.detail" }] });
};

/** Details of 100 bytes each. */
const detailOf = (n: number): string => JSON.stringify({ n, text: "x".repeat(83 - String(n).length) });

const sell = async (client: EventBusClient, from: number, count: number): Promise<void> => {
  for (let n = from; n < from + count; n += 1)
    await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: detailOf(n) }] });
};

const numbersOf = (written: readonly Written[]): number[][] =>
  written.map(({ lines }) => lines.map((line) => (JSON.parse(line) as { n: number }).n).toSorted((a, b) => a - b));

/** The connector of the stream, which has room for eight records of 8,003 bytes. */
const openConnector = async (engine?: Engine, bytesMax = sales.bytesMax) => {
  const store =
    engine === undefined
      ? await openStore({ directory: await temporaryDirectory(), sync: false })
      : storeOver(engine, defaultLimits);
  onTestFinished(() => store.close());
  const clock = new FakeClock();
  const parts = { store, clock, ids: { uuid: randomUUID }, log: silentLogger };
  const streams = new DeliveryStreams({ ...parts, streams: [{ ...sales, bytesMax }], put: () => Promise.resolve() });
  const connector = deliveryStreamConnector(streams, () => Promise.reject(new Error("no other target")));
  const deliver = async (n: number): Promise<void> => {
    const outcome = await connector(attemptOf(n));
    if (outcome.kind !== "delivered") throw new Error(`delivery ${n} was not accepted`);
    await store.transact((transaction) => outcome.apply?.(transaction));
  };
  return { store, clock, streams, connector, deliver };
};

const attemptOf = (n: number): DeliveryAttempt => ({
  account: "000000000000",
  event: create(EventRecordSchema, { id: `event-${n}`, source: "shop", detailType: "Sale", detail: "{}" }),
  target: create(TargetSchema, { id: "s", arn: streamArn, input: JSON.stringify("x".repeat(8_000)) }),
  ruleArn: "arn:aws:events:us-east-1:000000000000:rule/all",
  ruleName: "all",
  ingestedMs: 0,
  deliveryId: `delivery-${n}`,
  signal: new AbortController().signal,
});

describe("a declared delivery stream", () => {
  test("is written as objects of its size, and what is left when it is old enough", async () => {
    const { client, app, clock, written } = await startStreaming();
    await addTarget(client);
    await sell(client, 0, 25);
    await app.jobs.idle();
    await eventually(() => {
      clock.advance(1_000);
      return written.length === 2;
    }, "two objects are written");
    expect(written.map(({ lines }) => lines.length)).toEqual([10, 10]);
    await eventually(() => {
      clock.advance(30_000);
      return written.length === 3;
    }, "the rest is written");
    expect(
      numbersOf(written)
        .flat()
        .toSorted((a, b) => a - b),
    ).toEqual(Array.from({ length: 25 }, (_none, n) => n));
    expect(written[0]?.key).toMatch(/^sales\/2026\/01\/02\/03\/sales-2026-01-02-03-04-05-[0-9a-f-]{36}$/);
  });

  test("reads one record at a time until it has enough of them, or an old one", async () => {
    const { engine, scanned } = countingEngine();
    const { clock, streams, deliver } = await openConnector(engine, 1_000_000);
    for (const n of [1, 2, 3]) await deliver(n);
    const { signal } = new AbortController();
    const before = scanned();
    await streams.writeDue(signal);
    expect(scanned() - before).toBe(1);
    clock.advance(300_000);
    await streams.writeDue(signal);
    expect(scanned() - before).toBeGreaterThan(3);
  });

  test("waits while no object can be put, also over a restart, and loses nothing", async () => {
    const first = await startStreaming();
    first.storage.isDown = true;
    await addTarget(first.client);
    await sell(first.client, 0, 15);
    await first.app.jobs.idle();
    first.clock.advance(600_000);
    await first.stop();
    const second = await startStreaming({ directory: first.directory, clock: first.clock });
    await eventually(() => {
      second.clock.advance(1_000);
      return second.written.length === 2;
    }, "all is written");
    expect(first.written).toEqual([]);
    expect(numbersOf(second.written).flat()).toHaveLength(15);
  });

  test.each([
    ["its records came", false],
    ["a write failed", true],
  ])("is written soon after the clock is set back, if it was ahead when %s", async (_what, fails) => {
    const { client, app, clock, written, storage } = await startStreaming();
    storage.isDown = fails;
    await addTarget(client);
    await sell(client, 0, fails ? 10 : 5);
    await app.jobs.idle();
    if (fails)
      await eventually(() => {
        clock.advance(1_000);
        return storage.refused > 0;
      }, "a write fails");
    clock.setBack(86_400_000);
    storage.isDown = false;
    await eventually(() => {
      clock.advance(1_000);
      return written.length === 1;
    }, "the object is written");
    expect(numbersOf(written)).toEqual([Array.from({ length: fails ? 10 : 5 }, (_none, n) => n)]);
  });

  test("accepts no more deliveries once it has too much to write, which are delivered later", async () => {
    const { client, app, clock, written, storage, deadLetters } = await startStreaming();
    storage.isDown = true;
    await client.putRule({ name: "all", eventPattern: '{"source":["shop"]}' });
    await client.putTargets({
      rule: "all",
      targets: [{ id: "s", arn: streamArn, input: JSON.stringify("x".repeat(8_000)) }],
    });
    await sell(client, 0, 12);
    await app.jobs.idle();
    expect(app.jobs.stats().kinds["delivery"]).toMatchObject({ done: 8 });
    storage.isDown = false;
    await eventually(async () => {
      clock.advance(10_000);
      await app.jobs.idle();
      return written.length === 12;
    }, "all is written");
    expect(await deadLetters()).toEqual([]);
  });

  test("accepts no delivery for the room that another one of the same time was accepted for", async () => {
    const { clock, connector, deliver, store } = await openConnector();
    for (let n = 0; n < 7; n += 1) await deliver(n);
    const eighth = await connector(attemptOf(8));
    const ninth = { kind: "retry", code: "THROTTLING", message: "The delivery stream waits for object storage." };
    expect(await connector(attemptOf(9))).toEqual(ninth);
    // A delivery may be tried again, and one that is stored after all has its room no more than once.
    expect(await connector(attemptOf(8))).toMatchObject({ kind: "delivered" });
    if (eighth.kind === "delivered") await store.transact((transaction) => eighth.apply?.(transaction));
    expect(await connector(attemptOf(9))).toEqual(ninth);
    clock.advance(600_000);
    expect(await connector(attemptOf(9))).toEqual(ninth);
  });

  test("keeps room for an accepted delivery that is never stored for a minute", async () => {
    const { clock, connector, deliver } = await openConnector();
    for (let n = 0; n < 7; n += 1) await deliver(n);
    expect(await connector(attemptOf(8))).toMatchObject({ kind: "delivered" });
    clock.advance(59_999);
    expect(await connector(attemptOf(9))).toMatchObject({ kind: "retry" });
    clock.advance(1);
    expect(await connector(attemptOf(9))).toMatchObject({ kind: "delivered" });
  });

  test("is the only one: others leave a dead letter where no endpoint is configured", async () => {
    const { client, app, deadLetters } = await startStreaming();
    await client.putRule({ name: "all", eventPattern: '{"source":["shop"]}' });
    await client.putTargets({ rule: "all", targets: [{ id: "s", arn: `${streamArn}-2` }] });
    await sell(client, 0, 1);
    await app.jobs.idle();
    expect((await deadLetters()).map(({ letter }) => letter.errorCode)).toEqual(["NO_RESOURCE"]);
  });

  test("has one object for the records that begin with the same one, whenever it is written", () => {
    expect(streamObjectKey({ prefix: "", name: "s" }, 1_767_323_045_999, "r")).toBe(
      "2026/01/02/03/s-2026-01-02-03-04-05-r",
    );
  });
});

/** All lines of the bucket's objects. */
const linesIn = async (
  storage: Awaited<ReturnType<typeof startObjectStorage>>,
  objects: Map<string, readonly string[]>,
): Promise<string[]> => {
  const { contents } = await storage.client.listObjectsV2({ bucket: "archive", prefix: "sales/" });
  for (const { key = "" } of contents) {
    if (objects.has(key)) continue;
    const pieces: Uint8Array[] = [];
    for await (const { body } of storage.client.getObject({ bucket: "archive", key })) pieces.push(body);
    objects.set(key, Buffer.concat(pieces).toString().trimEnd().split("\n"));
  }
  return [...objects.values()].flat();
};

test(
  "every answered event is in the objects of a delivery stream however often the event bus is killed",
  async () => {
    const dataDir = await temporaryDirectory();
    const storage = await startObjectStorage(dataDir);
    await storage.client.createBucket({ bucket: "archive" });
    const settings = {
      QUARTET_EVENT_BUS_OBJECT_STORAGE_ADDRESS: storage.url,
      QUARTET_EVENT_BUS_DELIVERY_STREAMS: JSON.stringify({
        "000000000000/sales": { bucket: "archive", prefix: "sales/", seconds: 1 },
      }),
    };
    let bus = await startProcess(dataDir, settings);
    await addTarget(bus.client);
    const answered = new Set<string>();
    for (let round = 0; round < kills; round += 1) {
      const { client } = bus;
      const selling = Array.from({ length: 4 }, async (_none, writer) => {
        for (let n = 0; ; n += 1) {
          const detail = JSON.stringify({ n: `${round}-${writer}-${n}` });
          const isAnswered = await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail }] }).then(
            () => true,
            () => false,
          );
          if (!isAnswered) return;
          answered.add(detail);
        }
      });
      // The kills come while objects are put, which begins a second after the first event.
      const begin = answered.size;
      await eventually(() => answered.size > begin + 300 + 100 * (round % 5), "events are put");
      await bus.kill();
      await Promise.all(selling);
      bus = await startProcess(dataDir, settings);
    }
    const objects = new Map<string, readonly string[]>();
    const lines = await eventually(
      async () => {
        const present = new Set(await linesIn(storage, objects));
        return [...answered].every((detail) => present.has(detail)) && [...objects.values()].flat();
      },
      "all is in objects",
      60_000,
    );
    console.info(
      `${answered.size} events answered, 0 lost, ${lines.length - new Set(lines).size} written twice, ` +
        `${objects.size} objects, ${kills} kills`,
    );
    expect(answered.size).toBeGreaterThan(300 * kills);
  },
  60_000 + kills * 20_000,
);
