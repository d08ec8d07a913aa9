import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { ArchiveState } from "../../../gen/quartet/eventbus/v1/archive_pb.ts";
import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import { archiveEntries, events } from "../../../services/event-bus/store/layout.ts";
import { sweepArchives, sweepLog } from "../../../services/event-bus/work/log-sweep.ts";
import { openShop } from "../delivery/shop.ts";
import type { EventBusClient, Harness } from "../harness.ts";
import { ownerAccount, refusalOf, startHarness } from "../harness.ts";

const prefix = "arn:aws:events:us-east-1:000000000000";
const defaultBus = `${prefix}:event-bus/default`;

const sweepNow = async ({ app }: Harness): Promise<void> => {
  const { signal } = new AbortController();
  await sweepLog(app, signal);
  await sweepArchives(app, signal);
};

const countRows = ({ store }: Harness): Promise<number[]> =>
  store.read(async (reader) => [
    (await reader.list(events, { prefix: [ownerAccount], limit: 1_000 })).length,
    (await reader.list(archiveEntries, { prefix: [ownerAccount], limit: 1_000 })).length,
  ]);

/** Puts events of the shop, each a minute after the one before. */
const sell = async (client: EventBusClient, startMs: number, count: number): Promise<void> => {
  for (let n = 0; n < count; n += 1) {
    const time = timestampFromMs(startMs + n * 60_000);
    await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: `{"n":${n}}`, time }] });
  }
};

/** Starts a replay of the archive `sales`; any member may be changed. */
const startReplay = (client: EventBusClient, startMs: number, endMs: number, change: object = {}) =>
  client.startReplay({
    replayName: "again",
    eventSourceArn: `${prefix}:archive/sales`,
    eventStartTime: timestampFromMs(startMs),
    eventEndTime: timestampFromMs(endMs),
    destination: { arn: defaultBus },
    ...change,
  });

test("sends the events of its time once more, marked with its name, and none into the archive", async () => {
  const { client, clock, app } = await startHarness();
  await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
  const startMs = clock.now();
  await sell(client, startMs, 120);
  const shop = await openShop(client, { destination: { invocationRateLimitPerSecond: 100_000 } });
  const made = await startReplay(client, startMs + 60_000, startMs + 119 * 60_000);
  expect([made.replayArn, made.state]).toEqual([`${prefix}:replay/again`, ReplayState.STARTING]);
  await app.jobs.idle();
  const sent = shop.till.received.map(
    ({ body }) => JSON.parse(body.toString()) as { detail: { n: number }; "replay-name": string },
  );
  expect(sent.map(({ detail }) => detail.n).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 118 }, (_, index) => index + 1),
  );
  expect(new Set(sent.map((event) => event["replay-name"]))).toEqual(new Set(["again"]));
  const described = await client.describeReplay({ replayName: "again" });
  expect(described.state).toBe(ReplayState.COMPLETED);
  expect(described.eventLastReplayedTime && timestampMs(described.eventLastReplayedTime)).toBe(startMs + 118 * 60_000);
  expect((await client.describeArchive({ archiveName: "sales" })).eventCount).toBe(120n);
});

describe("an archive", () => {
  test("keeps what matches its pattern, and tells how much", async () => {
    const harness = await startHarness();
    const { client, clock } = harness;
    const made = await client.createArchive({
      archiveName: "sales",
      eventSourceArn: defaultBus,
      eventPattern: '{"detail":{"n":[0,1]}}',
      description: "what was sold",
    });
    expect([made.archiveArn, made.state]).toEqual([`${prefix}:archive/sales`, ArchiveState.ENABLED]);
    await sell(client, clock.now(), 4);
    const described = await client.describeArchive({ archiveName: "sales" });
    expect(described).toMatchObject({
      description: "what was sold",
      retentionDays: 0,
      eventCount: 2n,
      eventSourceArn: defaultBus,
    });
    await sweepNow(harness);
    expect(await client.describeArchive({ archiveName: "sales" })).toMatchObject({
      eventCount: 2n,
      sizeBytes: described.sizeBytes,
    });
    clock.advance(10 * 60_000 + 1);
    await sweepNow(harness);
    expect(await countRows(harness)).toEqual([2, 2]);
  });

  test("is filled by a rule that nobody else changes", async () => {
    const { client } = await startHarness({ works: false });
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    const rule = await client.describeRule({ name: "Events-Archive-sales" });
    expect([rule.managedBy, rule.eventPattern]).toEqual([
      "prod.vhs.events.aws.internal",
      '{"replay-name":[{"exists":false}]}',
    ]);
    const managed = "RULE_MANAGED: Rule Events-Archive-sales is managed by prod.vhs.events.aws.internal.";
    expect(await refusalOf(client.disableRule({ name: "Events-Archive-sales" }))).toBe(managed);
    expect(await refusalOf(client.deleteRule({ name: "Events-Archive-sales" }))).toBe(managed);
  });

  test("lets events go when their retention is over, and everything when it is deleted", async () => {
    const harness = await startHarness();
    const { client, clock, app } = harness;
    await client.createArchive({ archiveName: "short", eventSourceArn: defaultBus, retentionDays: 1 });
    await client.createArchive({ archiveName: "long", eventSourceArn: defaultBus });
    await sell(client, clock.now(), 2);
    clock.advance(86_400_000 + 60_000);
    await sweepNow(harness);
    expect(await countRows(harness)).toEqual([2, 3]);
    expect((await client.describeArchive({ archiveName: "short" })).eventCount).toBe(1n);
    await client.deleteArchive({ archiveName: "long" });
    await app.jobs.idle();
    expect(await countRows(harness)).toEqual([1, 1]);
    await client.deleteArchive({ archiveName: "short" });
    await app.jobs.idle();
    expect(await countRows(harness)).toEqual([0, 0]);
    expect((await client.listRules({})).rules).toEqual([]);
  });

  test("is listed by name, bus or state, one filter at a time", async () => {
    const { client } = await startHarness({ works: false });
    await client.createEventBus({ name: "orders" });
    await client.createArchive({ archiveName: "b", eventSourceArn: defaultBus });
    await client.createArchive({ archiveName: "a", eventSourceArn: `${prefix}:event-bus/orders` });
    const names = async (filter: object): Promise<string[]> =>
      (await client.listArchives(filter)).archives.map(({ archiveName }) => archiveName);
    expect(await names({})).toEqual(["a", "b"]);
    expect(await names({ eventSourceArn: defaultBus })).toEqual(["b"]);
    expect(await names({ namePrefix: "a" })).toEqual(["a"]);
    expect(await names({ state: ArchiveState.DISABLED })).toEqual([]);
    expect(await refusalOf(client.listArchives({ namePrefix: "a", eventSourceArn: defaultBus }))).toBe(
      "SEVERAL_FILTERS: At most one filter is allowed for ListArchives. Use either : NamePrefix, EventSourceArn, State.",
    );
  });

  test("is refused, in this order", async () => {
    const { client } = await startHarness({ works: false });
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    const create = (change: object): Promise<string> =>
      refusalOf(client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus, ...change }));
    expect(await create({ eventPattern: "[]", eventSourceArn: "x" })).toContain("INVALID_EVENT_PATTERN: ");
    expect(await create({ eventSourceArn: "x" })).toBe(
      "PARAMETER_REFUSED: Parameter EventSourceArn is not valid. Reason: Must contain an event bus ARN.",
    );
    expect(await create({ eventSourceArn: `${prefix}:event-bus/gone` })).toBe(
      "EVENT_BUS_NOT_FOUND: Event bus gone does not exist.",
    );
    expect(await create({})).toBe("ARCHIVE_ALREADY_EXISTS: Archive sales already exists.");
    const missing = "ARCHIVE_NOT_FOUND: Archive gone does not exist.";
    expect(await refusalOf(client.updateArchive({ archiveName: "gone" }))).toBe("ARCHIVE_UPDATE_EMPTY");
    expect(await refusalOf(client.updateArchive({ archiveName: "gone", retentionDays: 1 }))).toBe(missing);
    expect(await refusalOf(client.describeArchive({ archiveName: "gone" }))).toBe(missing);
    expect(await refusalOf(client.deleteArchive({ archiveName: "gone" }))).toBe(missing);
  });
});

describe("startReplay, describeReplay, listReplays and cancelReplay", () => {
  test("reaches only the rules that it names", async () => {
    const { client, clock, app } = await startHarness();
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    const startMs = clock.now();
    await sell(client, startMs, 1);
    const shop = await openShop(client);
    await client.putRule({ name: "other", eventPattern: '{"source":["shop"]}' });
    await client.putTargets({ rule: "other", targets: [{ id: "1", arn: shop.destinationArn, input: '"other"' }] });
    await startReplay(client, startMs, startMs + 1, {
      destination: { arn: defaultBus, filterArns: [`${prefix}:rule/other`] },
    });
    await app.jobs.idle();
    expect(shop.till.received.map(({ body }) => body.toString())).toEqual(['"other"']);
  });

  test("goes on in smaller steps when deliveries fill a transaction", async () => {
    const { client, clock, app } = await startHarness({ limits: { deliveriesBytesMax: 20_000 } });
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    const startMs = clock.now();
    await sell(client, startMs, 7);
    const shop = await openShop(client, { target: { input: JSON.stringify("x".repeat(8_000)) } });
    await startReplay(client, startMs, startMs + 3_600_000);
    await app.jobs.idle();
    expect(shop.till.received).toHaveLength(7);
    expect((await client.describeReplay({ replayName: "again" })).state).toBe(ReplayState.COMPLETED);
  });

  test("fails where an event has more deliveries than a transaction holds, and does not try for ever", async () => {
    const { client, clock, app } = await startHarness({ limits: { deliveriesBytesMax: 8_000 } });
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    const startMs = clock.now();
    await sell(client, startMs, 2);
    const shop = await openShop(client, { target: { input: JSON.stringify("x".repeat(8_000)) } });
    await startReplay(client, startMs, startMs + 3_600_000);
    await app.jobs.idle();
    expect(shop.till.received).toEqual([]);
    const described = await client.describeReplay({ replayName: "again" });
    expect([described.state, described.stateReason?.replace(/[0-9a-f-]{36}/, "id")]).toEqual([
      ReplayState.FAILED,
      "Event id: The event matches targets whose inputs are too large together.",
    ]);
  });

  test("stops when it is cancelled", async () => {
    const idle = await startHarness({ works: false });
    const { clock, directory } = idle;
    await idle.client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    await sell(idle.client, clock.now(), 1);
    await startReplay(idle.client, clock.now(), clock.now() + 1);
    expect((await idle.client.cancelReplay({ replayName: "again" })).state).toBe(ReplayState.CANCELLING);
    const ended = "REPLAY_NOT_CANCELLABLE: Replay again is not in a valid state for this operation.";
    expect(await refusalOf(idle.client.cancelReplay({ replayName: "again" }))).toBe(ended);
    await idle.stop();
    const { client, app } = await startHarness({ directory, clock });
    await app.jobs.idle();
    const described = await client.describeReplay({ replayName: "again" });
    expect([described.state, described.eventLastReplayedTime]).toEqual([ReplayState.CANCELLED, undefined]);
    expect(
      (await client.listReplays({ state: ReplayState.CANCELLED })).replays.map(({ replayName }) => replayName),
    ).toEqual(["again"]);
    expect(await refusalOf(client.cancelReplay({ replayName: "again" }))).toBe(ended);
  });

  test("is refused, in this order", async () => {
    const { client } = await startHarness({ works: false, limits: { activeReplaysMax: 1 } });
    await client.createEventBus({ name: "orders" });
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    await startReplay(client, 0, 1);
    // change | refusal
    const refuses: [number, object, string][] = [
      [
        0,
        { destination: { arn: "x" } },
        "Parameter EventEndTime is not valid. Reason: EventStartTime must be before EventEndTime.",
      ],
      [
        1,
        { destination: { arn: "x" }, eventSourceArn: "x" },
        "Parameter Destination.Arn is not valid. Reason: Must contain an event bus ARN.",
      ],
      [
        1,
        { eventSourceArn: "x" },
        "Parameter EventSourceArn is not valid. Reason: Must contain an archive ARN of this account.",
      ],
      [
        1,
        { eventSourceArn: `${prefix}:archive/gone` },
        "Parameter EventSourceArn is not valid. Reason: Archive gone does not exist.",
      ],
      [
        1,
        { destination: { arn: `${prefix}:event-bus/orders` } },
        "Parameter Destination.Arn is not valid. Reason: Cross event bus replay is not permitted.",
      ],
      [1, {}, "Replay again already exists."],
      [1, { replayName: "more" }, "LIMIT_EXCEEDED"],
    ];
    const answers = await Promise.all(
      refuses.map(([endMs, change]) => refusalOf(startReplay(client, 0, endMs, change))),
    );
    expect(answers.map((answer) => answer.replace(/^\w+: /, ""))).toEqual(refuses.map(([, , refusal]) => refusal));
    expect(await refusalOf(client.describeReplay({ replayName: "gone" }))).toBe(
      "REPLAY_NOT_FOUND: Replay gone does not exist.",
    );
  });
});
