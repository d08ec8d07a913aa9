import { describe, expect, test } from "vitest";

import { domainKeys } from "../../../services/customer-profile/store/layout.ts";
import { changingKeys } from "../../support/changing-keys.ts";
import { eventually } from "../../support/eventually.ts";
import { countsOf } from "../database.ts";
import { refusalOf, startHarness } from "../harness.ts";
import { expectRewrapped } from "./rotation.ts";

const days = { defaultExpirationDays: 30 };
const search = { domainName: "shop", keyName: "_account", values: ["A-1"] };
const crm = { id: "crm", aliases: ["alias/crm"] };

/** A domain under a declared key, with one profile. */
const startWithAnn = async () => {
  const keys = changingKeys();
  keys.declare(crm, { id: "old", state: "DISABLED" }, { id: "going", state: "PENDING_DELETION" });
  const harness = await startHarness({ keyNames: keys.names });
  const { client } = harness;
  await client.createDomain({ domainName: "shop", ...days, defaultEncryptionKey: "alias/crm" });
  const { profileId } = await client.createProfile({ domainName: "shop", accountNumber: "A-1", firstName: "Ann" });
  return { ...harness, keys, profileId };
};

describe("a domain's named key", () => {
  // key, refusal
  test.each([
    ["alias/none", "ENCRYPTION_KEY_NOT_FOUND: Encryption key alias/none does not exist"],
    ["old", "ENCRYPTION_KEY_DISABLED: Encryption key old is disabled"],
    [
      "arn:svc:kms:us-east-1:000000000000:key/going",
      "ENCRYPTION_KEY_PENDING_DELETION: Encryption key arn:svc:kms:us-east-1:000000000000:key/going is pending deletion",
    ],
  ])("cannot be %s when a domain is made or changed, or a type is put", async (defaultEncryptionKey, refusal) => {
    const { client } = await startWithAnn();
    const type = { domainName: "shop", objectTypeName: "order", description: "Orders." };
    expect([
      await refusalOf(client.createDomain({ domainName: "other", ...days, defaultEncryptionKey })),
      await refusalOf(client.updateDomain({ domainName: "shop", defaultEncryptionKey })),
      await refusalOf(client.putProfileObjectType({ ...type, encryptionKey: defaultEncryptionKey })),
    ]).toEqual([refusal, refusal, refusal]);
    expect((await client.listDomains({})).items.map(({ domainName }) => domainName)).toEqual(["shop"]);
    expect((await client.getDomain({ domainName: "shop" })).defaultEncryptionKey).toBe("alias/crm");
  });

  test("that is disabled closes the domain's data at once, and opens it again", async () => {
    const { client, keys, profileId } = await startWithAnn();
    keys.declare({ ...crm, state: "DISABLED" });
    const refusal = "ENCRYPTION_KEY_DISABLED: Encryption key crm is disabled";
    expect([
      await refusalOf(client.searchProfiles(search)),
      await refusalOf(client.createProfile({ domainName: "shop" })),
      await refusalOf(client.updateProfile({ domainName: "shop", profileId, firstName: "Bea" })),
      await refusalOf(client.updateDomain({ domainName: "shop", defaultEncryptionKey: "" })),
    ]).toEqual([refusal, refusal, refusal, refusal]);
    const settings = await client.updateDomain({ domainName: "shop", defaultExpirationDays: 31 });
    expect([settings.defaultExpirationDays, settings.defaultEncryptionKey]).toEqual([31, "alias/crm"]);
    keys.declare(crm);
    expect((await client.searchProfiles(search)).items.map(({ firstName }) => firstName)).toEqual(["Ann"]);
  });

  test("that cannot be used does not hinder deleting the domain", async () => {
    const { client, keys } = await startWithAnn();
    keys.declare();
    expect(await refusalOf(client.searchProfiles(search))).toBe(
      "ENCRYPTION_KEY_NOT_FOUND: Encryption key crm does not exist",
    );
    expect((await client.deleteDomain({ domainName: "shop" })).message).toBe("OK");
  });

  test("that was exchanged is not needed any more", async () => {
    const { client, keys } = await startWithAnn();
    keys.declare(crm, { id: "newer" });
    await client.updateDomain({ domainName: "shop", defaultEncryptionKey: "newer" });
    keys.declare({ id: "newer" });
    expect((await client.searchProfiles(search)).items.map(({ firstName }) => firstName)).toEqual(["Ann"]);
  });

  test("that cannot be used keeps expired objects of its domain, and no others", async () => {
    const { client, clock, store, keys } = await startWithAnn();
    await client.createDomain({ domainName: "depot", ...days });
    // More than one step of the removal takes, and those that must stay come first.
    for (const domainName of ["shop", "depot"]) {
      clock.advance(1);
      await client.putProfileObjectType({
        domainName,
        objectTypeName: "order",
        description: "Orders.",
        expirationDays: 1,
        allowProfileCreation: true,
        fields: { id: { source: "_source.id", target: "_order.id" } },
        keys: { id: { items: [{ standardIdentifiers: ["UNIQUE", "PROFILE"], fieldNames: ["id"] }] } },
      });
      for (let id = 0; id < 110; id += 1)
        await client.putProfileObject({ domainName, objectTypeName: "order", object: JSON.stringify({ id: `${id}` }) });
    }
    keys.declare({ ...crm, state: "DISABLED" });
    clock.advance(2 * 24 * 60 * 60 * 1000);
    await eventually(async () => (await countsOf(store))["objects"] === 110, "the depot's objects are removed");
    keys.declare(crm);
    await eventually(async () => {
      clock.advance(60 * 60 * 1000);
      return (await countsOf(store))["objects"] === undefined;
    }, "the shop's objects are removed");
    expect(await countsOf(store)).not.toHaveProperty("object_expiries");
  });
});

test("after a rotation of the master key domains are wrapped anew, and the older form leaves the files", async () => {
  const harness = await startWithAnn();
  const { client } = harness;
  await expectRewrapped(harness, domainKeys);
  expect((await client.searchProfiles(search)).items.map(({ firstName }) => firstName)).toEqual(["Ann"]);
});
