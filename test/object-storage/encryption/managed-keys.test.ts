import { randomBytes } from "node:crypto";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import type { CreateMultipartUploadRequestSchema } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import type { PutInit } from "../harness.ts";
import { alice, as, get, put, refusalOf } from "../harness.ts";
import { complete, countFiles, film, sendPart, smallParts, startUpload } from "../multipart.ts";
import { cat, contextOf, ownKey, startWithKeys } from "./keys.ts";

const { AES256, KMS, KMS_DSSE } = ServerSideEncryption;
const account = "arn:aws:kms:us-east-1:111111111111";
const crm = { serverSideEncryption: KMS, sseKmsKeyId: "crm" };
type Asked = MessageInitShape<typeof CreateMultipartUploadRequestSchema> & { readonly ifMatch?: string };
const large = randomBytes(300_000);

describe("an object under a managed key", () => {
  test.each([
    // request, what answers show
    [{}, { serverSideEncryption: AES256 }],
    [{ serverSideEncryption: AES256 }, { serverSideEncryption: AES256 }],
    [{ serverSideEncryption: KMS }, { serverSideEncryption: KMS, sseKmsKeyId: `${account}:alias/aws/s3` }],
    [{ serverSideEncryption: KMS_DSSE }, { serverSideEncryption: KMS_DSSE, sseKmsKeyId: `${account}:alias/aws/s3` }],
    [
      { serverSideEncryption: KMS, sseKmsKeyId: "alias/aws/s3" },
      { serverSideEncryption: KMS, sseKmsKeyId: `${account}:alias/aws/s3` },
    ],
    [{ serverSideEncryption: KMS, sseKmsKeyId: "alias/crm" }, { sseKmsKeyId: `${account}:key/crm` }],
    [{ serverSideEncryption: KMS, sseKmsKeyId: `${account}:key/crm` }, { sseKmsKeyId: `${account}:key/crm` }],
    [{ ...crm, bucketKeyEnabled: true }, { bucketKeyEnabled: true }],
  ])("that is put with %o is read, and shown as %o", async (request, shown) => {
    const { harness } = await startWithKeys();
    expect(await put(harness, { ...cat, ...request }, large)).toMatchObject(shown);
    const { head, body } = await get(harness, { ...cat, range: "bytes=262100-262200" });
    expect(head).toMatchObject(shown);
    expect(body.equals(large.subarray(262_100, 262_201))).toBe(true);
    expect(await harness.client.headObject(cat, as(alice))).toMatchObject(shown);
  });

  test("has an ETag that says nothing about its content", async () => {
    const { harness } = await startWithKeys();
    const plain = await put(harness, cat, "x");
    const sealed = await put(harness, { ...cat, ...crm }, "x");
    expect(plain.eTag).toBe('"9dd4e461268c8034f5c8564e155c67a6"');
    expect(sealed.eTag).toMatch(/^"[0-9a-f]{32}"$/);
    expect(sealed.eTag).not.toBe(plain.eTag);
    expect((await put(harness, { ...cat, ...crm }, "x")).eTag).toBe(sealed.eTag);
  });

  test("shows its encryption context to whoever writes it, and needs it", async () => {
    const { harness } = await startWithKeys();
    const sseKmsEncryptionContext = contextOf({ team: "blue", area: "ü" });
    const answer = await put(harness, { ...cat, ...crm, sseKmsEncryptionContext }, "x");
    expect(JSON.parse(Buffer.from(answer.sseKmsEncryptionContext ?? "", "base64").toString())).toEqual({
      team: "blue",
      area: "ü",
    });
    expect((await get(harness, cat)).body.toString()).toBe("x");
  });

  test.each([
    // state, refusal of reads and writes
    ["DISABLED", "KMS_KEY_DISABLED: crm is disabled."],
    ["PENDING_DELETION", "KMS_KEY_PENDING_DELETION: crm is pending deletion."],
  ] as const)(
    "cannot be read while its key is %s, and can be described, deleted and read later",
    async (state, why) => {
      const { harness, keys } = await startWithKeys();
      await put(harness, { ...cat, ...crm }, large);
      const before = keys.now;
      keys.now = [{ id: "crm", aliases: [], state }];
      expect(await refusalOf(put(harness, { ...cat, ...crm }, large))).toBe(why);
      expect(await refusalOf(get(harness, cat))).toBe(why.replace("crm is", `${account}:key/crm is`));
      expect((await harness.client.headObject(cat, as(alice))).contentLength).toBe(300_000n);
      keys.now = [];
      expect(await refusalOf(get(harness, cat))).toBe(`KMS_KEY_NOT_FOUND: Key ${account}:key/crm does not exist`);
      keys.now = before;
      expect((await get(harness, cat)).body.equals(large)).toBe(true);
    },
  );

  const refusals: [Asked, string][] = [
    // request, reason; in the order of refusal
    [
      { sseKmsKeyId: "crm", serverSideEncryption: KMS, ...ownKey(1) },
      "INVALID_ARGUMENT: Server Side Encryption with Customer provided key is incompatible with the encryption method specified",
    ],
    [
      { sseKmsKeyId: "crm", sseKmsEncryptionContext: "x" },
      "INVALID_ARGUMENT: Server Side Encryption with a managed key requires the HTTP header x-svc-server-side-encryption: svc:kms",
    ],
    [
      { sseKmsKeyId: "crm", serverSideEncryption: AES256 },
      "INVALID_ARGUMENT: Server Side Encryption with a managed key requires the HTTP header x-svc-server-side-encryption: svc:kms",
    ],
    ...["x", contextOf(["a"]), contextOf({ a: 1 }), Buffer.from("{").toString("base64")].map(
      (sseKmsEncryptionContext): [Asked, string] => [
        { serverSideEncryption: KMS, sseKmsKeyId: "unknown", sseKmsEncryptionContext },
        "INVALID_ARGUMENT: The encryption context must be base64 of UTF-8 JSON that is a map of texts to texts.",
      ],
    ),
    [
      { serverSideEncryption: KMS, sseKmsKeyId: "unknown", ifMatch: "x" },
      "KMS_KEY_NOT_FOUND: Key unknown does not exist",
    ],
    [{ serverSideEncryption: KMS, sseKmsKeyId: "old", ifMatch: "x" }, "KMS_KEY_DISABLED: old is disabled."],
    [
      { serverSideEncryption: KMS, sseKmsKeyId: "gone", ifMatch: "x" },
      "KMS_KEY_PENDING_DELETION: gone is pending deletion.",
    ],
    [{ ...crm, ifMatch: "x" }, "NO_SUCH_KEY"],
  ];
  test.each(refusals)("that is put with %o is refused with %s", async (request, reason) => {
    const { harness } = await startWithKeys();
    expect(await refusalOf(put(harness, { ...cat, ...request } as PutInit, "x"))).toBe(reason);
    expect(await refusalOf(harness.client.createMultipartUpload({ ...cat, ...request }, as(alice)))).toBe(
      reason === "NO_SUCH_KEY" ? "answered" : reason,
    );
  });
});

describe("an upload under a managed key", () => {
  test("encrypts its parts under that key, and its object moves them", async () => {
    const { harness, keys } = await startWithKeys({ limits: smallParts });
    const uploadId = await startUpload(harness, crm);
    const shown = { serverSideEncryption: KMS, sseKmsKeyId: `${account}:key/crm` };
    const part = await sendPart(harness, uploadId, 1, large);
    expect(part).toMatchObject(shown);
    const parts = [{ partNumber: 1, eTag: part.eTag }];
    keys.now = [{ id: "crm", aliases: [], state: "DISABLED" }];
    expect(await refusalOf(sendPart(harness, uploadId, 2, large))).toBe(
      `KMS_KEY_DISABLED: ${account}:key/crm is disabled.`,
    );
    keys.now = [{ id: "crm", aliases: [], state: "ENABLED" }];

    expect(await complete(harness, uploadId, parts)).toMatchObject(shown);
    expect(await complete(harness, uploadId, parts)).toMatchObject(shown);

    expect(await countFiles(harness)).toBe(1);
    expect((await get(harness, film)).body.equals(large)).toBe(true);
  });
});
