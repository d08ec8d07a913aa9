import { describe, expect, test } from "vitest";

import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import { refusalOf, startHarness } from "../harness.ts";

const pattern = '{"source":["shop"]}';
const noBus = "EVENT_BUS_NOT_FOUND: Event bus gone does not exist.";
const noRule = "RULE_NOT_FOUND: Rule gone does not exist on EventBus default.";

describe("putRule", () => {
  test("names rules of the default bus without their bus", async () => {
    const { client } = await startHarness();
    await client.createEventBus({ name: "orders" });
    const prefix = "arn:aws:events:us-east-1:000000000000:rule";
    expect((await client.putRule({ name: "all", eventPattern: pattern })).ruleArn).toBe(`${prefix}/all`);
    expect((await client.putRule({ name: "all", eventPattern: pattern, eventBusName: "orders" })).ruleArn).toBe(
      `${prefix}/orders/all`,
    );
  });

  test("empties what an update omits, but keeps targets and tags", async () => {
    const { client } = await startHarness();
    await client.putRule({
      name: "all",
      eventPattern: pattern,
      description: "everything",
      roleArn: "arn:aws:iam::000000000000:role/bus",
      state: RuleState.DISABLED,
    });
    await client.putTargets({ rule: "all", targets: [{ id: "1", arn: "arn:aws:sqs:us-east-1:000000000000:q" }] });
    await client.putRule({ name: "all", scheduleExpression: "rate(1 day)" });
    const rule = await client.describeRule({ name: "all" });
    expect([rule.description, rule.roleArn, rule.eventPattern, rule.scheduleExpression, rule.state]).toEqual([
      undefined,
      undefined,
      undefined,
      "rate(1 day)",
      RuleState.ENABLED,
    ]);
    expect((await client.listTargetsByRule({ rule: "all" })).targets.map((target) => target.id)).toEqual(["1"]);
  });

  test("keeps the pattern as it was given", async () => {
    const { client } = await startHarness();
    const spaced = '{ "source" : [ "shop" ],\n "detail": {"n":[1.0]} }';
    await client.putRule({ name: "all", eventPattern: spaced });
    expect((await client.describeRule({ name: "all" })).eventPattern).toBe(spaced);
  });

  test("refuses, in this order", async () => {
    const { client } = await startHarness({ limits: { rulesPerBusMax: 1 } });
    await client.createEventBus({ name: "orders" });
    await client.putRule({ name: "first", eventPattern: pattern });
    // request | refusal
    const refuses = [
      [
        { name: "a b" },
        "INVALID_INPUT: 1 validation error detected: Value 'a b' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [._A-Za-z0-9-]+",
      ],
      [{ name: "all", eventBusName: "gone" }, "RULE_WATCHES_NOTHING"],
      [
        { name: "all", eventPattern: "[]", scheduleExpression: "never", eventBusName: "gone" },
        "INVALID_EVENT_PATTERN: Event pattern is not valid. Reason: Filter is not an object\n at line 1, column 3",
      ],
      [{ name: "all", scheduleExpression: "never", eventBusName: "orders" }, "SCHEDULE_ON_CUSTOM_EVENT_BUS"],
      [
        { name: "all", scheduleExpression: "rate(1 minutes)" },
        "PARAMETER_NOT_VALID: Parameter ScheduleExpression is not valid.",
      ],
      [{ name: "all", eventPattern: pattern, eventBusName: "gone" }, noBus],
      [{ name: "second", eventPattern: pattern }, "LIMIT_EXCEEDED"],
    ] as const;
    const answers = await Promise.all(refuses.map(([request]) => refusalOf(client.putRule(request))));
    expect(answers).toEqual(refuses.map(([, refusal]) => refusal));
    expect(await refusalOf(client.putRule({ name: "first", eventPattern: pattern }))).toBe("answered");
  });
});

describe("describeRule", () => {
  test("tells who made the rule", async () => {
    const { client } = await startHarness();
    await client.putRule({ name: "all", eventPattern: pattern });
    expect(await client.describeRule({ name: "all" })).toMatchObject({
      name: "all",
      arn: "arn:aws:events:us-east-1:000000000000:rule/all",
      eventBusName: "default",
      createdBy: "000000000000",
      state: RuleState.ENABLED,
    });
  });

  test("refuses a bus that is not there, then a rule that is not there", async () => {
    const { client } = await startHarness();
    expect(await refusalOf(client.describeRule({ name: "gone", eventBusName: "gone" }))).toBe(noBus);
    expect(await refusalOf(client.describeRule({ name: "gone" }))).toBe(noRule);
  });
});

describe("listRules", () => {
  test("pages by name within a prefix", async () => {
    const { client } = await startHarness();
    for (const name of ["b1", "a2", "a1", "a3"]) await client.putRule({ name, eventPattern: pattern });
    const first = await client.listRules({ namePrefix: "a", limit: 2 });
    const second = await client.listRules({ namePrefix: "a", limit: 2, nextToken: first.nextToken });
    expect([first, second].map((page) => page.rules.map((rule) => rule.name))).toEqual([["a1", "a2"], ["a3"]]);
    expect(second.nextToken).toBeUndefined();
    expect(await refusalOf(client.listRules({ eventBusName: "gone" }))).toBe(noBus);
  });
});

describe("enableRule and disableRule", () => {
  test("set the state; repeating is safe", async () => {
    const { client } = await startHarness();
    await client.putRule({ name: "all", eventPattern: pattern });
    await client.disableRule({ name: "all" });
    await client.disableRule({ name: "all" });
    expect((await client.describeRule({ name: "all" })).state).toBe(RuleState.DISABLED);
    await client.enableRule({ name: "all" });
    expect((await client.describeRule({ name: "all" })).state).toBe(RuleState.ENABLED);
  });

  test("refuse a bus that is not there, then a rule that is not there", async () => {
    const { client } = await startHarness();
    expect(await refusalOf(client.enableRule({ name: "gone", eventBusName: "gone" }))).toBe(noBus);
    expect(await refusalOf(client.enableRule({ name: "gone" }))).toBe(noRule);
    expect(await refusalOf(client.disableRule({ name: "gone" }))).toBe(noRule);
  });
});

describe("deleteRule", () => {
  test("deletes a rule; one that is not there counts as deleted", async () => {
    const { client } = await startHarness();
    await client.putRule({ name: "all", eventPattern: pattern });
    await client.deleteRule({ name: "all" });
    await client.deleteRule({ name: "all" });
    expect((await client.listRules({})).rules).toEqual([]);
  });

  test("refuses a bus that is not there, then a rule with targets", async () => {
    const { client } = await startHarness();
    await client.putRule({ name: "all", eventPattern: pattern });
    await client.putTargets({ rule: "all", targets: [{ id: "1", arn: "arn:aws:sqs:us-east-1:000000000000:q" }] });
    expect(await refusalOf(client.deleteRule({ name: "all", eventBusName: "gone" }))).toBe(noBus);
    expect(await refusalOf(client.deleteRule({ name: "all" }))).toBe("RULE_HAS_TARGETS");
    await client.removeTargets({ rule: "all", ids: ["1"] });
    await client.deleteRule({ name: "all" });
  });
});
