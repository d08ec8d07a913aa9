import { expect, test } from "vitest";

import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import {
  apiDestinations,
  archives,
  deadLetterRedrives,
  eventHolders,
  events,
  orderedDeliveries,
  orderedLanes,
  replays,
  sweeps,
} from "../../../services/event-bus/store/layout.ts";
import { sweepLog } from "../../../services/event-bus/work/log-sweep.ts";
import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { ownerAccount, startHarness } from "../harness.ts";
import { defaultBus, sell, startReplay } from "../operations/sales.ts";
import { openShop } from "./shop.ts";

const owner = ownerAccount;
const going = new AbortController().signal;

type Damage = readonly [table: unknown, key: KeyTuple];

/** Stops a service, damages records of it and starts it again. */
const restartDamaged = async (
  first: Harness,
  damages: readonly Damage[],
  options: HarnessOptions = {},
): Promise<Harness> => {
  await first.stop();
  for (const [table, key] of damages) await damageStoredRecord(first.directory, table as Table, key);
  return startHarness({ ...options, directory: first.directory, clock: first.clock });
};

const keysIn = <K extends KeyTuple>({ store }: Harness, table: Table<K>): Promise<K[]> =>
  store.read(async (reader) => (await reader.list(table, { limit: 100 })).map(({ key }) => key));

/** Puts an event of the shop. */
const put = ({ client }: Pick<Harness, "client">, detail = "{}") =>
  client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail }] });

test("a damaged API destination holds up the deliveries of no other account", async () => {
  const first = await startHarness();
  const other = first.clientOf("111111111111");
  const shops = [await openShop(first.client), await openShop(other)];
  const harness = await restartDamaged(first, [[apiDestinations, [owner, "till"]]]);
  await put(harness);
  await put({ client: harness.clientOf("111111111111") });
  await expect.poll(() => shops[1]?.till.received.length).toBe(1);
  expect(shops[0]?.till.received).toEqual([]);
});

test("a damaged event ends its delivery, which is logged, instead of being tried for a day", async () => {
  const first = await startHarness({ works: false });
  const { till } = await openShop(first.client);
  for (const n of [1, 2]) await put(first, `{"n":${n}}`);
  const [lost] = await keysIn(first, events);
  const { log, lines } = capturingLogger("error");
  const { app } = await restartDamaged(first, [[events, lost as KeyTuple]], { log });
  await app.jobs.idle();
  expect(till.received).toHaveLength(1);
  expect(lines.map(({ msg, eventId }) => [msg, eventId])).toEqual([["a damaged event is not delivered", lost?.[2]]]);
});

test("a damaged holder keeps its event, and no delivery is made again for it", async () => {
  const first = await startHarness({ works: false });
  const { till } = await openShop(first.client);
  await put(first);
  const [event] = await keysIn(first, events);
  await first.store.transact((transaction) => transaction.put(eventHolders, [...event!, "z:held"], {}));
  const harness = await restartDamaged(first, [[eventHolders, [...event!, "z:held"]]]);
  harness.clock.advance(harness.app.limits.eventLogMs + 1);
  await harness.app.jobs.idle();
  harness.clock.advance(5_000);
  await harness.app.jobs.idle();
  expect(till.received).toHaveLength(1);
  expect(await keysIn(harness, events)).toEqual([event]);
});

test("the log of an account is swept although the note of how far it was swept is damaged", async () => {
  const first = await startHarness();
  await put(first);
  const keptMs = first.app.limits.eventLogMs;
  first.clock.advance(keptMs + 1);
  await sweepLog(first.app, going);
  await put(first);
  const harness = await restartDamaged(first, [[sweeps, [owner]]]);
  harness.clock.advance(keptMs + 1);
  await sweepLog(harness.app, going);
  expect(await keysIn(harness, events)).toEqual([]);
});

/** Events of one key for a target with an order, of which the first one is being tried. */
const startOrdered = async () => {
  const first = await startHarness();
  const answer = { status: 503 };
  const shop = await openShop(first.client, {
    answer: () => answer,
    target: { orderedDelivery: { keyPath: "$.detail.key" } },
  });
  for (const n of [1, 2, 3, 4]) await put(first, `{"key":"a","n":${n}}`);
  await first.app.jobs.idle();
  const taken = () => shop.till.received.map(({ body }) => Number(/"n":(\d)/.exec(body.toString())?.[1]));
  const open = (): void => {
    answer.status = 200;
  };
  return { first, taken, open, before: () => shop.till.received.length };
};

const deliverAll = async ({ clock, app }: Harness): Promise<void> => {
  for (let minute = 0; minute < 10; minute += 1) {
    clock.advance(60_000);
    await app.jobs.idle();
  }
};

test("a lane with damaged numbers goes on with the deliveries that wait, in their order", async () => {
  const { first, taken, open, before } = await startOrdered();
  const [lane] = await keysIn(first, orderedLanes);
  const harness = await restartDamaged(first, [[orderedLanes, lane as KeyTuple]]);
  const tried = before();
  open();
  await put(harness, '{"key":"a","n":5}');
  await deliverAll(harness);
  expect(taken().slice(tried)).toEqual([1, 2, 3, 4, 5]);
  expect(await keysIn(harness, orderedLanes)).toEqual([]);
});

test("a lane passes a damaged delivery that waits, which is logged", async () => {
  const { first, taken, open, before } = await startOrdered();
  const [, lost] = await keysIn(first, orderedDeliveries);
  const { log, lines } = capturingLogger("error");
  const harness = await restartDamaged(first, [[orderedDeliveries, lost as KeyTuple]], { log });
  const tried = before();
  open();
  await deliverAll(harness);
  expect(taken().slice(tried)).toEqual([1, 2, 4]);
  expect(lines.map(({ msg, number }) => [msg, number])).toEqual([
    ["a damaged delivery of an ordered target is lost", 2],
  ]);
});

// what is damaged, the state and its reason in which the replay ends
test.for([
  ["archive", ReplayState.FAILED, "The archive is damaged."],
  ["replay", undefined, undefined],
] as const)("a replay ends where its %s is damaged", async ([damaged, state, stateReason]) => {
  const first = await startHarness({ works: false });
  await first.client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
  const startMs = first.clock.now();
  await sell(first.client, startMs, 2);
  await startReplay(first.client, startMs, startMs + 3_600_000);
  const damage: Damage = damaged === "archive" ? [archives, [owner, "sales"]] : [replays, [owner, "again"]];
  const { log, lines } = capturingLogger("error");
  const { client, app, clock } = await restartDamaged(first, [damage], { log });
  await app.jobs.idle();
  clock.advance(5_000);
  await app.jobs.idle();
  const described = await client.describeReplay({ replayName: "again" }).catch(() => undefined);
  expect([described?.state, described?.stateReason]).toEqual([state, stateReason]);
  const ended = lines.filter(({ msg }) => msg === "a damaged replay ends");
  expect(ended).toHaveLength(damaged === "replay" ? 1 : 0);
});

test("a damaged redrive ends, and holds up no other work", async () => {
  const first = await startHarness();
  const statuses = [404, 404];
  const shop = await openShop(first.client, { answer: () => ({ status: statuses.shift() ?? 200 }) });
  for (const n of [1, 2]) await shop.sell({ n });
  await first.app.jobs.idle();
  await first.stop();
  const idle = await startHarness({ directory: first.directory, clock: first.clock, works: false });
  await idle.client.startDeadLetterRedrive({ redriveName: "lost" });
  const { log, lines } = capturingLogger("error");
  const { client, app } = await restartDamaged(idle, [[deadLetterRedrives, [owner, "lost"]]], { log });
  await app.jobs.idle();
  expect(lines.map(({ msg }) => msg)).toContain("a damaged redrive ends");
  await put({ client });
  await app.jobs.idle();
  expect(shop.till.received).toHaveLength(3);
});
