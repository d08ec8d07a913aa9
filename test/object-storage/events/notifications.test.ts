import { describe, expect, onTestFinished, test } from "vitest";

import { limits } from "../../../services/object-storage/limits.ts";
import { addWaiting, countWaiting } from "../../../services/object-storage/store/waiting-notifications.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { Answer, HttpReceiver } from "../../support/http-receiver.ts";
import { startHttpReceiver } from "../../support/http-receiver.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { alice, as, put, startHarness, startWithBucket } from "../harness.ts";

const queueArn = `arn:aws:sqs:us-east-1:${alice}:uploads`;
const events = ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"];

const startReceiver = async (answer?: Answer): Promise<HttpReceiver> => {
  const receiver = await startHttpReceiver(answer);
  onTestFinished(() => receiver.close());
  return receiver;
};

const endpointsAt = ({ url }: HttpReceiver) => {
  const endpoint = { url, region: "us-east-1", accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" };
  return { sqs: endpoint, sns: endpoint, lambda: endpoint };
};

/** Notifies a bucket's changes without trying the destination. */
const configure = ({ client }: Harness, notificationConfiguration: object) =>
  client.putBucketNotificationConfiguration(
    { bucket: "photos", notificationConfiguration, skipDestinationValidation: true },
    as(alice),
  );

const start = async (receiver: HttpReceiver, options: HarnessOptions = {}) => {
  const harness = await startWithBucket({ notified: endpointsAt(receiver), ...options });
  await configure(harness, { queueConfigurations: [{ id: "up", queueArn, events }] });
  return harness;
};

const messageOf = ({ body }: HttpReceiver["received"][number]) =>
  JSON.parse((JSON.parse(body.toString()) as { readonly MessageBody: string }).MessageBody) as {
    readonly Records: readonly [
      { readonly eventName: string; readonly s3: { readonly object: { readonly key: string } } },
    ];
  };

const waiting = ({ opened }: Harness) => opened.app.store.read((reader) => countWaiting(reader, alice));

describe("a queue is notified", () => {
  test("of each change that it is to be, signed, and of no other", async () => {
    const receiver = await startReceiver();
    const harness = await start(receiver);
    await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
    await harness.client.putObjectTagging(
      { bucket: "photos", key: "cat.jpg", tagging: { tagSet: [{ key: "mood" }] } },
      as(alice),
    );
    await harness.client.deleteObject({ bucket: "photos", key: "cat.jpg" }, as(alice));
    await eventually(() => receiver.received.length === 2, "both changes are sent");
    await harness.opened.jobs.idle();
    expect(receiver.received).toHaveLength(2);
    const names = receiver.received.map((each) => messageOf(each).Records[0].eventName);
    expect(names.toSorted((a, b) => a.localeCompare(b))).toEqual(["ObjectCreated:Put", "ObjectRemoved:Delete"]);
    const [first] = receiver.received;
    expect(first?.headers["x-amz-target"]).toBe("AmazonSQS.SendMessage");
    expect(first?.headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/us-east-1\/sqs\//);
    expect(JSON.parse(first?.body.toString() ?? "")).toMatchObject({ QueueUrl: `${receiver.url}/${alice}/uploads` });
    expect(await waiting(harness)).toBe(0);
  });

  test("again until it takes the message, also after a restart", async () => {
    let isUp = false;
    const receiver = await startReceiver(() => (isUp ? { status: 200 } : { status: 400, body: '{"__type":"NoSuch"}' }));
    const first = await start(receiver);
    await put(first, { bucket: "photos", key: "cat.jpg" }, "meow");
    await eventually(() => receiver.received.length > 1, "it is tried again");
    expect(await waiting(first)).toBe(1);
    await first.stop();
    const before = receiver.received.length;
    isUp = true;
    const second = await startHarness({ directory: first.directory, notified: endpointsAt(receiver) });
    await eventually(() => receiver.received.length > before, "it is sent after the restart");
    await eventually(async () => (await waiting(second)) === 0, "it has ended");
    expect(messageOf(receiver.received.at(-1)!).Records[0].s3.object.key).toBe("cat.jpg");
  });

  test("no more after a day in which it took nothing", async () => {
    const clock = new FakeClock();
    const receiver = await startReceiver(() => ({ status: 503 }));
    const harness = await start(receiver, { clock });
    await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
    await eventually(() => receiver.received.length === 1, "it is tried");
    clock.advance(limits.notificationAgeMsMax + 1);
    await eventually(async () => {
      clock.advance(60_000);
      return (await waiting(harness)) === 0;
    }, "it is given up");
    const tries = receiver.received.length;
    await harness.opened.jobs.idle();
    clock.advance(60_000);
    await harness.opened.jobs.idle();
    expect(receiver.received).toHaveLength(tries);
  });

  test("that keeps the order in the group of the key, once for each change", async () => {
    const receiver = await startReceiver();
    const harness = await startWithBucket({ notified: endpointsAt(receiver) });
    await configure(harness, { queueConfigurations: [{ queueArn: `${queueArn}.fifo`, events }] });
    await put(harness, { bucket: "photos", key: "a cat" }, "meow");
    await eventually(() => receiver.received.length === 1, "it is sent");
    expect(JSON.parse(receiver.received[0]?.body.toString() ?? "")).toMatchObject({
      MessageGroupId: Buffer.from("a cat").toString("base64url"),
      MessageDeduplicationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  test("of nothing more while 200,000 notifications of its account wait, which is logged once a minute", async () => {
    const receiver = await startReceiver();
    const { log, lines } = capturingLogger("error");
    const clock = new FakeClock();
    const harness = await start(receiver, { log, clock });
    await harness.opened.app.store.transact(async (transaction) =>
      addWaiting(transaction, alice, limits.notificationsWaitingMax),
    );
    for (const key of ["left out", "and another"]) await put(harness, { bucket: "photos", key }, "meow");
    expect(lines.map(({ msg, account }) => [msg, account])).toEqual([
      ["notifications are left out: too many wait", alice],
    ]);
    await harness.opened.app.store.transact(async (transaction) => addWaiting(transaction, alice, -1));
    await put(harness, { bucket: "photos", key: "sent" }, "meow");
    await eventually(() => receiver.received.length === 1, "the second is sent");
    await harness.opened.jobs.idle();
    expect(receiver.received.map((each) => messageOf(each).Records[0].s3.object.key)).toEqual(["sent"]);
  });
});

test("a topic gets a message with a subject, and a function an event that it need not answer", async () => {
  const receiver = await startReceiver(() => ({ status: 202 }));
  const harness = await startWithBucket({ notified: endpointsAt(receiver) });
  const topicArn = `arn:aws:sns:us-east-1:${alice}:news`;
  const functionArn = `arn:aws:lambda:us-east-1:${alice}:function:resize:live`;
  await configure(harness, {
    topicConfigurations: [{ topicArn, events: ["s3:ObjectCreated:Put"] }],
    functionConfigurations: [{ functionArn, events: ["s3:ObjectRemoved:Delete"] }],
  });
  await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
  await harness.client.deleteObject({ bucket: "photos", key: "cat.jpg" }, as(alice));
  await eventually(() => receiver.received.length === 2, "both are sent");
  const published = receiver.received.find(({ url }) => url === "/");
  const form = new URLSearchParams(published?.body.toString());
  expect(Object.fromEntries(form)).toMatchObject({
    Action: "Publish",
    TopicArn: topicArn,
    Subject: "Amazon S3 Notification",
    Message: expect.stringContaining('"eventName":"ObjectCreated:Put"'),
  });
  const invoked = receiver.received.find(({ url }) => url !== "/");
  expect(invoked?.url).toBe(`/2015-03-31/functions/${encodeURIComponent(functionArn)}/invocations`);
  expect(invoked?.headers["x-amz-invocation-type"]).toBe("Event");
  expect(invoked?.body.toString()).toContain('"eventName":"ObjectRemoved:Delete"');
});

test("a queue that does not answer keeps no other from being notified", async () => {
  const slow = new Set<string>();
  const receiver = await startReceiver(({ body }) => {
    const { QueueUrl } = JSON.parse(body.toString()) as { readonly QueueUrl: string };
    if (QueueUrl.endsWith("/slow")) slow.add(body.toString());
    return { status: QueueUrl.endsWith("/slow") ? 503 : 200 };
  });
  const harness = await startWithBucket({ notified: endpointsAt(receiver) });
  const filter = (value: string) => ({ key: { filterRules: [{ name: "prefix", value }] } });
  await configure(harness, {
    queueConfigurations: [
      { queueArn: `arn:aws:sqs:us-east-1:${alice}:slow`, events, filter: filter("slow/") },
      { queueArn, events, filter: filter("fast/") },
    ],
  });
  for (let each = 0; each < 100; each += 1) await put(harness, { bucket: "photos", key: `slow/${each}` }, "x");
  await eventually(() => slow.size > 20, "the slow one is tried");
  await put(harness, { bucket: "photos", key: "fast/1" }, "x");
  const others = () => receiver.received.filter(({ body }) => body.toString().includes("/uploads"));
  await eventually(() => others().length > 0, "the other one is notified", 5_000);
  expect(others().map((each) => messageOf(each).Records[0].s3.object.key)).toEqual(["fast/1"]);
});
