import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test } from "vitest";

import type { NotificationConfigurationSchema } from "../../../gen/quartet/objectstorage/v1/notification_pb.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { Answer } from "../../support/http-receiver.ts";
import { startHttpReceiver } from "../../support/http-receiver.ts";
import { freePort, startEventBus } from "../event-bus.ts";
import type { Harness } from "../harness.ts";
import { alice, as, notImplemented, put, refusalOf, startHarness, startWithBucket } from "../harness.ts";

const configure = (
  harness: Harness,
  notificationConfiguration: MessageInitShape<typeof NotificationConfigurationSchema>,
): Promise<unknown> =>
  harness.client.putBucketNotificationConfiguration({ bucket: "photos", notificationConfiguration }, as(alice));

/** An endpoint of queues and topics; it is closed when the test ends. */
const startReceiver = async (answer?: Answer) => {
  const receiver = await startHttpReceiver(answer);
  onTestFinished(() => receiver.close());
  return receiver;
};

const events = ["s3:ObjectCreated:*"];
const rule = (...names: string[]) => ({ key: { filterRules: names.map((name) => ({ name, value: "x" })) } });

describe("putBucketNotificationConfiguration and getBucketNotificationConfiguration", () => {
  test("is read back, replaces what was there, and is empty at first", async () => {
    const { client, ...harness } = await startWithBucket();
    const read = async () =>
      (await client.getBucketNotificationConfiguration({ bucket: "photos" }, as(alice))).notificationConfiguration;
    expect((await read())?.eventBridgeConfiguration).toBeUndefined();

    await configure({ client, ...harness }, { eventBridgeConfiguration: {} });
    expect((await read())?.eventBridgeConfiguration).toBeDefined();

    await configure({ client, ...harness }, {});
    expect((await read())?.eventBridgeConfiguration).toBeUndefined();
  });

  const topic = (name: string, more: object = {}) => ({
    topicConfigurations: [{ topicArn: `arn:aws:sns:us-east-1:${alice}:${name}`, events, ...more }],
  });
  const queue = (name: string, more: object = {}) => ({
    queueConfigurations: [{ queueArn: `arn:aws:sqs:us-east-1:${alice}:${name}`, events, ...more }],
  });
  const queueAt = (queueArn: string) => ({ queueConfigurations: [{ queueArn, events }] });
  const called = (functionArn: string) => ({ functionConfigurations: [{ functionArn, events }] });
  const overlap = "Configurations overlap. Configurations on the same bucket cannot share a common event type.";
  const prefixed = (value: string) => ({ filter: { key: { filterRules: [{ name: "prefix", value }] } } });

  test.each([
    // configuration, reason; in the order of refusal
    [{ topicConfigurations: [{ events }] }, "MALFORMED_XML"],
    [{ topicConfigurations: [{ topicArn: "arn:aws:sns:us-east-1:1:t" }] }, "MALFORMED_XML"],
    [
      { queueConfigurations: [{ queueArn: "q", events: ["s3:ObjectEaten"] }] },
      "INVALID_ARGUMENT: The event is not supported for notifications",
    ],
    [
      { queueConfigurations: [{ queueArn: "q", events, filter: rule("middle") }] },
      "INVALID_ARGUMENT: filter rule name must be either prefix or suffix",
    ],
    [
      { queueConfigurations: [{ queueArn: "q", events, filter: rule("prefix", "Prefix") }] },
      "INVALID_ARGUMENT: Cannot specify more than one prefix or suffix rule in a filter.",
    ],
    [
      {
        queueConfigurations: [{ id: "1", queueArn: "q", events }],
        functionConfigurations: [{ id: "1", functionArn: "f", events }],
      },
      "INVALID_ARGUMENT: Configurations on the same bucket cannot share the same id.",
    ],
    [
      { queueConfigurations: Array.from({ length: 101 }, () => ({ queueArn: "q", events })) },
      "INVALID_ARGUMENT: A bucket can have at most 100 notification configurations.",
    ],
    [called("f"), notImplemented("CloudFunctionConfiguration")],
    [queueAt("q"), "INVALID_ARGUMENT: The ARN could not be parsed"],
    [queueAt(`arn:aws:sns:us-east-1:${alice}:q`), "INVALID_ARGUMENT: The ARN could not be parsed"],
    [
      queueAt(`arn:aws:sqs:eu-west-1:${alice}:q`),
      "INVALID_ARGUMENT: The notification destination service region is not valid for the bucket location constraint",
    ],
    [
      queueAt("arn:aws:sqs:us-east-1:222222222222:q"),
      "INVALID_ARGUMENT: Unable to validate the following destination configurations",
    ],
    [{ ...queue("q"), ...topic("t") }, `INVALID_ARGUMENT: ${overlap}`],
    [
      { ...queue("q", prefixed("a/")), ...topic("t", { events: ["s3:ObjectCreated:Put"], ...prefixed("a/b") }) },
      `INVALID_ARGUMENT: ${overlap}`,
    ],
    [{ ...queue("q", prefixed("a/")), ...topic("t", prefixed("b/")) }, "answered"],
    [{ ...queue("q"), ...topic("t", { events: ["s3:ObjectRemoved:*"] }) }, "answered"],
    [queue("q", { events: ["s3:ObjectCreated:Put", "svc:ObjectCreated:Copy"] }), "answered"],
  ])("where queues and topics are reached, %j ends as %s", async (configuration, reason) => {
    const endpoint = { url: (await startReceiver()).url, region: "us-east-1", accessKeyId: "", secretAccessKey: "" };
    const harness = await startWithBucket({ notified: { sqs: endpoint, sns: endpoint } });
    expect(await refusalOf(configure(harness, configuration))).toBe(reason);
  });

  test.each([
    [topic("t"), notImplemented("TopicConfiguration")],
    [queue("q"), notImplemented("QueueConfiguration")],
    [called("f"), notImplemented("CloudFunctionConfiguration")],
  ])("where none are reached, refuses %j with %s", async (configuration, reason) => {
    expect(await refusalOf(configure(await startWithBucket(), configuration))).toBe(reason);
  });

  test("refuses none at all, then an unknown bucket, before a wrong configuration", async () => {
    const { client } = await startWithBucket();
    const notificationConfiguration = { topicConfigurations: [{ events }] };
    const call = (request: object) =>
      refusalOf(client.putBucketNotificationConfiguration({ bucket: "unknown", ...request }, as(alice)));
    expect(await call({})).toBe(
      "INVALID_INPUT: Value null at 'notification_configuration' failed to satisfy constraint: Member must not be null",
    );
    expect(await call({ notificationConfiguration })).toBe("NO_SUCH_BUCKET");
  });
});

describe("a queue or topic that is to be notified", () => {
  const queueConfigurations = [{ queueArn: `arn:aws:sqs:us-east-1:${alice}:uploads`, events }];
  const topicConfigurations = [
    { id: "news", topicArn: `arn:aws:sns:us-east-1:${alice}:gone`, events: ["s3:ObjectRemoved:*"] },
  ];
  const start = async (answer?: Answer) => {
    const receiver = await startReceiver(answer);
    const endpoint = { url: receiver.url, region: "us-east-1", accessKeyId: "", secretAccessKey: "" };
    return { receiver, ...(await startWithBucket({ notified: { sqs: endpoint, sns: endpoint } })) };
  };

  test("gets a test message before the configuration is stored, with an id for each entry", async () => {
    const { receiver, client, ...harness } = await start();
    await configure({ client, ...harness }, { queueConfigurations, topicConfigurations });
    expect(receiver.received).toHaveLength(2);
    const bodies = receiver.received.map(({ body }) => body.toString());
    const sent = bodies.find((body) => body.startsWith("{")) ?? "";
    const { QueueUrl, MessageBody } = JSON.parse(sent) as { readonly QueueUrl: string; readonly MessageBody: string };
    expect(QueueUrl).toBe(`${receiver.url}/${alice}/uploads`);
    expect(JSON.parse(MessageBody)).toMatchObject({ Service: "Amazon S3", Event: "s3:TestEvent", Bucket: "photos" });
    const published = new URLSearchParams(bodies.find((body) => !body.startsWith("{")));
    expect([published.get("Action"), published.get("TopicArn")]).toEqual(["Publish", topicConfigurations[0]?.topicArn]);
    const read = await client.getBucketNotificationConfiguration({ bucket: "photos" }, as(alice));
    expect(read.notificationConfiguration).toMatchObject({ queueConfigurations, topicConfigurations });
    expect(read.notificationConfiguration?.queueConfigurations[0]?.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("and does not take it is refused, and nothing is stored; unless the request skips that", async () => {
    const { receiver, client } = await start(() => ({ status: 400, body: '{"__type":"QueueDoesNotExist"}' }));
    const configured = (more: object) =>
      refusalOf(
        client.putBucketNotificationConfiguration(
          { bucket: "photos", notificationConfiguration: { queueConfigurations }, ...more },
          as(alice),
        ),
      );
    expect(await configured({})).toBe("INVALID_ARGUMENT: Unable to validate the following destination configurations");
    const read = async () =>
      (await client.getBucketNotificationConfiguration({ bucket: "photos" }, as(alice))).notificationConfiguration;
    expect((await read())?.queueConfigurations).toEqual([]);
    expect(receiver.received).toHaveLength(1);
    expect(await configured({ skipDestinationValidation: true })).toBe("answered");
    expect((await read())?.queueConfigurations).toHaveLength(1);
    expect(receiver.received).toHaveLength(1);
  });

  test("may be named in the older document, which replaces the whole and reads the first of each kind", async () => {
    const { client, ...harness } = await start();
    await configure({ client, ...harness }, { eventBridgeConfiguration: {}, queueConfigurations });
    const older = {
      topicConfiguration: { id: "t", topic: topicConfigurations[0]!.topicArn, event: "s3:ObjectRemoved:*" },
    };
    await client.putBucketNotification({ bucket: "photos", notificationConfiguration: older }, as(alice));
    const { topicConfiguration, queueConfiguration } = await client.getBucketNotification(
      { bucket: "photos" },
      as(alice),
    );
    expect(topicConfiguration).toMatchObject({ ...older.topicConfiguration, events: ["s3:ObjectRemoved:*"] });
    expect(queueConfiguration).toBeUndefined();
    const read = await client.getBucketNotificationConfiguration({ bucket: "photos" }, as(alice));
    expect(read.notificationConfiguration?.eventBridgeConfiguration).toBeUndefined();
  });
});

test("an older notification document without destinations stops all notifications", async () => {
  const { client } = await startWithBucket();
  const notificationConfiguration = { eventBridgeConfiguration: {} };
  await client.putBucketNotificationConfiguration({ bucket: "photos", notificationConfiguration }, as(alice));
  await client.putBucketNotification({ bucket: "photos", notificationConfiguration: {} }, as(alice));
  const read = await client.getBucketNotificationConfiguration({ bucket: "photos" }, as(alice));
  expect(read.notificationConfiguration?.eventBridgeConfiguration).toBeUndefined();
  expect((await client.getBucketNotification({ bucket: "photos" }, as(alice))).topicConfiguration).toBeUndefined();
});

describe("the event bus is told", () => {
  test("of every change, although it was down when the changes happened", async () => {
    const port = await freePort();
    const harness = await startWithBucket({ eventBusAddress: `http://127.0.0.1:${port}` });
    await put(harness, { bucket: "photos", key: "before" }, "not told");
    await configure(harness, { eventBridgeConfiguration: {} });
    const { eTag } = await put(harness, { bucket: "photos", key: "a cat.jpg" }, "meow");
    await harness.client.deleteObject({ bucket: "photos", key: "a cat.jpg" }, as(alice));
    await harness.client.deleteObject({ bucket: "photos", key: "never" }, as(alice));

    const told = await startEventBus(port, 2);
    await eventually(() => told.length === 2, "both changes are told");

    const [created, deleted] = told
      .flatMap(({ request }) => request.entries)
      .toSorted((first, second) => (first.detailType ?? "").localeCompare(second.detailType ?? ""));
    expect(told[0]?.authorization).toBe("Bearer 111111111111 arn:aws:iam::111111111111:root");
    expect(created).toMatchObject({
      source: "aws.s3",
      detailType: "Object Created",
      resources: ["arn:aws:s3:::photos"],
    });
    const createdDetail = JSON.parse(created?.detail ?? "");
    expect(createdDetail).toMatchObject({
      version: "0",
      bucket: { name: "photos" },
      object: {
        key: "a cat.jpg",
        size: 4,
        etag: eTag?.replaceAll('"', ""),
        sequencer: expect.stringMatching(/^[0-9A-F]{16}$/),
      },
      requester: alice,
      reason: "PutObject",
    });
    const deletedDetail = JSON.parse(deleted?.detail ?? "");
    expect(deletedDetail).toMatchObject({
      object: { key: "a cat.jpg" },
      reason: "DeleteObject",
      "deletion-type": "Permanently Deleted",
    });
    expect(deletedDetail.object).not.toHaveProperty("size");
    expect(deletedDetail.object.sequencer > createdDetail.object.sequencer).toBe(true);
    expect(createdDetail["request-id"]).not.toBe("");
  });

  test("in an order that sequencers show, although a key is put, deleted and put again within a millisecond", async () => {
    const port = await freePort();
    const clock = new FakeClock();
    const harness = await startWithBucket({ clock, eventBusAddress: `http://127.0.0.1:${port}` });
    await configure(harness, { eventBridgeConfiguration: {} });
    const told = await startEventBus(port);
    const cat = { bucket: "photos", key: "cat.jpg" };
    await put(harness, cat, "1");
    await eventually(() => told.length === 1, "the first put is told");
    await harness.client.deleteObject(cat, as(alice));
    await eventually(() => told.length === 2, "the deletion is told");
    await put(harness, cat, "3");
    await eventually(() => told.length === 3, "the second put is told");

    const sequencers = told
      .flatMap(({ request }) => request.entries)
      .map(({ detail }) => (JSON.parse(detail ?? "") as { object: { sequencer: string } }).object.sequencer);
    expect(new Set(sequencers).size).toBe(3);
    expect(sequencers.toSorted()).toEqual(sequencers);
  });

  test("of tags that are put and taken off", async () => {
    const port = await freePort();
    const harness = await startWithBucket({ eventBusAddress: `http://127.0.0.1:${port}` });
    const cat = { bucket: "photos", key: "cat.jpg" };
    const { eTag } = await put(harness, cat, "meow");
    await configure(harness, { eventBridgeConfiguration: {} });
    await harness.client.putObjectTagging({ ...cat, tagging: { tagSet: [{ key: "mood" }] } }, as(alice));
    await harness.client.deleteObjectTagging(cat, as(alice));

    const told = await startEventBus(port);
    await eventually(() => told.length === 2, "both changes are told");

    const entries = told.flatMap(({ request }) => request.entries);
    const described = entries.map(({ detailType, detail }) => {
      const { object, reason } = JSON.parse(detail ?? "") as { object: object; reason: string };
      return { detailType, reason, object };
    });
    const object = { key: "cat.jpg", etag: eTag?.replaceAll('"', ""), sequencer: expect.any(String) };
    expect(described).toHaveLength(2);
    expect(described).toContainEqual({ detailType: "Object Tags Added", reason: "PutObjectTagging", object });
    expect(described).toContainEqual({ detailType: "Object Tags Deleted", reason: "DeleteObjectTagging", object });
  });

  test("after a restart of what was not told before it", async () => {
    const port = await freePort();
    const first = await startWithBucket({ eventBusAddress: `http://127.0.0.1:${port}` });
    await configure(first, { eventBridgeConfiguration: {} });
    await put(first, { bucket: "photos", key: "cat.jpg" }, "meow");
    await first.stop();

    const told = await startEventBus(port);
    await startHarness({ directory: first.directory, eventBusAddress: `http://127.0.0.1:${port}` });

    await eventually(() => told.length > 0, "the change is told");
    expect(told[0]?.request.entries[0]?.detailType).toBe("Object Created");
  });

  test("of nothing that was refused", async () => {
    const port = await freePort();
    const told = await startEventBus(port);
    const harness = await startWithBucket({ eventBusAddress: `http://127.0.0.1:${port}` });
    await configure(harness, { eventBridgeConfiguration: {} });

    await refusalOf(put(harness, { bucket: "photos", key: "k", ifMatch: "other" }, "v"));
    await put(harness, { bucket: "photos", key: "last" }, "v");

    await eventually(() => told.length > 0, "the put that was taken is told");
    expect(
      told.flatMap(({ request }) => request.entries.map((entry) => JSON.parse(entry.detail ?? "").object.key)),
    ).toEqual(["last"]);
  });
});
