import { expect, test } from "vitest";

import { profiles, profileSeeds } from "../../../services/customer-profile/store/layout.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { eventually } from "../../support/eventually.ts";
import { countsOf } from "../database.ts";
import type { ProfileClient } from "../harness.ts";
import { startHarness } from "../harness.ts";

const dayMs = 24 * 60 * 60 * 1000;

const fill = async (client: ProfileClient, profileCount: number) => {
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  for (let begun = 0; begun < profileCount; begun += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        client.createProfile({ domainName: "shop", accountNumber: `${begun + index}`, phoneNumber: "112" }),
      ),
    );
};

test("a deleted domain's records are removed, and those of its successor stay", async () => {
  const { client, app, store } = await startHarness();
  await fill(client, 200);
  await client.deleteDomain({ domainName: "shop" });
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  await client.createProfile({ domainName: "shop", accountNumber: "A" });
  await app.jobs.idle();
  expect(await countsOf(store)).toEqual({
    page_token_keys: 1,
    domains: 1,
    domain_keys: 1,
    profile_seeds: 1,
    profiles: 1,
    search_keys: 1,
    expiries: 1,
    counters: 1,
  });
});

test("a removal that never ran before the process ended is done after the next start", async () => {
  const first = await startHarness({ works: false });
  await fill(first.client, 100);
  await first.client.deleteDomain({ domainName: "shop" });
  expect(await countsOf(first.store)).toMatchObject({ profiles: 100 });
  await first.stop();

  const second = await startHarness({ directory: first.directory, clock: first.clock });
  await second.app.jobs.idle();
  expect(await countsOf(second.store)).toEqual({ page_token_keys: 1 });
});

test("a removal also deletes what is damaged, and what expires by a damaged record at its time", async () => {
  const first = await startHarness({ works: false });
  await fill(first.client, 100);
  const found = await first.store.read((reader) => reader.list(profiles, { limit: 30 }));
  const seeds = await first.store.read((reader) => reader.list(profileSeeds, { limit: 7 }));
  await first.client.deleteDomain({ domainName: "shop" });
  await first.stop();
  await damageStoredRecord(first.directory, profiles, found[29]!.key);
  await damageStoredRecord(first.directory, profileSeeds, seeds[6]!.key);

  const second = await startHarness({ directory: first.directory, clock: first.clock });
  await second.app.jobs.idle();
  expect(await countsOf(second.store)).toEqual({ page_token_keys: 1, expiries: 1 });
  second.clock.advance(30 * dayMs);
  await eventually(async () => (await countsOf(second.store))["expiries"] === undefined, "the expiry is removed");
});

test("a removal that was interrupted goes on where it stood", async () => {
  const first = await startHarness();
  await fill(first.client, 300);
  await first.client.deleteDomain({ domainName: "shop" });
  // Stopping ends the job between two of its transactions.
  await first.app.jobs.stop(0);
  const left = await countsOf(first.store);
  expect(left["domains"]).toBeUndefined();
  await first.stop();

  const second = await startHarness({ directory: first.directory, clock: first.clock });
  await second.app.jobs.idle();
  expect(await countsOf(second.store)).toEqual({ page_token_keys: 1 });
});
