import { describe, expect, test } from "vitest";

import { createLogDelivery } from "../../../services/object-storage/work/log-delivery.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { alice, as, bob, get, put, refusalOf, startHarness, startWithBucket } from "../harness.ts";

const startMs = Date.UTC(2026, 0, 2, 23, 59, 58);

/** A policy of `logs` that lets logs of Alice's `photos` be delivered. */
const deliveryPolicy = (members: object = {}): string =>
  JSON.stringify({
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Principal: { Service: "logging.s3.amazonaws.com" },
        Action: "s3:PutObject",
        Resource: "arn:aws:s3:::logs/*",
        Condition: {
          ArnLike: { "aws:SourceArn": "arn:aws:s3:::photos" },
          StringEquals: { "aws:SourceAccount": alice },
        },
        ...members,
      },
    ],
  });

/** Alice's `photos`, whose log goes to `logs` with a prefix. */
const start = async (logging: object = {}, options: HarnessOptions = {}) => {
  const clock = new FakeClock(startMs);
  const harness = await startWithBucket({ clock, ...options });
  await harness.client.createBucket({ bucket: "logs" }, as(alice));
  await harness.client.putBucketPolicy({ bucket: "logs", policy: deliveryPolicy() }, as(alice));
  await enable(harness, logging);
  return { harness, clock };
};

const enable = ({ client }: Harness, logging: object = {}) =>
  client.putBucketLogging(
    {
      bucket: "photos",
      bucketLoggingStatus: { loggingEnabled: { targetBucket: "logs", targetPrefix: "of/", ...logging } },
    },
    as(alice),
  );

const deliver = async ({ opened }: Harness) => opened.logDelivery?.run(new AbortController().signal);

/** The keys of the delivered objects, and the operation, key, status and error of each line. */
const delivered = async (harness: Harness) => {
  const { contents } = await harness.client.listObjectsV2({ bucket: "logs" }, as(alice));
  const keys = contents.map(({ key }) => key ?? "");
  const lines: string[] = [];
  for (const key of keys) {
    const { body } = await get(harness, { bucket: "logs", key });
    for (const line of body.toString().trimEnd().split("\n")) lines.push(shown(line));
  }
  return { keys, lines };
};

const shown = (line: string): string => {
  const [, operation, key, , status, error] = / (REST\.[A-Z_.]+) (\S+) ("[^"]*") (\d+) (\S+) /.exec(line) ?? [];
  return [operation, key, status, error].join(" ");
};

describe("the access log of a bucket", () => {
  test("has a line for each call, also for refused ones, with what was sent of which object", async () => {
    const { harness } = await start();
    await put(harness, { bucket: "photos", key: "a b" }, "hello");
    await get(harness, { bucket: "photos", key: "a b", range: "bytes=1-2" });
    expect(await refusalOf(harness.client.headObject({ bucket: "photos", key: "none" }, as(alice)))).toContain(
      "NO_SUCH_KEY",
    );
    expect(await refusalOf(harness.client.headObject({ bucket: "photos", key: "a b" }, as(bob)))).toContain(
      "ACCESS_DENIED",
    );
    await deliver(harness);
    const { keys, lines } = await delivered(harness);
    expect(keys).toEqual([expect.stringMatching(/^of\/2026-01-02-23-59-58-[0-9A-F]{16}$/)]);
    expect(lines).toEqual([
      "REST.PUT.OBJECT a%20b 200 -",
      "REST.GET.OBJECT a%20b 200 -",
      "REST.HEAD.OBJECT none 404 NoSuchKey",
      "REST.HEAD.OBJECT a%20b 403 AccessDenied",
    ]);
    const text = (await get(harness, { bucket: "logs", key: keys[0] ?? "" })).body.toString();
    expect(text.split("\n")[1]).toContain(
      '"POST /quartet.objectstorage.v1.ObjectStorageService/GetObject RPC" 200 - 2 5 ',
    );
  });

  test("shows a copy in the logs of both buckets", async () => {
    const { harness } = await start();
    await put(harness, { bucket: "photos", key: "a" }, "x");
    await harness.client.copyObject({ bucket: "logs", key: "copy", copySource: "photos/a" }, as(alice));
    await harness.client.deleteObject({ bucket: "logs", key: "copy" }, as(alice));
    await deliver(harness);
    expect((await delivered(harness)).lines).toEqual(["REST.PUT.OBJECT a 200 -", "REST.COPY.OBJECT_GET a 200 -"]);
  });

  test("is partitioned by account, region, bucket and the day of the delivery or of the request", async () => {
    const { harness, clock } = await start({ targetObjectKeyFormat: { partitionedPrefix: {} } });
    const call = () => harness.client.headBucket({ bucket: "photos" }, as(alice));
    await call();
    clock.advance(3_000);
    await deliver(harness);
    await enable(harness, { targetObjectKeyFormat: { partitionedPrefix: { partitionDateSource: "EventTime" } } });
    await call();
    clock.advance(86_400_000);
    await call();
    await deliver(harness);
    const folder = `of/${alice}/us-east-1/photos`;
    expect((await delivered(harness)).keys.map((key) => key.slice(0, -17))).toEqual([
      `${folder}/2026/01/03/2026-01-03-00-00-00`,
      `${folder}/2026/01/03/2026-01-03-00-00-01`,
      `${folder}/2026/01/04/2026-01-04-00-00-00`,
    ]);
  });

  test("of a bucket into itself has no lines of its own deliveries", async () => {
    const { harness } = await start({ targetBucket: "logs" });
    await harness.client.putBucketPolicy({ bucket: "logs", policy: deliveryPolicy({ Condition: {} }) }, as(alice));
    const loggingEnabled = { targetBucket: "logs", targetPrefix: "own/" };
    await harness.client.putBucketLogging({ bucket: "logs", bucketLoggingStatus: { loggingEnabled } }, as(alice));
    await harness.client.headBucket({ bucket: "logs" }, as(alice));
    await deliver(harness);
    await deliver(harness);
    expect((await delivered(harness)).lines).toEqual(["REST.HEAD.BUCKET - 200 -"]);
  });

  test.each([
    // policy of the target
    ["of another action", { Action: "s3:GetObject" }],
    ["of another prefix", { Resource: "arn:aws:s3:::logs/other/*" }],
    ["for another account's buckets", { Condition: { StringEquals: { "aws:SourceAccount": bob } } }],
    ["for another service", { Principal: { Service: "events.amazonaws.com" } }],
  ])("is dropped and counted where the target's policy is %s", async (_what, members) => {
    const { harness } = await start();
    await harness.client.putBucketPolicy({ bucket: "logs", policy: deliveryPolicy(members) }, as(alice));
    await harness.client.headBucket({ bucket: "photos" }, as(alice));
    await deliver(harness);
    expect(harness.opened.app.accessLogs.dropped).toBe(1);
    await harness.client.putBucketPolicy({ bucket: "logs", policy: deliveryPolicy() }, as(alice));
    await deliver(harness);
    expect((await delivered(harness)).keys).toEqual([]);
  });

  test("has the lines of calls during its delivery in a later one, so that it holds up no other log", async () => {
    const { harness, clock } = await start();
    const { app } = harness.opened;
    let puts = 0;
    const putOwn = async (): Promise<void> => {
      puts += 1;
      clock.advance(1);
      await harness.client.headBucket({ bucket: "photos" }, as(alice));
      await app.accessLogs.flush();
    };
    const delivery = createLogDelivery({ app, log: capturingLogger().log, put: putOwn });
    await harness.client.headBucket({ bucket: "photos" }, as(alice));
    await delivery.run(new AbortController().signal);
    expect(puts).toBe(1);
    await delivery.run(new AbortController().signal);
    expect(puts).toBe(2);
  });

  test("survives a restart of the service, and ends with the bucket", async () => {
    const directory = await temporaryDirectory();
    const { harness: first, clock } = await start({}, { directory });
    await first.client.headBucket({ bucket: "photos" }, as(alice));
    await first.stop();
    const second = await startHarness({ directory, clock });
    await deliver(second);
    expect((await delivered(second)).lines).toEqual(["REST.HEAD.BUCKET - 200 -"]);
    await second.client.headBucket({ bucket: "photos" }, as(alice));
    await second.client.deleteBucket({ bucket: "photos" }, as(alice));
    await deliver(second);
    expect((await delivered(second)).lines).toHaveLength(1);
  });
});
