import { timestampMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { refusalOf, startHarness } from "../harness.ts";

const arnOf = (name: string): string => `arn:aws:events:us-east-1:000000000000:event-bus/${name}`;

describe("createEventBus", () => {
  test("makes a bus that is described and listed at once", async () => {
    const { client, clock } = await startHarness();
    const made = await client.createEventBus({ name: "orders", description: "what is sold" });
    expect(made.eventBusArn).toBe(arnOf("orders"));
    const described = await client.describeEventBus({ name: "orders" });
    expect(described).toMatchObject({
      name: "orders",
      arn: arnOf("orders"),
      description: "what is sold",
      state: "ACTIVE",
    });
    expect(described.creationTime && timestampMs(described.creationTime)).toBe(clock.now());
    expect((await client.listEventBuses({})).eventBuses.map((bus) => bus.name)).toEqual(["default", "orders"]);
  });

  test("refuses, in this order", async () => {
    const { client } = await startHarness({ limits: { busesMax: 2 } });
    await client.createEventBus({ name: "orders" });
    const tags = [
      { key: "a", value: "1" },
      { key: "a", value: "2" },
    ];
    // request | refusal
    const refuses = [
      [
        { name: "" },
        "INVALID_INPUT: 1 validation error detected: Value null at 'name' failed to satisfy constraint: Member must not be null",
      ],
      [
        { name: "aws.partner/x/y", eventSourceName: "aws.partner/x/y" },
        "EVENT_SOURCE_NOT_FOUND: Event source aws.partner/x/y does not exist.",
      ],
      [{ name: "a/b", tags }, "PARAMETER_REFUSED: Parameter Name is not valid. Reason: Name must not contain '/'."],
      [{ name: "orders", tags }, "DUPLICATE_ENTRY: Duplicate tag key a."],
      [{ name: "default" }, "EVENT_BUS_ALREADY_EXISTS: Event bus default already exists."],
      [{ name: "orders" }, "EVENT_BUS_ALREADY_EXISTS: Event bus orders already exists."],
      [{ name: "third" }, "LIMIT_EXCEEDED"],
    ] as const;
    const answers = await Promise.all(
      refuses.map(([request]) =>
        refusalOf(client.createEventBus({ ...request, tags: "tags" in request ? [...request.tags] : [] })),
      ),
    );
    expect(answers).toEqual(refuses.map(([, refusal]) => refusal));
  });
});

describe("describeEventBus", () => {
  test("takes a name, an ARN of either dialect, or nothing for the default bus", async () => {
    const { client } = await startHarness();
    const names = await Promise.all(
      [undefined, "default", arnOf("default"), "arn:svc:event-bus:us-east-1:000000000000:event-bus/default"].map(
        async (name) => (await client.describeEventBus(name === undefined ? {} : { name })).arn,
      ),
    );
    expect(new Set(names)).toEqual(new Set([arnOf("default")]));
  });

  test("refuses a bus that is not there and one of another account", async () => {
    const { client } = await startHarness();
    expect(await refusalOf(client.describeEventBus({ name: "orders" }))).toBe(
      "EVENT_BUS_NOT_FOUND: Event bus orders does not exist.",
    );
    const other = "arn:aws:events:us-east-1:111111111111:event-bus/default";
    expect(await refusalOf(client.describeEventBus({ name: other }))).toBe(
      `ACCESS_DENIED: The caller is not authorized to perform events:DescribeEventBus on resource ${other}`,
    );
  });
});

describe("listEventBuses", () => {
  test("pages by name, each bus once, without a token on the last page", async () => {
    const { client } = await startHarness();
    for (const name of ["b", "a", "c"]) await client.createEventBus({ name });
    const first = await client.listEventBuses({ limit: 2 });
    const second = await client.listEventBuses({ limit: 2, nextToken: first.nextToken });
    expect(first.eventBuses.map((bus) => bus.name)).toEqual(["a", "b"]);
    expect(second.eventBuses.map((bus) => bus.name)).toEqual(["c", "default"]);
    expect(second.nextToken).toBeUndefined();
  });

  test("refuses a token of another listing, of another caller, and one that is a day old", async () => {
    const { client, clientOf, clock } = await startHarness();
    await client.createEventBus({ name: "a" });
    const { nextToken } = await client.listEventBuses({ limit: 1 });
    const invalid = "INVALID_PAGE_TOKEN: The NextToken is not valid or has expired.";
    expect(await refusalOf(client.listEventBuses({ limit: 1, namePrefix: "a", nextToken }))).toBe(invalid);
    expect(await refusalOf(clientOf("111111111111").listEventBuses({ limit: 1, nextToken }))).toBe(invalid);
    expect(await refusalOf(client.listEventBuses({ nextToken: "abc" }))).toBe(invalid);
    clock.advance(86_400_000);
    expect(await refusalOf(client.listEventBuses({ limit: 1, nextToken }))).toBe(invalid);
  });

  test("shows each account its own buses only", async () => {
    const { client, clientOf } = await startHarness();
    await client.createEventBus({ name: "orders" });
    const others = await clientOf("111111111111").listEventBuses({});
    expect(others.eventBuses.map((bus) => bus.arn)).toEqual([
      "arn:aws:events:us-east-1:111111111111:event-bus/default",
    ]);
    expect(await refusalOf(clientOf("").listEventBuses({}))).toBe(
      "ACCESS_DENIED: The caller is not authorized to perform events:ListEventBuses on resource *",
    );
  });
});

describe("updateEventBus", () => {
  test("changes the settings and empties what is omitted", async () => {
    const { client } = await startHarness({ works: false });
    await client.createEventBus({ name: "orders", description: "what is sold", tags: [{ key: "a", value: "1" }] });
    const deadLetterConfig = { arn: "arn:aws:sqs:us-east-1:000000000000:q" };
    const changed = await client.updateEventBus({ name: "orders", deadLetterConfig });
    expect([changed.arn, changed.description, changed.deadLetterConfig?.arn]).toEqual([
      arnOf("orders"),
      undefined,
      deadLetterConfig.arn,
    ]);
    expect((await client.listTagsForResource({ resourceArn: arnOf("orders") })).tags).toHaveLength(1);
    expect(await refusalOf(client.updateEventBus({ name: "gone" }))).toBe(
      "EVENT_BUS_NOT_FOUND: Event bus gone does not exist.",
    );
  });
});

test("the ARN of another region names no bus of this one", async () => {
  const { client } = await startHarness();
  const arn = "arn:aws:events:eu-west-1:000000000000:event-bus/default";
  const refusal = `EVENT_BUS_NOT_FOUND: Event bus ${arn} does not exist.`;
  expect(await refusalOf(client.describeEventBus({ name: arn }))).toBe(refusal);
  expect(await refusalOf(client.putRule({ name: "all", eventBusName: arn, eventPattern: '{"source":["a"]}' }))).toBe(
    refusal,
  );
  expect(await refusalOf(client.createArchive({ archiveName: "all", eventSourceArn: arn }))).toBe(refusal);
});

describe("deleteEventBus", () => {
  test("deletes a bus; repeating it is safe", async () => {
    const { client } = await startHarness();
    await client.createEventBus({ name: "orders" });
    await client.deleteEventBus({ name: "orders" });
    await client.deleteEventBus({ name: "orders" });
    expect((await client.listEventBuses({})).eventBuses.map((bus) => bus.name)).toEqual(["default"]);
  });

  test("refuses the default bus, then a bus with rules", async () => {
    const { client } = await startHarness();
    await client.createEventBus({ name: "orders" });
    await client.putRule({ name: "all", eventBusName: "orders", eventPattern: '{"source":["shop"]}' });
    expect(await refusalOf(client.deleteEventBus({ name: "default" }))).toBe("DEFAULT_EVENT_BUS_NOT_DELETABLE");
    expect(await refusalOf(client.deleteEventBus({ name: "orders" }))).toBe(
      "EVENT_BUS_HAS_RULES: Event bus orders can't be deleted since it has rules.",
    );
    await client.deleteRule({ name: "all", eventBusName: "orders" });
    await client.deleteEventBus({ name: "orders" });
  });
});
