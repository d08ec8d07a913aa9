import { describe, expect, test } from "vitest";

import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { outcomeOf } from "../access/in-process.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, put, startWithBucket } from "../harness.ts";
import { film, startUpload } from "../multipart.ts";
import { cat, contextOf, ownKey, startWithKeys } from "./keys.ts";

const { AES256, KMS } = ServerSideEncryption;
const crmKey = "arn:aws:kms:us-east-1:111111111111:key/crm";
const crm = { serverSideEncryption: KMS, sseKmsKeyId: "crm" };

/** A user who may do everything with objects, and with keys what the statements say. */
const user = (...statements: object[]): Caller => {
  const all = [{ Effect: "Allow", Action: "s3:*", Resource: "*" }, ...statements];
  return userCaller(alice, "emma", [JSON.stringify({ Version: "2012-10-17", Statement: all })]);
};
const may = (...actions: string[]) => ({ Effect: "Allow", Action: actions, Resource: crmKey });

const outcomes = async ({ opened: { app } }: Harness, caller: Caller, uploadId: string) => ({
  put: await outcomeOf(app, "putObject", { ...cat, ...crm, key: "new" }, caller),
  get: await outcomeOf(app, "getObject", cat, caller),
  head: await outcomeOf(app, "headObject", cat, caller),
  checksum: await outcomeOf(app, "headObject", { ...cat, checksumMode: "ENABLED" }, caller),
  copy: await outcomeOf(app, "copyObject", { ...cat, key: "copy", copySource: "photos/cat.jpg" }, caller),
  start: await outcomeOf(app, "createMultipartUpload", { ...film, ...crm }, caller),
  part: await outcomeOf(app, "uploadPart", { ...film, uploadId, partNumber: 1 }, caller),
});

describe("a managed key", () => {
  const [yes, no] = ["answered", "ACCESS_DENIED"];
  test.each([
    // what the user may do with the key, outcomes
    [[], { put: no, get: no, head: yes, checksum: no, copy: no, start: no, part: no }],
    [["kms:GenerateDataKey"], { put: yes, get: no, head: yes, checksum: no, copy: no, start: no, part: no }],
    [["kms:Decrypt"], { put: no, get: yes, head: yes, checksum: yes, copy: yes, start: no, part: yes }],
    [
      ["kms:GenerateDataKey", "kms:Decrypt"],
      { put: yes, get: yes, head: yes, checksum: yes, copy: yes, start: yes, part: yes },
    ],
  ])("with the permissions %j opens %o", async (actions, expected) => {
    const { harness } = await startWithKeys();
    await put(harness, { ...cat, ...crm }, "x");
    const uploadId = await startUpload(harness, crm);
    const caller = actions.length === 0 ? user() : user(may(...actions));
    expect(await outcomes(harness, caller, uploadId)).toEqual(expected);
  });

  test("can be allowed for an encryption context only", async () => {
    const { harness } = await startWithKeys();
    const { app } = harness.opened;
    const condition = { StringEquals: { "kms:EncryptionContext:team": "blue" } };
    const caller = user({ ...may("kms:GenerateDataKey"), Condition: condition });
    const request = (team: string) => ({ ...cat, ...crm, sseKmsEncryptionContext: contextOf({ team }) });
    expect(await outcomeOf(app, "putObject", request("blue"), caller)).toBe("answered");
    expect(await outcomeOf(app, "putObject", request("red"), caller)).toBe("ACCESS_DENIED");
  });

  test("of the service needs no permission in its account, and can be denied", async () => {
    const { harness } = await startWithKeys();
    const { app } = harness.opened;
    const request = { ...cat, serverSideEncryption: KMS };
    expect(await outcomeOf(app, "putObject", request, user())).toBe("answered");
    expect(await outcomeOf(app, "getObject", cat, user())).toBe("answered");
    const denied = user({ Effect: "Deny", Action: "kms:*", Resource: "*" });
    expect(await outcomeOf(app, "getObject", cat, denied)).toBe("ACCESS_DENIED");
  });

  test("is not opened to other accounts by the bucket's policy", async () => {
    const { harness } = await startWithKeys();
    const { app } = harness.opened;
    await put(harness, { ...cat, ...crm }, "x");
    await put(harness, { ...cat, key: "plain" }, "x");
    const statement = { Effect: "Allow", Principal: "*", Action: "s3:GetObject", Resource: "arn:aws:s3:::photos/*" };
    const policy = JSON.stringify({ Version: "2012-10-17", Statement: [statement] });
    await harness.client.putBucketPolicy({ bucket: "photos", policy }, as(alice));
    expect(await outcomeOf(app, "getObject", { ...cat, key: "plain" }, rootCaller(bob))).toBe("answered");
    expect(await outcomeOf(app, "getObject", cat, rootCaller(bob))).toBe("ACCESS_DENIED");
  });

  test("is used over TLS or with signatures of version 4", async () => {
    const { harness } = await startWithKeys();
    const { app } = harness.opened;
    await put(harness, { ...cat, ...crm }, "x");
    const signed = { ...rootCaller(alice), signatureVersion: "AWS" } as const;
    for (const [caller, outcome] of [
      [{ ...signed, isSecureTransport: false }, "INVALID_ARGUMENT"],
      [{ ...signed, isSecureTransport: true }, "answered"],
      [{ ...signed, signatureVersion: "AWS4-HMAC-SHA256", isSecureTransport: false }, "answered"],
    ] as const) {
      expect(await outcomeOf(app, "getObject", cat, caller)).toBe(outcome);
      expect(await outcomeOf(app, "putObject", { ...cat, ...crm }, caller)).toBe(outcome);
    }
  });
});

test("a key of the caller crosses no network in clear", async () => {
  const { app } = (await startWithBucket()).opened;
  const request = { ...cat, ...ownKey(1) };
  const root = { ...rootCaller(alice), isSecureTransport: false };
  expect(await outcomeOf(app, "putObject", request, { ...root, sourceIp: "192.0.2.1" })).toBe("INVALID_REQUEST");
  expect(await outcomeOf(app, "putObject", request, { ...root, sourceIp: "127.0.0.1" })).toBe("answered");
  expect(await outcomeOf(app, "getObject", request, { ...root, sourceIp: "192.0.2.1" })).toBe("INVALID_REQUEST");
  const overTls = { ...root, isSecureTransport: true, sourceIp: "192.0.2.1" };
  expect(await outcomeOf(app, "getObject", request, overTls)).toBe("answered");
});

test("a bucket's policy can demand an encryption", async () => {
  const harness = await startWithBucket();
  const { app } = harness.opened;
  const demand = {
    Effect: "Deny",
    Principal: "*",
    Action: "s3:PutObject",
    Resource: "arn:aws:s3:::photos/*",
    Condition: { StringNotEquals: { "s3:x-amz-server-side-encryption": "aws:kms" } },
  };
  const policy = JSON.stringify({ Version: "2012-10-17", Statement: [demand] });
  await harness.client.putBucketPolicy({ bucket: "photos", policy }, as(alice));
  const outcome = (request: object) => outcomeOf(app, "putObject", { ...cat, ...request }, rootCaller(alice));
  expect(await outcome({})).toBe("ACCESS_DENIED");
  expect(await outcome({ serverSideEncryption: AES256 })).toBe("ACCESS_DENIED");
  expect(await outcome({ serverSideEncryption: KMS })).toBe("answered");
});
