import {
  CopyObjectCommand,
  CreateBucketCommand,
  GetBucketLocationCommand,
  HeadBucketCommand,
  PutBucketLoggingCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { expect, onTestFinished, test } from "vitest";

import { testKey } from "../support/signing-client.ts";
import { startStorageClient } from "../support/storage-client.ts";

/** Two deployments: the first knows where the second is, whose bucket `far` has an object. */
const startTwo = async () => {
  const second = await startStorageClient({ region: "eu-west-1" });
  const { client } = second;
  await client.send(
    new CreateBucketCommand({ Bucket: "far", CreateBucketConfiguration: { LocationConstraint: "eu-west-1" } }),
  );
  await client.send(new PutObjectCommand({ Bucket: "far", Key: "k", Body: "x" }));
  const europe = { url: second.storage.url, region: "eu-west-1", accessKeyId: "", secretAccessKey: "" };
  const first = await startStorageClient({ regions: { "eu-west-1": europe } });
  await first.client.send(new CreateBucketCommand({ Bucket: "near" }));
  return { first, second };
};

test("a request for a bucket of another region is redirected there with 307", async () => {
  const { first, second } = await startTwo();
  const response = await first.storage.call({ method: "GET", target: "/far/k?versionId=null" });
  expect(response.status).toBe(307);
  expect(response.headers.location).toBe(`${second.storage.url}/far/k?versionId=null`);
  expect(response.headers["x-amz-bucket-region"]).toBe("eu-west-1");
  const { host } = new URL(second.storage.url);
  expect(response.body).toContain(
    "<Code>TemporaryRedirect</Code><Message>Please re-send this request to the specified temporary endpoint. Continue to " +
      "use the original request endpoint for future requests.</Message>" +
      `<Bucket>far</Bucket><Endpoint>${host}</Endpoint>`,
  );
  const head = await first.storage.call({ method: "HEAD", target: "/far" });
  expect([head.status, head.headers["x-amz-bucket-region"], head.body.length]).toEqual([307, "eu-west-1", 0]);
});

test("a bucket that no region has does not exist, and one of another region cannot be created again", async () => {
  const { first } = await startTwo();
  await expect(first.client.send(new HeadBucketCommand({ Bucket: "nowhere" }))).rejects.toMatchObject({
    name: "NotFound",
  });
  await expect(first.client.send(new CreateBucketCommand({ Bucket: "far" }))).rejects.toMatchObject({
    name: "BucketAlreadyExists",
  });
});

test.each([["s3-accelerate"], ["s3-accelerate.dualstack"], ["s3"]])(
  "a copy from another region by the host of %s is refused with 400",
  async (label) => {
    const { first } = await startTwo();
    const { port } = new URL(first.storage.url);
    const headers = { host: `near.${label}.localhost:${port}`, "x-amz-copy-source": "/far/k" };
    const response = await first.storage.call({ method: "PUT", target: "/copy", headers });
    expect(response.status).toBe(400);
    expect(response.body).toContain(
      "<Code>InvalidRequest</Code><Message>The source of the copy is in the region eu-west-1. Copies stay within a " +
        "region.</Message>",
    );
  },
);

test("a copy within the region by the host for acceleration is made", async () => {
  const { first } = await startTwo();
  await first.client.send(new PutObjectCommand({ Bucket: "near", Key: "k", Body: "x" }));
  const { port } = new URL(first.storage.url);
  const headers = { host: `near.s3-accelerate.localhost:${port}`, "x-amz-copy-source": "/near/k" };
  expect((await first.storage.call({ method: "PUT", target: "/copy", headers })).status).toBe(200);
  await first.client.send(new CopyObjectCommand({ Bucket: "near", Key: "again", CopySource: "near/copy" }));
});

test("a client of the official SDK learns the region of the bucket", async () => {
  const { first, second } = await startTwo();
  await expect(first.client.send(new GetBucketLocationCommand({ Bucket: "far" }))).rejects.toMatchObject({
    name: "TemporaryRedirect",
    $response: { headers: { "x-amz-bucket-region": "eu-west-1" } },
  });
  const located = await second.client.send(new GetBucketLocationCommand({ Bucket: "far" }));
  expect(located.LocationConstraint).toBe("eu-west-1");
});

test("a client of the official SDK that was configured with another region corrects itself", async () => {
  const { client, storage } = await startStorageClient();
  await client.send(new CreateBucketCommand({ Bucket: "near" }));
  const { accessKeyId, secretAccessKey } = testKey;
  const astray = new S3Client({
    endpoint: storage.url,
    region: "eu-west-1",
    followRegionRedirects: true,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
  onTestFinished(() => astray.destroy());
  expect(await astray.send(new HeadBucketCommand({ Bucket: "near" }))).toMatchObject({ BucketRegion: "us-east-1" });
});

test("HEAD of a bucket names its region also to who may not use it, and none of a bucket that is not there", async () => {
  const { client, storage } = await startStorageClient();
  await client.send(new CreateBucketCommand({ Bucket: "near" }));
  const asked = async (target: string) => {
    const { status, headers } = await storage.send({ method: "HEAD", target });
    return [status, headers["x-amz-bucket-region"]];
  };
  expect(await asked("/near")).toEqual([403, "us-east-1"]);
  expect(await asked("/nowhere")).toEqual([404, undefined]);
});

test("a log cannot go to a bucket of another region", async () => {
  const { first } = await startTwo();
  const LoggingEnabled = { TargetBucket: "far", TargetPrefix: "" };
  await expect(
    first.client.send(new PutBucketLoggingCommand({ Bucket: "near", BucketLoggingStatus: { LoggingEnabled } })),
  ).rejects.toMatchObject({
    name: "CrossLocationLoggingProhibited",
    SourceBucketLocation: "us-east-1",
    TargetBucketLocation: "eu-west-1",
    $metadata: { httpStatusCode: 403 },
  });
});
