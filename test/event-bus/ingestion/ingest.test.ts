import { describe, expect, test } from "vitest";

import type { NewEvent } from "../../../services/event-bus/ingestion/ingest.ts";
import { ingestEvent, openBus } from "../../../services/event-bus/ingestion/ingest.ts";
import { eventHolders, events } from "../../../services/event-bus/store/layout.ts";
import type { Harness } from "../harness.ts";
import { ownerAccount, startHarness } from "../harness.ts";

const event: NewEvent = {
  id: "e-1",
  detailType: "Sale",
  source: "shop",
  account: ownerAccount,
  timeMs: 1_767_323_045_000n,
  region: "us-east-1",
  resources: [],
  detail: "{}",
  traceHeader: undefined,
  replayName: undefined,
  hops: 0,
};
const queue = "arn:aws:sqs:us-east-1:000000000000:sales";

/** Ingests an event in a transaction of its own. Returns the kind of the outcome. */
const ingest = ({ app, store }: Harness, change: Partial<NewEvent> = {}, bus = "default"): Promise<string> =>
  store.transact(async (transaction) => {
    const opened = await openBus(app, transaction, { account: ownerAccount, name: bus });
    return (await ingestEvent(app, transaction, opened, { ...event, ...change })).kind;
  });

/** The events of the log: their ids in it, the rules that they matched, and the kinds of their holders. */
const logOf = ({ store }: Harness): Promise<unknown[]> =>
  store.read(async (reader) => {
    const holders = await reader.list(eventHolders, { limit: 100 });
    return (await reader.list(events, { limit: 100 })).map(({ key, value }) => [
      key[2].replace(/\/.*/, "/…"),
      value.matchedRules,
      holders.filter((holder) => holder.key[2] === key[2]).map((holder) => holder.key[3].replace(/:.*/, "")),
    ]);
  });

describe("ingestEvent", () => {
  test("stores an event for a bus that does not exist with no number of matched rules, and delivers nothing", async () => {
    const harness = await startHarness({ works: false });
    expect(await ingest(harness, {}, "gone")).toBe("ingested");
    expect(await logOf(harness)).toEqual([["e-1", undefined, []]]);
  });

  test("stores an event with a delivery for each target and the archive, which hold it", async () => {
    const harness = await startHarness({ works: false });
    await harness.client.putRule({ name: "sales", eventPattern: '{"source":["shop"]}' });
    await harness.client.putTargets({
      rule: "sales",
      targets: [
        { id: "1", arn: queue },
        { id: "2", arn: queue },
      ],
    });
    await harness.client.createArchive({
      archiveName: "sales",
      eventSourceArn: "arn:aws:events:us-east-1:000000000000:event-bus/default",
    });
    await ingest(harness);
    expect(await logOf(harness)).toEqual([["e-1", 1, ["archive", "delivery", "delivery"]]]);
    expect(await harness.app.jobs.countDue(10)).toBe(2);
  });

  test("stores an event again that came through another bus or a replay, next to the one of its id", async () => {
    const harness = await startHarness({ works: false });
    await harness.client.describeEventBus({});
    await ingest(harness);
    await ingest(harness, { hops: 1 });
    await ingest(harness, { replayName: "again" });
    expect(await logOf(harness)).toEqual([
      ["e-1", 0, []],
      ["e-1/…", 0, []],
      ["e-1/…", 0, []],
    ]);
  });

  test("writes nothing of an event whose deliveries are too large together", async () => {
    const harness = await startHarness({ works: false, limits: { deliveriesBytesMax: 8_000 } });
    await harness.client.putRule({ name: "sales", eventPattern: '{"source":["shop"]}' });
    const input = JSON.stringify("x".repeat(8_000));
    await harness.client.putTargets({ rule: "sales", targets: [{ id: "1", arn: queue, input }] });
    expect(await ingest(harness)).toBe("too-large");
    expect(await logOf(harness)).toEqual([]);
    expect(await harness.app.jobs.countDue(10)).toBe(0);
  });

  test("enqueues many deliveries in parts, each of which holds the event until it is made", async () => {
    const harness = await startHarness({ works: false, limits: { targetsPerRuleMax: 100 } });
    const targets = Array.from({ length: 100 }, (_, n) => ({ id: `${n}`, arn: queue }));
    for (const rule of ["first", "second"]) {
      await harness.client.putRule({ name: rule, eventPattern: '{"source":["shop"]}' });
      await harness.client.putTargets({ rule, targets });
    }
    await ingest(harness);
    expect(await logOf(harness)).toEqual([["e-1", 2, Array.from({ length: 7 }, () => "fan-out")]]);
    await harness.stop();
    const { directory, clock } = harness;
    const next = await startHarness({ directory, clock });
    await next.app.jobs.idle();
    expect(await logOf(next)).toEqual([["e-1", 2, []]]);
    expect(await next.deadLetters()).toHaveLength(200);
  });
});
