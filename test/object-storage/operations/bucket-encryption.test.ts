import { describe, expect, test } from "vitest";

import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import { cat, ownKey, startWithKeys } from "../encryption/keys.ts";
import { alice, as, bob, put, refusalOf } from "../harness.ts";
import { film } from "../multipart.ts";

const { AES256, KMS } = ServerSideEncryption;
const account = "arn:aws:kms:us-east-1:111111111111";

describe("putBucketEncryption, getBucketEncryption and deleteBucketEncryption: the default", () => {
  const putDefault = (sseAlgorithm: ServerSideEncryption, kmsMasterKeyId?: string) => ({
    bucket: "photos",
    serverSideEncryptionConfiguration: {
      rules: [{ applyServerSideEncryptionByDefault: { sseAlgorithm, kmsMasterKeyId }, bucketKeyEnabled: true }],
    },
  });

  test("applies to objects, copies and uploads that say nothing, and ends when it is deleted", async () => {
    const { harness } = await startWithKeys();
    const { client } = harness;
    const bucket = { bucket: "photos" };
    const ofNone = [{ applyServerSideEncryptionByDefault: { sseAlgorithm: AES256 }, bucketKeyEnabled: false }];
    const rules = async () =>
      (await client.getBucketEncryption(bucket, as(alice))).serverSideEncryptionConfiguration?.rules;
    expect(await rules()).toMatchObject(ofNone);
    await put(harness, cat, "x");

    await client.putBucketEncryption(putDefault(KMS, "alias/crm"), as(alice));

    const shown = { serverSideEncryption: KMS, sseKmsKeyId: `${account}:key/crm`, bucketKeyEnabled: true };
    expect(await rules()).toMatchObject(putDefault(KMS, "alias/crm").serverSideEncryptionConfiguration.rules);
    expect(await client.headObject(cat, as(alice))).toMatchObject({ serverSideEncryption: AES256 });
    expect(await put(harness, cat, "y")).toMatchObject(shown);
    const copy = { ...cat, key: "copy", copySource: "photos/cat.jpg" };
    expect(await client.copyObject(copy, as(alice))).toMatchObject(shown);
    expect(await client.createMultipartUpload(film, as(alice))).toMatchObject(shown);
    expect(await put(harness, { ...cat, serverSideEncryption: AES256 }, "z")).toMatchObject({
      serverSideEncryption: AES256,
    });

    await client.deleteBucketEncryption(bucket, as(alice));
    await client.deleteBucketEncryption(bucket, as(alice));

    expect(await rules()).toMatchObject(ofNone);
    expect(await put(harness, cat, "y")).toMatchObject({ serverSideEncryption: AES256 });
  });

  test("can block keys of callers", async () => {
    const { harness } = await startWithKeys();
    const blockedEncryptionTypes = { encryptionType: ["SSE-C"] };
    const blocks = (rule: object) =>
      harness.client.putBucketEncryption(
        { bucket: "photos", serverSideEncryptionConfiguration: { rules: [rule] } },
        as(alice),
      );
    await blocks({ blockedEncryptionTypes });
    expect(await refusalOf(put(harness, { ...cat, ...ownKey(1) }, "x"))).toBe("ACCESS_DENIED");
    expect(await refusalOf(put(harness, cat, "x"))).toBe("answered");
    await blocks({ blockedEncryptionTypes: { encryptionType: ["NONE"] } });
    const { serverSideEncryptionConfiguration: read } = await harness.client.getBucketEncryption(
      { bucket: "photos" },
      as(alice),
    );
    expect(read?.rules[0]?.blockedEncryptionTypes?.encryptionType).toEqual(["NONE"]);
    expect(await refusalOf(put(harness, { ...cat, ...ownKey(1) }, "x"))).toBe("answered");
  });

  const rule = { applyServerSideEncryptionByDefault: { sseAlgorithm: AES256 } };
  test.each([
    // rules, reason; in the order of refusal
    [[], "MALFORMED_XML"],
    [[rule, rule], "MALFORMED_XML"],
    [[{ applyServerSideEncryptionByDefault: {} }], "MALFORMED_XML"],
    [[{ blockedEncryptionTypes: { encryptionType: ["x"] } }], "MALFORMED_XML"],
    [
      [{ applyServerSideEncryptionByDefault: { sseAlgorithm: AES256, kmsMasterKeyId: "crm" } }],
      "INVALID_ARGUMENT: a KMSMasterKeyID is not applicable if the default sse algorithm is not svc:kms or svc:kms:dsse",
    ],
  ])("of rules %o is refused with %s", async (rules, reason) => {
    const { harness } = await startWithKeys();
    const request = { bucket: "photos", serverSideEncryptionConfiguration: { rules } };
    expect(await refusalOf(harness.client.putBucketEncryption(request, as(alice)))).toBe(reason);
    expect(await refusalOf(harness.client.putBucketEncryption({ ...request, bucket: "unknown" }, as(bob)))).toBe(
      "NO_SUCH_BUCKET",
    );
  });
});
