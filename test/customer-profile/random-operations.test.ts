import { expect, test } from "vitest";

import { rounds } from "../support/rounds.ts";
import type { Harness } from "./harness.ts";
import { startHarness } from "./harness.ts";
import { countsOf } from "./database.ts";
import { brokenInvariants } from "./invariants.ts";
import { ModelDomain } from "./model.ts";
import { randomFrom } from "./random.ts";

/**
 * Random operations on the service and on a model, and after each the same answer of both. Few names and values, so
 * that profiles share keys often. Restarts and deletions of the whole domain are among the operations.
 */
const count = rounds(400, 20_000);
const seedOfRun = 20_260_102;

const fieldNames = ["accountNumber", "phoneNumber", "homePhoneNumber", "emailAddress", "firstName", "lastName"];
const values = ["1", "22", "333", "ann", "bob"];
const keyNames = ["_account", "_phone", "_email", "_fullName", "loyalty"];
const searched = [...values, "ann bob", "1 22", "bob ann"];

test(`the service answers as the model does, over ${count} random operations`, { timeout: 600_000 }, async () => {
  const random = randomFrom(seedOfRun);
  let harness: Harness = await startHarness();
  let model = new ModelDomain();
  const domainName = "shop";
  const makeDomain = () => harness.client.createDomain({ domainName, defaultExpirationDays: 30 });
  await makeDomain();

  const someFields = (mayRemove: boolean) =>
    Object.fromEntries(
      fieldNames
        .filter(() => random.below(3) === 0)
        .map((name) => [name, mayRemove && random.below(4) === 0 ? "" : random.one(values)]),
    );
  const someProfile = () => random.one([...model.profiles.keys()]);

  const searchBoth = async () => {
    const keyName = random.one(keyNames);
    const wanted = [random.one(searched), random.one(searched)];
    const found: string[] = [];
    let nextToken: string | undefined;
    do {
      const request = { domainName, keyName, values: wanted, maxResults: 1 + random.below(5), nextToken };
      const page = await harness.client.searchProfiles(request);
      found.push(...page.items.map((profile) => profile.profileId));
      nextToken = page.nextToken;
    } while (nextToken !== undefined);
    expect([keyName, wanted, found]).toEqual([keyName, wanted, model.search(keyName, wanted)]);
  };

  for (let round = 0; round < count; round += 1) {
    const { client } = harness;
    const dice = random.below(100);
    if (dice === 0) {
      await client.deleteDomain({ domainName });
      model = new ModelDomain();
      await makeDomain();
    } else if (dice === 1) {
      const { directory, clock } = harness;
      await harness.stop();
      harness = await startHarness({ directory, clock });
    } else if (dice < 30 || model.profiles.size === 0) {
      const fields = someFields(false);
      model.create((await client.createProfile({ domainName, ...fields })).profileId, fields);
    } else if (dice < 50) {
      const [profileId, changes] = [someProfile(), someFields(true)];
      await client.updateProfile({ domainName, profileId, ...changes });
      model.update(profileId, changes);
    } else if (dice < 60) {
      const profileId = someProfile();
      await client.deleteProfile({ domainName, profileId });
      model.delete(profileId);
    } else if (dice < 70) {
      const [profileId, keyName, value] = [someProfile(), random.one(keyNames), random.one(values)];
      await client.addProfileKey({ domainName, profileId, keyName, values: [value] });
      model.addKey(profileId, keyName, value);
    } else if (dice < 76) {
      const [profileId, keyName, value] = [someProfile(), random.one(keyNames), random.one(values)];
      await client.deleteProfileKey({ domainName, profileId, keyName, values: [value] });
      model.deleteKey(profileId, keyName, value);
    }
    await searchBoth();
  }

  await harness.app.jobs.idle();
  expect(await brokenInvariants(harness.store)).toEqual([]);
  const { stats } = await harness.client.getDomain({ domainName });
  expect(stats?.profileCount).toBe(BigInt(model.profiles.size));
  for (const profileId of model.profiles.keys()) await harness.client.deleteProfile({ domainName, profileId });
  await harness.app.jobs.idle();
  expect(await countsOf(harness.store)).toMatchObject({ domains: 1, domain_keys: 1 });
  for (const table of ["profiles", "profile_seeds", "search_keys", "key_holders", "expiries"])
    expect((await countsOf(harness.store))[table]).toBeUndefined();
  expect((await harness.client.getDomain({ domainName })).stats?.totalSize).toBe(0n);
});
