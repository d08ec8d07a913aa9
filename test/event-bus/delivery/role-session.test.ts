import { describe, expect, test } from "vitest";

import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import { parseTrustPolicy } from "../../../services/kit/accounts/trust-policy.ts";
import { ownerAccount, startHarness } from "../harness.ts";
import { openShop } from "./shop.ts";

const roleArn = `arn:aws:iam::${ownerAccount}:role/deliver`;
const trust = (principal: object, condition?: object): object => ({
  Statement: {
    Effect: "Allow",
    Principal: principal,
    Action: "sts:AssumeRole",
    ...(condition && { Condition: condition }),
  },
});
const events = trust({ Service: "events.amazonaws.com" });
const allow = (action: string, resource = "*"): object => ({
  Statement: { Effect: "Allow", Action: action, Resource: resource },
});
const ofRule = (arn: string): object =>
  trust({ Service: "events.amazonaws.com" }, { ArnEquals: { "aws:SourceArn": arn } });

const accountsWith = (trustPolicy: object, policies: readonly object[], accountId = ownerAccount, boundary?: object) =>
  accountsOf({
    accounts: [],
    users: [],
    roles: [
      {
        accountId,
        name: "deliver",
        arn: `arn:aws:iam::${accountId}:role/deliver`,
        trustPolicy: parseTrustPolicy(JSON.stringify(trustPolicy)),
        policies: policies.map((policy) => JSON.stringify(policy)),
        ...(boundary && { permissionsBoundary: JSON.stringify(boundary) }),
      },
    ],
    organizations: new Map(),
    identityProviders: [],
    accessKeys: [],
  });

/** What became of one event: the code of its dead letter, or that the till has it. */
const outcomeOf = async (
  trustPolicy: object,
  policies: readonly object[],
  boundary?: object,
): Promise<string | undefined> => {
  const accounts = accountsWith(trustPolicy, policies, ownerAccount, boundary);
  const { client, app, deadLetters } = await startHarness({ accounts });
  const shop = await openShop(client, { target: { roleArn } });
  await shop.sell({});
  await app.jobs.idle();
  return shop.till.received.length === 1 ? "delivered" : (await deadLetters())[0]?.letter.errorCode;
};

// trust policy, policies of the role, outcome
test.each([
  [events, [allow("events:InvokeApiDestination")], "delivered"],
  [events, [allow("*")], "delivered"],
  [events, [allow("events:InvokeApiDestination", "arn:aws:events:us-east-1:*:api-destination/till/*")], "delivered"],
  [ofRule(`arn:aws:events:us-east-1:${ownerAccount}:rule/sales`), [allow("*")], "delivered"],
  [ofRule(`arn:aws:events:us-east-1:${ownerAccount}:rule/returns`), [allow("*")], "FAILED_TO_ASSUME_ROLE"],
  [trust({ Service: "lambda.amazonaws.com" }), [allow("*")], "FAILED_TO_ASSUME_ROLE"],
  [trust({ AWS: ownerAccount }), [allow("*")], "FAILED_TO_ASSUME_ROLE"],
  [events, [], "NO_PERMISSIONS"],
  [events, [allow("events:PutEvents")], "NO_PERMISSIONS"],
  [
    events,
    [allow("events:InvokeApiDestination", "arn:aws:events:us-east-1:*:api-destination/other/*")],
    "NO_PERMISSIONS",
  ],
  [events, [allow("*"), { Statement: { Effect: "Deny", Action: "events:*", Resource: "*" } }], "NO_PERMISSIONS"],
])("a role that trusts by %j and has %j: %s", async (trustPolicy, policies, outcome) => {
  expect(await outcomeOf(trustPolicy, policies)).toBe(outcome);
});

// the role's boundary, outcome
test.each([
  [allow("events:*"), "delivered"],
  [allow("s3:*"), "NO_PERMISSIONS"],
])("a role that may everything within %j: %s", async (boundary, outcome) => {
  expect(await outcomeOf(events, [allow("*")], boundary)).toBe(outcome);
});

describe("a role that does not exist", () => {
  test("fails the delivery", async () => {
    const { client, app, deadLetters } = await startHarness({ accounts: accountsWith(events, [], "111111111111") });
    const shop = await openShop(client, { target: { roleArn } });
    await shop.sell({});
    await app.jobs.idle();
    expect([shop.till.received.length, (await deadLetters()).map(({ letter }) => letter)]).toMatchObject([
      0,
      [{ errorCode: "FAILED_TO_ASSUME_ROLE", errorMessage: `${roleArn} does not exist.` }],
    ]);
  });

  test("is not asked where unknown roles are allowed", async () => {
    const accounts = accountsWith(events, [], "111111111111");
    const { client, app } = await startHarness({ accounts, allowsUnknownRoles: true });
    const shop = await openShop(client, { target: { roleArn } });
    await shop.sell({});
    await app.jobs.idle();
    expect(shop.till.received).toHaveLength(1);
  });

  test("delays the delivery while it is unknown which roles there are", async () => {
    let current = { ...accountsWith(events, [], "111111111111"), knowsAllRoles: () => false };
    const { client, app, deadLetters, clock } = await startHarness({
      accounts: {
        findRole: (arn: string) => current.findRole(arn),
        canonicalUserId: (id: string) => current.canonicalUserId(id),
        findOrganizationId: () => undefined,
        knowsAllRoles: () => current.knowsAllRoles(),
      },
    });
    const shop = await openShop(client, { target: { roleArn } });
    await shop.sell({});
    await app.jobs.idle();
    expect([shop.till.received.length, await deadLetters()]).toEqual([0, []]);
    current = { ...accountsWith(events, [allow("*")]), knowsAllRoles: () => true };
    clock.advance(3_600_000);
    await app.jobs.idle();
    expect(shop.till.received).toHaveLength(1);
  });
});

test("a change of the role acts on the next delivery", async () => {
  let current = accountsWith(events, [allow("*")]);
  const accounts = {
    findRole: (arn: string) => current.findRole(arn),
    canonicalUserId: (id: string) => current.canonicalUserId(id),
    findOrganizationId: () => undefined,
  };
  const { client, app, deadLetters } = await startHarness({ accounts });
  const shop = await openShop(client, { target: { roleArn } });
  await shop.sell({ n: 1 });
  await app.jobs.idle();
  current = accountsWith(events, []);
  await shop.sell({ n: 2 });
  await app.jobs.idle();
  expect([shop.till.received.length, (await deadLetters()).map(({ letter }) => letter.errorCode)]).toEqual([
    1,
    ["NO_PERMISSIONS"],
  ]);
});
