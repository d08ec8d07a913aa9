import { describe, expect, test } from "vitest";

import { countsOf } from "../database.ts";
import { refusalOf, startHarness } from "../harness.ts";
import type { ProfileClient } from "../harness.ts";

const contact = (client: ProfileClient, id: string, phone: string) =>
  client.putProfileObject({
    domainName: "shop",
    objectTypeName: "CTR",
    object: JSON.stringify({ ContactId: id, CustomerEndpoint: { Address: phone } }),
  });

const idBy = async (client: ProfileClient, keyName: string, value: string) => {
  const { items } = await client.searchProfiles({ domainName: "shop", keyName, values: [value] });
  return items.map((profile) => profile.profileId).join();
};

/** Profiles that have no room for each other's keys. */
const fullProfiles = async (client: ProfileClient, count: number) => {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const { profileId } = await client.createProfile({ domainName: "shop" });
    const values = Array.from({ length: 2_000 }, (_, value) => `${index}-${value}`);
    await client.addProfileKey({ domainName: "shop", profileId, keyName: "k", values });
    ids.push(profileId);
  }
  return ids;
};

const makeShop = async (client: ProfileClient) => {
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  const { profileId } = await client.createProfile({ domainName: "shop", firstName: "Ann", accountNumber: "A-1" });
  await contact(client, "c-1", "112");
  await contact(client, "c-2", "113");
  return {
    ann: profileId,
    first: await idBy(client, "_ctrContactId", "c-1"),
    second: await idBy(client, "_ctrContactId", "c-2"),
  };
};

describe("mergeProfiles", () => {
  test("moves objects and keys to the main profile, unites fields, and leaves nothing of the others", async () => {
    const { client, store } = await startHarness();
    const { ann, first, second } = await makeShop(client);
    const request = { domainName: "shop", mainProfileId: ann, profileIdsToBeMerged: [first, second] };
    const sources = { fieldSourceProfileIds: { phoneNumber: second } };
    expect((await client.mergeProfiles({ ...request, ...sources })).message).toBe("OK");
    for (const [keyName, value] of [
      ["_ctrContactId", "c-1"],
      ["_ctrContactId", "c-2"],
      ["_phone", "113"],
      ["_account", "A-1"],
    ] as const)
      expect(await idBy(client, keyName, value)).toBe(ann);
    const [merged] = (await client.searchProfiles({ domainName: "shop", keyName: "_profileId", values: [ann] })).items;
    expect(merged).toMatchObject({ firstName: "Ann", phoneNumber: "113" });
    const { items } = await client.listProfileObjects({ domainName: "shop", objectTypeName: "CTR", profileId: ann });
    expect(items.map((item) => (JSON.parse(item.object) as { ContactId: string }).ContactId).toSorted()).toEqual([
      "c-1",
      "c-2",
    ]);
    expect(await countsOf(store)).toMatchObject({
      profiles: 1,
      profile_seeds: 1,
      expiries: 1,
      objects: 2,
      object_places: 2,
    });
    expect((await client.getDomain({ domainName: "shop" })).stats).toMatchObject({ profileCount: 1n, objectCount: 2n });
    await client.deleteProfile({ domainName: "shop", profileId: ann });
    expect(await countsOf(store)).toEqual({
      page_token_keys: 1,
      domains: 1,
      domain_keys: 1,
      counters: expect.any(Number),
      object_types: 1,
    });
    expect((await client.getDomain({ domainName: "shop" })).stats).toMatchObject({ objectCount: 0n, totalSize: 0n });
  });

  test("lets an object that was moved be replaced and deleted where it is now", async () => {
    const { client } = await startHarness();
    const { ann, first } = await makeShop(client);
    await client.mergeProfiles({ domainName: "shop", mainProfileId: ann, profileIdsToBeMerged: [first] });
    const { profileObjectUniqueKey } = await contact(client, "c-1", "114");
    expect(await idBy(client, "_phone", "114")).toBe(ann);
    await client.deleteProfileObject({
      domainName: "shop",
      profileId: ann,
      objectTypeName: "CTR",
      profileObjectUniqueKey,
    });
    expect(await idBy(client, "_ctrContactId", "c-1")).toBe("");
    expect(await idBy(client, "_phone", "114")).toBe("");
  });

  test("refuses, in this order", async () => {
    const { client } = await startHarness();
    const unknown = "f".repeat(32);
    const merge = (changes: object) =>
      refusalOf(
        client.mergeProfiles({
          domainName: "none",
          mainProfileId: unknown,
          profileIdsToBeMerged: ["e".repeat(32)],
          ...changes,
        }),
      );
    expect(await merge({ profileIdsToBeMerged: [unknown] })).toBe(
      `MERGE_INVALID: The merge is not valid: profile ${unknown} is named twice`,
    );
    expect(await merge({})).toBe("DOMAIN_NOT_FOUND: Domain none does not exist");
    const { ann, first } = await makeShop(client);
    expect(await merge({ domainName: "shop" })).toBe(`PROFILE_NOT_FOUND: Profile ${unknown} does not exist`);
    expect(await merge({ domainName: "shop", mainProfileId: ann })).toBe(
      `PROFILE_NOT_FOUND: Profile ${"e".repeat(32)} does not exist`,
    );
    const ids = await fullProfiles(client, 3);
    expect(
      await merge({ domainName: "shop", mainProfileId: ids[0], profileIdsToBeMerged: [...ids.slice(1), first] }),
    ).toBe("PROFILE_TOO_LARGE: A profile can have at most 256000 bytes");
    expect(await idBy(client, "_ctrContactId", "c-1")).toBe(first);
    expect(await merge({ domainName: "shop", mainProfileId: ann, profileIdsToBeMerged: [first] })).toBe("answered");
    expect(await merge({ domainName: "shop", mainProfileId: ann, profileIdsToBeMerged: [first] })).toBe(
      `PROFILE_NOT_FOUND: Profile ${first} does not exist`,
    );
  });
});
