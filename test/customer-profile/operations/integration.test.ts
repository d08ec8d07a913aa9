import { describe, expect, test } from "vitest";

import { refusalOf, startHarness } from "../harness.ts";
import type { ProfileClient } from "../harness.ts";

const uri = "arn:aws:s3:::inbox/a:b";
const flowDefinition = (flowName: string) => ({
  flowName,
  kmsArn: "arn:aws:kms:us-east-1:000000000000:key/1",
  sourceFlowConfig: { connectorType: "S3", sourceConnectorProperties: { s3: { bucketName: "inbox" } } },
  tasks: [{ taskType: "Map", sourceFields: ["a"], connectorOperator: { s3: "NO_OP" } }],
  triggerConfig: { triggerType: "OnDemand" },
});
const base = { domainName: "shop", objectTypeName: "Zendesk-users" };

const makeShop = (client: ProfileClient, domainName = "shop") =>
  client.createDomain({ domainName, defaultExpirationDays: 30 });

describe("putIntegration", () => {
  test("answers what was put; getIntegration and listIntegrations tell the same", async () => {
    const { client } = await startHarness();
    await makeShop(client);
    const request = { ...base, uri, tags: { team: "crm" }, flowDefinition: flowDefinition("flow") };
    const expected = { ...base, uri, tags: { team: "crm" }, createdAt: { seconds: 1_767_323_045n } };
    expect(await client.putIntegration(request)).toMatchObject(expected);
    expect(await client.getIntegration({ domainName: "shop", uri })).toMatchObject(expected);
    expect((await client.listIntegrations({ domainName: "shop" })).items).toMatchObject([expected]);
  });

  test("makes the address where none is given, and keeps tags when it replaces", async () => {
    const { client, clock } = await startHarness();
    await makeShop(client);
    const made = await client.putIntegration({ ...base, tags: { a: "1" }, flowDefinition: flowDefinition("flow") });
    expect(made.uri).toBe("shop_S3_Zendesk-users_1767323045000");
    clock.advance(1_000);
    const replaced = await client.putIntegration({ ...base, uri: made.uri, objectTypeName: "CTR", tags: { b: "2" } });
    expect(replaced).toMatchObject({
      objectTypeName: "CTR",
      tags: { a: "1" },
      createdAt: { seconds: 1_767_323_045n },
      lastUpdatedAt: { seconds: 1_767_323_046n },
    });
  });

  test("makes another address for each of two that are put in the same millisecond", async () => {
    const { client } = await startHarness();
    await makeShop(client);
    const put = async (flowName: string) =>
      (await client.putIntegration({ ...base, flowDefinition: flowDefinition(flowName) })).uri;
    expect(await Promise.all([put("first"), put("second")])).toEqual([
      "shop_S3_Zendesk-users_1767323045000",
      "shop_S3_Zendesk-users_1767323045001",
    ]);
    expect((await client.listIntegrations({ domainName: "shop" })).items).toHaveLength(2);
  });

  test("reads an object type once that it imports for many events, and refuses more than it may have", async () => {
    const { client } = await startHarness();
    await makeShop(client);
    const fields = Object.fromEntries(
      Array.from({ length: 4_000 }, (_, index) => [`f${index}`, { source: "_source.a" }]),
    );
    const keys = { f0: { items: [{ standardIdentifiers: ["UNIQUE", "PROFILE"] }] } };
    await client.putProfileObjectType({ domainName: "shop", objectTypeName: "t", description: "d", fields, keys });
    const eventsOf = (digits: number) =>
      Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [String(index).padStart(digits, "0"), "t"]));
    const put = (objectTypeNames: Record<string, string>) =>
      refusalOf(client.putIntegration({ domainName: "shop", uri, objectTypeNames }));
    expect(await put(eventsOf(11))).toBe("answered");
    const resourceArn = "arn:aws:profile:us-east-1:000000000000:domains/shop/integrations/" + uri;
    await client.tagResource({ resourceArn, tags: { a: "1" } });
    const found = await client.getIntegration({ domainName: "shop", uri });
    expect(Object.keys(found.objectTypeNames)).toHaveLength(20_000);
    expect(await put(eventsOf(12))).toBe(
      "INTEGRATION_INVALID: The integration is not valid: its flow definition and object types have more than 256000 bytes",
    );
  });

  test("refuses, in this order", async () => {
    const { client } = await startHarness();
    const put = (request: object) => refusalOf(client.putIntegration({ domainName: "shop", ...request }));
    expect(await put({ tags: { "aws:a": "1" } })).toBe(
      "TAG_KEY_RESERVED: The tag key aws:a begins with a reserved prefix",
    );
    expect(await put({ uri })).toBe("INTEGRATION_INVALID: The integration is not valid: it names no object type");
    expect(await put({ objectTypeName: "none" })).toBe(
      "INTEGRATION_INVALID: The integration is not valid: it has neither an address nor a flow definition",
    );
    expect(await put({ objectTypeName: "none", uri })).toBe("DOMAIN_NOT_FOUND: Domain shop does not exist");
    await makeShop(client);
    expect(await put({ objectTypeName: "none", uri })).toBe("OBJECT_TYPE_NOT_FOUND: Object type none does not exist");
    for (let index = 0; index < 50; index += 1)
      await client.putIntegration({ ...base, uri: `u${index}`, flowDefinition: flowDefinition(`f${index}`) });
    expect(await put({ ...base, uri, flowDefinition: flowDefinition("f7") })).toBe(
      "FLOW_ALREADY_EXISTS: Flow with name f7 already exists.",
    );
    expect(await put({ ...base, uri })).toBe("TOO_MANY_INTEGRATIONS: A domain can have at most 50 integrations");
    expect(await put({ ...base, uri: "u7", flowDefinition: flowDefinition("f7") })).toBe("answered");
  });
});

describe("a contact center instance", () => {
  const instance = (id: string, account = "000000000000", partition = "aws") =>
    `arn:${partition}:connect:us-east-1:${account}:instance/${id}`;
  const contacts = { objectTypeName: "CTR" };
  const elsewhere = (uriOfInstance: string) =>
    `INSTANCE_ALREADY_ASSOCIATED: Contact center instance ${uriOfInstance} is associated with another domain`;

  test("is associated with one domain at most, and a domain with several instances", async () => {
    const { client } = await startHarness();
    await makeShop(client);
    await makeShop(client, "depot");
    const put = (domainName: string, address: string) =>
      refusalOf(client.putIntegration({ ...contacts, domainName, uri: address }));
    expect([
      await put("shop", instance("1")),
      await put("shop", instance("2")),
      await put("shop", instance("1")),
      await put("shop", instance("1", undefined, "svc")),
      await put("depot", instance("1")),
      await put("depot", instance("1", undefined, "svc")),
      await put("depot", instance("3")),
      // Another partition has instances of its own. Queues of an instance, and buckets, may have several domains.
      await put("depot", instance("2", undefined, "aws-cn")),
      await put("shop", `${instance("3")}/queue/1`),
      await put("depot", `${instance("3")}/queue/1`),
      await put("shop", uri),
      await put("depot", uri),
    ]).toEqual([
      "answered",
      "answered",
      "answered",
      "answered",
      elsewhere(instance("1")),
      elsewhere(instance("1", undefined, "svc")),
      "answered",
      "answered",
      "answered",
      "answered",
      "answered",
      "answered",
    ]);
  });

  test("is associated with one of two domains that ask for it at the same time", async () => {
    const { client } = await startHarness();
    await makeShop(client);
    await makeShop(client, "depot");
    const outcomes = await Promise.all(
      ["shop", "depot"].map((domainName) =>
        refusalOf(client.putIntegration({ ...contacts, domainName, uri: instance("1") })),
      ),
    );
    expect(outcomes.toSorted()).toEqual([elsewhere(instance("1")), "answered"]);
  });

  test("can be associated with another domain after its integration, or its domain, was deleted", async () => {
    const { client } = await startHarness();
    for (const domainName of ["shop", "depot", "store"]) await makeShop(client, domainName);
    const put = (domainName: string) =>
      refusalOf(client.putIntegration({ ...contacts, domainName, uri: instance("1") }));
    expect([await put("shop"), await put("depot")]).toEqual(["answered", elsewhere(instance("1"))]);
    await client.deleteIntegration({ domainName: "shop", uri: instance("1") });
    expect([await put("depot"), await put("store")]).toEqual(["answered", elsewhere(instance("1"))]);
    await client.deleteDomain({ domainName: "depot" });
    expect(await put("store")).toBe("answered");
  });

  test("is of the own account", async () => {
    const { client, clientOf } = await startHarness();
    const other = clientOf("111111111111");
    await makeShop(other);
    const request = { ...contacts, domainName: "shop", uri: instance("1") };
    expect(await refusalOf(other.putIntegration(request))).toBe(
      "INTEGRATION_INVALID: The integration is not valid: its contact center instance is of another account",
    );
    await makeShop(client);
    expect(await refusalOf(client.putIntegration(request))).toBe("answered");
  });
});

describe("deleteIntegration", () => {
  test("removes it, and a second call is refused, as getIntegration is", async () => {
    const { client } = await startHarness();
    await makeShop(client);
    await client.putIntegration({ ...base, uri });
    expect((await client.deleteIntegration({ domainName: "shop", uri })).message).toBe("OK");
    const gone = `INTEGRATION_NOT_FOUND: Integration ${uri} does not exist`;
    expect(await refusalOf(client.deleteIntegration({ domainName: "shop", uri }))).toBe(gone);
    expect(await refusalOf(client.getIntegration({ domainName: "shop", uri }))).toBe(gone);
    expect((await client.listAccountIntegrations({ uri })).items).toEqual([]);
  });
});

test("listIntegrations lists the integrations of one domain by address, in pages", async () => {
  const { client } = await startHarness();
  await makeShop(client);
  await makeShop(client, "other");
  for (const name of ["c", "a", "b"]) await client.putIntegration({ ...base, uri: `arn:aws:s3:::${name}` });
  await client.putIntegration({ ...base, domainName: "other", uri });
  const first = await client.listIntegrations({ domainName: "shop", maxResults: 2 });
  expect(first.items.map((item) => item.uri)).toEqual(["arn:aws:s3:::a", "arn:aws:s3:::b"]);
  const second = await client.listIntegrations({ domainName: "shop", maxResults: 2, nextToken: first.nextToken });
  expect(second.items.map((item) => item.uri)).toEqual(["arn:aws:s3:::c"]);
  expect(second.nextToken).toBeUndefined();
});

test("listAccountIntegrations lists the domains that read from one address, in pages, of the own account", async () => {
  const { client, clientOf } = await startHarness();
  for (const domainName of ["c", "a", "b"]) {
    await makeShop(client, domainName);
    await client.putIntegration({ ...base, domainName, uri });
  }
  const other = clientOf("111111111111");
  await makeShop(other);
  await other.putIntegration({ ...base, uri });
  const first = await client.listAccountIntegrations({ uri, maxResults: 2 });
  expect(first.items.map((item) => item.domainName)).toEqual(["a", "b"]);
  const second = await client.listAccountIntegrations({ uri, maxResults: 2, nextToken: first.nextToken });
  expect(second.items.map((item) => item.domainName)).toEqual(["c"]);
  await client.deleteDomain({ domainName: "a" });
  expect((await client.listAccountIntegrations({ uri })).items.map((item) => item.domainName)).toEqual(["b", "c"]);
});

test("tagResource, untagResource and listTagsForResource know integrations and object types", async () => {
  const { client } = await startHarness();
  await makeShop(client);
  await client.putIntegration({ ...base, uri, tags: { a: "1" } });
  await client.putProfileObject({ domainName: "shop", objectTypeName: "Zendesk-users", object: '{"id":1}' });
  const names = [`integrations/${uri}`, "object-types/Zendesk-users"];
  for (const name of names) {
    const resourceArn = `arn:aws:profile:us-east-1:000000000000:domains/shop/${name}`;
    await client.tagResource({ resourceArn, tags: { b: "2" } });
    await client.untagResource({ resourceArn, tagKeys: ["a"] });
    expect((await client.listTagsForResource({ resourceArn })).tags).toEqual({ b: "2" });
  }
  expect((await client.getIntegration({ domainName: "shop", uri })).tags).toEqual({ b: "2" });
});
