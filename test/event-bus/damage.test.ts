import { expect, test } from "vitest";

import { DeadLetterRedriveState } from "../../gen/quartet/eventbus/v1/dead_letter_pb.ts";
import { ReplayState } from "../../gen/quartet/eventbus/v1/replay_pb.ts";
import {
  archiveCounts,
  archiveEntries,
  buses,
  busRevisions,
  deadLetters,
  events,
  globalEndpoints,
  streamRecords,
} from "../../services/event-bus/store/layout.ts";
import { listHealthChecks } from "../../services/event-bus/store/global-endpoint.ts";
import { sweepArchives } from "../../services/event-bus/work/log-sweep.ts";
import type { KeyTuple, Table } from "../../services/kit/store/table.ts";
import { capturingLogger } from "../support/capturing-logger.ts";
import { damageStoredRecord } from "../support/damaged-record.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { openShop } from "./delivery/shop.ts";
import type { Harness, HarnessOptions } from "./harness.ts";
import { ownerAccount, startHarness } from "./harness.ts";
import { defaultBus, sell, startReplay } from "./operations/sales.ts";

const owner = ownerAccount;
const dayMs = 24 * 60 * 60 * 1_000;
const going = new AbortController().signal;

const keysIn = <K extends KeyTuple>({ store }: Harness, table: Table<K>): Promise<K[]> =>
  store.read(async (reader) => (await reader.list(table, { limit: 100 })).map(({ key }) => key));

type Damage = readonly [table: unknown, key: KeyTuple];

/** Stops a service, damages records of it and starts it again. */
const restartDamaged = async (
  first: Harness,
  damages: readonly Damage[],
  options: HarnessOptions,
): Promise<Harness> => {
  await first.stop();
  for (const [table, key] of damages) await damageStoredRecord(first.directory, table as Table, key);
  return startHarness({ ...options, directory: first.directory });
};

test("a damaged bus, endpoint or record of a stream keeps neither the start nor the others from working", async () => {
  const clock = new FakeClock();
  const written: string[] = [];
  const declared = { account: owner, name: "sales", bucket: "b", prefix: "", bytesMax: 1_000, ageMsMax: 1_000 };
  const put = (_account: string, { body }: { readonly body: Uint8Array }): Promise<void> => {
    written.push(Buffer.from(body).toString());
    return Promise.resolve();
  };
  const options = { clock, deliveryStreams: { declared: [declared], put } };
  const first = await startHarness({ ...options, directory: await temporaryDirectory() });
  for (const name of ["a", "b"]) {
    await first.client.createEventBus({ name });
    await first.client.putRule({ name: "all", eventBusName: name, eventPattern: '{"source":["shop"]}' });
  }
  await first.store.transact((transaction) => {
    for (const name of ["e1", "e2"]) transaction.put(globalEndpoints, [owner, name], { name, healthCheck: name });
    for (const id of ["1", "2", "3"])
      transaction.put(streamRecords, [owner, "sales", 5, id], { data: Buffer.from(`${id}\n`) });
  });
  const harness = await restartDamaged(
    first,
    [
      [buses, [owner, "a"]],
      [busRevisions, [owner, "a"]],
      [globalEndpoints, [owner, "e1"]],
      [streamRecords, [owner, "sales", 5, "1"]],
    ],
    options,
  );
  expect(await harness.store.read(listHealthChecks)).toEqual(new Set(["e2"]));
  await harness.app.rules.loadAll(going);
  const entry = { eventBusName: "b", source: "shop", detailType: "Sale", detail: "{}" };
  expect((await harness.client.putEvents({ entries: [entry] })).failedEntryCount).toBe(0);
  clock.advance(2_000);
  await expect.poll(() => written).toEqual(["2\n3\n"]);
  await expect.poll(() => keysIn(harness, streamRecords)).toEqual([]);
});

test("a replay leaves out damaged events and logs them, also if a whole step of them is damaged", async () => {
  const clock = new FakeClock();
  const { log, lines } = capturingLogger("error");
  const first = await startHarness({ clock, directory: await temporaryDirectory() });
  await first.client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
  const startMs = clock.now();
  await sell(first.client, startMs, 60);
  const entries = await keysIn(first, archiveEntries);
  const [, , , ingestedMs, eventId] = entries[57]!;
  const damages: Damage[] = entries.slice(0, 55).map((key) => [archiveEntries, key]);
  const harness = await restartDamaged(first, [...damages, [events, [owner, ingestedMs, eventId]]], { clock, log });
  const shop = await openShop(harness.client);
  await startReplay(harness.client, startMs, startMs + 3_600_000);
  await harness.app.jobs.idle();
  expect(shop.till.received.map(({ body }) => /"n":(\d+)/.exec(body.toString())?.[1])).toEqual([
    "55",
    "56",
    "58",
    "59",
  ]);
  expect((await harness.client.describeReplay({ replayName: "again" })).state).toBe(ReplayState.COMPLETED);
  expect(lines.filter(({ msg }) => msg === "an event that is damaged or missing was not replayed")).toHaveLength(56);
  const dryRun = await harness.client.testEventPatternOnArchive({
    archiveName: "sales",
    eventPattern: '{"source":["shop"]}',
  });
  expect([dryRun.examinedCount, dryRun.matchedCount]).toEqual([4n, 4n]);
});

test("damaged entries and counts of an archive keep it neither from its size nor from its retention", async () => {
  const clock = new FakeClock();
  const first = await startHarness({ clock, directory: await temporaryDirectory() });
  await first.client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus, retentionDays: 1 });
  await sell(first.client, clock.now(), 3);
  const entries = await keysIn(first, archiveEntries);
  const counts = await keysIn(first, archiveCounts);
  const damages: Damage[] = [
    [archiveEntries, entries[1]!],
    [archiveCounts, counts[1]!],
  ];
  const harness = await restartDamaged(first, damages, { clock });
  const describe = () => harness.client.describeArchive({ archiveName: "sales" });
  expect((await describe()).eventCount).toBe(3n);
  await sweepArchives(harness.app, going);
  expect((await describe()).eventCount).toBe(3n);
  clock.advance(2 * dayMs);
  await sweepArchives(harness.app, going);
  expect(await keysIn(harness, archiveEntries)).toEqual([]);
  expect((await describe()).eventCount).toBe(0n);
});

test("a redrive counts a damaged dead letter as failed and delivers the others", async () => {
  const clock = new FakeClock();
  const first = await startHarness({ clock, directory: await temporaryDirectory() });
  const statuses = [404, 404, 404];
  const shop = await openShop(first.client, { answer: () => ({ status: statuses.shift() ?? 200 }) });
  for (const n of [1, 2, 3]) await shop.sell({ n });
  await first.app.jobs.idle();
  const letters = await keysIn(first, deadLetters);
  const harness = await restartDamaged(first, [[deadLetters, letters[1]!]], { clock });
  await harness.client.startDeadLetterRedrive({ redriveName: "again" });
  await harness.app.jobs.idle();
  const { redrive } = await harness.client.describeDeadLetterRedrive({ redriveName: "again" });
  expect(redrive).toMatchObject({
    state: DeadLetterRedriveState.COMPLETED,
    redrivenCount: 2n,
    failedCount: 1n,
    failureReason: "The dead letter is damaged.",
  });
});
