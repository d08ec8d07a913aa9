import { expect, test } from "vitest";

import { alice, as, bob, put, startWithBucket } from "../harness.ts";
import type { Harness } from "../harness.ts";

const bucket = "photos";
const object = { bucket, key: "cat.jpg" };
const requestPayer = "requester";

/** A bucket of alice whose requesters pay, in which bob may do everything. */
const startPaid = async (): Promise<Harness> => {
  const harness = await startWithBucket({ objectOwnership: "ObjectWriter" });
  await put(harness, object, "meow");
  const Resource = [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`];
  const policy = JSON.stringify({
    Version: "2012-10-17",
    Statement: [{ Effect: "Allow", Principal: { AWS: bob }, Action: "s3:*", Resource }],
  });
  await harness.client.putBucketPolicy({ bucket, policy }, as(alice));
  const requestPaymentConfiguration = { payer: "Requester" };
  await harness.client.putBucketRequestPayment({ bucket, requestPaymentConfiguration }, as(alice));
  return harness;
};

/** The answers of all operations that can say who is charged, by name. */
const answersTo = async (harness: Harness, account: string, payer: object) => {
  const { client } = harness;
  const options = as(account);
  const own = { bucket, key: "own", ...payer };
  const upload = await client.createMultipartUpload({ bucket, key: "film", ...payer }, options);
  const film = { bucket, key: "film", uploadId: upload.uploadId ?? "", ...payer };
  const part = { ...film, partNumber: 1 };
  const sentPart = async function* () {
    yield part;
  };
  const firstOf = async <T>(messages: AsyncIterable<T>): Promise<T | undefined> => {
    const all: T[] = [];
    for await (const message of messages) all.push(message);
    return all[0];
  };
  const uploadPart = await client.uploadPart(sentPart(), options);
  const parts = [{ partNumber: 1, eTag: uploadPart.eTag ?? "" }];
  const copySource = `${bucket}/${object.key}`;
  const uploadPartCopy = await client.uploadPartCopy({ ...part, partNumber: 2, copySource }, options);
  const listParts = await client.listParts(film, options);
  const listMultipartUploads = await client.listMultipartUploads({ bucket, ...payer }, options);
  const aborted = await client.createMultipartUpload({ bucket, key: "aborted", ...payer }, options);
  return {
    createMultipartUpload: upload,
    uploadPart,
    uploadPartCopy,
    listParts,
    listMultipartUploads,
    completeMultipartUpload: await client.completeMultipartUpload(
      { ...film, completeMultipartUpload: { parts } },
      options,
    ),
    abortMultipartUpload: await client.abortMultipartUpload(
      { bucket, key: "aborted", uploadId: aborted.uploadId ?? "", ...payer },
      options,
    ),
    putObject: await put(harness, own, "purr", {}, options),
    getObject: await firstOf(client.getObject(own, options)),
    headObject: await client.headObject(own, options),
    getObjectAttributes: await client.getObjectAttributes({ ...own, objectAttributes: ["ETag"] }, options),
    getObjectAcl: await client.getObjectAcl(own, options),
    putObjectAcl: await client.putObjectAcl({ ...own, acl: "private" }, options),
    copyObject: await client.copyObject({ bucket, key: "copy", copySource, ...payer }, options),
    listObjects: await client.listObjects({ bucket, ...payer }, options),
    listObjectsV2: await client.listObjectsV2({ bucket, ...payer }, options),
    deleteObject: await client.deleteObject(own, options),
    deleteObjects: await client.deleteObjects({ bucket, delete: { objects: [{ key: "copy" }] }, ...payer }, options),
  };
};

const chargedBy = async (harness: Harness, account: string, payer: object): Promise<readonly string[]> =>
  Object.entries(await answersTo(harness, account, payer)).flatMap(([name, answer]) =>
    answer?.requestCharged === "requester" ? [name] : [],
  );

test("the answers to a requester who pays say so, in every operation", async () => {
  expect(await chargedBy(await startPaid(), bob, { requestPayer })).toEqual([
    "createMultipartUpload",
    "uploadPart",
    "uploadPartCopy",
    "listParts",
    "listMultipartUploads",
    "completeMultipartUpload",
    "abortMultipartUpload",
    "putObject",
    "getObject",
    "headObject",
    "getObjectAttributes",
    "getObjectAcl",
    "putObjectAcl",
    "copyObject",
    "listObjects",
    "listObjectsV2",
    "deleteObject",
    "deleteObjects",
  ]);
});

test("the bucket's owner is not charged, nor a requester where the owner pays", async () => {
  const harness = await startPaid();
  expect(await chargedBy(harness, alice, { requestPayer })).toEqual([]);
  expect(await chargedBy(harness, alice, {})).toEqual([]);
  const requestPaymentConfiguration = { payer: "BucketOwner" };
  await harness.client.putBucketRequestPayment({ bucket, requestPaymentConfiguration }, as(alice));
  expect(await chargedBy(harness, bob, { requestPayer })).toEqual([]);
});
