import { describe, expect, test } from "vitest";

import { openShop } from "../delivery/shop.ts";
import type { EventBusClient } from "../harness.ts";
import { refusalOf, startHarness } from "../harness.ts";

const bus = "arn:aws:events:us-east-1:000000000000:event-bus/default";
const bob = "111111111111";

const put = async (client: EventBusClient, eventBusName?: string, source = "shop"): Promise<string> => {
  const { entries } = await client.putEvents({ entries: [{ source, detailType: "Sale", detail: "{}", eventBusName }] });
  return entries[0]?.errorCode ?? "taken";
};

const grant = { action: "events:PutEvents", principal: bob, statementId: "bob" };

describe("putPermission", () => {
  test("lets another account put events, told in the bus's policy, until it is taken back", async () => {
    const { client, clientOf, app } = await startHarness();
    const shop = await openShop(client);
    expect(await put(clientOf(bob), bus)).toBe("AccessDeniedException");
    await client.putPermission(grant);
    expect(JSON.parse((await client.describeEventBus({})).policy ?? "")).toEqual({
      Version: "2012-10-17",
      Statement: [
        {
          Sid: "bob",
          Effect: "Allow",
          Principal: { AWS: "arn:aws:iam::111111111111:root" },
          Action: "events:PutEvents",
          Resource: bus,
        },
      ],
    });
    expect(await put(clientOf(bob), bus)).toBe("taken");
    expect(await put(clientOf("222222222222"), bus)).toBe("AccessDeniedException");
    await client.removePermission({ statementId: "bob" });
    expect(await put(clientOf(bob), bus)).toBe("AccessDeniedException");
    expect((await client.describeEventBus({})).policy).toBeUndefined();
    await app.jobs.idle();
    const accounts = shop.till.received.map(({ body }) => (JSON.parse(body.toString()) as { account: string }).account);
    expect(accounts).toEqual([bob]);
  });

  test("replaces a statement of the same id, and everything with a whole policy", async () => {
    const { client, clientOf } = await startHarness({ works: false });
    await client.putPermission(grant);
    await client.putPermission({ ...grant, principal: "*" });
    expect(await put(clientOf("222222222222"), bus)).toBe("taken");
    const policy = JSON.stringify({
      Version: "2012-10-17",
      Statement: [
        { Effect: "Allow", Principal: { AWS: bob }, Action: "events:*", Resource: bus },
        {
          Effect: "Deny",
          Principal: "*",
          Action: "events:PutEvents",
          Resource: bus,
          Condition: { StringEquals: { "events:source": "secret" } },
        },
      ],
    });
    await client.putPermission({ policy });
    expect((await client.describeEventBus({})).policy).toBe(policy);
    expect(await put(clientOf("222222222222"), bus)).toBe("AccessDeniedException");
    expect(await put(clientOf(bob), bus)).toBe("taken");
    expect(await put(clientOf(bob), bus, "secret")).toBe("AccessDeniedException");
    expect(await put(client, undefined, "secret")).toBe("AccessDeniedException");
    expect(await put(client)).toBe("taken");
  });

  test("does not let anyone in by an organization that is not known", async () => {
    const { client, clientOf } = await startHarness({ works: false });
    const condition = { type: "StringEquals", key: "aws:PrincipalOrgID", value: "o-1" };
    await client.putPermission({ ...grant, principal: "*", condition });
    expect(await put(clientOf(bob), bus)).toBe("AccessDeniedException");
    expect(await put(client)).toBe("taken");
  });

  test("lets a rule of another account deliver to the bus, but not on to a third account", async () => {
    const { client, clientOf, app } = await startHarness();
    const shop = await openShop(client);
    await client.putPermission(grant);
    const bobs = clientOf(bob);
    await bobs.putRule({ name: "all", eventPattern: '{"source":["shop"]}' });
    await bobs.putTargets({ rule: "all", targets: [{ id: "1", arn: bus }] });
    expect(await put(bobs)).toBe("taken");
    await app.jobs.idle();
    expect(shop.till.received).toHaveLength(1);
    await client.putTargets({
      rule: "sales",
      targets: [{ id: "till", arn: "arn:aws:events:us-east-1:222222222222:event-bus/default" }],
    });
    expect(await put(bobs)).toBe("taken");
    await app.jobs.idle();
    expect((await client.listDeadLetters({})).deadLetters.map(({ errorCode }) => errorCode)).toEqual([
      "THIRD_ACCOUNT_HOP_DETECTED",
    ]);
  });

  // request | refusal
  test.each([
    [
      { statementId: "a" },
      "PARAMETER_REFUSED: Parameter Policy is not valid. Reason: Policy, or Action, Principal and StatementId must be provided.",
    ],
    [
      { ...grant, condition: { type: "StringEquals", key: "aws:PrincipalOrgID", value: "o-1" } },
      "PARAMETER_REFUSED: Parameter Condition is not valid. Reason: Condition is only allowed when Principal is '*'.",
    ],
    [{ policy: "{}" }, "PARAMETER_REFUSED: Parameter Policy is not valid. Reason: Statement must not be empty."],
    [{ policy: "x".repeat(10_241) }, "POLICY_TOO_LONG: The policy exceeds the limit of 10240 characters."],
    [{ ...grant, eventBusName: "gone" }, "EVENT_BUS_NOT_FOUND: Event bus gone does not exist."],
    [
      { ...grant, principal: "bob" },
      "INVALID_INPUT: 1 validation error detected: Value 'bob' at 'principal' failed to satisfy constraint: Member must satisfy regular expression pattern: ([0-9]{12}|[*])",
    ],
    [
      { ...grant, principal: "*", condition: { type: "StringEquals", key: "aws:PrincipalOrgID" } },
      "INVALID_INPUT: 1 validation error detected: Value null at 'condition.value' failed to satisfy constraint: Member must not be null",
    ],
    [grant, "answered"],
    [{ ...grant, principal: "*" }, "answered"],
    [
      { ...grant, principal: "*", condition: { type: "StringEquals", key: "aws:PrincipalOrgID", value: "o-1" } },
      "answered",
    ],
  ])("a request with %o ends as %s", async (request, refusal) => {
    const { client } = await startHarness({ works: false });
    expect(await refusalOf(client.putPermission(request))).toBe(refusal);
  });
});

describe("removePermission", () => {
  test("takes all permissions back at once, and refuses, in this order", async () => {
    const { client } = await startHarness({ works: false });
    expect(await refusalOf(client.removePermission({}))).toBe(
      "PARAMETER_REFUSED: Parameter StatementId is not valid. Reason: StatementId or RemoveAllPermissions must be provided.",
    );
    expect(await refusalOf(client.removePermission({ statementId: "a", eventBusName: "gone" }))).toBe(
      "EVENT_BUS_NOT_FOUND: Event bus gone does not exist.",
    );
    expect(await refusalOf(client.removePermission({ statementId: "a" }))).toBe("POLICY_NOT_FOUND");
    await client.putPermission(grant);
    expect(await refusalOf(client.removePermission({ statementId: "a" }))).toBe("STATEMENT_NOT_FOUND");
    await client.removePermission({ removeAllPermissions: true });
    expect((await client.describeEventBus({})).policy).toBeUndefined();
  });
});
