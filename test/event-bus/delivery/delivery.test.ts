import { describe, expect, test } from "vitest";

import { ownerAccount, startHarness } from "../harness.ts";
import { openShop } from "./shop.ts";

const queue = "arn:aws:sqs:us-east-1:000000000000:lost-sales";

/** The ARN of a bus in this region. */
const busArn = (name: string, account = ownerAccount): string =>
  `arn:aws:events:us-east-1:${account}:event-bus/${name}`;

describe("a delivery", () => {
  test("brings the whole event in its documented envelope, the detail as it was spelled", async () => {
    const { client, app } = await startHarness();
    const shop = await openShop(client);
    const { entries } = await client.putEvents({
      entries: [
        { source: "shop", detailType: "Sale", detail: ' {"price": 1.50} ', resources: ["arn:aws:s3:::photos"] },
      ],
    });
    await app.jobs.idle();
    expect(shop.till.received.map(({ body }) => body.toString())).toEqual([
      `{"version":"0","id":"${entries[0]?.eventId}","detail-type":"Sale","source":"shop","account":"000000000000",` +
        '"time":"2026-01-02T03:04:05Z","region":"us-east-1","resources":["arn:aws:s3:::photos"],"detail":{"price": 1.50}}',
    ]);
  });

  test("follows rules as soon as they are answered", async () => {
    const { client, app } = await startHarness();
    const shop = await openShop(client);
    await shop.sell({ n: 1 });
    await client.disableRule({ name: "sales" });
    await shop.sell({ n: 2 });
    await client.enableRule({ name: "sales" });
    await shop.sell({ n: 3 });
    await client.putRule({ name: "sales", eventPattern: '{"source":["depot"]}' });
    await shop.sell({ n: 4 });
    await client.putRule({ name: "sales", eventPattern: '{"detail":{"n":[5]}}' });
    await shop.sell({ n: 5 });
    await client.removeTargets({ rule: "sales", ids: ["till"] });
    await shop.sell({ n: 5 });
    await client.deleteRule({ name: "sales" });
    await shop.sell({ n: 5 });
    await app.jobs.idle();
    const sold = shop.till.received.map(
      ({ body }) => (JSON.parse(body.toString()) as { detail: { n: number } }).detail.n,
    );
    expect(sold.toSorted((a, b) => a - b)).toEqual([1, 3, 5]);
  });

  test("follows the rules of a bus that took the name of one before it", async () => {
    const { client, app, deadLetters } = await startHarness();
    const fill = async (rule: string): Promise<void> => {
      await client.createEventBus({ name: "depot" });
      await client.putRule({ name: rule, eventBusName: "depot", eventPattern: '{"source":["shop"]}' });
      await client.putTargets({ rule, eventBusName: "depot", targets: [{ id: "away", arn: queue }] });
    };
    const event = { source: "shop", detailType: "Sale", detail: "{}", eventBusName: "depot" };
    await fill("before");
    await client.putEvents({ entries: [event] });
    await client.removeTargets({ rule: "before", eventBusName: "depot", ids: ["away"] });
    await client.deleteRule({ name: "before", eventBusName: "depot" });
    await client.deleteEventBus({ name: "depot" });
    await fill("after");
    await client.putEvents({ entries: [event] });
    await app.jobs.idle();
    expect((await deadLetters()).map(({ letter }) => letter.rule).toSorted()).toEqual(["after", "before"]);
  });

  test("is tried again with growing delays until the target takes it", async () => {
    const { client, app, clock, deadLetters } = await startHarness();
    let count = 0;
    const shop = await openShop(client, { answer: () => ({ status: ++count < 4 ? 503 : 200 }) });
    await shop.sell({ n: 1 });
    await app.jobs.idle();
    const waits: number[] = [];
    for (let tries = 1; tries < 4; tries += 1) {
      expect(shop.till.received).toHaveLength(tries);
      const nextMs = clock.pending().find((atMs) => atMs > clock.now() && atMs < clock.now() + 30_000) ?? 0;
      waits.push(nextMs - clock.now());
      clock.set(nextMs);
      await app.jobs.idle();
    }
    expect(waits).toEqual([750, 1_500, 3_000]);
    expect(shop.till.received).toHaveLength(4);
    expect(await deadLetters()).toEqual([]);
  });

  test("that is refused for good goes to the dead letters at once, with the documented attributes", async () => {
    const { client, app, deadLetters } = await startHarness();
    const shop = await openShop(client, {
      answer: () => ({ status: 404 }),
      target: { deadLetterConfig: { arn: queue }, input: '{"constant":1}' },
    });
    const id = await shop.sell({ n: 1 });
    await app.jobs.idle();
    expect(shop.till.received.map(({ body }) => body.toString())).toEqual(['{"constant":1}']);
    const [dead, ...others] = await deadLetters();
    expect(others).toEqual([]);
    expect(dead?.letter).toMatchObject({
      ruleArn: "arn:aws:events:us-east-1:000000000000:rule/sales",
      targetArn: shop.destinationArn,
      errorCode: "ERROR_FROM_TARGET",
      errorMessage: "The endpoint answered with status 404.",
      retryAttempts: 0,
      queueArn: queue,
    });
    expect(dead?.letter.exhaustedRetryCondition).toBeUndefined();
    expect([dead?.letter.event?.id, dead?.letter.event?.detail]).toEqual([id, '{"n":1}']);
  });

  // retry policy | how far the clock goes at a time | tries | condition
  test.each([
    [{ maximumRetryAttempts: 0 }, 1_000, 1, "MaximumRetryAttempts"],
    [{ maximumRetryAttempts: 2 }, 5_000, 3, "MaximumRetryAttempts"],
    [{ maximumEventAgeInSeconds: 60 }, 30_000, 3, "MaximumEventAgeInSeconds"],
  ])("with %o ends in the dead letters", async (retryPolicy, stepMs, tries, condition) => {
    const { client, app, clock, deadLetters } = await startHarness();
    const shop = await openShop(client, { answer: () => ({ status: 500 }), target: { retryPolicy } });
    await shop.sell({ n: 1 });
    await app.jobs.idle();
    for (let step = 0; step < 5; step += 1) {
      clock.advance(stepMs);
      await app.jobs.idle();
    }
    expect(shop.till.received).toHaveLength(tries);
    const [dead] = await deadLetters();
    expect([dead?.letter.exhaustedRetryCondition, dead?.letter.retryAttempts]).toEqual([condition, tries - 1]);
  });

  test("waits as long as Retry-After says", async () => {
    const { client, app, clock } = await startHarness();
    let count = 0;
    const shop = await openShop(client, {
      answer: () => (++count === 1 ? { status: 429, headers: { "retry-after": "100" } } : { status: 200 }),
    });
    await shop.sell({ n: 1 });
    await app.jobs.idle();
    clock.advance(99_999);
    await app.jobs.idle();
    expect(shop.till.received).toHaveLength(1);
    clock.advance(1);
    await app.jobs.idle();
    expect(shop.till.received).toHaveLength(2);
  });

  test("keeps the input and role of the moment of its event, and follows what its target names", async () => {
    const { client, app, clock } = await startHarness();
    let isOpen = false;
    const shop = await openShop(client, {
      answer: () => ({ status: isOpen ? 200 : 503 }),
      target: { input: '{"was":1}' },
    });
    await shop.sell({ n: 1 });
    await app.jobs.idle();
    const target = { id: "till", arn: shop.destinationArn };
    const roleArn = `arn:aws:iam::${ownerAccount}:role/unknown`;
    await client.putTargets({ rule: "sales", targets: [{ ...target, input: '{"is":2}', roleArn }] });
    await client.updateApiDestination({ name: "till", invocationEndpoint: `${shop.till.url}/moved` });
    isOpen = true;
    clock.advance(1_000);
    await app.jobs.idle();
    const received = shop.till.received.map(({ url, body }) => `${url} ${body.toString()}`);
    expect(received).toEqual(['/till {"was":1}', '/moved {"was":1}']);
  });

  test("is spaced by the rate limit of its destination, and none is dropped", async () => {
    const { client, app, clock, deadLetters } = await startHarness();
    const shop = await openShop(client, {
      destination: { invocationRateLimitPerSecond: 1 },
      target: { retryPolicy: { maximumRetryAttempts: 0 } },
    });
    for (let n = 0; n < 4; n += 1) await shop.sell({ n });
    await app.jobs.idle();
    const counts = [shop.till.received.length];
    for (let second = 0; second < 4; second += 1) {
      clock.advance(1_000);
      await app.jobs.idle();
      counts.push(shop.till.received.length);
    }
    expect(counts).toEqual([1, 2, 3, 4, 4]);
    expect(await deadLetters()).toEqual([]);
  });

  test("to a kind of target that the installation has no endpoint for is never lost silently", async () => {
    const { client, app, deadLetters } = await startHarness();
    await client.putRule({ name: "all", eventPattern: '{"source":["shop"]}' });
    await client.putTargets({ rule: "all", targets: [{ id: "q", arn: queue }] });
    await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: "{}" }] });
    await app.jobs.idle();
    const [dead] = await deadLetters();
    expect([dead?.letter.errorCode, dead?.letter.errorMessage]).toEqual([
      "NO_RESOURCE",
      `This installation has no endpoint for ${queue}.`,
    ]);
  });

  test("whose template becomes no JSON goes to the dead letters as INVALID_JSON", async () => {
    const { client, app, deadLetters } = await startHarness();
    const shop = await openShop(client, {
      target: { inputTransformer: { inputPathsMap: { say: "$.detail.say" }, inputTemplate: '{"text":"<say>"}' } },
    });
    await shop.sell({ say: "plain" });
    await shop.sell({ say: 'with "quotes"' });
    await app.jobs.idle();
    expect(shop.till.received.map(({ body }) => body.toString())).toEqual(['{"text":"plain"}']);
    expect((await deadLetters()).map(({ letter }) => letter.errorCode)).toEqual(["INVALID_JSON"]);
  });

  // The target's own settings, each of which takes its values from the event by costly paths.
  const costly = Object.fromEntries(
    Array.from({ length: 90 }, (_, index) => [`p${index}`, `$.detail.list[*].k${index}`]),
  );
  test.each([
    [
      {
        inputTransformer: {
          inputPathsMap: costly,
          inputTemplate: `[${Object.keys(costly)
            .map((name) => `<${name}>`)
            .join()}]`,
        },
      },
    ],
    [{ httpParameters: { headerParameters: costly } }],
  ])("whose paths pass too much of its event goes to the dead letters", async (target) => {
    const { client, app, deadLetters } = await startHarness();
    const shop = await openShop(client, { target });
    await shop.sell({ list: Array.from({ length: 40_000 }, () => ({})) });
    await app.jobs.idle();
    expect(shop.till.received).toEqual([]);
    expect((await deadLetters()).map(({ letter }) => [letter.errorCode, letter.errorMessage])).toEqual([
      [
        "RESOURCE_LIMIT_EXCEEDED",
        "The delivery cannot be made: the paths pass more than 10000000 characters of the event.",
      ],
    ]);
  });

  test("to a destination or connection that is gone is told as such", async () => {
    const { client, app, deadLetters } = await startHarness();
    const shop = await openShop(client);
    await client.deleteConnection({ name: "shop" });
    await shop.sell({ n: 1 });
    await app.jobs.idle();
    await client.deleteApiDestination({ name: "till" });
    await shop.sell({ n: 2 });
    await app.jobs.idle();
    const letters = await deadLetters();
    expect(letters.map(({ letter }) => letter.errorCode)).toEqual(["NO_RESOURCE", "NO_RESOURCE"]);
    const missing = letters.map(({ letter }) => /connection|api-destination/.exec(letter.errorMessage)?.[0]);
    expect(new Set(missing)).toEqual(new Set(["api-destination", "connection"]));
  });
});

describe("an event bus as a target", () => {
  test("takes the event with its id, and its rules act on it", async () => {
    const { client, app } = await startHarness();
    const shop = await openShop(client);
    await client.createEventBus({ name: "archive" });
    await client.putRule({ name: "copies", eventBusName: "archive", eventPattern: '{"account":["000000000000"]}' });
    await client.putTargets({
      rule: "copies",
      eventBusName: "archive",
      targets: [{ id: "till", arn: shop.destinationArn }],
    });
    await client.putTargets({ rule: "sales", targets: [{ id: "till", arn: busArn("archive") }] });
    const id = await shop.sell({ n: 1 });
    await app.jobs.idle();
    expect(shop.till.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id)).toEqual([id]);
  });

  // members of the target | detail at the next bus, or the code of the dead letter
  test.each([
    [{ input: '{"n":2}' }, '{"n":2}'],
    [{ inputPath: "$.detail.inner" }, '{"a": 1.0}'],
    [{ inputPath: "$" }, '{"inner":{"a": 1.0}}'],
    [{ inputTransformer: { inputPathsMap: {}, inputTemplate: '{"detail":{"new":true}}' } }, '{"new":true}'],
    [{ input: '"text"' }, "INVALID_JSON"],
  ])("receives the input of a target with %j as detail: %s", async (members, result) => {
    const { client, app, deadLetters } = await startHarness();
    const shop = await openShop(client, { target: { inputPath: "$.detail" } });
    await client.createEventBus({ name: "next" });
    await client.putTargets({ rule: "sales", targets: [{ id: "till", arn: busArn("next"), ...members }] });
    await client.putRule({ name: "copies", eventBusName: "next", eventPattern: '{"source":["shop"]}' });
    const targets = [{ id: "till", arn: shop.destinationArn, inputPath: "$.detail" }];
    await client.putTargets({ rule: "copies", eventBusName: "next", targets });
    const entry = { source: "shop", detailType: "Sale", detail: '{"inner":{"a": 1.0}}' };
    await client.putEvents({ entries: [entry] });
    await app.jobs.idle();
    const received = shop.till.received.map(({ body }) => body.toString());
    const codes = (await deadLetters()).map(({ letter }) => letter.errorCode);
    expect([...received, ...codes]).toEqual([result]);
  });

  test("ends events that go round in circles", async () => {
    const { client, app, deadLetters } = await startHarness({ limits: { hopsMax: 3 } });
    await client.putRule({ name: "round", eventPattern: '{"source":["shop"]}' });
    await client.putTargets({ rule: "round", targets: [{ id: "self", arn: busArn("default") }] });
    await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: "{}" }] });
    await app.jobs.idle();
    expect((await deadLetters()).map(({ letter }) => [letter.errorCode, letter.errorMessage])).toEqual([
      ["RESOURCE_LIMIT_EXCEEDED", "The event has passed through 4 buses."],
    ]);
  });

  test("fails for an event that has more deliveries there than a transaction holds", async () => {
    const { client, app, deadLetters } = await startHarness({ limits: { deliveriesBytesMax: 8_000 } });
    const shop = await openShop(client);
    const input = JSON.stringify("x".repeat(8_000));
    await client.createEventBus({ name: "wide" });
    await client.putRule({ name: "copies", eventBusName: "wide", eventPattern: '{"source":["shop"]}' });
    const targets = [{ id: "till", arn: shop.destinationArn, input }];
    await client.putTargets({ rule: "copies", eventBusName: "wide", targets });
    await client.putTargets({ rule: "sales", targets: [{ id: "till", arn: busArn("wide") }] });
    await shop.sell({ n: 1 });
    await app.jobs.idle();
    expect((await deadLetters()).map(({ letter }) => [letter.errorCode, letter.errorMessage])).toEqual([
      ["RESOURCE_LIMIT_EXCEEDED", "The event matches targets whose inputs are too large together."],
    ]);
  });

  // target | code
  test.each([
    [busArn("gone"), "NO_RESOURCE"],
    [busArn("default", "111111111111"), "NO_PERMISSIONS"],
    ["arn:aws:events:eu-west-1:000000000000:event-bus/default", "NO_RESOURCE"],
  ])("%s fails as %s", async (arn, code) => {
    const { client, app, deadLetters } = await startHarness();
    await client.putRule({ name: "all", eventPattern: '{"source":["shop"]}' });
    await client.putTargets({ rule: "all", targets: [{ id: "bus", arn }] });
    await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: "{}" }] });
    await app.jobs.idle();
    expect((await deadLetters()).map(({ letter }) => letter.errorCode)).toEqual([code]);
  });
});
