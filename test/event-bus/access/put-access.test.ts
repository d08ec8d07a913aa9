import { expect, test } from "vitest";

import { mayPut } from "../../../services/event-bus/access/put-access.ts";
import { userCaller } from "../../../services/kit/identity/caller.ts";

const app = { arnScope: { partition: "aws", service: "events", region: "us-east-1" } } as const;
const bus = { account: "000000000000", name: "sales" };
const record = {
  policy: JSON.stringify({
    Statement: [{ Effect: "Allow", Principal: { AWS: "111111111111" }, Action: "events:PutEvents", Resource: "*" }],
  }),
};
const statement = (effect: string): string =>
  JSON.stringify({ Statement: [{ Effect: effect, Action: "events:PutEvents", Resource: "*" }] });
const unreadable = statement("Deny").replace("Deny", "Forbid");
const facts = { source: "shop", detailType: "Sale" };

// identity policies of a user of another account, which the bus's policy lets in | may put
test.each([
  [[statement("Allow")], true],
  [[], false],
  [[statement("Allow"), statement("Deny")], false],
  [[statement("Allow"), unreadable], false],
  [[unreadable], false],
])("a caller of another account with the policies %j may put: %s", (policies, expected) => {
  expect(mayPut(app, bus, record, userCaller("111111111111", "bob", policies), facts)).toBe(expected);
});
