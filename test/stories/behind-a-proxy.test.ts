import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";

import { S3 } from "@aws-sdk/client-s3";
import { expect, onTestFinished, test } from "vitest";

import { createAuthority } from "../support/certificates.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { startTlsProxy } from "../support/tls-proxy.ts";

const bucket = "behind-a-proxy";

/** Whoever comes without TLS, or from elsewhere than these addresses, is refused. */
const policy = JSON.stringify({
  Version: "2012-10-17",
  Statement: [
    {
      Effect: "Deny",
      Principal: "*",
      Action: "s3:GetObject",
      Resource: `arn:aws:s3:::${bucket}/*`,
      Condition: { Bool: { "aws:SecureTransport": "false" } },
    },
    {
      Effect: "Deny",
      Principal: "*",
      Action: "s3:GetObject",
      Resource: `arn:aws:s3:::${bucket}/*`,
      Condition: { NotIpAddress: { "aws:SourceIp": "198.51.100.0/24" } },
    },
  ],
});

/** An installation that trusts these proxies: its root's client at the gateway, and those through such proxies. */
const start = async (trustedProxies: readonly string[]) => {
  const directory = await temporaryDirectory();
  const authority = await createAuthority(directory);
  const certificate = await authority.certify("proxy");
  const dataDir = await mkdtemp(join(directory, "data-"));
  const system = await startSystem(dataDir, "fatal", { configuration: { trustedProxies } });
  onTestFinished(() => system.stop());
  const { accessKeyId, secretAccessKey, region, installation } = system;
  const ca = await readFile(authority.file, "utf8");
  const clientAt = (endpoint: string): S3 => {
    const credentials = { accessKeyId, secretAccessKey };
    const client = new S3({
      endpoint,
      region,
      credentials,
      forcePathStyle: true,
      requestHandler: { httpsAgent: { ca } },
    });
    onTestFinished(() => client.destroy());
    return client;
  };
  const through = async (client: string) => clientAt(await startTlsProxy(installation.gatewayUrl, certificate, client));
  const s3 = clientAt(installation.gatewayUrl);
  await s3.createBucket({ Bucket: bucket });
  await s3.putObject({ Bucket: bucket, Key: "a", Body: "hello" });
  await s3.putBucketPolicy({ Bucket: bucket, Policy: policy });
  return { s3, through };
};

test("policies, keys of callers and addresses in answers hold for the clients of a trusted proxy", async () => {
  const { s3, through } = await start(["127.0.0.1"]);
  const [inside, outside] = [await through("198.51.100.1"), await through("192.0.2.1")];
  const denied = { name: "AccessDenied" };
  await expect(s3.getObject({ Bucket: bucket, Key: "a" })).rejects.toMatchObject(denied);
  await expect(outside.getObject({ Bucket: bucket, Key: "a" })).rejects.toMatchObject(denied);
  const { Body } = await inside.getObject({ Bucket: bucket, Key: "a" });
  expect(await Body?.transformToString()).toBe("hello");
  const key = randomBytes(32);
  const ownKey = {
    SSECustomerAlgorithm: "AES256",
    SSECustomerKey: key.toString("base64"),
    SSECustomerKeyMD5: createHash("md5").update(key).digest("base64"),
  };
  await inside.putObject({ Bucket: bucket, Key: "sealed", Body: "hello", ...ownKey });
  const { UploadId } = await inside.createMultipartUpload({ Bucket: bucket, Key: "parts" });
  const { ETag } = await inside.uploadPart({ Bucket: bucket, Key: "parts", UploadId, PartNumber: 1, Body: "hello" });
  const MultipartUpload = { Parts: [{ ETag, PartNumber: 1 }] };
  const { Location } = await inside.completeMultipartUpload({
    Bucket: bucket,
    Key: "parts",
    UploadId,
    MultipartUpload,
  });
  expect(Location).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/behind-a-proxy\/parts$/);
});

test("what a proxy says that is not trusted counts for nothing", async () => {
  const { through } = await start(["192.0.2.0/24"]);
  const inside = await through("198.51.100.1");
  await expect(inside.getObject({ Bucket: bucket, Key: "a" })).rejects.toMatchObject({ name: "AccessDenied" });
});
