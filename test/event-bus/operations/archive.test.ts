import { describe, expect, test } from "vitest";

import { ArchiveState } from "../../../gen/quartet/eventbus/v1/archive_pb.ts";
import { archiveEntries, events } from "../../../services/event-bus/store/layout.ts";
import { sweepArchives, sweepLog } from "../../../services/event-bus/work/log-sweep.ts";
import type { Harness } from "../harness.ts";
import { ownerAccount, refusalOf, startHarness } from "../harness.ts";
import { arnPrefix, defaultBus, sell } from "./sales.ts";

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
    expect([made.archiveArn, made.state]).toEqual([`${arnPrefix}:archive/sales`, ArchiveState.ENABLED]);
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
    await client.createArchive({ archiveName: "a", eventSourceArn: `${arnPrefix}:event-bus/orders` });
    const names = async (filter: object): Promise<string[]> =>
      (await client.listArchives(filter)).archives.map(({ archiveName }) => archiveName);
    expect(await names({})).toEqual(["a", "b"]);
    expect(await names({ eventSourceArn: defaultBus })).toEqual(["b"]);
    expect(await names({ namePrefix: "a" })).toEqual(["a"]);
    expect(await names({ state: ArchiveState.DISABLED })).toEqual([]);
    for (const arn of [`${arnPrefix}:event-bus/gone`, "gone"])
      expect(await refusalOf(client.listArchives({ eventSourceArn: arn }))).toBe(
        "EVENT_BUS_NOT_FOUND: Event bus gone does not exist.",
      );
    const [elsewhere, foreign] = ["eu-west-1:000000000000", "us-east-1:111111111111"].map(
      (place) => `arn:aws:events:${place}:event-bus/orders`,
    );
    expect(await refusalOf(client.listArchives({ eventSourceArn: elsewhere }))).toBe(
      `EVENT_BUS_NOT_FOUND: Event bus ${elsewhere} does not exist.`,
    );
    expect(await refusalOf(client.listArchives({ eventSourceArn: foreign }))).toBe(
      "EVENT_BUS_NOT_FOUND: Event bus orders does not exist.",
    );
    expect(await refusalOf(client.listArchives({ namePrefix: "a", eventSourceArn: defaultBus }))).toBe(
      "SEVERAL_FILTERS: At most one filter is allowed for ListArchives. Use either : State, EventSourceArn, or NamePrefix.",
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
    expect(await create({ eventSourceArn: `${arnPrefix}:event-bus/gone` })).toBe(
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
