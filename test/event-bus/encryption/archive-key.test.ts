import { describe, expect, test } from "vitest";

import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import { archiveEntries, events } from "../../../services/event-bus/store/layout.ts";
import { sweepArchives, sweepLog } from "../../../services/event-bus/work/log-sweep.ts";
import { changingKeys } from "../../support/changing-keys.ts";
import { openShop } from "../delivery/shop.ts";
import type { HarnessOptions } from "../harness.ts";
import { ownerAccount, refusalOf, startHarness } from "../harness.ts";
import { arnPrefix, defaultBus, startReplay } from "../operations/sales.ts";
import { storedText } from "./stored-text.ts";

const vault = { id: "vault", aliases: ["alias/vault"] };
const disabledVault = { ...vault, state: "DISABLED" } as const;
const crm = { id: "crm" };
const later = { id: "later" };

/** A service with a shop and an archive `sales` that has the key `vault`. */
const startArchiving = async (busKey = "", limits: HarnessOptions["limits"] = {}) => {
  const keys = changingKeys();
  keys.declare(vault, crm, later, { id: "old", state: "DISABLED" });
  const harness = await startHarness({ keyNames: keys.names, limits });
  const { client, app, clock, store } = harness;
  if (busKey !== "") await client.updateEventBus({ name: "default", kmsKeyIdentifier: busKey });
  await client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus, kmsKeyIdentifier: "alias/vault" });
  const shop = await openShop(client);
  const startMs = clock.now();
  /** Replays all, and returns the state and the reason of the replay with what the shop receives of it. */
  const replay = async (replayName: string) => {
    const before = shop.till.received.length;
    await startReplay(client, startMs - 60_000, startMs + 86_400_000, { replayName });
    await app.jobs.idle();
    const { state, stateReason } = await client.describeReplay({ replayName });
    const words = shop.till.received
      .slice(before)
      .map(({ body }) => (JSON.parse(body.toString()) as { detail: { word: string } }).detail.word);
    return { state, stateReason, words: words.toSorted() };
  };
  /** The numbers of events in the log and of entries in archives, after ten minutes. */
  const countRows = async (): Promise<number[]> => {
    clock.advance(10 * 60_000 + 1);
    const { signal } = new AbortController();
    await sweepLog(app, signal);
    await sweepArchives(app, signal);
    return store.read(async (reader) => [
      (await reader.list(events, { prefix: [ownerAccount], limit: 100 })).length,
      (await reader.list(archiveEntries, { prefix: [ownerAccount], limit: 100 })).length,
    ]);
  };
  return { ...harness, keys, shop, replay, countRows };
};

describe("the key of an archive", () => {
  test("encrypts what the archive keeps, beside the key of the bus, and replays open it", async () => {
    const { client, app, directory, keys, shop, replay, countRows } = await startArchiving("crm");
    await shop.sell({ word: "tangerine" });
    await app.jobs.idle();
    expect(await storedText(directory)).not.toContain("tangerine");
    // The archive neither keeps the event in the log nor needs the key of the bus.
    expect(await countRows()).toEqual([0, 1]);
    await client.updateEventBus({ name: "default" });
    keys.declare(vault, { ...crm, state: "DISABLED" });
    expect(await replay("again")).toEqual({
      state: ReplayState.COMPLETED,
      stateReason: undefined,
      words: ["tangerine"],
    });
    expect(await client.describeArchive({ archiveName: "sales" })).toMatchObject({
      kmsKeyIdentifier: "alias/vault",
      eventCount: 1n,
    });
  });

  test("encrypts the archive's events also if those of the bus are not encrypted", async () => {
    const { store, app, shop, replay, countRows, client } = await startArchiving();
    await shop.sell({ word: "tangerine" });
    await app.jobs.idle();
    const copies = await store.read(async (reader) =>
      (await reader.list(archiveEntries, { prefix: [ownerAccount], limit: 100 })).map(({ value }) => value.event),
    );
    expect(copies).toMatchObject([{ detail: "", source: "", detailType: "", sealed: { isLetter: false } }]);
    expect(Buffer.from(copies[0]?.sealed?.content ?? []).includes("tangerine")).toBe(false);
    expect((await replay("again")).words).toEqual(["tangerine"]);
    const run = { archiveName: "sales", eventPattern: '{"detail":{"word":["tangerine"]}}' };
    expect(await client.testEventPatternOnArchive(run)).toMatchObject({ examinedCount: 1n, matchedCount: 1n });
    await client.deleteArchive({ archiveName: "sales" });
    await app.jobs.idle();
    expect(await countRows()).toEqual([0, 0]);
  });

  test("that is disabled ends replays and dry runs until it is enabled", async () => {
    const { client, app, keys, shop, replay } = await startArchiving();
    await shop.sell({ word: "tangerine" });
    await app.jobs.idle();
    keys.declare(disabledVault);
    expect(await replay("refused")).toEqual({
      state: ReplayState.FAILED,
      stateReason: "Key vault is disabled.",
      words: [],
    });
    const run = { archiveName: "sales", eventPattern: '{"source":["shop"]}' };
    expect(await refusalOf(client.testEventPatternOnArchive(run))).toBe(
      "ENCRYPTION_KEY_DISABLED: Encryption key vault is disabled.",
    );
    expect((await client.describeArchive({ archiveName: "sales" })).kmsKeyIdentifier).toBe("alias/vault");
    keys.declare(vault);
    expect((await replay("again")).words).toEqual(["tangerine"]);
  });

  test("that is disabled makes arriving events dead letters of the archive, which are redriven into it", async () => {
    const { client, app, directory, keys, shop, replay } = await startArchiving("crm");
    keys.declare(disabledVault, crm);
    await shop.sell({ word: "tangerine" });
    await app.jobs.idle();
    expect(shop.till.received).toHaveLength(1);
    const { deadLetters } = await client.listDeadLetters({});
    expect(deadLetters).toMatchObject([
      {
        ruleArn: `${arnPrefix}:rule/Events-Archive-sales`,
        targetArn: `${arnPrefix}:archive/sales`,
        errorCode: "NO_PERMISSIONS",
        errorMessage: "Key vault is disabled.",
      },
    ]);
    expect(JSON.parse(deadLetters[0]?.event ?? "")).toMatchObject({ detail: { word: "tangerine" } });
    expect(await storedText(directory)).not.toContain("tangerine");
    const redrive = async () => {
      const ids = (await client.listDeadLetters({})).deadLetters.map(({ id }) => id);
      await client.redriveDeadLetters({ ids });
      await app.jobs.idle();
      return (await client.listDeadLetters({})).deadLetters.length;
    };
    expect(await redrive()).toBe(1);
    keys.declare(vault, crm);
    expect(await redrive()).toBe(0);
    expect(shop.till.received).toHaveLength(1);
    expect((await client.describeArchive({ archiveName: "sales" })).eventCount).toBe(1n);
    expect((await replay("again")).words).toEqual(["tangerine"]);
  });

  test("is changed for the events that are archived from then on", async () => {
    const { client, app, clock, keys, shop, replay } = await startArchiving();
    const describedKey = async () => (await client.describeArchive({ archiveName: "sales" })).kmsKeyIdentifier;
    await shop.sell({ word: "first" });
    clock.advance(60_000);
    await client.updateArchive({ archiveName: "sales", kmsKeyIdentifier: "later" });
    expect(await describedKey()).toBe("later");
    await shop.sell({ word: "second" });
    clock.advance(60_000);
    await client.updateArchive({ archiveName: "sales", kmsKeyIdentifier: "" });
    expect(await describedKey()).toBeUndefined();
    await shop.sell({ word: "third" });
    await app.jobs.idle();
    expect((await replay("all")).words).toEqual(["first", "second", "third"]);
    keys.declare(vault, { ...later, state: "DISABLED" });
    expect(await replay("one")).toEqual({
      state: ReplayState.FAILED,
      stateReason: "Key later is disabled.",
      words: ["first"],
    });
    keys.declare(vault, later);
    await client.updateArchive({ archiveName: "sales", kmsKeyIdentifier: "alias/vault" });
    keys.declare(disabledVault);
    // Another setting may be changed while the key cannot be used.
    await client.updateArchive({ archiveName: "sales", description: "sales" });
    expect(await describedKey()).toBe("alias/vault");
  });

  test("costs each event a copy, which counts with its deliveries, and all copies are deleted with the archive", async () => {
    const { client, app, shop, countRows } = await startArchiving("", { deliveriesBytesMax: 400_000 });
    const word = "x".repeat(190_000);
    for (let n = 0; n < 30; n += 1) await shop.sell({ word });
    expect((await client.describeArchive({ archiveName: "sales" })).eventCount).toBe(30n);
    const archive = { archiveName: "more", eventSourceArn: defaultBus, kmsKeyIdentifier: "later" };
    await client.createArchive({ ...archive, eventPattern: '{"source":["shop"]}' });
    const { entries } = await client.putEvents({
      entries: [
        { source: "shop", detailType: "Sale", detail: JSON.stringify({ word: `${word}${word.slice(0, 20_000)}` }) },
      ],
    });
    expect(entries).toMatchObject([{ errorCode: "LimitExceededException" }]);
    await app.jobs.idle();
    await client.deleteArchive({ archiveName: "sales" });
    await app.jobs.idle();
    expect(await countRows()).toEqual([0, 0]);
  });

  test("is refused last", async () => {
    const { client } = await startArchiving();
    const gone = `${arnPrefix}:event-bus/gone`;
    const none = "ENCRYPTION_KEY_NOT_FOUND: Encryption key alias/none does not exist.";
    const disabled = "ENCRYPTION_KEY_DISABLED: Encryption key old is disabled.";
    // archive, bus, key, refusal
    for (const [archiveName, eventSourceArn, kmsKeyIdentifier, refusal] of [
      ["new", gone, "alias/none", "EVENT_BUS_NOT_FOUND: Event bus gone does not exist."],
      ["sales", defaultBus, "alias/none", "ARCHIVE_ALREADY_EXISTS: Archive sales already exists."],
      ["new", defaultBus, "alias/none", none],
      ["new", defaultBus, "old", disabled],
    ] as const)
      expect(await refusalOf(client.createArchive({ archiveName, eventSourceArn, kmsKeyIdentifier }))).toBe(refusal);
    // archive, key, refusal
    for (const [archiveName, kmsKeyIdentifier, refusal] of [
      ["new", "alias/none", "ARCHIVE_NOT_FOUND: Archive new does not exist."],
      ["sales", "alias/none", none],
      ["sales", "old", disabled],
    ] as const)
      expect(await refusalOf(client.updateArchive({ archiveName, kmsKeyIdentifier }))).toBe(refusal);
    expect((await client.describeArchive({ archiveName: "sales" })).kmsKeyIdentifier).toBe("alias/vault");
    expect((await client.listArchives({})).archives).toHaveLength(1);
  });
});
