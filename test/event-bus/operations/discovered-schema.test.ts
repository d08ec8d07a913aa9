import { timestampMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { SchemaDiscoveryState } from "../../../gen/quartet/eventbus/v1/discovered_schema_pb.ts";
import { discoveredSchemas, schemaVersions } from "../../../services/event-bus/store/layout.ts";
import type { EventBusClient, Harness, HarnessOptions } from "../harness.ts";
import { refusalOf, startHarness } from "../harness.ts";
import { arnPrefix, defaultBus, startReplay } from "./sales.ts";

const { RUNNING, STOPPED } = SchemaDiscoveryState;
const sale = { source: "shop", detailType: "Sale" };

/** A service that discovers the schemas of the default bus, if nothing else is said. */
const startDiscovery = async (options: HarnessOptions = {}): Promise<Harness> => {
  const harness = await startHarness({ works: false, ...options });
  await harness.client.startSchemaDiscovery({});
  return harness;
};

/** Puts events of the shop with these details, or with other members. */
const put = async (client: EventBusClient, details: readonly unknown[], change: object = {}): Promise<void> => {
  for (const detail of details)
    await client.putEvents({ entries: [{ ...sale, detail: JSON.stringify(detail), ...change }] });
};

/** The part of a schema that describes the details of events. */
const detailOf = (schema: string | undefined): unknown =>
  (JSON.parse(schema ?? "") as { properties: { detail: unknown } }).properties.detail;

const kindsOf = (schemas: readonly { source: string; detailType: string; schemaVersion?: number }[]): string[] =>
  schemas.map(({ source, detailType, schemaVersion }) => `${source} ${detailType} ${schemaVersion}`);

const listKinds = async (client: EventBusClient): Promise<string[]> =>
  kindsOf((await client.discoverSchemas({})).schemas);

const gone = "EVENT_BUS_NOT_FOUND: Event bus gone does not exist.";

describe("startSchemaDiscovery", () => {
  test("observes the events from then on, and writes what it learned of them after two seconds", async () => {
    const { client, clock, app } = await startHarness({ works: false });
    await put(client, [{ early: 1 }]);
    await client.startSchemaDiscovery({});
    const firstMs = clock.now();
    await put(client, [{ item: "tea", price: 2 }]);
    clock.advance(1_000);
    await put(client, [{ item: "cup", price: 2.5, note: null }]);
    expect(await client.discoverSchemas({})).toMatchObject({ state: RUNNING, schemas: [] });
    clock.advance(1_000);
    await app.schemas.flush();
    const { state, schemas } = await client.discoverSchemas({});
    expect([state, kindsOf(schemas), schemas[0]?.eventCount]).toEqual([RUNNING, ["shop Sale 1"], 2n]);
    expect(detailOf(schemas[0]?.schema)).toEqual({
      type: "object",
      properties: { item: { type: "string" }, note: { type: "null" }, price: { type: "number" } },
      required: ["item", "price"],
    });
    const [first, last] = [schemas[0]?.firstSeenTime, schemas[0]?.lastSeenTime];
    expect([first && timestampMs(first), last && timestampMs(last)]).toEqual([firstMs, firstMs + 1_000]);
  });

  test("can be repeated, and extends what was discovered before a stop", async () => {
    const { client, app } = await startDiscovery();
    await client.startSchemaDiscovery({});
    await put(client, [{ a: 1 }]);
    await client.stopSchemaDiscovery({});
    await put(client, [{ b: 1 }]);
    await client.startSchemaDiscovery({});
    await put(client, [{ c: 1 }]);
    await app.schemas.flush();
    const { schema } = await client.describeDiscoveredSchema(sale);
    expect([schema?.schemaVersion, schema?.eventCount]).toEqual([2, 2n]);
    expect(detailOf(schema?.schema)).toEqual({
      type: "object",
      properties: { a: { type: "integer" }, c: { type: "integer" } },
    });
  });

  test("makes a version of each change of the shape, and keeps ten of them", async () => {
    const { client, app, clock } = await startDiscovery();
    for (let n = 1; n <= 12; n += 1) {
      clock.advance(5_000);
      await put(client, [{ [`p${n}`]: n }, { p1: 1 }]);
      await app.schemas.flush();
    }
    await put(client, [{ p3: 1 }]);
    await app.schemas.flush();
    const { schema, versions } = await client.describeDiscoveredSchema(sale);
    expect([schema?.schemaVersion, schema?.eventCount]).toEqual([12, 25n]);
    expect(versions.map(({ schemaVersion }) => schemaVersion)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(versions.at(-1)?.creationTime).toEqual(schema?.lastSeenTime);
    const third = await client.describeDiscoveredSchema({ ...sale, schemaVersion: 3 });
    expect(detailOf(third.schema?.schema)).toEqual({
      type: "object",
      properties: { p1: { type: "integer" }, p2: { type: "integer" }, p3: { type: "integer" } },
    });
  });

  test("counts all events, and infers from five of a kind in two seconds and two million characters of all", async () => {
    const { client, app } = await startDiscovery();
    await put(
      client,
      [1, 2, 3, 4, 5, 6, 7].map((n) => ({ [`p${n}`]: n })),
    );
    await app.schemas.flush();
    const { schema } = await client.describeDiscoveredSchema(sale);
    expect([schema?.eventCount, Object.keys((detailOf(schema?.schema) as { properties: object }).properties)]).toEqual([
      7n,
      ["p1", "p2", "p3", "p4", "p5"],
    ]);
    for (let n = 0; n < 9; n += 1) await put(client, [{ text: "x".repeat(250_000) }], { detailType: `Large${n}` });
    await app.schemas.flush();
    expect(await listKinds(client)).toEqual([
      ...[0, 1, 2, 3, 4, 5, 6, 7].map((n) => `shop Large${n} 1`),
      "shop Sale 1",
    ]);
  });

  test("infers from 1,000 events of all kinds in two seconds", async () => {
    const { client, app } = await startDiscovery({ limits: { schemasPerBusMax: 300 } });
    const entryOf = (detailType: string) => ({ source: "shop", detailType, detail: "{}" });
    for (let kind = 0; kind < 200; kind += 1)
      await client.putEvents({ entries: Array.from({ length: 5 }, () => entryOf(`K${kind}`)) });
    const describeLast = () => client.describeDiscoveredSchema({ source: "shop", detailType: "Last" });
    await client.putEvents({ entries: [entryOf("Last")] });
    await app.schemas.flush();
    expect(await refusalOf(describeLast())).toMatch(/^DISCOVERED_SCHEMA_NOT_FOUND: /);
    await client.putEvents({ entries: [entryOf("Last")] });
    await app.schemas.flush();
    expect((await describeLast()).schema?.eventCount).toBe(1n);
  });

  test("discovers as many schemas of a bus as the limit, and others when some were deleted", async () => {
    const { client, app } = await startDiscovery({ limits: { schemasPerBusMax: 2 } });
    for (const detailType of ["A", "B", "C"]) await put(client, [{}], { detailType });
    await app.schemas.flush();
    expect(await listKinds(client)).toEqual(["shop A 1", "shop B 1"]);
    await client.deleteDiscoveredSchema({ source: "shop", detailType: "A" });
    await put(client, [{}], { detailType: "C" });
    await app.schemas.flush();
    expect(await listKinds(client)).toEqual(["shop B 1", "shop C 1"]);
  });

  test("observes no event that was not put, none with a source of more than 256 characters, and replayed ones", async () => {
    const { client, app, clock } = await startHarness({ works: true });
    await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
    const startMs = clock.now();
    await put(client, [{ n: 1 }]);
    await client.startSchemaDiscovery({});
    await put(client, ["no object"], { detailType: "Refused" });
    await put(client, [{}], { source: "s".repeat(257) });
    await startReplay(client, startMs, startMs + 1);
    await app.jobs.idle();
    await app.schemas.flush();
    expect(await listKinds(client)).toEqual(["shop Sale 1"]);
  });

  test("goes on after a restart, and what was observed before it is written", async () => {
    const first = await startDiscovery();
    await put(first.client, [{ a: 1 }]);
    await first.stop();
    const { client, app } = await startHarness({ directory: first.directory, clock: first.clock });
    expect(await listKinds(client)).toEqual(["shop Sale 1"]);
    await put(client, [{ b: 1 }]);
    await app.schemas.flush();
    expect(await listKinds(client)).toEqual(["shop Sale 2"]);
  });

  test("is refused, in this order", async () => {
    const { client } = await startHarness();
    await client.createEventBus({ name: "sealed", kmsKeyIdentifier: "crm" });
    // bus | refusal
    const refuses = [
      ["gone", gone],
      ["sealed", "EVENT_BUS_ENCRYPTED: Event bus sealed has an encryption key, so its schemas cannot be discovered."],
    ];
    for (const [eventBusName, refusal] of refuses)
      expect(await refusalOf(client.startSchemaDiscovery({ eventBusName }))).toBe(refusal);
  });

  test("ends when the bus gets an encryption key, and no later event is observed", async () => {
    const { client, app, clock } = await startDiscovery();
    await put(client, [{ a: 1 }]);
    await app.schemas.flush();
    await put(client, [{ b: 1 }]);
    await client.updateEventBus({ name: "default", kmsKeyIdentifier: "crm" });
    await put(client, [{ secret: 1 }]);
    await app.schemas.flush();
    const { state, schemas } = await client.discoverSchemas({});
    expect([state, kindsOf(schemas)]).toEqual([STOPPED, ["shop Sale 1"]]);
    expect(clock.pending()).toEqual([]);
  });
});

describe("stopSchemaDiscovery", () => {
  test("writes what was observed, keeps it, can be repeated, and nothing is observed after it", async () => {
    const { client, app, clock } = await startDiscovery();
    await put(client, [{ a: 1 }]);
    await client.stopSchemaDiscovery({});
    await client.stopSchemaDiscovery({});
    await put(client, [{ b: 1 }], { detailType: "Later" });
    expect(clock.pending()).toEqual([]);
    await app.schemas.flush();
    const { state, schemas } = await client.discoverSchemas({});
    expect([state, kindsOf(schemas)]).toEqual([STOPPED, ["shop Sale 1"]]);
    expect(await refusalOf(client.stopSchemaDiscovery({ eventBusName: "gone" }))).toBe(gone);
  });
});

describe("discoverSchemas", () => {
  test("lists the schemas of a bus by source and detail type, in pages, or those of a source", async () => {
    const { client, app } = await startDiscovery();
    await client.createEventBus({ name: "orders" });
    await client.startSchemaDiscovery({ eventBusName: "orders" });
    await put(client, [{}], { source: "b", detailType: "Y" });
    await put(client, [{}], { source: "a", detailType: "é 2" });
    await put(client, [{}], { source: "a", detailType: "X" });
    await put(client, [{}], { source: "ab", detailType: "Z" });
    await put(client, [{}], { source: "c", detailType: "W", eventBusName: "orders" });
    await app.schemas.flush();
    const pages = [];
    let nextToken: string | undefined;
    do {
      const page = await client.discoverSchemas({ limit: 1, ...(nextToken && { nextToken }) });
      pages.push(kindsOf(page.schemas));
      ({ nextToken } = page);
    } while (nextToken !== undefined);
    expect(pages).toEqual([["a X 1"], ["a é 2 1"], ["ab Z 1"], ["b Y 1"]]);
    expect(kindsOf((await client.discoverSchemas({ source: "a" })).schemas)).toEqual(["a X 1", "a é 2 1"]);
    const orders = await client.discoverSchemas({ eventBusName: `${arnPrefix}:event-bus/orders` });
    expect(kindsOf(orders.schemas)).toEqual(["c W 1"]);
  });

  test("ends a page at the limit of its bytes", async () => {
    const { client, app } = await startDiscovery({ limits: { pageBytesMax: 900 } });
    for (const detailType of ["A", "B", "C"]) await put(client, [{}], { detailType });
    await app.schemas.flush();
    const first = await client.discoverSchemas({});
    expect(kindsOf(first.schemas)).toEqual(["shop A 1"]);
    const second = await client.discoverSchemas({ nextToken: first.nextToken ?? "" });
    expect(kindsOf(second.schemas)).toEqual(["shop B 1"]);
  });

  test("is refused, in this order", async () => {
    const { client, clientOf } = await startDiscovery();
    expect(await refusalOf(client.discoverSchemas({ eventBusName: "gone", nextToken: "x" }))).toBe(
      "INVALID_PAGE_TOKEN: The NextToken is not valid or has expired.",
    );
    expect(await refusalOf(client.discoverSchemas({ eventBusName: "gone" }))).toBe(gone);
    expect(await refusalOf(clientOf("111122223333").discoverSchemas({ eventBusName: defaultBus }))).toMatch(
      /^ACCESS_DENIED: /,
    );
  });
});

describe("describeDiscoveredSchema", () => {
  test("is refused, in this order", async () => {
    const { client, app } = await startDiscovery();
    await put(client, [{}]);
    await app.schemas.flush();
    const other = { source: "shop", detailType: "Refund" };
    // request | refusal
    const refuses: [Parameters<typeof client.describeDiscoveredSchema>[0], string][] = [
      [{ ...other, eventBusName: "gone", schemaVersion: 2 }, gone],
      [{ ...other, schemaVersion: 2 }, "DISCOVERED_SCHEMA_NOT_FOUND: Schema Refund of shop does not exist."],
      [{ ...sale, schemaVersion: 2 }, "DISCOVERED_SCHEMA_NOT_FOUND: Schema Sale of shop, version 2, does not exist."],
    ];
    for (const [request, refusal] of refuses)
      expect(await refusalOf(client.describeDiscoveredSchema(request))).toBe(refusal);
  });
});

describe("deleteDiscoveredSchema", () => {
  test("forgets a schema with all its versions, and counts one that does not exist as deleted", async () => {
    const { client, app, store } = await startDiscovery();
    for (const detail of [{ a: 1 }, { b: 1 }]) {
      await put(client, [detail]);
      await app.schemas.flush();
    }
    await client.deleteDiscoveredSchema(sale);
    await client.deleteDiscoveredSchema(sale);
    expect(await countRecords(store)).toEqual([0, 0]);
    await put(client, [{ c: 1 }]);
    await app.schemas.flush();
    expect(await listKinds(client)).toEqual(["shop Sale 1"]);
    expect(await refusalOf(client.deleteDiscoveredSchema({ ...sale, eventBusName: "gone" }))).toBe(gone);
  });
});

test("the schemas of a bus are deleted with it, also what was observed just before", async () => {
  const { client, app, store } = await startDiscovery();
  await client.createEventBus({ name: "orders" });
  await client.startSchemaDiscovery({ eventBusName: "orders" });
  await put(client, [{}], { eventBusName: "orders" });
  await app.schemas.flush();
  expect(await countRecords(store)).toEqual([1, 1]);
  await put(client, [{}], { eventBusName: "orders", detailType: "Last" });
  await client.deleteEventBus({ name: "orders" });
  await app.schemas.flush();
  expect(await countRecords(store)).toEqual([0, 0]);
});

const countRecords = (store: Harness["store"]): Promise<number[]> =>
  store.read(async (reader) => {
    const counts = [0, 0];
    for await (const _entry of reader.range(discoveredSchemas, {})) counts[0] = (counts[0] ?? 0) + 1;
    for await (const _entry of reader.range(schemaVersions, {})) counts[1] = (counts[1] ?? 0) + 1;
    return counts;
  });
