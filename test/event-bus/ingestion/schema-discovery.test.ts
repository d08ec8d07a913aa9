import { expect, test } from "vitest";

import { SchemaDiscovery } from "../../../services/event-bus/ingestion/schema-discovery.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import type { Harness } from "../harness.ts";
import { ownerAccount, startHarness } from "../harness.ts";

const bus = { account: ownerAccount, name: "default" };
const committed = { afterCommit: (run: () => void): void => run() };

/** A service whose default bus discovers schemas, with a discovery of the test's own. */
const openDiscovery = async (transactOf: (store: Store) => Store["transact"] = ({ transact }) => transact) => {
  const harness = await startHarness({ works: false });
  await harness.client.startSchemaDiscovery({});
  const { log, lines } = capturingLogger();
  const { store, clock, app } = harness;
  const discovery = new SchemaDiscovery({
    store: { transact: transactOf(store).bind(store) },
    clock,
    log,
    limits: app.limits,
  });
  const pass = (detailType: string, detail = "{}"): void =>
    discovery.observe(committed, bus, { source: "shop", detailType, detail });
  return { ...harness, discovery, lines, pass };
};

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
