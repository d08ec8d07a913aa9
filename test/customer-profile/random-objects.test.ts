import { expect, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { rounds } from "../support/rounds.ts";
import { countsOf } from "./database.ts";
import type { Harness } from "./harness.ts";
import { startHarness } from "./harness.ts";
import { brokenInvariants } from "./invariants.ts";
import { randomFrom } from "./random.ts";

/**
 * Random operations on objects, their types and their profiles, several at a time, with merges, expiry, deletions and
 * restarts among them. After each stretch, what must hold between the tables of the database is checked.
 */
const count = rounds(300, 15_000);
const stretch = 20;
const seedOfRun = 20_260_103;
const dayMs = 24 * 60 * 60 * 1000;

const domainName = "shop";
const typeOf = (objectTypeName: string, expirationDays: number) => ({
  domainName,
  objectTypeName,
  description: "Random",
  expirationDays,
  allowProfileCreation: true,
  fields: {
    id: { source: "_source.id" },
    account: { source: "_source.account", target: "_profile.AccountNumber" },
    phone: { source: "_source.phone", target: "_profile.PhoneNumber", contentType: "PHONE_NUMBER" },
    note: { source: "_source.note", target: "_profile.Attributes.note" },
  },
  keys: {
    [`${objectTypeName}Id`]: { items: [{ fieldNames: ["id"], standardIdentifiers: ["UNIQUE"] }] },
    _account: { items: [{ fieldNames: ["account"], standardIdentifiers: ["PROFILE"] }] },
    once: { items: [{ fieldNames: ["phone"], standardIdentifiers: ["PROFILE", "SECONDARY", "NEW_ONLY"] }] },
    looked: { items: [{ fieldNames: ["note"], standardIdentifiers: ["LOOKUP_ONLY"] }] },
  },
});

test(`the tables agree after each of ${count} random operations on objects`, { timeout: 600_000 }, async () => {
  const random = randomFrom(seedOfRun);
  let harness: Harness = await startHarness();
  const putType = (name: string) => harness.client.putProfileObjectType(typeOf(name, name === "order" ? 3 : 40));
  await harness.client.createDomain({ domainName, defaultExpirationDays: 10 });
  await putType("order");
  await putType("visit");

  const profileIds = async () => {
    const request = { domainName, keyName: "_account", values: ["a", "b", "c"] };
    return (await harness.client.searchProfiles(request)).items.map((profile) => profile.profileId);
  };
  const objectTypeName = () => random.one(["order", "visit"]);
  const putObject = () => {
    const some = (value: string) => (random.below(3) === 0 ? {} : { [value]: random.one(["a", "b", "c"]) });
    const object = { id: random.below(12), ...some("account"), ...some("phone"), ...some("note") };
    return harness.client.putProfileObject({
      domainName,
      objectTypeName: objectTypeName(),
      object: JSON.stringify(object),
    });
  };
  const deleteObject = async (profileId: string) => {
    const name = objectTypeName();
    const { items } = await harness.client.listProfileObjects({ domainName, profileId, objectTypeName: name });
    const [object] = items;
    if (object !== undefined)
      await harness.client.deleteProfileObject({
        domainName,
        profileId,
        objectTypeName: name,
        profileObjectUniqueKey: object.profileObjectUniqueKey,
      });
  };

  const step = async () => {
    const dice = random.below(20);
    const [first, second] = await profileIds();
    if (dice === 0 && first !== undefined) await harness.client.deleteProfile({ domainName, profileId: first });
    else if (dice === 1 && first !== undefined && second !== undefined)
      await harness.client.mergeProfiles({ domainName, mainProfileId: second, profileIdsToBeMerged: [first] });
    else if (dice === 2) {
      const name = objectTypeName();
      await harness.client.deleteProfileObjectType({ domainName, objectTypeName: name });
      await putType(name);
    } else if (dice === 3) harness.clock.advance(dayMs);
    else if (dice < 6 && first !== undefined) await deleteObject(first);
    else if (dice === 6 && first !== undefined)
      await harness.client.updateProfile({ domainName, profileId: first, phoneNumber: random.one(["", "a", "b"]) });
    else await Promise.all([putObject(), putObject(), putObject()]);
  };

  for (let round = 0; round < count; round += 1) {
    await step();
    if (round % stretch !== stretch - 1) continue;
    await harness.app.jobs.idle();
    expect([round, await brokenInvariants(harness.store)]).toEqual([round, []]);
    const { directory, clock } = harness;
    await harness.stop();
    harness = await startHarness({ directory, clock });
  }

  harness.clock.advance(100 * dayMs);
  // A look that began before the clock moved is followed by another a minute later.
  await eventually(async () => {
    harness.clock.advance(60_000);
    return (await countsOf(harness.store))["profiles"] === undefined;
  }, "everything has expired");
  for (const table of [
    "profile_seeds",
    "search_keys",
    "key_holders",
    "expiries",
    "objects",
    "object_places",
    "object_expiries",
  ])
    expect((await countsOf(harness.store))[table]).toBeUndefined();
  expect((await harness.client.getDomain({ domainName })).stats).toMatchObject({
    profileCount: 0n,
    objectCount: 0n,
    totalSize: 0n,
  });
});
