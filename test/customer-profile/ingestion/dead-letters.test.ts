import { describe, expect, onTestFinished, test } from "vitest";

import { accountLetterCountOf, accountLetters } from "../../../services/customer-profile/store/account-letters.ts";
import { counters, deadLetters } from "../../../services/customer-profile/store/layout.ts";
import { changingKeys } from "../../support/changing-keys.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import type { Answer } from "../../support/http-receiver.ts";
import { startHttpReceiver } from "../../support/http-receiver.ts";
import { bytesOfFiles, countsOf } from "../database.ts";
import type { HarnessOptions, ProfileClient } from "../harness.ts";
import { refusalOf, startHarness } from "../harness.ts";

const order = {
  domainName: "shop",
  objectTypeName: "order",
  description: "Orders",
  maxProfileObjectCount: 1,
  fields: { number: { source: "_source.number" }, account: { source: "_source.account" } },
  keys: {
    orderNumber: { items: [{ fieldNames: ["number"], standardIdentifiers: ["UNIQUE"] }] },
    _account: { items: [{ fieldNames: ["account"], standardIdentifiers: ["PROFILE"] }] },
  },
};
const url = (name: string) => `https://queues.example/000000000000/${name}`;
const noMatch = "The object matches no single profile, and type order does not allow profile creation";
const refusal = `OBJECT_MATCHES_NO_PROFILE: ${noMatch}`;

const put = (client: ProfileClient, object: object) =>
  client.putProfileObject({ domainName: "shop", objectTypeName: "order", object: JSON.stringify(object) });

/** A domain whose dead letter queue is at a local endpoint. */
const startShop = async (answer?: Answer, queue = "errors", options: HarnessOptions = {}) => {
  const endpoint = await startHttpReceiver(answer);
  onTestFinished(() => endpoint.close());
  const queueEndpoint = {
    url: endpoint.url,
    region: "eu-west-1",
    accessKeyId: "AKIDEXAMPLE",
    secretAccessKey: "secret",
  };
  const harness = await startHarness({ queueEndpoint, ...options });
  const { client } = harness;
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30, deadLetterQueueUrl: url(queue) });
  await client.putProfileObjectType(order);
  return { ...harness, endpoint };
};

const bodyOf = ({ body }: { readonly body: Buffer }) => JSON.parse(body.toString()) as Record<string, string>;

describe("an object that finds no place in a profile", () => {
  test("is accepted and sent to the domain's dead letter queue, signed, with the reason", async () => {
    const { client, app, store, endpoint } = await startShop();
    const { profileObjectUniqueKey } = await put(client, { number: 7, account: "A-1" });
    await app.jobs.idle();
    expect(endpoint.received).toHaveLength(1);
    const [request] = endpoint.received;
    expect(request).toMatchObject({
      method: "POST",
      url: "/",
      headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.SendMessage" },
    });
    expect(request?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/20260102\/eu-west-1\/sqs\/aws4_request/,
    );
    const sent = endpoint.received.map(bodyOf);
    expect(sent).toEqual([
      {
        QueueUrl: `${endpoint.url}/000000000000/errors`,
        MessageBody: expect.any(String),
        MessageAttributes: {
          ERROR_CODE: { DataType: "String", StringValue: "OBJECT_MATCHES_NO_PROFILE" },
          ERROR_MESSAGE: { DataType: "String", StringValue: noMatch },
        },
      },
    ]);
    expect(JSON.parse(sent[0]?.["MessageBody"] ?? "")).toEqual({
      Version: "1.0",
      Id: expect.stringMatching(/^[0-9a-f]{32}$/),
      Time: "2026-01-02T03:04:05.000Z",
      DomainName: "shop",
      ObjectTypeName: "order",
      ProfileObjectUniqueKey: profileObjectUniqueKey,
      ErrorCode: "OBJECT_MATCHES_NO_PROFILE",
      ErrorMessage: noMatch,
      Object: '{"number":7,"account":"A-1"}',
    });
    expect(await countsOf(store)).not.toHaveProperty("dead_letters");
    expect((await client.getDomain({ domainName: "shop" })).stats).toMatchObject({ profileCount: 0n, objectCount: 0n });
    expect(app.jobs.stats().kinds["dead-letter"]).toMatchObject({ done: 1, retried: 0 });
  });

  test("is sent as well when its profile has as many objects as it may have", async () => {
    const { client, app, endpoint } = await startShop();
    await client.createProfile({ domainName: "shop", accountNumber: "A-1" });
    expect(await refusalOf(put(client, { number: 1, account: "A-1" }))).toBe("answered");
    await put(client, { number: 2, account: "A-1" });
    await app.jobs.idle();
    expect(endpoint.received.map(bodyOf).map(({ MessageBody }) => JSON.parse(MessageBody ?? ""))).toMatchObject([
      { ErrorCode: "TOO_MANY_OBJECTS", ErrorMessage: "A profile can have at most 1 such objects" },
    ]);
  });

  test("is in the order of its own letters in a queue that keeps it, and comes there once", async () => {
    const { client, app, endpoint } = await startShop(undefined, "errors.fifo");
    const { profileObjectUniqueKey } = await put(client, { number: 7, account: "A-1" });
    await app.jobs.idle();
    expect(endpoint.received.map(bodyOf)).toMatchObject([
      {
        MessageGroupId: profileObjectUniqueKey,
        MessageDeduplicationId: expect.stringMatching(/^[0-9a-f]{32}$/),
      },
    ]);
  });

  test("is refused without a queue, without an endpoint of queues, and when it is no valid object", async () => {
    const { client, app, store, endpoint } = await startShop();
    expect(await refusalOf(put(client, { account: "A-1" }))).toBe(
      "OBJECT_INVALID: The object is not valid: a field of its unique key is missing",
    );
    await client.updateDomain({ domainName: "shop", deadLetterQueueUrl: "" });
    expect(await refusalOf(put(client, { number: 7, account: "A-1" }))).toBe(refusal);

    const unreached = await startHarness();
    await unreached.client.createDomain({
      domainName: "shop",
      defaultExpirationDays: 30,
      deadLetterQueueUrl: url("errors"),
    });
    await unreached.client.putProfileObjectType(order);
    expect(await refusalOf(put(unreached.client, { number: 7, account: "A-1" }))).toBe(refusal);
    await app.jobs.idle();
    expect(endpoint.received).toEqual([]);
    expect(await countsOf(store)).not.toHaveProperty("dead_letters");
  });
});

describe("a dead letter", () => {
  // status and body of the answer
  test.each([
    [503, ""],
    [400, '{"__type":"com.amazonaws.sqs#QueueDoesNotExist"}'],
    [403, '{"__type":"AccessDeniedException"}'],
  ])("waits while its queue answers %s %s, in no file in clear", async (status, body) => {
    let isUp = false;
    const { client, app, clock, store, directory, endpoint } = await startShop(() =>
      isUp ? { status: 200 } : { status, body },
    );
    await put(client, { number: 7, account: "PRIVATE-1" });
    await app.jobs.idle();
    expect(endpoint.received).toHaveLength(1);
    expect(await countsOf(store)).toMatchObject({ dead_letters: 1 });
    expect((await bytesOfFiles(directory)).includes("PRIVATE-1")).toBe(false);
    isUp = true;
    clock.advance(60_000);
    await app.jobs.idle();
    expect(endpoint.received).toHaveLength(2);
    const [first, second] = endpoint.received.map(({ body: sent }) => sent.toString());
    expect(second).toBe(first);
    expect(await countsOf(store)).not.toHaveProperty("dead_letters");
  });

  test("is sent after a restart, if the process ended before its queue had it", async () => {
    const first = await startShop(undefined, "errors", { works: false });
    await put(first.client, { number: 7, account: "A-1" });
    await first.stop();
    const { directory, clock, endpoint } = first;
    const queueEndpoint = { url: endpoint.url, region: "eu-west-1", accessKeyId: "", secretAccessKey: "" };
    const second = await startHarness({ directory, clock, queueEndpoint });
    await second.app.jobs.idle();
    expect(endpoint.received.map(bodyOf)).toMatchObject([{ QueueUrl: `${endpoint.url}/000000000000/errors` }]);
    expect(endpoint.received[0]?.headers.authorization).toBeUndefined();
  });

  test("waits while the key of its domain cannot be used", async () => {
    const keys = changingKeys();
    keys.declare({ id: "crm" });
    let isUp = false;
    const { client, app, clock, endpoint } = await startShop(() => ({ status: isUp ? 200 : 503 }), "errors", {
      keyNames: keys.names,
    });
    await client.updateDomain({ domainName: "shop", defaultEncryptionKey: "crm" });
    await put(client, { number: 7, account: "A-1" });
    await app.jobs.idle();
    isUp = true;
    keys.declare({ id: "crm", state: "DISABLED" });
    clock.advance(60_000);
    await app.jobs.idle();
    expect(endpoint.received).toHaveLength(1);
    keys.declare({ id: "crm" });
    clock.advance(60_000);
    await app.jobs.idle();
    expect(endpoint.received).toHaveLength(2);
    expect(app.jobs.stats().kinds["dead-letter"]).toMatchObject({ done: 1, retried: 2 });
  });

  test("is sent without its object to a queue that does not accept so many bytes", async () => {
    const { client, app, endpoint } = await startShop(({ body }) =>
      body.length > 262_144 ? { status: 400, body: '{"__type":"InvalidParameterValue"}' } : { status: 200 },
    );
    await put(client, { number: 7, account: "A-1", note: "é".repeat(200_000) });
    await app.jobs.idle();
    const bodies = endpoint.received.map(bodyOf).map(({ MessageBody }) => JSON.parse(MessageBody ?? ""));
    expect(bodies).toMatchObject([{ Object: expect.any(String) }, { ErrorCode: "OBJECT_MATCHES_NO_PROFILE" }]);
    expect(bodies[1]).toMatchObject({ Object: null });
    expect(app.jobs.stats().kinds["dead-letter"]).toMatchObject({ done: 1, retried: 0 });
  });

  test("is refused while as many letters of its domain wait as may, and accepted when one was sent", async () => {
    const answer = { status: 503 };
    const { client, app, clock, store } = await startShop(() => answer);
    await put(client, { number: 7, account: "A-1" });
    await app.jobs.idle();
    const [counted] = await store.read((reader) => reader.list(counters, { limit: 1 }));
    expect(counted?.value.letterCount).toBe(1n);
    await store.transact((transaction) => transaction.add(counters, counted!.key, { letterCount: 99_999 }));
    expect(await refusalOf(put(client, { number: 8, account: "A-1" }))).toBe(refusal);
    answer.status = 200;
    clock.advance(900_000);
    await app.jobs.idle();
    expect(await refusalOf(put(client, { number: 8, account: "A-1" }))).toBe("answered");
  });

  test("is refused while as many letters of its account wait, of whatever domains, and accepted when one was sent", async () => {
    const answer = { status: 503 };
    const { client, app, clock, store } = await startShop(() => answer);
    const other = { domainName: "outlet", defaultExpirationDays: 30, deadLetterQueueUrl: url("errors") };
    await client.createDomain(other);
    await client.putProfileObjectType({ ...order, domainName: "outlet" });
    await client.putProfileObject({
      domainName: "outlet",
      objectTypeName: "order",
      object: '{"number":1,"account":"A-1"}',
    });
    await app.jobs.idle();
    const count = () => store.read((reader) => accountLetterCountOf(reader, "000000000000"));
    expect(await count()).toBe(1);
    await store.transact((transaction) => transaction.add(accountLetters, ["000000000000"], { letterCount: 199_999 }));
    expect(await refusalOf(put(client, { number: 8, account: "A-1" }))).toBe(refusal);
    answer.status = 200;
    clock.advance(900_000);
    await app.jobs.idle();
    expect(await count()).toBe(199_999);
    expect(await refusalOf(put(client, { number: 8, account: "A-1" }))).toBe("answered");
  });

  test("counts for its account until it is removed, also with its domain or damaged", async () => {
    const first = await startShop(undefined, "errors", { works: false });
    const queueEndpoint = { url: first.endpoint.url, region: "eu-west-1", accessKeyId: "", secretAccessKey: "" };
    for (const number of [1, 2, 3]) await put(first.client, { number, account: "A-1" });
    const count = () => first.store.read((reader) => accountLetterCountOf(reader, "000000000000"));
    expect(await count()).toBe(3);
    await first.client.deleteDomain({ domainName: "shop" });
    expect(await count()).toBe(3);
    const [letter] = await first.store.read((reader) => reader.list(deadLetters, { limit: 1 }));
    await first.stop();
    await damageStoredRecord(first.directory, deadLetters, letter!.key);
    const second = await startHarness({ directory: first.directory, clock: first.clock, queueEndpoint });
    await second.app.jobs.idle();
    expect(await countsOf(second.store)).toEqual({ page_token_keys: 1, account_letters: 1 });
    expect(await second.store.read((reader) => accountLetterCountOf(reader, "000000000000"))).toBe(0);
  });

  test("is given up after 14 days, and is removed with its domain before", async () => {
    const { client, app, clock, store } = await startShop(() => ({ status: 503 }));
    await put(client, { number: 7, account: "A-1" });
    await app.jobs.idle();
    clock.advance(13 * 86_400_000);
    await app.jobs.idle();
    expect(await countsOf(store)).toMatchObject({ dead_letters: 1 });
    clock.advance(86_400_000);
    await app.jobs.idle();
    expect(await countsOf(store)).not.toHaveProperty("dead_letters");

    await put(client, { number: 8, account: "A-1" });
    await client.deleteDomain({ domainName: "shop" });
    await app.jobs.idle();
    clock.advance(86_400_000);
    await app.jobs.idle();
    expect(await countsOf(store)).toEqual({ page_token_keys: 1, account_letters: 1 });
    expect(app.jobs.stats().kinds["dead-letter"]).toMatchObject({ done: 1 });
  });
});
