import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test, vi } from "vitest";

import { ownerAccount, refusalOf, startHarness } from "../harness.ts";
import { events } from "../../../services/event-bus/store/layout.ts";

const entry = { source: "shop.orders", detailType: "Order Placed", detail: '{"n": 1.0}' };

/** An API destination that nothing is delivered to. */
const destination = "arn:aws:events:us-east-1:000000000000:api-destination/till";

/** How a refusal of the number of entries begins. */
const lengthRefusal = (bound: string): string =>
  `INVALID_INPUT: 1 validation error detected: ${bound} at 'entries' failed to satisfy constraint: Member must`;

describe("putEvents", () => {
  test("answers each entry in its place, with an id or an error", async () => {
    const { client } = await startHarness();
    const answer = await client.putEvents({
      entries: [
        entry,
        { ...entry, detail: "[]" },
        { ...entry, source: undefined },
        { ...entry, eventBusName: "gone" },
        { ...entry, source: "aws.s3" },
        { ...entry, eventBusName: "arn:aws:events:us-east-1:111111111111:event-bus/default" },
        { ...entry, eventBusName: "arn:aws:events:us-east-1:000000000000:event-bus/default" },
      ],
    });
    expect(answer.failedEntryCount).toBe(4);
    expect(
      answer.entries.map(({ eventId, errorCode }) => errorCode ?? (eventId?.length === 36 ? "taken" : eventId)),
    ).toEqual([
      "taken",
      "MalformedDetail",
      "InvalidArgument",
      "taken",
      "NotAuthorizedForSourceException",
      "AccessDeniedException",
      "taken",
    ]);
  });

  test("lets the other services put events in their own names", async () => {
    const { clientOf } = await startHarness();
    const answer = await clientOf(ownerAccount, "object-storage").putEvents({
      entries: [{ ...entry, source: "aws.s3" }],
    });
    expect(answer.failedEntryCount).toBe(0);
  });

  test("writes the event to the log before it answers, for an unknown bus too", async () => {
    const { client, store, clock } = await startHarness({ works: false });
    const timeMs = Date.UTC(2026, 0, 1, 2, 3, 4, 567);
    await client.putEvents({
      entries: [{ ...entry, time: timestampFromMs(timeMs), resources: ["arn:aws:s3:::photos"] }],
    });
    clock.advance(1);
    await client.putEvents({ entries: [{ ...entry, eventBusName: "gone" }] });
    const logged = await store.read((reader) => reader.list(events, { prefix: [ownerAccount], limit: 10 }));
    expect(logged.map(({ value }) => [value.bus, value.detail, value.matchedRules, Number(value.timeMs)])).toEqual([
      ["default", '{"n": 1.0}', 0, timeMs],
      ["gone", '{"n": 1.0}', undefined, clock.now()],
    ]);
  });

  test("refuses no entries, more than ten, an endpoint, and entries that are too large together", async () => {
    const { client } = await startHarness({ works: false });
    expect(await refusalOf(client.putEvents({ entries: [] }))).toContain("INVALID_INPUT: ");
    expect(await refusalOf(client.putEvents({ entries: Array.from({ length: 11 }, () => entry) }))).toContain(
      lengthRefusal("Value"),
    );
    expect(await refusalOf(client.putEvents({ entries: [entry], endpointId: "abc.def" }))).toBe(
      "PARAMETER_REFUSED: Parameter EndpointId is not valid. Reason: Endpoint abc.def does not exist.",
    );
    const large = { ...entry, detail: `{"text":"${"x".repeat(131_072 - 34)}"}` };
    expect(await refusalOf(client.putEvents({ entries: [large, large] }))).toBe("answered");
    expect(await refusalOf(client.putEvents({ entries: [large, { ...large, source: "shop.orders!" }] }))).toBe(
      "ENTRIES_TOO_LARGE",
    );
  });
});

describe("putEvents on a bus whose rules have large inputs", () => {
  test("takes ten entries although their deliveries are more than one transaction holds", async () => {
    const { client, app } = await startHarness({ works: false });
    const input = JSON.stringify("€".repeat(8_190));
    const targets = [1, 2, 3, 4, 5].map((id) => ({ id: `${id}`, arn: `${destination}/${id}`, input }));
    for (let n = 0; n < 60; n += 1) {
      await client.putRule({ name: `rule-${n}`, eventPattern: '{"source":["shop"]}' });
      await client.putTargets({ rule: `rule-${n}`, targets });
    }
    const sale = { source: "shop", detailType: "Sale", detail: "{}" };
    const answer = await client.putEvents({ entries: Array.from({ length: 10 }, () => sale) });
    expect(answer.failedEntryCount).toBe(0);
    // The 300 deliveries of an event are enqueued in parts; two of these would be more than one part holds.
    expect(await app.jobs.countDue(10_000)).toBe(3_000);
  });

  test("refuses an entry that has more deliveries than a transaction holds, and takes the others", async () => {
    const { client, app } = await startHarness({ works: false, limits: { deliveriesBytesMax: 10_000 } });
    await client.putRule({ name: "wide", eventPattern: '{"source":["wide"]}' });
    const input = JSON.stringify("x".repeat(8_000));
    const targets = [1, 2].map((id) => ({ id: `${id}`, arn: `${destination}/${id}`, input }));
    await client.putTargets({ rule: "wide", targets });
    await client.putRule({ name: "narrow", eventPattern: '{"source":["narrow"]}' });
    await client.putTargets({ rule: "narrow", targets: [{ id: "1", arn: `${destination}/1`, input }] });
    const entries = ["narrow", "wide", "narrow"].map((source) => ({ source, detailType: "Sale", detail: "{}" }));
    const answer = await client.putEvents({ entries });
    expect(answer.entries.map(({ errorCode, errorMessage }) => [errorCode, errorMessage])).toEqual([
      [undefined, undefined],
      ["LimitExceededException", "The event matches targets whose inputs are too large together."],
      [undefined, undefined],
    ]);
    expect(await app.jobs.countDue(10)).toBe(2);
  });

  test("says which entries were not put when the store fails between two transactions", async () => {
    const { client, store } = await startHarness({ works: false, limits: { deliveriesBytesMax: 100 } });
    const sale = { source: "shop", detailType: "Sale", detail: "{}" };
    // What an account has from the beginning is made with its first call.
    await client.putEvents({ entries: [sale] });
    const transact = store.transact.bind(store);
    let calls = 0;
    vi.spyOn(store, "transact").mockImplementation((run, options) => {
      calls += 1;
      return calls === 1 ? transact(run, options) : Promise.reject(new Error("the disk is full"));
    });
    const answer = await client.putEvents({ entries: [sale, sale, {}] });
    expect(answer.entries.map(({ errorCode }) => errorCode)).toEqual([undefined, "InternalFailure", "InvalidArgument"]);
  });
});

describe("testEventPattern", () => {
  const event = {
    id: "1",
    account: "000000000000",
    source: "shop",
    time: "2026-01-02T03:04:05Z",
    region: "us-east-1",
    resources: [],
    "detail-type": "x",
    detail: { state: "new" },
  };

  test("says whether the event matches", async () => {
    const { client } = await startHarness({ works: false });
    const matches = (eventPattern: string) => client.testEventPattern({ eventPattern, event: JSON.stringify(event) });
    expect((await matches('{"detail":{"state":["new"]}}')).result).toBe(true);
    expect((await matches('{"detail":{"state":["old"]}}')).result).toBe(false);
  });

  // pattern | event | refusal
  test.each([
    [
      "{}",
      "x",
      "INVALID_EVENT_PATTERN: Event pattern is not valid. Reason: Empty objects are not allowed\n at line 1, column 3",
    ],
    ['{"source":["a"]}', "x", "PARAMETER_NOT_VALID: Parameter Event is not valid."],
    ['{"source":["a"]}', "[]", "PARAMETER_NOT_VALID: Parameter Event is not valid."],
    [
      '{"source":["a"]}',
      JSON.stringify({ ...event, resources: undefined }),
      "PARAMETER_NOT_VALID: Parameter Event is not valid.",
    ],
    [
      '{"detail":["a"]}',
      JSON.stringify(event).replace('{"state":"new"}', "[".repeat(100_000) + "]".repeat(100_000)),
      "PARAMETER_NOT_VALID: Parameter Event is not valid.",
    ],
    ['{"source":["a"]}', JSON.stringify(event), "answered"],
  ])("the pattern $0 with the event $1 ends as $2", async (eventPattern, given, refusal) => {
    const { client } = await startHarness({ works: false });
    expect(await refusalOf(client.testEventPattern({ eventPattern, event: given }))).toBe(refusal);
  });
});
