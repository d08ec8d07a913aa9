import { expect, test } from "vitest";

import { mayForward } from "../../../services/event-bus/access/put-access.ts";

const app = {
  arnScope: { partition: "aws", service: "events", region: "us-east-1" },
  accounts: { findOrganizationId: (account: string) => (account === "222222222222" ? "o-shops" : undefined) },
} as const;
const event = {
  source: "shop",
  detailType: "Sale",
  hasRole: false,
  ruleArn: "arn:aws:events:us-east-1:111111111111:rule/late",
};
const allow = { Effect: "Allow", Principal: { AWS: "111111111111" }, Action: "events:PutEvents", Resource: "*" };
const everybody = { ...allow, Principal: "*" };
const organization = { ...everybody, Condition: { StringEquals: { "aws:PrincipalOrgID": "o-shops" } } };
const record = (...statements: object[]) => ({ policy: JSON.stringify({ Statement: statements }) });

// what | account of the rule | the bus's record | members of the event | may put on a bus of account 000000000000
test.each([
  ["the bus's own account", "000000000000", undefined, {}, true],
  ["the bus's own account that the policy does not name", "000000000000", record(allow), {}, true],
  ["the bus's own account that the policy denies", "000000000000", record({ ...everybody, Effect: "Deny" }), {}, false],
  ["another account without a policy", "111111111111", undefined, {}, false],
  ["another account that is allowed", "111111111111", record(allow), {}, true],
  ["another account that is not", "333333333333", record(allow), {}, false],
  ["another account that is also denied", "111111111111", record(allow, { ...allow, Effect: "Deny" }), {}, false],
  ["an organization's account whose target has a role", "222222222222", record(organization), { hasRole: true }, true],
  ["an organization's account without a role", "222222222222", record(organization), {}, false],
  ["an account of no organization", "111111111111", record(organization), { hasRole: true }, false],
  [
    "a rule that is named",
    "111111111111",
    record({ ...everybody, Condition: { ArnEquals: { "svc:SourceArn": "arn:svc:event-bus:*:*:rule/late" } } }),
    {},
    true,
  ],
  [
    "another source than the allowed one",
    "111111111111",
    record({ ...allow, Condition: { StringEquals: { "event-bus:source": "shop" } } }),
    { source: "bank" },
    false,
  ],
  [
    "a forwarded event where only direct ones are allowed",
    "111111111111",
    record({ ...allow, Condition: { StringEquals: { "events:eventBusInvocation": "false" } } }),
    {},
    false,
  ],
])("a rule of %s, %s, with the record %j and %j may put: %s", (_what, account, bus, members, expected) => {
  const target = { account: "000000000000", name: "sales" };
  expect(mayForward(app, target, bus, { ...event, account, ...members })).toBe(expected);
});
