import { expect, test } from "vitest";

import { SchemaDiscovery } from "../../../services/event-bus/ingestion/schema-discovery.ts";
import { buses, discoveredSchemas, schemaVersions } from "../../../services/event-bus/store/layout.ts";
import type { Store, Transaction } from "../../../services/kit/store/store.ts";
import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import type { EventBusClient, Harness, HarnessOptions } from "../harness.ts";
import { ownerAccount, startHarness } from "../harness.ts";

const bus = { account: ownerAccount, name: "default" };
const committed = { afterCommit: (run: () => void): void => run() };

/** A service whose default bus discovers schemas, with a discovery of the test's own. */
const openDiscovery = async (
  transactOf: (store: Store) => Store["transact"] = ({ transact }) => transact,
  options: HarnessOptions = {},
) => {
  const harness = await startHarness({ works: false, ...options });
  await harness.client.startSchemaDiscovery({});
  const { log, lines } = capturingLogger();
  const { store, clock, app } = harness;
  const discovery = new SchemaDiscovery({
    store: { transact: transactOf(store).bind(store) },
    clock,
    log,
    limits: app.limits,
  });
  const pass = (detailType: string, detail = "{}", of = bus): void =>
    discovery.observe(committed, of, { source: "shop", detailType, detail });
  return { ...harness, discovery, lines, pass };
};

const bob = "222222222222";

const countsOf = async ({ client }: Pick<Harness, "client">): Promise<string[]> =>
  (await client.discoverSchemas({})).schemas.map(({ detailType, eventCount }) => `${detailType} ${eventCount}`);

test("counts events of 1,000 kinds in two seconds", async () => {
  const { client, discovery, pass } = await openDiscovery();
  pass("Last");
  await discovery.flush();
  for (let kind = 0; kind < 999; kind += 1) pass(`K${kind}`);
  pass("Last");
  await discovery.flush();
  const last = { source: "shop", detailType: "Last" };
  expect((await client.describeDiscoveredSchema(last)).schema?.eventCount).toBe(2n);
  for (let kind = 0; kind < 1_000; kind += 1) pass(`K${kind}`);
  pass("Last");
  await discovery.flush();
  expect((await client.describeDiscoveredSchema(last)).schema?.eventCount).toBe(2n);
});

test("loses what cannot be written, says so without the events, and goes on", async () => {
  let failures = 1;
  const opened = await openDiscovery(
    (store) => (run) => (failures-- > 0 ? Promise.reject(new Error("the disk is full")) : store.transact(run)),
  );
  const { discovery, lines, pass } = opened;
  pass("Sale", '{"secret":1}');
  await discovery.flush();
  expect(await countsOf(opened)).toEqual([]);
  expect(JSON.stringify(lines)).toContain("what was observed of some events was not written");
  expect(JSON.stringify(lines)).not.toMatch(/secret|Sale/);
  pass("Sale");
  await discovery.flush();
  expect(await countsOf(opened)).toEqual(["Sale 1"]);
});

test("two writes at a time follow one another", async () => {
  const opened = await openDiscovery();
  const { client, discovery, pass } = opened;
  pass("Sale", '{"a":1}');
  const first = discovery.flush();
  pass("Sale", '{"b":1}');
  await Promise.all([first, discovery.flush()]);
  const { versions } = await client.describeDiscoveredSchema({ source: "shop", detailType: "Sale" });
  expect([versions.length, await countsOf(opened)]).toEqual([2, ["Sale 2"]]);
});

test.each<[what: string, flood: (pass: (detailType: string, detail?: string) => void) => void]>([
  [
    "kinds of events",
    (pass) => {
      for (let kind = 0; kind < 3_000; kind += 1) pass(`K${kind}`);
    },
  ],
  [
    "large details",
    (pass) => {
      for (let kind = 0; kind < 8; kind += 1) pass(`K${kind}`, JSON.stringify({ text: "x".repeat(250_000) }));
      for (let kind = 0; kind < 700; kind += 1) pass(`L${kind}`, JSON.stringify({ text: "x".repeat(150) }));
    },
  ],
])("many %s of one bus leave room for those of other accounts and other buses of its account", async (_what, flood) => {
  const { client, clientOf, discovery, pass } = await openDiscovery();
  await client.createEventBus({ name: "quiet" });
  await client.startSchemaDiscovery({ eventBusName: "quiet" });
  await clientOf(bob).startSchemaDiscovery({});
  flood(pass);
  const detail = JSON.stringify({ item: "x".repeat(1_000) });
  pass("Sale", detail, { account: bob, name: "default" });
  pass("Loan", detail, { account: ownerAccount, name: "quiet" });
  await discovery.flush();
  const described = [
    await clientOf(bob).describeDiscoveredSchema({ source: "shop", detailType: "Sale" }),
    await client.describeDiscoveredSchema({ source: "shop", detailType: "Loan", eventBusName: "quiet" }),
  ];
  expect(described.map(({ schema }) => schema?.schema?.includes('"item"'))).toEqual([true, true]);
});

test("what is observed during a write that takes long stays in one window", async () => {
  let transactions = 0;
  const { promise: going, resolve: goOn } = Promise.withResolvers<void>();
  const opened = await openDiscovery((store) => async (run) => {
    transactions += 1;
    if (transactions === 1) await going;
    return store.transact(run);
  });
  const { clock, discovery, pass } = opened;
  for (let window = 0; window < 5; window += 1) {
    pass("Sale");
    clock.advance(2_000);
  }
  goOn();
  await discovery.flush();
  expect([transactions, await countsOf(opened)]).toEqual([2, ["Sale 5"]]);
});

test("a bus with as many schemas as it may have is looked through once in a window", async () => {
  let walks = 0;
  const counted = (transaction: Transaction): Transaction =>
    new Proxy(transaction, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member, target);
        if (typeof value !== "function") return value;
        return (table: unknown, ...further: unknown[]): unknown => {
          if (member === "range" && table === discoveredSchemas) walks += 1;
          return Reflect.apply(value, target, [table, ...further]);
        };
      },
    });
  const transactOf =
    (store: Store): Store["transact"] =>
    (run, options) =>
      store.transact((transaction) => run(counted(transaction)), options);
  const { discovery, pass } = await openDiscovery(transactOf, { limits: { schemasPerBusMax: 5 } });
  for (let kind = 0; kind < 5; kind += 1) pass(`K${kind}`);
  await discovery.flush();
  walks = 0;
  for (let kind = 0; kind < 100; kind += 1) pass(`L${kind}`);
  await discovery.flush();
  expect(walks).toBe(1);
});

/** A service with schemas of the default bus and of the bus `other`, records of which are damaged then. */
const openDamaged = async (...damaged: readonly (readonly [unknown, KeyTuple])[]) => {
  const directory = await temporaryDirectory();
  const first = await openDiscovery(undefined, { directory });
  await first.client.createEventBus({ name: "other" });
  await first.client.startSchemaDiscovery({ eventBusName: "other" });
  for (const kind of ["Gift", "Loan", "Sale"]) first.pass(kind, '{"a":1}');
  await first.discovery.flush();
  await first.stop();
  for (const [table, key] of damaged) await damageStoredRecord(directory, table as Table, key);
  return openDiscovery(undefined, { directory });
};

test("a damaged record of a bus keeps no schema of another from being written", async () => {
  const { discovery, lines, pass, ...opened } = await openDamaged([buses, [ownerAccount, "other"]]);
  pass("Loan", "{}", { account: ownerAccount, name: "other" });
  pass("Sale");
  await discovery.flush();
  expect(await countsOf(opened)).toEqual(["Gift 1", "Loan 1", "Sale 2"]);
  expect(JSON.stringify(lines)).toContain('"schemas":1');
});

const describeGift = async (client: EventBusClient) => {
  const { schema, versions } = await client.describeDiscoveredSchema({ source: "shop", detailType: "Gift" });
  const { properties } = (JSON.parse(schema?.schema ?? "") as { properties: { detail: { properties: object } } })
    .properties.detail;
  const kept = versions.map(({ schemaVersion }) => schemaVersion);
  return { count: schema?.eventCount, version: schema?.schemaVersion, kept, properties: Object.keys(properties) };
};

test("damaged numbers of a schema are counted anew, with the shape that is known, and are left out until then", async () => {
  const { discovery, pass, ...opened } = await openDamaged([
    discoveredSchemas,
    [ownerAccount, "default", "shop", "Gift"],
  ]);
  expect(await countsOf(opened)).toEqual(["Loan 1", "Sale 1"]);
  for (const kind of ["Gift", "Sale"]) pass(kind, '{"a":1}');
  pass("Gift", '{"b":1}');
  await discovery.flush();
  expect(await countsOf(opened)).toEqual(["Gift 2", "Loan 1", "Sale 2"]);
  expect(await describeGift(opened.client)).toEqual({ count: 2n, version: 2, kept: [1, 2], properties: ["a", "b"] });
});

test("a damaged version of a schema is followed by one of what is observed then, and is left out until then", async () => {
  const key = [ownerAccount, "default", "shop", "Gift", 1];
  const { discovery, pass, ...opened } = await openDamaged([schemaVersions, key]);
  expect(await countsOf(opened)).toEqual(["Loan 1", "Sale 1"]);
  for (const kind of ["Gift", "Sale"]) pass(kind, '{"b":1}');
  await discovery.flush();
  expect(await countsOf(opened)).toEqual(["Gift 2", "Loan 1", "Sale 2"]);
  expect(await describeGift(opened.client)).toEqual({ count: 2n, version: 2, kept: [1, 2], properties: ["b"] });
});
