import { describe, expect, test } from "vitest";

import { ReplayState } from "../../../gen/quartet/eventbus/v1/replay_pb.ts";
import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import { openShop } from "../delivery/shop.ts";
import { refusalOf, startHarness } from "../harness.ts";

const queue = "arn:aws:sqs:us-east-1:000000000000:q";
const busArn = "arn:aws:events:us-east-1:000000000000:event-bus/default";

describe("a rule", () => {
  test("has every member with which it was put", async () => {
    const { client } = await startHarness();
    const rule = {
      name: "all",
      eventPattern: '{"source":["shop"]}',
      scheduleExpression: "rate(1 hour)",
      state: RuleState.DISABLED,
      description: "what is sold",
      roleArn: "arn:aws:iam::000000000000:role/r",
    };
    await client.putRule(rule);
    expect(await client.describeRule({ name: "all" })).toMatchObject({
      ...rule,
      arn: "arn:aws:events:us-east-1:000000000000:rule/all",
      eventBusName: "default",
      createdBy: "000000000000",
    });
  });

  test("with a pattern and a schedule is triggered by both", async () => {
    const { client, app, clock } = await startHarness();
    const shop = await openShop(client, { target: { inputPath: "$.detail-type" } });
    await client.putRule({ name: "sales", eventPattern: '{"source":["shop"]}', scheduleExpression: "rate(1 minute)" });
    await shop.sell({});
    await app.jobs.idle();
    clock.advance(60_000);
    await app.jobs.idle();
    expect(shop.till.received.map(({ body }) => body.toString())).toEqual(['"Sale"', '"Scheduled Event"']);
  });

  test("watches the events of its own bus only", async () => {
    const { client, app } = await startHarness();
    const shop = await openShop(client);
    await client.createEventBus({ name: "depot" });
    await client.putRule({ name: "depot", eventBusName: "depot", eventPattern: '{"source":["shop"]}' });
    const target = { id: "t", arn: shop.destinationArn, input: '"of the depot"' };
    await client.putTargets({ rule: "depot", eventBusName: "depot", targets: [target] });
    await client.putEvents({
      entries: [{ source: "shop", detailType: "Sale", detail: "{}", eventBusName: "depot" }],
    });
    await app.jobs.idle();
    expect(shop.till.received.map(({ body }) => body.toString())).toEqual(['"of the depot"']);
  });

  test("compares ARNs byte for byte", async () => {
    const { client } = await startHarness();
    const event = (resource: string): string =>
      JSON.stringify({
        id: "1",
        account: "0",
        source: "s",
        time: "t",
        region: "r",
        resources: [resource],
        "detail-type": "d",
      });
    const eventPattern = '{"resources":["arn:aws:s3:::photos/a"]}';
    const results = await Promise.all(
      ["arn:aws:s3:::photos/a", "arn:aws:s3:::photos:a", "arn:aws:s3:::photos/A", "arn:aws:s3:::photos/a "].map(
        async (resource) => (await client.testEventPattern({ eventPattern, event: event(resource) })).result,
      ),
    );
    expect(results).toEqual([true, false, false, false]);
  });

  test("that a service manages is changed and deleted only with Force", async () => {
    const { client } = await startHarness();
    await client.createArchive({ archiveName: "sales", eventSourceArn: busArn });
    const name = "Events-Archive-sales";
    const managed = `RULE_MANAGED: Rule ${name} is managed by prod.vhs.events.aws.internal.`;
    expect(await refusalOf(client.putRule({ name, eventPattern: '{"source":["a"]}' }))).toBe(managed);
    expect(await refusalOf(client.disableRule({ name }))).toBe(managed);
    expect(await refusalOf(client.putTargets({ rule: name, targets: [{ id: "t", arn: queue }] }))).toBe(managed);
    expect(await refusalOf(client.removeTargets({ rule: name, ids: ["t"] }))).toBe(managed);
    expect(await refusalOf(client.deleteRule({ name }))).toBe(managed);
    await client.removeTargets({ rule: name, ids: ["t"], force: true });
    await client.deleteRule({ name, force: true });
    expect((await client.listRules({})).rules).toEqual([]);
  });
});

describe("updateArchive", () => {
  test("changes what is given and keeps the rest", async () => {
    const { client } = await startHarness();
    await client.createArchive({ archiveName: "sales", eventSourceArn: busArn, description: "a", retentionDays: 3 });
    await client.updateArchive({ archiveName: "sales", eventPattern: '{"source":["shop"]}', retentionDays: 5 });
    expect(await client.describeArchive({ archiveName: "sales" })).toMatchObject({
      description: "a",
      eventPattern: '{"source":["shop"]}',
      retentionDays: 5,
    });
  });
});

describe("listReplays", () => {
  test("takes one filter at most", async () => {
    const { client } = await startHarness();
    expect(await refusalOf(client.listReplays({ namePrefix: "a", state: ReplayState.RUNNING }))).toBe(
      "SEVERAL_FILTERS: At most one filter is allowed for ListReplays. Use either : State, EventSourceArn, or NamePrefix.",
    );
    expect((await client.listReplays({ namePrefix: "a" })).replays).toEqual([]);
  });
});
