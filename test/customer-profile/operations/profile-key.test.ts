import { describe, expect, test } from "vitest";

import { refusalOf, startHarness } from "../harness.ts";
import type { ProfileClient } from "../harness.ts";

const unknownId = "f".repeat(32);

const shopWithAnn = async (client: ProfileClient) => {
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  const { profileId } = await client.createProfile({ domainName: "shop", phoneNumber: "+15551234567" });
  return { domainName: "shop", profileId };
};

const found = async (client: ProfileClient, keyName: string, value: string) =>
  (await client.searchProfiles({ domainName: "shop", keyName, values: [value] })).items.length;

describe("addProfileKey", () => {
  test("answers the key, and the profile is found by each of its values", async () => {
    const { client } = await startHarness();
    const ann = await shopWithAnn(client);
    const answer = await client.addProfileKey({ ...ann, keyName: "_ctrContactId", values: ["c-1", "c-2"] });
    expect(answer).toMatchObject({ keyName: "_ctrContactId", values: ["c-1", "c-2"] });
    expect(await found(client, "_ctrContactId", "c-1")).toBe(1);
    expect(await found(client, "_ctrContactId", "c-2")).toBe(1);
    expect(await found(client, "_ctrContactId", "C-1")).toBe(0);
  });

  test("is safe to repeat, and keeps earlier values", async () => {
    const { client } = await startHarness();
    const ann = await shopWithAnn(client);
    await client.addProfileKey({ ...ann, keyName: "loyalty", values: ["G7"] });
    await client.addProfileKey({ ...ann, keyName: "loyalty", values: ["G7", "G8"] });
    expect(await found(client, "loyalty", "G7")).toBe(1);
    await client.deleteProfileKey({ ...ann, keyName: "loyalty", values: ["G7"] });
    expect(await found(client, "loyalty", "G7")).toBe(0);
    expect(await found(client, "loyalty", "G8")).toBe(1);
  });

  test("takes either spelling of a vendor's key", async () => {
    const { client } = await startHarness();
    const ann = await shopWithAnn(client);
    await client.addProfileKey({ ...ann, keyName: "_zendeskUserId", values: ["7"] });
    expect(await found(client, "_vendorUserId", "7")).toBe(1);
    expect(await found(client, "_zendeskUserId", "7")).toBe(1);
  });
});

describe("deleteProfileKey", () => {
  test("leaves a value that is in a field of the profile", async () => {
    const { client } = await startHarness();
    const ann = await shopWithAnn(client);
    await client.addProfileKey({ ...ann, keyName: "_phone", values: ["555 123 4567", "112"] });
    const answer = await client.deleteProfileKey({
      ...ann,
      keyName: "_phone",
      values: ["555 123 4567", "112", "none"],
    });
    expect(answer.message).toBe("OK");
    expect(await found(client, "_phone", "112")).toBe(0);
    expect(await found(client, "_phone", "555 123 4567")).toBe(1);
  });
});

describe.each(["addProfileKey", "deleteProfileKey"] as const)("%s refuses", (operation) => {
  test("the identifier's key, then a domain, then a profile that is not there", async () => {
    const { client } = await startHarness();
    const call = (keyName: string) =>
      refusalOf(client[operation]({ domainName: "shop", profileId: unknownId, keyName, values: ["1"] }));
    expect(await call("_profileId")).toBe("KEY_NAME_FIXED: The values of _profileId cannot be added or removed");
    expect(await call("loyalty")).toBe("DOMAIN_NOT_FOUND: Domain shop does not exist");
    await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
    expect(await call("loyalty")).toBe(`PROFILE_NOT_FOUND: Profile ${unknownId} does not exist`);
  });
});

test("a profile takes some thousand short keys, because each counts with its entry in the index", async () => {
  const { client } = await startHarness();
  const ann = await shopWithAnn(client);
  const add = (first: number, count: number) => {
    const values = Array.from({ length: count }, (_, index) => `${first + index}`);
    return refusalOf(client.addProfileKey({ ...ann, keyName: "k", values }));
  };
  expect(await add(1_000, 3_700)).toBe("answered");
  expect(await add(5_000, 100)).toBe("PROFILE_TOO_LARGE: A profile can have at most 256000 bytes");
  expect(await add(1_000, 3_700)).toBe("answered");
});

test("a profile that its keys make too large is refused, and stays as it was", async () => {
  const { client } = await startHarness();
  const ann = await shopWithAnn(client);
  const values = Array.from({ length: 1_000 }, (_, index) => `${index}`.padStart(255, "0"));
  expect(await refusalOf(client.addProfileKey({ ...ann, keyName: "loyalty", values }))).toBe(
    "PROFILE_TOO_LARGE: A profile can have at most 256000 bytes",
  );
  expect(await found(client, "loyalty", values[0] ?? "")).toBe(0);
});
