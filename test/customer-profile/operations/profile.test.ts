import { describe, expect, test } from "vitest";

import { profileSeeds } from "../../../services/customer-profile/store/layout.ts";
import { ownerAccount, refusalOf, startHarness } from "../harness.ts";
import type { ProfileClient } from "../harness.ts";

const shop = async (client: ProfileClient) => {
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
};

const byId = async (client: ProfileClient, profileId: string) =>
  (await client.searchProfiles({ domainName: "shop", keyName: "_profileId", values: [profileId] })).items[0];

const unknownId = "f".repeat(32);

describe("createProfile", () => {
  test("answers an identifier of 32 hexadecimal digits, under which the profile is found whole", async () => {
    const { client } = await startHarness();
    await shop(client);
    const members = {
      firstName: "Ann",
      lastName: "Lee",
      partyTypeString: "person",
      genderString: "woman",
      address: { city: "Ghent", postalCode: "9000" },
      attributes: { "shoe.size": "38" },
      engagementPreferences: { email: [{ keyName: "_email" }] },
    };
    const { profileId } = await client.createProfile({ domainName: "shop", ...members });
    expect(profileId).toMatch(/^[0-9a-f]{32}$/);
    expect(await byId(client, profileId)).toMatchObject({ profileId, ...members });
  });

  test("makes another profile with each call", async () => {
    const { client } = await startHarness();
    await shop(client);
    await Promise.all(
      Array.from({ length: 20 }, () => client.createProfile({ domainName: "shop", accountNumber: "A" })),
    );
    const found = await client.searchProfiles({ domainName: "shop", keyName: "_account", values: ["A"] });
    expect(new Set(found.items.map((profile) => profile.profileId)).size).toBe(20);
    expect((await client.getDomain({ domainName: "shop" })).stats?.profileCount).toBe(20n);
  });

  test("refuses a domain that is not there, then a profile that is too large", async () => {
    const { client } = await startHarness();
    const attributes = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`a${index}`, "x".repeat(255)]));
    const create = (domainName: string) => refusalOf(client.createProfile({ domainName, attributes }));
    expect(await create("shop")).toBe("DOMAIN_NOT_FOUND: Domain shop does not exist");
    await shop(client);
    expect(await create("shop")).toBe("PROFILE_TOO_LARGE: A profile can have at most 256000 bytes");
    expect((await client.getDomain({ domainName: "shop" })).stats?.profileCount).toBe(0n);
  });

  test.each([
    [20_000, "answered"],
    [24_999, "INVALID_INPUT: 1 validation error detected: The request has more than 25000 values."],
  ])("an update may remove 20,000 attributes, also absent ones: of %d, %s", async (count, outcome) => {
    const { client } = await startHarness();
    await shop(client);
    const { profileId } = await client.createProfile({ domainName: "shop" });
    const attributes = Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, ""]));
    expect(await refusalOf(client.updateProfile({ domainName: "shop", profileId, attributes }))).toBe(outcome);
  });

  test.each([
    // entries, status; the domain is not there
    [20_000, 404],
    [25_000, 400],
  ])("an update in JSON may have as many: of %d, %d", async (count, status) => {
    const { url } = await startHarness();
    const attributes = Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, ""]));
    const answer = await fetch(`${url}/quartet.customerprofile.v1.CustomerProfileService/UpdateProfile`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${ownerAccount}` },
      body: JSON.stringify({
        domainName: "shop",
        profileId: "0123456789abcdef0123456789abcdef",
        attributes,
      }),
    });
    expect([answer.status, (await answer.text()).includes("more than 25000 values")]).toEqual([status, status === 400]);
  });

  test("takes a profile of exactly the largest size and no byte more", async () => {
    const { client } = await startHarness();
    await shop(client);
    // An attribute of a one-letter name and 255 bytes counts 11 + 1 + 255 = 267; 958 of them count 255,786.
    const filling = Object.fromEntries(
      Array.from({ length: 958 }, (_, index) => [String.fromCodePoint(0x100 + index), "x".repeat(254)]),
    );
    const lastName = "y".repeat(206);
    expect(await refusalOf(client.createProfile({ domainName: "shop", attributes: filling, lastName }))).toBe(
      "answered",
    );
    expect((await client.getDomain({ domainName: "shop" })).stats?.totalSize).toBe(256_000n);
    expect(
      await refusalOf(client.createProfile({ domainName: "shop", attributes: filling, lastName: `${lastName}y` })),
    ).toBe("PROFILE_TOO_LARGE: A profile can have at most 256000 bytes");
  });
});

describe("updateProfile", () => {
  test("keeps what is not given and removes what is empty: fields, address lines and attributes", async () => {
    const { client } = await startHarness();
    await shop(client);
    const { profileId } = await client.createProfile({
      domainName: "shop",
      firstName: "Ann",
      lastName: "Lee",
      gender: "FEMALE",
      address: { city: "Ghent", country: "BE" },
      shippingAddress: { city: "Ghent" },
      attributes: { a: "1", b: "2" },
    });
    const answer = await client.updateProfile({
      domainName: "shop",
      profileId,
      firstName: "Anna",
      gender: "",
      address: { city: "" },
      shippingAddress: { city: "" },
      attributes: { a: "", c: "3" },
    });
    expect(answer.profileId).toBe(profileId);
    const profile = await byId(client, profileId);
    expect(profile).toMatchObject({ firstName: "Anna", lastName: "Lee", attributes: { b: "2", c: "3" } });
    expect(profile?.gender).toBeUndefined();
    expect(profile?.address).toMatchObject({ country: "BE" });
    expect(profile?.address?.city).toBeUndefined();
    expect(profile?.shippingAddress).toBeUndefined();
  });

  test("moves the profile in the index with the answer", async () => {
    const { client } = await startHarness();
    await shop(client);
    const { profileId } = await client.createProfile({ domainName: "shop", emailAddress: "ann@example.com" });
    await client.updateProfile({ domainName: "shop", profileId, emailAddress: "anna@example.com" });
    const found = (email: string) =>
      client
        .searchProfiles({ domainName: "shop", keyName: "_email", values: [email] })
        .then(({ items }) => items.length);
    expect(await found("ann@example.com")).toBe(0);
    expect(await found("anna@example.com")).toBe(1);
  });

  test("loses no change of several at the same time", async () => {
    const { client } = await startHarness();
    await shop(client);
    const { profileId } = await client.createProfile({ domainName: "shop" });
    await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        client.updateProfile({ domainName: "shop", profileId, attributes: { [`a${index}`]: "1" } }),
      ),
    );
    expect(Object.keys((await byId(client, profileId))?.attributes ?? {})).toHaveLength(10);
  });

  test("refuses a domain, then a profile, that is not there", async () => {
    const { client } = await startHarness();
    const update = () => refusalOf(client.updateProfile({ domainName: "shop", profileId: unknownId }));
    expect(await update()).toBe("DOMAIN_NOT_FOUND: Domain shop does not exist");
    await shop(client);
    expect(await update()).toBe(`PROFILE_NOT_FOUND: Profile ${unknownId} does not exist`);
  });
});

describe("deleteProfile", () => {
  test("takes the profile out of every search and of the statistics", async () => {
    const { client } = await startHarness();
    await shop(client);
    const { profileId } = await client.createProfile({ domainName: "shop", phoneNumber: "112", accountNumber: "A" });
    await client.addProfileKey({ domainName: "shop", profileId, keyName: "loyalty", values: ["G7"] });
    expect((await client.deleteProfile({ domainName: "shop", profileId })).message).toBe("OK");
    for (const [keyName, value] of [
      ["_profileId", profileId],
      ["_phone", "112"],
      ["_account", "A"],
      ["loyalty", "G7"],
    ] as const)
      expect((await client.searchProfiles({ domainName: "shop", keyName, values: [value] })).items).toEqual([]);
    expect((await client.getDomain({ domainName: "shop" })).stats).toMatchObject({
      profileCount: 0n,
      meteringProfileCount: 0n,
      totalSize: 0n,
    });
  });

  test("deletes a profile that cannot be decrypted any more", async () => {
    const { client, store } = await startHarness();
    await shop(client);
    const { profileId } = await client.createProfile({ domainName: "shop", accountNumber: "A" });
    await store.transact(async (transaction) => {
      const [own] = await transaction.list(profileSeeds, { limit: 1 });
      if (own !== undefined) transaction.put(profileSeeds, own.key, { seed: new Uint8Array(32) });
    });
    const search = () => client.searchProfiles({ domainName: "shop", keyName: "_account", values: ["A"] });
    expect(await refusalOf(search())).toMatch(/^DATA_LOSS/);
    expect(await refusalOf(client.deleteProfile({ domainName: "shop", profileId }))).toBe("answered");
    expect((await search()).items).toEqual([]);
  });

  test("refuses a domain, then a profile, that is not there, and so a second call", async () => {
    const { client } = await startHarness();
    const remove = (profileId: string) => refusalOf(client.deleteProfile({ domainName: "shop", profileId }));
    expect(await remove(unknownId)).toBe("DOMAIN_NOT_FOUND: Domain shop does not exist");
    await shop(client);
    const { profileId } = await client.createProfile({ domainName: "shop" });
    expect(await remove(profileId)).toBe("answered");
    expect(await remove(profileId)).toBe(`PROFILE_NOT_FOUND: Profile ${profileId} does not exist`);
  });
});

describe("a profile's expiry", () => {
  const dayMs = 24 * 60 * 60 * 1000;

  test("hides it after the domain's days since its last change", async () => {
    const { client, clock } = await startHarness({ works: false });
    await shop(client);
    const { profileId } = await client.createProfile({ domainName: "shop", accountNumber: "A" });
    clock.advance(29 * dayMs);
    await client.updateProfile({ domainName: "shop", profileId, firstName: "Ann" });
    clock.advance(30 * dayMs - 1);
    expect((await byId(client, profileId))?.firstName).toBe("Ann");
    clock.advance(1);
    expect(await byId(client, profileId)).toBeUndefined();
    const gone = `PROFILE_NOT_FOUND: Profile ${profileId} does not exist`;
    expect(await refusalOf(client.updateProfile({ domainName: "shop", profileId, firstName: "Anna" }))).toBe(gone);
    expect(await refusalOf(client.deleteProfile({ domainName: "shop", profileId }))).toBe(gone);
  });

  test("stays as it was when the domain's days change", async () => {
    const { client, clock } = await startHarness({ works: false });
    await shop(client);
    const { profileId } = await client.createProfile({ domainName: "shop" });
    await client.updateDomain({ domainName: "shop", defaultExpirationDays: 1 });
    clock.advance(29 * dayMs);
    expect((await byId(client, profileId))?.profileId).toBe(profileId);
  });
});
