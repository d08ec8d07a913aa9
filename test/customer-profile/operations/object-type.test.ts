import { describe, expect, test } from "vitest";

import { integrations } from "../../../services/customer-profile/store/layout.ts";
import { refusalOf, startHarness } from "../harness.ts";
import type { ProfileClient } from "../harness.ts";

const order = {
  domainName: "shop",
  objectTypeName: "order",
  description: "Orders of the shop",
  fields: {
    number: { source: "_source.number" },
    mail: { source: "_source.buyer.mail", target: "_profile.EmailAddress", contentType: "EMAIL_ADDRESS" },
  },
  keys: {
    orderNumber: { items: [{ fieldNames: ["number"], standardIdentifiers: ["UNIQUE"] }] },
    _email: { items: [{ fieldNames: ["mail"], standardIdentifiers: ["PROFILE"] }] },
  },
};

const makeShop = (client: ProfileClient) => client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });

describe("putProfileObjectType", () => {
  test("answers all that was put, and getProfileObjectType tells the same", async () => {
    const { client } = await startHarness();
    await makeShop(client);
    const put = await client.putProfileObjectType({
      ...order,
      expirationDays: 7,
      encryptionKey: "alias/orders",
      allowProfileCreation: true,
      maxProfileObjectCount: 5,
      sourcePriority: 2,
      sourceLastUpdatedTimestampFormat: "ISO_INSTANT",
      tags: { team: "crm" },
    });
    const { domainName: _domainName, ...definition } = order;
    const expected = {
      ...definition,
      expirationDays: 7,
      encryptionKey: "alias/orders",
      allowProfileCreation: true,
      maxProfileObjectCount: 5,
      maxAvailableProfileObjectCount: 1_000,
      sourcePriority: 2,
      sourceLastUpdatedTimestampFormat: "ISO_INSTANT",
      tags: { team: "crm" },
      createdAt: { seconds: 1_767_323_045n },
    };
    expect(put).toMatchObject(expected);
    expect(await client.getProfileObjectType({ domainName: "shop", objectTypeName: "order" })).toMatchObject(expected);
  });

  test("replaces a type and keeps its tags and the instant it was made", async () => {
    const { client, clock } = await startHarness();
    await makeShop(client);
    await client.putProfileObjectType({ ...order, tags: { team: "crm" }, allowProfileCreation: true });
    clock.advance(1_000);
    const replaced = await client.putProfileObjectType({ ...order, description: "Other", tags: { team: "no" } });
    expect(replaced).toMatchObject({
      description: "Other",
      allowProfileCreation: false,
      tags: { team: "crm" },
      createdAt: { seconds: 1_767_323_045n },
      lastUpdatedAt: { seconds: 1_767_323_046n },
    });
  });

  test("takes fields and keys of a template where it has none of its own", async () => {
    const { client } = await startHarness();
    await makeShop(client);
    const put = await client.putProfileObjectType({
      domainName: "shop",
      objectTypeName: "people",
      description: "People",
      templateId: "Zendesk-users",
    });
    expect(put).toMatchObject({ templateId: "Zendesk-users", allowProfileCreation: true });
    expect(Object.keys(put.keys).toSorted()).toEqual(["_zendeskExternalId", "_zendeskUserId"]);
  });

  test("refuses, in this order", async () => {
    const { client } = await startHarness();
    const put = (changes: object) => refusalOf(client.putProfileObjectType({ ...order, ...changes }));
    const bad = { tags: { "aws:a": "1" }, templateId: "none", keys: { k: { items: [] } } };
    expect(await put(bad)).toBe("TAG_KEY_RESERVED: The tag key aws:a begins with a reserved prefix");
    expect(await put({ ...bad, tags: {} })).toBe("DOMAIN_NOT_FOUND: Domain shop does not exist");
    await makeShop(client);
    expect(await put({ ...bad, tags: {} })).toBe("TEMPLATE_NOT_FOUND: Template none does not exist");
    expect(await put({ ...bad, tags: {}, templateId: undefined })).toBe(
      "OBJECT_TYPE_INVALID: The object type is not valid: key k has no use",
    );
    for (let index = 0; index < 100; index += 1)
      await client.putProfileObjectType({ ...order, objectTypeName: `t${index}` });
    expect(await put({})).toBe("TOO_MANY_OBJECT_TYPES: A domain can have at most 100 object types");
    expect(await put({ objectTypeName: "t1" })).toBe("answered");
  });
});

describe("deleteProfileObjectType", () => {
  const search = { domainName: "shop", keyName: "_email", values: ["ann@example.com"] };

  test("removes its objects, their keys and the fields that came from them; profiles and manual fields stay", async () => {
    const { client, app } = await startHarness();
    await makeShop(client);
    const { profileId } = await client.createProfile({ domainName: "shop", firstName: "Ann" });
    await client.addProfileKey({ domainName: "shop", profileId, keyName: "_email", values: ["ann@example.com"] });
    await client.putProfileObjectType(order);
    for (const number of [1, 2])
      await client.putProfileObject({
        domainName: "shop",
        objectTypeName: "order",
        object: JSON.stringify({ number, buyer: { mail: "ann@example.com" } }),
      });
    expect((await client.searchProfiles(search)).items[0]?.emailAddress).toBe("ann@example.com");
    await client.deleteProfileObjectType({ domainName: "shop", objectTypeName: "order" });
    await app.jobs.idle();
    const [ann] = (await client.searchProfiles(search)).items;
    expect(ann).toMatchObject({ profileId, firstName: "Ann" });
    expect(ann?.emailAddress).toBeUndefined();
    expect((await client.searchProfiles({ ...search, keyName: "orderNumber", values: ["1"] })).items).toEqual([]);
    expect((await client.getDomain({ domainName: "shop" })).stats).toMatchObject({ profileCount: 1n, objectCount: 0n });
  });

  test("disables the integrations of the type, and no others", async () => {
    const { client, store } = await startHarness();
    await makeShop(client);
    await client.putProfileObjectType(order);
    const put = (uri: string, objectTypeName: string) =>
      client.putIntegration({ domainName: "shop", uri, objectTypeName });
    await put("arn:aws:s3:::orders", "order");
    await put("arn:aws:s3:::users", "Zendesk-users");
    await client.deleteProfileObjectType({ domainName: "shop", objectTypeName: "order" });
    const stored = await store.read((reader) => reader.list(integrations, { limit: 10 }));
    expect(stored.map(({ value }) => [value.uri, value.isDisabled])).toEqual([
      ["arn:aws:s3:::orders", true],
      ["arn:aws:s3:::users", false],
    ]);
  });

  test("lets a type of the same name begin anew before the removal has run", async () => {
    const { client } = await startHarness({ works: false });
    await makeShop(client);
    await client.putProfileObjectType({ ...order, allowProfileCreation: true });
    const object = '{"number":1,"buyer":{"mail":"ann@example.com"}}';
    const put = () => client.putProfileObject({ domainName: "shop", objectTypeName: "order", object });
    const first = await put();
    const [ann] = (await client.searchProfiles(search)).items;
    await client.deleteProfileObjectType({ domainName: "shop", objectTypeName: "order" });
    await client.putProfileObjectType(order);
    const list = { domainName: "shop", objectTypeName: "order", profileId: ann?.profileId };
    expect((await client.listProfileObjects(list)).items).toEqual([]);
    const second = await put();
    expect(second.profileObjectUniqueKey).not.toBe(first.profileObjectUniqueKey);
    expect((await client.listProfileObjects(list)).items).toHaveLength(1);
  });

  test("and getProfileObjectType refuse a domain, then a type, that is not there", async () => {
    const { client } = await startHarness();
    const request = { domainName: "shop", objectTypeName: "order" };
    const refusals = async () => [
      await refusalOf(client.getProfileObjectType(request)),
      await refusalOf(client.deleteProfileObjectType(request)),
    ];
    const noDomain = "DOMAIN_NOT_FOUND: Domain shop does not exist";
    expect(await refusals()).toEqual([noDomain, noDomain]);
    await makeShop(client);
    const noType = "OBJECT_TYPE_NOT_FOUND: Object type order does not exist";
    expect(await refusals()).toEqual([noType, noType]);
  });
});

test("listProfileObjectTypes lists by name, in pages", async () => {
  const { client } = await startHarness();
  await makeShop(client);
  for (const objectTypeName of ["c", "a", "b"]) await client.putProfileObjectType({ ...order, objectTypeName });
  const first = await client.listProfileObjectTypes({ domainName: "shop", maxResults: 2 });
  expect(first.items.map((item) => item.objectTypeName)).toEqual(["a", "b"]);
  const second = await client.listProfileObjectTypes({ domainName: "shop", maxResults: 2, nextToken: first.nextToken });
  expect(second.items.map((item) => item.objectTypeName)).toEqual(["c"]);
  expect(second.nextToken).toBeUndefined();
});

describe("templates", () => {
  test("listProfileObjectTypeTemplates lists them by identifier, in pages", async () => {
    const { client } = await startHarness();
    const first = await client.listProfileObjectTypeTemplates({ maxResults: 3 });
    expect(first.items.map((item) => item.templateId)).toEqual(["CTR", "CTR-AutoAssociateOnly", "Marketo-leads"]);
    const second = await client.listProfileObjectTypeTemplates({ nextToken: first.nextToken });
    expect(second.items.map((item) => item.templateId)).toEqual([
      "Salesforce-Account",
      "Salesforce-Contact",
      "Segment-Identify",
      "Servicenow-sys_user",
      "Shopify-Customer",
      "Zendesk-users",
    ]);
  });

  test("getProfileObjectTypeTemplate tells one, and refuses one that is not there", async () => {
    const { client } = await startHarness();
    expect(await client.getProfileObjectTypeTemplate({ templateId: "Zendesk-users" })).toMatchObject({
      sourceName: "Zendesk",
      sourceObject: "users",
      allowProfileCreation: true,
      fields: { email: { source: "_source.email", target: "_profile.EmailAddress", contentType: "EMAIL_ADDRESS" } },
      keys: { _zendeskUserId: { items: [{ fieldNames: ["id"], standardIdentifiers: ["UNIQUE", "PROFILE"] }] } },
    });
    expect(await refusalOf(client.getProfileObjectTypeTemplate({ templateId: "none" }))).toBe(
      "TEMPLATE_NOT_FOUND: Template none does not exist",
    );
  });
});
