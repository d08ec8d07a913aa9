import { describe, expect, test } from "vitest";

import { GivenUpLog } from "../../../services/event-bus/delivery/given-up-log.ts";
import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { ownerAccount, startHarness } from "../harness.ts";
import { openShop } from "./shop.ts";

const nobody = accountsOf({
  accounts: [],
  users: [],
  roles: [],
  organizations: new Map(),
  identityProviders: [],
  accessKeys: [],
});

test("deliveries in the name of a role that does not exist are logged once, and left as dead letters each", async () => {
  const { log, lines } = capturingLogger("warn");
  const { client, app, deadLetters } = await startHarness({ accounts: nobody, log });
  const roleArn = `arn:aws:iam::${ownerAccount}:role/nobody`;
  const shop = await openShop(client, { target: { roleArn } });
  for (const sale of [1, 2, 3]) await shop.sell({ sale });
  await app.jobs.idle();
  expect(await deadLetters()).toHaveLength(3);
  expect(lines).toMatchObject([
    {
      rule: `arn:aws:events:us-east-1:${ownerAccount}:rule/sales`,
      target: shop.destinationArn,
      code: "FAILED_TO_ASSUME_ROLE",
      reason: `${roleArn} does not exist.`,
      deliveries: 1,
      msg: "deliveries became dead letters",
    },
  ]);
});

describe("the log of causes", () => {
  const open = () => {
    const { log, lines } = capturingLogger("warn");
    const clock = { nowMs: 1_000_000 };
    const givenUp = new GivenUpLog(log, () => clock.nowMs);
    const addAt = (atMs: number, cause: object = {}) => {
      clock.nowMs = atMs;
      givenUp.add({ rule: "sales", target: "till", code: "NO_RESOURCE", message: "gone", ...cause });
    };
    return { addAt, counts: () => lines.map(({ deliveries }) => deliveries) };
  };

  test("has a cause once a minute, with the number of deliveries since its last line", () => {
    const { addAt, counts } = open();
    for (const atMs of [1_000_000, 1_000_001, 1_059_999, 1_060_000, 1_060_001]) addAt(atMs);
    expect(counts()).toEqual([1, 3]);
  });

  test("has a cause again once the clock was set back by a minute", () => {
    const { addAt, counts } = open();
    for (const atMs of [1_000_000, 999_999, 940_000]) addAt(atMs);
    expect(counts()).toEqual([1, 2]);
  });

  test("has each rule, target and code by itself", () => {
    const { addAt, counts } = open();
    for (const cause of [{}, { rule: "returns" }, { target: "office" }, { code: "NO_PERMISSIONS" }, {}])
      addAt(1_000_000, cause);
    expect(counts()).toEqual([1, 1, 1, 1]);
  });

  test("knows 1,000 causes, and the latest are not forgotten for earlier ones", () => {
    const { addAt, counts } = open();
    for (let each = 0; each <= 1_000; each += 1) addAt(1_000_000, { rule: `${each}` });
    for (const rule of ["1000", "0"]) addAt(1_000_001, { rule });
    expect(counts()).toHaveLength(1_002);
  });
});
