import { describe, expect, onTestFinished, test } from "vitest";

import { objectTypeKeys } from "../../../services/customer-profile/store/layout.ts";
import { changingKeys } from "../../support/changing-keys.ts";
import { startHttpReceiver } from "../../support/http-receiver.ts";
import { countsOf } from "../database.ts";
import type { HarnessOptions, ProfileClient } from "../harness.ts";
import { refusalOf, startHarness } from "../harness.ts";
import { expectRewrapped } from "./rotation.ts";

const typeOf = (objectTypeName: string) => ({
  domainName: "shop",
  objectTypeName,
  description: "Orders",
  fields: { number: { source: "_source.number" }, account: { source: "_source.account" } },
  keys: {
    [`${objectTypeName}Number`]: { items: [{ fieldNames: ["number"], standardIdentifiers: ["UNIQUE"] }] },
    _account: { items: [{ fieldNames: ["account"], standardIdentifiers: ["PROFILE"] }] },
  },
});
const order = typeOf("order");
const visit = typeOf("visit");
const sales = { id: "sales" };
const newer = { id: "newer" };
const disabled = "ENCRYPTION_KEY_DISABLED: Encryption key sales is disabled";

const put = (client: ProfileClient, objectTypeName: string, number: number, account = "A-1") =>
  client.putProfileObject({ domainName: "shop", objectTypeName, object: JSON.stringify({ number, account }) });

const list = async (client: ProfileClient, profileId: string, objectTypeName = "order") =>
  (await client.listProfileObjects({ domainName: "shop", objectTypeName, profileId })).items
    .map(({ object }) => object)
    .toSorted();

/** A profile with an order, whose type names a key, and a visit, whose type names none. */
const startShop = async (options: HarnessOptions = {}) => {
  const keys = changingKeys();
  keys.declare(sales, newer);
  const harness = await startHarness({ keyNames: keys.names, ...options });
  const { client } = harness;
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  await client.putProfileObjectType({ ...order, encryptionKey: "sales" });
  await client.putProfileObjectType(visit);
  const { profileId } = await client.createProfile({ domainName: "shop", accountNumber: "A-1" });
  await put(client, "order", 1);
  await put(client, "visit", 1);
  return { ...harness, keys, profileId };
};

const first = '{"number":1,"account":"A-1"}';
const second = '{"number":2,"account":"A-1"}';

describe("an object type's own key", () => {
  test("that is disabled closes its objects at once, and nothing else; enabled, it opens them again", async () => {
    const { client, keys, profileId } = await startShop();
    const other = await client.createProfile({ domainName: "shop", accountNumber: "A-2" });
    const merge = { domainName: "shop", mainProfileId: other.profileId, profileIdsToBeMerged: [profileId] };
    keys.declare({ ...sales, state: "DISABLED" });
    expect([
      await refusalOf(list(client, profileId)),
      await refusalOf(put(client, "order", 2)),
      await refusalOf(client.mergeProfiles(merge)),
      await refusalOf(client.putProfileObjectType({ ...order, encryptionKey: "sales" })),
    ]).toEqual([disabled, disabled, disabled, disabled]);
    expect(await list(client, profileId, "visit")).toEqual([first]);
    const { items } = await client.searchProfiles({ domainName: "shop", keyName: "orderNumber", values: ["1"] });
    expect(items.map((item) => item.profileId)).toEqual([profileId]);
    keys.declare(sales);
    expect(await list(client, profileId)).toEqual([first]);
  });

  test("is needed for its objects in the profile that they were merged into", async () => {
    const { client, keys, profileId } = await startShop();
    const { profileId: main } = await client.createProfile({ domainName: "shop", accountNumber: "A-2" });
    await client.mergeProfiles({ domainName: "shop", mainProfileId: main, profileIdsToBeMerged: [profileId] });
    expect([await list(client, main), await list(client, main, "visit")]).toEqual([[first], [first]]);
    keys.declare({ ...sales, state: "DISABLED" });
    expect(await refusalOf(list(client, main))).toBe(disabled);
  });

  test("that is disabled does not hinder deleting an object, its profile and its type", async () => {
    const { client, app, store, keys, profileId } = await startShop();
    const { profileObjectUniqueKey } = await put(client, "order", 2);
    keys.declare({ ...sales, state: "DISABLED" });
    const object = { domainName: "shop", objectTypeName: "order", profileId, profileObjectUniqueKey };
    await client.deleteProfileObject(object);
    expect(await countsOf(store)).toMatchObject({ objects: 2, object_type_keys: 1 });
    await client.deleteProfileObjectType({ domainName: "shop", objectTypeName: "order" });
    await app.jobs.idle();
    expect(await countsOf(store)).toMatchObject({ objects: 1 });
    expect(await countsOf(store)).not.toHaveProperty("object_type_keys");
    await client.deleteProfile({ domainName: "shop", profileId });
    expect(await countsOf(store)).not.toHaveProperty("objects");
  });

  test("that is exchanged is not needed any more for the objects that it encrypted", async () => {
    const { client, keys, profileId } = await startShop();
    await client.putProfileObjectType({ ...order, encryptionKey: "newer" });
    keys.declare(newer);
    await put(client, "order", 2);
    expect(await list(client, profileId)).toEqual([first, second]);
    keys.declare({ ...newer, state: "DISABLED" });
    expect(await refusalOf(list(client, profileId))).toBe("ENCRYPTION_KEY_DISABLED: Encryption key newer is disabled");
  });

  test("cannot be exchanged or taken away while it is disabled", async () => {
    const { client, keys, profileId } = await startShop();
    keys.declare({ ...sales, state: "DISABLED" }, newer);
    expect(await refusalOf(client.putProfileObjectType({ ...order, encryptionKey: "newer" }))).toBe(disabled);
    expect(await refusalOf(client.putProfileObjectType({ ...order, encryptionKey: "" }))).toBe(disabled);
    const type = await client.getProfileObjectType({ domainName: "shop", objectTypeName: "order" });
    expect(type.encryptionKey).toBe("sales");
    keys.declare(sales, newer);
    expect(await list(client, profileId)).toEqual([first]);
  });

  test("that is taken away leaves its objects under the domain's key, and may be named again", async () => {
    const { client, keys, profileId } = await startShop();
    await client.putProfileObjectType({ ...order, encryptionKey: "" });
    keys.declare(newer);
    await put(client, "order", 2);
    expect(await list(client, profileId)).toEqual([first, second]);
    await client.updateDomain({ domainName: "shop", defaultEncryptionKey: "newer" });
    expect(await list(client, profileId)).toEqual([first, second]);

    keys.declare(sales, newer);
    await client.putProfileObjectType({ ...order, encryptionKey: "sales" });
    keys.declare({ ...sales, state: "DISABLED" }, newer);
    expect(await refusalOf(list(client, profileId))).toBe(disabled);
  });

  test("that is named later encrypts later objects only", async () => {
    const { client, keys, profileId } = await startShop();
    await client.putProfileObjectType({ ...visit, encryptionKey: "sales" });
    keys.declare({ ...sales, state: "DISABLED" });
    expect(await list(client, profileId, "visit")).toEqual([first]);
    keys.declare(sales);
    await put(client, "visit", 2);
    keys.declare({ ...sales, state: "DISABLED" });
    expect(await refusalOf(list(client, profileId, "visit"))).toBe(disabled);
  });

  test("is removed with its domain", async () => {
    const { client, app, store } = await startShop();
    await client.deleteDomain({ domainName: "shop" });
    await app.jobs.idle();
    expect(await countsOf(store)).toEqual({ page_token_keys: 1 });
  });

  test("encrypts dead letters of its type too, which wait while it is disabled", async () => {
    let isUp = false;
    const queue = await startHttpReceiver(() => ({ status: isUp ? 200 : 503 }));
    onTestFinished(() => queue.close());
    const queueEndpoint = { url: queue.url, region: "us-east-1", accessKeyId: "", secretAccessKey: "" };
    const { client, app, clock, store, keys } = await startShop({ queueEndpoint });
    const deadLetterQueueUrl = "https://queues.example/000000000000/errors";
    await client.updateDomain({ domainName: "shop", deadLetterQueueUrl });
    await put(client, "order", 7, "A-9");
    await app.jobs.idle();
    isUp = true;
    keys.declare({ ...sales, state: "DISABLED" });
    clock.advance(60_000);
    await app.jobs.idle();
    expect(queue.received).toHaveLength(1);
    keys.declare(sales);
    clock.advance(60_000);
    await app.jobs.idle();
    expect(queue.received).toHaveLength(2);
    expect(await countsOf(store)).not.toHaveProperty("dead_letters");
  });

  test("is wrapped again after a rotation of the master key, and its older form leaves the files", async () => {
    const harness = await startShop();
    const { client, profileId } = harness;
    await expectRewrapped(harness, objectTypeKeys);
    expect(await list(client, profileId)).toEqual([first]);
  });
});
