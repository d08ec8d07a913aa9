import { describe, expect, test } from "vitest";

import { countsOf, rowsOf } from "../database.ts";
import { refusalOf, startHarness } from "../harness.ts";
import type { ProfileClient } from "../harness.ts";
import { eventually } from "../../support/eventually.ts";

/**
 * The guide's example: a ticket joins the one profile with its mail address, else the profile of earlier tickets of it.
 */
const ticket = {
  domainName: "shop",
  objectTypeName: "ticket",
  description: "Tickets",
  allowProfileCreation: true,
  fields: {
    mail: { source: "_source.mail", contentType: "EMAIL_ADDRESS" },
    time: { source: "_source.time" },
  },
  keys: {
    _email: { items: [{ fieldNames: ["mail"], standardIdentifiers: ["PROFILE", "LOOKUP_ONLY"] }] },
    ticketEmail: { items: [{ fieldNames: ["mail"], standardIdentifiers: ["PROFILE", "SECONDARY", "NEW_ONLY"] }] },
    uniqueTicket: { items: [{ fieldNames: ["mail", "time"], standardIdentifiers: ["UNIQUE"] }] },
  },
};

/** Orders fill names and count; they join by account number only. */
const order = {
  domainName: "shop",
  objectTypeName: "order",
  description: "Orders",
  fields: {
    number: { source: "_source.number" },
    account: { source: "_source.account", target: "_profile.AccountNumber" },
    name: { source: "{{_source.first}} {{_source.last}}", target: "_profile.LastName" },
    city: { source: "_source.to.city", target: "_profile.ShippingAddress.City" },
    size: { source: "_source.size", target: "_profile.Attributes.shoe size" },
    phone: { source: "_source.phone", contentType: "PHONE_NUMBER" },
  },
  keys: {
    orderNumber: { items: [{ fieldNames: ["number"], standardIdentifiers: ["UNIQUE"] }] },
    _account: { items: [{ fieldNames: ["account"], standardIdentifiers: ["PROFILE"] }] },
    orderPhone: { items: [{ fieldNames: ["phone"], standardIdentifiers: [] }] },
  },
};

const makeShop = async (client: ProfileClient, ...types: object[]) => {
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  for (const type of types) await client.putProfileObjectType(type);
};

const put = (client: ProfileClient, objectTypeName: string, object: object) =>
  client.putProfileObject({ domainName: "shop", objectTypeName, object: JSON.stringify(object) });

const orderText = (number: number) => JSON.stringify({ number, account: "A-1" });

const idsBy = async (client: ProfileClient, keyName: string, value: string) =>
  (await client.searchProfiles({ domainName: "shop", keyName, values: [value] })).items.map((each) => each.profileId);

const objectsOf = async (client: ProfileClient, objectTypeName: string, profileId: string) =>
  (await client.listProfileObjects({ domainName: "shop", objectTypeName, profileId })).items.map((item) => item.object);

describe("putProfileObject", () => {
  test("attaches to the one profile that its key finds, and fills what was not set by hand", async () => {
    const { client } = await startHarness();
    await makeShop(client, order);
    const { profileId } = await client.createProfile({ domainName: "shop", accountNumber: "A-1", firstName: "Ann" });
    await client.updateProfile({ domainName: "shop", profileId, shippingAddress: { city: "Ghent" } });
    const object = {
      number: 7,
      account: "A-1",
      first: "Ann",
      last: "Lee",
      to: { city: "Bruges" },
      size: 38,
      phone: "112",
    };
    const { profileObjectUniqueKey } = await put(client, "order", object);
    expect(profileObjectUniqueKey).toMatch(/^[0-9a-f]{64}$/);
    const { items } = await client.searchProfiles({ domainName: "shop", keyName: "orderPhone", values: ["1-1-2"] });
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({
      profileId,
      firstName: "Ann",
      lastName: "Ann Lee",
      shippingAddress: { city: "Ghent" },
      attributes: { "shoe size": "38" },
    });
    expect(await objectsOf(client, "order", profileId)).toEqual([JSON.stringify(object)]);
    expect((await client.getDomain({ domainName: "shop" })).stats).toMatchObject({ profileCount: 1n, objectCount: 1n });
  });

  test("fills fields by conditions and loops, anew when an object replaces another", async () => {
    const { client } = await startHarness();
    const fields = {
      ...order.fields,
      kind: {
        source: "{{#if _source.isPerson}}INDIVIDUAL{{else}}BUSINESS{{/if}}",
        target: "_profile.PartyTypeString",
      },
      tags: {
        source: "{{#each _source.tags}}{{this}}{{#unless @last}}, {{/unless}}{{/each}}",
        target: "_profile.Attributes.tags",
      },
    };
    await makeShop(client, { ...order, fields });
    const { profileId } = await client.createProfile({ domainName: "shop", accountNumber: "A-1" });
    const filled = async (more: object) => {
      await put(client, "order", { number: 7, account: "A-1", ...more });
      const found = await client.searchProfiles({ domainName: "shop", keyName: "_profileId", values: [profileId] });
      return [found.items[0]?.partyTypeString, found.items[0]?.attributes];
    };
    expect(await filled({ isPerson: true, tags: ["new", "vip"] })).toEqual(["INDIVIDUAL", { tags: "new, vip" }]);
    expect(await filled({ isPerson: false, tags: [] })).toEqual(["BUSINESS", {}]);
  });

  test("takes accounts of Salesforce as persons or firms, without a type that was put", async () => {
    const { client } = await startHarness();
    await makeShop(client);
    const filled = async (object: { readonly Id: string; readonly [name: string]: unknown }) => {
      await put(client, "Salesforce-Account", object);
      const found = { domainName: "shop", keyName: "_salesforceAccountId", values: [object.Id] };
      const { items } = await client.searchProfiles(found);
      return [items[0]?.partyType, items[0]?.mailingAddress?.city];
    };
    expect(await filled({ Id: "1", Name: "Ann Lee", IsPersonAccount: true, PersonMailingCity: "Ghent" })).toEqual([
      "INDIVIDUAL",
      "Ghent",
    ]);
    expect(await filled({ Id: "2", Name: "Lee & Co", IsPersonAccount: false })).toEqual(["BUSINESS", undefined]);
  });

  test("replaces the object with the same unique key, its keys and its fields, where it is", async () => {
    const { client } = await startHarness();
    await makeShop(client, order);
    const { profileId } = await client.createProfile({ domainName: "shop", accountNumber: "A-1" });
    await client.createProfile({ domainName: "shop", accountNumber: "A-2" });
    const first = await put(client, "order", { number: 7, account: "A-1", size: 38, phone: "112" });
    const second = await put(client, "order", { number: 7, account: "A-2", phone: "113" });
    expect(second).toEqual(first);
    expect(await idsBy(client, "orderPhone", "112")).toEqual([]);
    expect(await idsBy(client, "orderPhone", "113")).toEqual([profileId]);
    expect(await objectsOf(client, "order", profileId)).toEqual(['{"number":7,"account":"A-2","phone":"113"}']);
    const [ann] = (await client.searchProfiles({ domainName: "shop", keyName: "_profileId", values: [profileId] }))
      .items;
    expect(ann?.attributes).toEqual({});
    expect(ann?.accountNumber).toBe("A-1");
  });

  test("follows the guide's ticket example for one, no and three profiles with the mail address", async () => {
    const { client } = await startHarness();
    await makeShop(client, ticket);
    const made = async (emailAddress: string) =>
      (await client.createProfile({ domainName: "shop", emailAddress })).profileId;
    const ann = await made("ann@example.com");
    await put(client, "ticket", { mail: "Ann@Example.com", time: 1 });
    expect(await objectsOf(client, "ticket", ann)).toHaveLength(1);
    expect(await idsBy(client, "ticketEmail", "ann@example.com")).toEqual([]);

    await put(client, "ticket", { mail: "new@example.com", time: 1 });
    const [inferred = ""] = await idsBy(client, "_email", "new@example.com");
    expect(await objectsOf(client, "ticket", inferred)).toHaveLength(1);

    const three = await Promise.all([1, 2, 3].map(() => made("many@example.com")));
    await put(client, "ticket", { mail: "many@example.com", time: 1 });
    await put(client, "ticket", { mail: "many@example.com", time: 2 });
    const [fourth = ""] = await idsBy(client, "ticketEmail", "many@example.com");
    expect(three).not.toContain(fourth);
    expect(await objectsOf(client, "ticket", fourth)).toHaveLength(2);
  });

  test("makes contacts of one number one inferred profile with only that number", async () => {
    const { client } = await startHarness();
    await makeShop(client);
    const byHand = await client.createProfile({ domainName: "shop", phoneNumber: "+15551234567" });
    const CustomerEndpoint = { Address: "+15551234567" };
    await put(client, "CTR", { ContactId: "c-1", CustomerEndpoint });
    await put(client, "CTR", { ContactId: "c-2", CustomerEndpoint });
    const [inferred = "", another] = await idsBy(client, "_ctrContactId", "c-2");
    expect(another).toBeUndefined();
    expect(inferred).not.toBe(byHand.profileId);
    expect(await objectsOf(client, "CTR", inferred)).toHaveLength(2);
    const [found] = (await client.searchProfiles({ domainName: "shop", keyName: "_profileId", values: [inferred] }))
      .items;
    expect(found).toMatchObject({ phoneNumber: "+15551234567", attributes: {} });
  });

  test("attaches a contact to the profile that an agent gave its identifier", async () => {
    const { client } = await startHarness();
    await makeShop(client);
    const { profileId } = await client.createProfile({ domainName: "shop", firstName: "Ann" });
    await client.addProfileKey({ domainName: "shop", profileId, keyName: "_ctrContactId", values: ["c-9"] });
    await put(client, "CTR", { ContactId: "c-9" });
    expect(await objectsOf(client, "CTR", profileId)).toEqual(['{"ContactId":"c-9"}']);
  });

  test("makes one profile of many objects of the same key at the same time", async () => {
    const { client } = await startHarness();
    await makeShop(client, { ...order, allowProfileCreation: true });
    await Promise.all(Array.from({ length: 10 }, (_, number) => put(client, "order", { number, account: "A-1" })));
    const [only = "", another] = await idsBy(client, "_account", "A-1");
    expect(another).toBeUndefined();
    expect(await objectsOf(client, "order", only)).toHaveLength(10);
  });

  test("refuses, in this order", async () => {
    const { client } = await startHarness();
    const text = (object: string, objectTypeName = "order") =>
      refusalOf(client.putProfileObject({ domainName: "shop", objectTypeName, object }));
    expect(await text("[]")).toBe("OBJECT_INVALID: The object is not valid: it is not a JSON object");
    expect(await text("{}")).toBe("DOMAIN_NOT_FOUND: Domain shop does not exist");
    await makeShop(client, { ...order, maxProfileObjectCount: 2 });
    expect(await text("{}", "none")).toBe("OBJECT_TYPE_NOT_FOUND: Object type none does not exist");
    const fields = { a: { source: "{{_source.a}}".repeat(9) } };
    const keys = { a: { items: [{ standardIdentifiers: ["UNIQUE", "PROFILE"] }] } };
    await client.putProfileObjectType({ domainName: "shop", objectTypeName: "long", description: "d", fields, keys });
    expect(await text(JSON.stringify({ a: "x".repeat(250_000) }), "long")).toBe(
      "OBJECT_INVALID: The object is not valid: its keys and texts have more than 2048000 characters together",
    );
    expect(await text('{"account":"A-1"}')).toBe(
      "OBJECT_INVALID: The object is not valid: a field of its unique key is missing",
    );
    const noMatch =
      "OBJECT_MATCHES_NO_PROFILE: The object matches no single profile, and type order does not allow profile creation";
    expect(await text(orderText(1))).toBe(noMatch);
    await client.createProfile({ domainName: "shop", accountNumber: "A-1" });
    expect([await text(orderText(1)), await text(orderText(2)), await text(orderText(3))]).toEqual([
      "answered",
      "answered",
      "TOO_MANY_OBJECTS: A profile can have at most 2 such objects",
    ]);
    expect(await text(orderText(2))).toBe("answered");
    await client.createProfile({ domainName: "shop", accountNumber: "A-1" });
    expect(await text(orderText(3))).toBe(noMatch);
  });
});

describe("listProfileObjects", () => {
  test("lists in pages, filters by a key, and refuses what is not there", async () => {
    const { client } = await startHarness();
    await makeShop(client, order);
    const { profileId } = await client.createProfile({ domainName: "shop", accountNumber: "A-1" });
    for (let number = 0; number < 7; number += 1)
      await put(client, "order", { number, account: "A-1", phone: number % 2 === 0 ? "112" : "113" });
    const request = { domainName: "shop", objectTypeName: "order", profileId };
    const seen: string[] = [];
    let nextToken: string | undefined;
    do {
      const page = await client.listProfileObjects({ ...request, maxResults: 3, nextToken });
      expect(page.items.length).toBeLessThanOrEqual(3);
      seen.push(...page.items.map((item) => item.profileObjectUniqueKey));
      nextToken = page.nextToken;
    } while (nextToken !== undefined);
    expect(seen).toHaveLength(7);
    expect(seen).toEqual([...new Set(seen)].toSorted());
    const filtered = await client.listProfileObjects({
      ...request,
      objectFilter: { keyName: "orderPhone", values: ["1 1 3"] },
    });
    expect(filtered.items).toHaveLength(3);
    expect(await refusalOf(client.listProfileObjects({ ...request, profileId: "f".repeat(32) }))).toContain(
      "PROFILE_NOT_FOUND",
    );
    expect(await refusalOf(client.listProfileObjects({ ...request, objectTypeName: "none" }))).toContain(
      "OBJECT_TYPE_NOT_FOUND",
    );
    expect(await refusalOf(client.listProfileObjects({ ...request, domainName: "none" }))).toContain(
      "DOMAIN_NOT_FOUND",
    );
  });
});

describe("deleteProfileObject", () => {
  test("takes the object, its keys and its fields away, and a second call is refused", async () => {
    const { client } = await startHarness();
    await makeShop(client, order);
    const { profileId } = await client.createProfile({ domainName: "shop", accountNumber: "A-1" });
    const { profileObjectUniqueKey } = await put(client, "order", {
      number: 7,
      account: "A-1",
      size: 38,
      phone: "112",
    });
    const request = { domainName: "shop", objectTypeName: "order", profileId, profileObjectUniqueKey };
    expect((await client.deleteProfileObject(request)).message).toBe("OK");
    expect(await idsBy(client, "orderPhone", "112")).toEqual([]);
    expect(await idsBy(client, "_account", "A-1")).toEqual([profileId]);
    const [ann] = (await client.searchProfiles({ domainName: "shop", keyName: "_account", values: ["A-1"] })).items;
    expect(ann?.attributes).toEqual({});
    expect((await client.getDomain({ domainName: "shop" })).stats).toMatchObject({ objectCount: 0n, totalSize: 16n });
    const gone = `OBJECT_NOT_FOUND: Object ${profileObjectUniqueKey} does not exist`;
    expect(await refusalOf(client.deleteProfileObject(request))).toBe(gone);
    expect(await refusalOf(client.deleteProfileObject({ ...request, profileObjectUniqueKey: "x" }))).toBe(
      "OBJECT_NOT_FOUND: Object x does not exist",
    );
  });
});

describe("objects", () => {
  test("leave nothing behind when their profile is deleted", async () => {
    const { client, store } = await startHarness({ works: false });
    await makeShop(client, { ...order, allowProfileCreation: true });
    for (let number = 0; number < 5; number += 1) await put(client, "order", { number, account: "A-1", phone: "112" });
    const [profileId = ""] = await idsBy(client, "_account", "A-1");
    await client.deleteProfile({ domainName: "shop", profileId });
    expect(await countsOf(store)).toEqual({
      page_token_keys: 1,
      domains: 1,
      domain_keys: 1,
      counters: 1,
      object_types: 1,
    });
    expect((await client.getDomain({ domainName: "shop" })).stats).toMatchObject({ objectCount: 0n, totalSize: 0n });
  });

  test("leave nothing behind when their domain is deleted", async () => {
    const { client, app, store } = await startHarness();
    await makeShop(client, { ...order, allowProfileCreation: true });
    for (let number = 0; number < 5; number += 1) await put(client, "order", { number, account: `A-${number}` });
    await client.putIntegration({ domainName: "shop", objectTypeName: "order", uri: "arn:x" });
    await client.deleteDomain({ domainName: "shop" });
    await app.jobs.idle();
    expect(await countsOf(store)).toEqual({ page_token_keys: 1 });
  });

  test("expire after their type's days, with what they gave, while their profile stays", async () => {
    const { client, clock, store } = await startHarness();
    await makeShop(client, { ...order, expirationDays: 2 });
    const { profileId } = await client.createProfile({ domainName: "shop", accountNumber: "A-1" });
    await put(client, "order", { number: 7, account: "A-1", size: 38, phone: "112" });
    clock.advance(2 * 24 * 60 * 60 * 1000);
    expect(await objectsOf(client, "order", profileId)).toEqual([]);
    await eventually(async () => (await countsOf(store))["objects"] === undefined, "the expired object is removed");
    expect(await idsBy(client, "orderPhone", "112")).toEqual([]);
    const [ann] = (await client.searchProfiles({ domainName: "shop", keyName: "_account", values: ["A-1"] })).items;
    expect(ann).toMatchObject({ profileId, attributes: {} });
  });

  test("keep their profile alive as long as they live", async () => {
    const { client, clock } = await startHarness({ works: false });
    await makeShop(client, { ...order, expirationDays: 60 });
    const { profileId } = await client.createProfile({ domainName: "shop", accountNumber: "A-1" });
    await put(client, "order", { number: 7, account: "A-1" });
    clock.advance(59 * 24 * 60 * 60 * 1000);
    expect(await idsBy(client, "_account", "A-1")).toEqual([profileId]);
    clock.advance(24 * 60 * 60 * 1000);
    expect(await idsBy(client, "_account", "A-1")).toEqual([]);
  });

  test("of an expired profile begin anew in another one, which its removal does not touch", async () => {
    const { client, clock, directory, stop } = await startHarness({ works: false });
    await makeShop(client, { ...order, allowProfileCreation: true });
    await put(client, "order", { number: 7, account: "A-1" });
    const [first = ""] = await idsBy(client, "_account", "A-1");
    clock.advance(30 * 24 * 60 * 60 * 1000);
    await put(client, "order", { number: 7, account: "A-1" });
    const [second = ""] = await idsBy(client, "_account", "A-1");
    expect(second).not.toBe(first);
    await stop();
    const after = await startHarness({ directory, clock });
    await eventually(async () => (await countsOf(after.store))["profiles"] === 1, "the expired profile is removed");
    expect(await countsOf(after.store)).toMatchObject({ objects: 1, object_places: 1, object_expiries: 1 });
    expect(await objectsOf(after.client, "order", second)).toHaveLength(1);
  });

  test("stand encrypted in the database, and their unique keys in no key of it", async () => {
    const { client, store } = await startHarness({ works: false });
    await makeShop(client, { ...order, allowProfileCreation: true });
    await put(client, "order", { number: "Zebedea-7", account: "Quillfeather-1", first: "Xanthe" });
    const text = (await rowsOf(store))
      .map(({ keyBytes, valueBytes }) => `${keyBytes.toString("latin1")}${valueBytes.toString("latin1")}`)
      .join("\n");
    expect(["Zebedea", "Quillfeather", "Xanthe"].filter((word) => text.includes(word))).toEqual([]);
  });
});
