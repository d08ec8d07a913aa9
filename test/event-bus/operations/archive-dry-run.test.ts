import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { refusalOf, startHarness } from "../harness.ts";
import { arnPrefix, defaultBus, sell } from "./sales.ts";

const minute = 60_000;
const shopPattern = '{"source":["shop"]}';

const detailsOf = (events: readonly string[]): unknown[] =>
  events.map((event) => (JSON.parse(event) as { detail: unknown }).detail);

/** A service with an archive `sales`, from an instant on which events are sold. */
const openArchive = async (limits: object = {}) => {
  const harness = await startHarness({ works: false, limits });
  await harness.client.createArchive({ archiveName: "sales", eventSourceArn: defaultBus });
  return { ...harness, startMs: harness.clock.now() };
};

describe("testEventPatternOnArchive", () => {
  test("counts the archived events of a time that match a pattern, shows the first, and delivers nothing", async () => {
    const { client, startMs, app } = await openArchive();
    await sell(client, startMs, 20);
    const eventPattern = '{"detail":{"n":[{"numeric":[">=",5]}]}}';
    const all = await client.testEventPatternOnArchive({ archiveName: "sales", eventPattern, limit: 2 });
    expect([all.examinedCount, all.matchedCount, all.nextToken]).toEqual([20n, 15n, undefined]);
    expect(detailsOf(all.matchedEvents)).toEqual([{ n: 5 }, { n: 6 }]);
    const part = await client.testEventPatternOnArchive({
      archiveName: "sales",
      eventPattern,
      eventStartTime: timestampFromMs(startMs + 4 * minute),
      eventEndTime: timestampFromMs(startMs + 7 * minute),
    });
    expect([part.examinedCount, part.matchedCount, detailsOf(part.matchedEvents)]).toEqual([
      3n,
      2n,
      [{ n: 5 }, { n: 6 }],
    ]);
    expect(await app.jobs.countDue(10)).toBe(0);
  });

  test("takes the pattern of a rule, enabled or not", async () => {
    const { client, startMs } = await openArchive();
    await sell(client, startMs, 3);
    await client.putRule({ name: "new", eventPattern: '{"detail":{"n":[1]}}' });
    await client.disableRule({ name: "new" });
    const tried = await client.testEventPatternOnArchive({ archiveName: "sales", rule: "new" });
    expect([tried.examinedCount, tried.matchedCount]).toEqual([3n, 1n]);
  });

  test("ends a page at 5,000 events, and goes on after it", async () => {
    const { client } = await openArchive();
    const entries = Array.from({ length: 10 }, (_, n) => ({
      source: "shop",
      detailType: "Sale",
      detail: `{"n":${n}}`,
    }));
    for (let n = 0; n < 502; n += 20)
      await Promise.all(Array.from({ length: 20 }, () => client.putEvents({ entries })));
    const request = { archiveName: "sales", eventPattern: '{"detail":{"n":[3]}}', limit: 1 };
    const first = await client.testEventPatternOnArchive(request);
    expect([first.examinedCount, first.matchedEvents.length]).toEqual([5_000n, 1]);
    const second = await client.testEventPatternOnArchive({ ...request, nextToken: first.nextToken });
    expect([second.examinedCount, second.nextToken]).toEqual([200n, undefined]);
    expect(Number(first.matchedCount) + Number(second.matchedCount)).toBe(520);
  });

  test("shows at most 3 MiB of events and counts the others, and ends a page at 16 MiB", async () => {
    const { client } = await openArchive();
    const detail = JSON.stringify({ text: "x".repeat(250_000) });
    for (let n = 0; n < 70; n += 1)
      await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail }] });
    const first = await client.testEventPatternOnArchive({ archiveName: "sales", eventPattern: shopPattern });
    expect([first.matchedEvents.length, first.matchedCount, first.examinedCount]).toEqual([12, 68n, 68n]);
    const second = await client.testEventPatternOnArchive({
      archiveName: "sales",
      eventPattern: shopPattern,
      nextToken: first.nextToken,
    });
    expect([second.matchedEvents.length, second.matchedCount, second.nextToken]).toEqual([2, 2n, undefined]);
  });

  test("is refused, in this order", async () => {
    const { client, startMs } = await openArchive();
    await client.createEventBus({ name: "orders" });
    await client.putRule({ name: "hourly", scheduleExpression: "rate(1 hour)" });
    const time = timestampFromMs(startMs);
    const early = { eventStartTime: time, eventEndTime: time };
    const later = { eventStartTime: time, eventEndTime: timestampFromMs(startMs + 1) };
    const parameter = (name: string, reason: string): string =>
      `PARAMETER_REFUSED: Parameter ${name} is not valid. Reason: ${reason}`;
    const either = parameter("EventPattern", "Either EventPattern or Rule must be given.");
    const gone = { archiveName: "gone" };
    const invalid = "INVALID_EVENT_PATTERN: Event pattern is not valid. Reason: Filter is not an object";
    // request | refusal
    const refuses: [Parameters<typeof client.testEventPatternOnArchive>[0], string][] = [
      [{ ...gone, ...early }, either],
      [{ ...gone, ...early, eventPattern: "[", rule: "x" }, either],
      [{ ...gone, ...early, eventPattern: "[]" }, invalid],
      [{ ...gone, ...early, rule: "x" }, parameter("EventEndTime", "EventStartTime must be before EventEndTime.")],
      [{ ...gone, ...later, rule: "x", eventBusName: "orders" }, "ARCHIVE_NOT_FOUND: Archive gone does not exist."],
      [
        { archiveName: "sales", rule: "x", eventBusName: "orders", nextToken: "x" },
        parameter("EventBusName", "The archive is of event bus default."),
      ],
      [
        { archiveName: "sales", rule: "x", nextToken: "x" },
        "RULE_NOT_FOUND: Rule x does not exist on EventBus default.",
      ],
      [{ archiveName: "sales", rule: "hourly", nextToken: "x" }, parameter("Rule", "Rule hourly has no pattern.")],
      [
        { archiveName: "sales", eventPattern: shopPattern, nextToken: "x" },
        "INVALID_PAGE_TOKEN: The NextToken is not valid or has expired.",
      ],
    ];
    const answers = [];
    for (const [request] of refuses)
      answers.push((await refusalOf(client.testEventPatternOnArchive(request))).split("\n")[0]);
    expect(answers).toEqual(refuses.map(([, refusal]) => refusal));
  });

  test("sees no archive and no bus of another account", async () => {
    const { clientOf } = await openArchive();
    const other = clientOf("111122223333");
    const request = { archiveName: "sales", eventPattern: shopPattern };
    expect(await refusalOf(other.testEventPatternOnArchive(request))).toBe(
      "ARCHIVE_NOT_FOUND: Archive sales does not exist.",
    );
    const crossing = { archiveName: "sales", rule: "x", eventBusName: `${arnPrefix}:event-bus/default` };
    expect(await refusalOf(other.testEventPatternOnArchive(crossing))).toMatch(/^ACCESS_DENIED: /);
  });
});
