import { expect, test } from "vitest";

import { countsOf } from "../database.ts";
import { startHarness } from "../harness.ts";
import { eventually } from "../../support/eventually.ts";

const dayMs = 24 * 60 * 60 * 1000;

test("expired profiles are removed with all that refers to them, and leave the statistics", async () => {
  const { client, clock, store } = await startHarness();
  await client.createDomain({ domainName: "short", defaultExpirationDays: 1 });
  await client.createDomain({ domainName: "long", defaultExpirationDays: 30 });
  for (let index = 0; index < 120; index += 1)
    await client.createProfile({ domainName: "short", accountNumber: `${index}`, phoneNumber: "112" });
  await client.createProfile({ domainName: "long", accountNumber: "A" });
  clock.advance(dayMs);
  await eventually(async () => (await countsOf(store))["profiles"] === 1, "the expired profiles are removed");
  expect(await countsOf(store)).toMatchObject({
    profile_seeds: 1,
    profiles: 1,
    search_keys: 1,
    expiries: 1,
  });
  expect((await client.getDomain({ domainName: "short" })).stats).toMatchObject({ profileCount: 0n, totalSize: 0n });
  expect((await client.getDomain({ domainName: "long" })).stats?.profileCount).toBe(1n);
});
