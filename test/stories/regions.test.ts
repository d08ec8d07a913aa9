import { CreateBucketCommand, HeadBucketCommand, ListBucketsCommand, S3Client } from "@aws-sdk/client-s3";
import { expect, onTestFinished, test } from "vitest";

import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const clientIn = ({ installation, accessKeyId, secretAccessKey }: System, region: string): S3Client => {
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint: installation.gatewayUrl, region, credentials, forcePathStyle: true });
  onTestFinished(() => client.destroy());
  return client;
};

test("with signatureRegions any, clients of every region are served, and buckets stay in the installation's", async () => {
  const system = await startSystem(await temporaryDirectory(), "error", {
    env: { QUARTET_GATEWAY_SIGNATURE_REGIONS: "any" },
  });
  onTestFinished(() => system.stop());
  await clientIn(system, "us-east-1").send(new CreateBucketCommand({ Bucket: "anywhere" }));
  const far = clientIn(system, "ap-southeast-2");
  expect((await far.send(new ListBucketsCommand({}))).Buckets?.map(({ Name }) => Name)).toEqual(["anywhere"]);
  expect((await far.send(new HeadBucketCommand({ Bucket: "anywhere" }))).BucketRegion).toBe("us-east-1");
});

test("otherwise a client of another region is told the right one", async () => {
  const system = await startSystem(await temporaryDirectory());
  onTestFinished(() => system.stop());
  await expect(clientIn(system, "ap-southeast-2").send(new ListBucketsCommand({}))).rejects.toMatchObject({
    name: "AuthorizationHeaderMalformed",
    message: 'The credential scope of the signature is wrong: its region is "ap-southeast-2", expected is us-east-1.',
    Region: "us-east-1",
  });
});

test("a client of a service that is not served here is told which are", async () => {
  const system = await startSystem(await temporaryDirectory());
  onTestFinished(() => system.stop());
  const scope = `${system.accessKeyId}/20261121/us-east-1/sqs/aws4_request`;
  const authorization = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host;x-amz-date, Signature=${"0".repeat(64)}`;
  const headers = { authorization, "x-amz-date": "20261121T000000Z" };
  const response = await fetch(system.installation.gatewayUrl, { headers });
  expect(response.status).toBe(403);
  expect(await response.json()).toMatchObject({
    __type: "InvalidSignatureException",
    message:
      'The credential scope of the signature is wrong: its service is "sqs", ' +
      "expected is profile or refactor-spaces or events or sts or iam or s3.",
  });
});
