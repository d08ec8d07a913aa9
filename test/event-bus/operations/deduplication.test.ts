import { describe, expect, test } from "vitest";

import { deduplications, events } from "../../../services/event-bus/store/layout.ts";
import { deduplicationSweep } from "../../../services/event-bus/work/log-sweep.ts";
import type { EventBusClient, Harness } from "../harness.ts";
import { ownerAccount, refusalOf, startHarness } from "../harness.ts";

const sale = { source: "shop", detailType: "Sale", detail: "{}" };

/** Puts one entry; returns the id of its event. */
const put = async (client: EventBusClient, deduplicationId: string, change: object = {}): Promise<string> => {
  const { entries } = await client.putEvents({ entries: [{ ...sale, deduplicationId, ...change }] });
  return entries[0]?.eventId ?? entries[0]?.errorCode ?? "";
};

const loggedIds = async ({ store }: Harness): Promise<string[]> => {
  const logged = await store.read((reader) => reader.list(events, { limit: 100 }));
  return logged.map(({ key }) => key[2]).toSorted();
};

const minute = 60_000;

describe("an entry with a deduplication id", () => {
  test("is put once in five minutes, and then answered with the id of the event that was put", async () => {
    const harness = await startHarness({ works: false });
    const { client, clock } = harness;
    const first = await put(client, "order-1");
    clock.advance(5 * minute - 1);
    expect(await put(client, "order-1", { detail: '{"n":2}' })).toBe(first);
    clock.advance(1);
    const second = await put(client, "order-1");
    expect(second).not.toBe(first);
    expect(await put(client, "order-1")).toBe(second);
    expect(await loggedIds(harness)).toEqual([first, second].toSorted());
  });

  test("is compared with those of the same account for the same bus", async () => {
    const harness = await startHarness({ works: false });
    const { client, clientOf } = harness;
    await client.createEventBus({ name: "orders" });
    const buses = "arn:aws:events:us-east-1:000000000000:event-bus";
    await client.putPermission({ statementId: "a", principal: "111122223333", action: "events:PutEvents" });
    const ids = [
      await put(client, "a"),
      await put(client, "b"),
      await put(client, "a", { eventBusName: "orders" }),
      await put(client, "a", { eventBusName: "gone" }),
      await put(clientOf("111122223333"), "a"),
      await put(clientOf("111122223333"), "a", { eventBusName: `${buses}/default` }),
    ];
    expect(await loggedIds(harness)).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(6);
    expect(await put(client, "a", { eventBusName: `${buses}/default` })).toBe(ids[0]);
    expect(await put(client, "a", { eventBusName: "gone" })).toBe(ids[3]);
    expect(await put(clientOf("111122223333"), "a", { eventBusName: `${buses}/default` })).toBe(ids[5]);
  });

  test("is put once by 64 callers at the same time, and once in a call", async () => {
    const harness = await startHarness({ works: false });
    const { client } = harness;
    const ids = await Promise.all(Array.from({ length: 64 }, () => put(client, "order-1")));
    expect(await loggedIds(harness)).toEqual([...new Set(ids)]);
    const entry = { ...sale, deduplicationId: "order-2" };
    const { entries, failedEntryCount } = await client.putEvents({ entries: [entry, sale, entry] });
    expect([entries[0]?.eventId, failedEntryCount]).toEqual([entries[2]?.eventId, 0]);
    expect(await loggedIds(harness)).toHaveLength(3);
  });

  test("is remembered after a restart", async () => {
    const first = await startHarness({ works: false });
    const { clock, directory } = first;
    const id = await put(first.client, "order-1");
    await first.stop();
    const second = await startHarness({ works: false, directory, clock });
    expect(await put(second.client, "order-1")).toBe(id);
  });

  test("is not remembered if it was refused", async () => {
    const { client } = await startHarness({ works: false, limits: { deliveriesBytesMax: 10_000 } });
    expect(await put(client, "order-1", { detail: "[]" })).toBe("MalformedDetail");
    const input = JSON.stringify("x".repeat(8_000));
    const arn = "arn:aws:events:us-east-1:000000000000:api-destination/till";
    await client.putRule({ name: "wide", eventPattern: '{"source":["shop"]}' });
    await client.putTargets({ rule: "wide", targets: ["1", "2"].map((id) => ({ id, arn: `${arn}/${id}`, input })) });
    expect(await put(client, "order-1")).toBe("LimitExceededException");
    await client.removeTargets({ rule: "wide", ids: ["1", "2"] });
    expect(await put(client, "order-1")).toHaveLength(36);
  });

  test("is remembered when the clock is set back by less than five minutes, and not by more", async () => {
    const { client, clock } = await startHarness({ works: false });
    const first = await put(client, "order-1");
    clock.setBack(5 * minute - 1);
    expect(await put(client, "order-1")).toBe(first);
    clock.setBack(1);
    const second = await put(client, "order-1");
    expect(second).not.toBe(first);
    clock.setBack(86_400_000);
    expect(await put(client, "order-1")).not.toBe(second);
  });

  test("is forgotten by the sweep when no put can find it any more, wherever the clock is set", async () => {
    const { client, clock, app, store } = await startHarness({ works: false });
    const sweep = deduplicationSweep(app);
    const left = async () => {
      await sweep(new AbortController().signal);
      return (await store.read((reader) => reader.list(deduplications, { limit: 2_000 }))).map(({ key }) => key[4]);
    };
    clock.set(Math.ceil(clock.now() / (10 * minute)) * 10 * minute);
    await put(client, "early");
    clock.advance(10 * minute);
    await put(client, "late");
    expect(await left()).toEqual(["early", "late"]);
    clock.advance(5 * minute);
    expect(await left()).toEqual(["late"]);
    clock.setBack(86_400_000);
    expect(await left()).toEqual([]);
    for (let n = 0; n < 110; n += 1)
      await client.putEvents({
        entries: Array.from({ length: 10 }, (_, index) => ({ ...sale, deduplicationId: `${n}-${index}` })),
      });
    clock.advance(20 * minute);
    expect(await left()).toEqual([]);
  });

  // id | refused
  test.each([
    ["", true],
    ["a", false],
    ["a b", true],
    ["é", true],
    ["~".repeat(128), false],
    ["~".repeat(129), true],
  ])("has 1 to 128 printable characters: %j", async (deduplicationId, isRefused) => {
    const { client } = await startHarness({ works: false });
    const refusal = await refusalOf(client.putEvents({ entries: [{ ...sale, deduplicationId }] }));
    expect(refusal.startsWith("INVALID_INPUT: ")).toBe(isRefused);
  });

  test("may have its id from a header of the call, which gives each entry another one", async () => {
    const harness = await startHarness({ works: false });
    const headers = { "x-svc-deduplication-id": "call-1" };
    const call = async () => {
      const { entries } = await harness.client.putEvents({ entries: [sale, sale] }, { headers });
      return entries.map(({ eventId }) => eventId);
    };
    const ids = await call();
    const first = new Set(ids);
    expect(await call()).toEqual(ids);
    expect(await put(harness.client, "call-1/1")).toBe(ids[1]);
    expect(new Set(await loggedIds(harness))).toEqual(first);
    const long = harness.client.putEvents(
      { entries: [sale] },
      { headers: { "x-svc-deduplication-id": "x".repeat(121) } },
    );
    expect(await refusalOf(long)).toBe(
      "PARAMETER_REFUSED: Parameter x-svc-deduplication-id is not valid. Reason: Must have 1 to 120 printable characters.",
    );
  });

  test("costs entries without an id no record", async () => {
    const { client, store } = await startHarness({ works: false });
    await client.putEvents({ entries: [sale, sale] });
    expect(await store.read((reader) => reader.list(deduplications, { limit: 10 }))).toEqual([]);
    expect(await store.read((reader) => reader.list(events, { prefix: [ownerAccount], limit: 10 }))).toHaveLength(2);
  });
});
