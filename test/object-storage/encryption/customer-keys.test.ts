import { randomBytes } from "node:crypto";

import { describe, expect, test } from "vitest";

import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import type { PutInit } from "../harness.ts";
import { alice, as, get, put, refusalOf, startWithBucket, withoutAlgorithm } from "../harness.ts";
import { complete, countFiles, film, sendPart, smallParts, startUpload } from "../multipart.ts";
import { cat, ownKey, sourceKey } from "./keys.ts";

const large = randomBytes(300_000);
const beginning = "INVALID_ARGUMENT: Requests specifying Server Side Encryption with Customer provided keys must";
const shown = { sseCustomerAlgorithm: "AES256", sseCustomerKeyMd5: ownKey(1).sseCustomerKeyMd5 };
const needed =
  "INVALID_REQUEST: The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve the object.";
const notApplicable = "INVALID_REQUEST: The encryption parameters are not applicable to this object.";

describe("an object under a key of the caller", () => {
  test("is read with that key only", async () => {
    const harness = await startWithBucket();
    const { client } = harness;
    expect(await put(harness, { ...cat, ...ownKey(1) }, large)).toMatchObject(shown);
    const { head, body } = await get(harness, { ...cat, ...ownKey(1), range: "bytes=262100-262200" });
    expect(head).toMatchObject(shown);
    expect(head.serverSideEncryption).toBe(ServerSideEncryption.UNSPECIFIED);
    expect(body.equals(large.subarray(262_100, 262_201))).toBe(true);
    expect(await client.headObject({ ...cat, ...ownKey(1) }, as(alice))).toMatchObject(shown);

    const attributes = { ...cat, objectAttributes: ["ObjectSize"] };
    for (const [key, reason] of [
      [{}, needed],
      [ownKey(2), "ACCESS_DENIED"],
      [ownKey(1), "answered"],
    ] as const) {
      expect(await refusalOf(get(harness, { ...cat, ...key, ifMatch: "*" }))).toBe(reason);
      expect(await refusalOf(client.headObject({ ...cat, ...key }, as(alice)))).toBe(reason);
      expect(await refusalOf(client.getObjectAttributes({ ...attributes, ...key }, as(alice)))).toBe(reason);
    }
  });

  test("is not what a key is sent for to another object, also an empty one", async () => {
    const harness = await startWithBucket();
    await put(harness, cat, "x");
    expect(await refusalOf(get(harness, { ...cat, ...ownKey(1) }))).toBe(notApplicable);
    await put(harness, { ...cat, ...ownKey(1) }, "");
    expect(await refusalOf(get(harness, { ...cat, ...ownKey(2) }))).toBe("ACCESS_DENIED");
    expect((await get(harness, { ...cat, ...ownKey(1) })).body.length).toBe(0);
  });

  const { sseCustomerAlgorithm, sseCustomerKey, sseCustomerKeyMd5 } = ownKey(1);
  const refusals: [PutInit, string][] = [
    // request, reason; in the order of refusal
    [{ sseCustomerKey: "x" }, withoutAlgorithm],
    [{ sseCustomerAlgorithm: "DES" }, "INVALID_ENCRYPTION_ALGORITHM"],
    [{ sseCustomerAlgorithm }, `${beginning} provide an appropriate secret key.`],
    [
      { sseCustomerAlgorithm, sseCustomerKey: "x" },
      `${beginning} provide the client calculated MD5 of the secret key.`,
    ],
    [
      { sseCustomerAlgorithm, sseCustomerKey: "x", sseCustomerKeyMd5: "x" },
      "INVALID_ARGUMENT: The secret key was invalid for the specified algorithm.",
    ],
    [
      { sseCustomerAlgorithm, sseCustomerKey, sseCustomerKeyMd5: "x" },
      "INVALID_ARGUMENT: The calculated MD5 hash of the key did not match the hash that was provided.",
    ],
    [
      { sseCustomerAlgorithm, sseCustomerKey, sseCustomerKeyMd5, serverSideEncryption: ServerSideEncryption.AES256 },
      "INVALID_ARGUMENT: Server Side Encryption with Customer provided key is incompatible with the encryption method specified",
    ],
  ];
  test.each(refusals)("that is put with %o is refused with %s", async (request, reason) => {
    const harness = await startWithBucket();
    expect(await refusalOf(put(harness, { ...cat, ...request, ifMatch: "x" }, "x"))).toBe(reason);
  });
});

describe("an upload under a key of the caller", () => {
  test("gets each part with the same key", async () => {
    const harness = await startWithBucket({ limits: smallParts });
    const uploadId = await startUpload(harness, ownKey(1));
    expect(await refusalOf(sendPart(harness, uploadId, 1, large))).toBe(
      "INVALID_REQUEST: The multipart upload initiate requested encryption. Subsequent part requests must include the appropriate encryption parameters.",
    );
    const other = "INVALID_REQUEST: The provided encryption parameters did not match the ones used originally.";
    expect(await refusalOf(sendPart(harness, uploadId, 1, large, ownKey(2)))).toBe(other);
    const part = await sendPart(harness, uploadId, 1, large, ownKey(1));
    expect(part).toMatchObject(shown);
    const parts = [{ partNumber: 1, eTag: part.eTag }];
    const list = { ...film, uploadId };
    expect(await refusalOf(harness.client.listParts({ ...list, ...ownKey(2) }, as(alice)))).toBe(other);
    expect((await harness.client.listParts(list, as(alice))).parts).toMatchObject([{ eTag: part.eTag }]);
    expect(await refusalOf(complete(harness, uploadId, parts, ownKey(2)))).toBe(other);

    await complete(harness, uploadId, parts);

    expect(await refusalOf(get(harness, film))).toBe(needed);
    expect((await get(harness, { ...film, ...ownKey(1) })).body.equals(large)).toBe(true);
  });

  test("that was started without a key refuses one", async () => {
    const harness = await startWithBucket({ limits: smallParts });
    const uploadId = await startUpload(harness);
    expect(await refusalOf(sendPart(harness, uploadId, 1, large, ownKey(1)))).toBe(
      "INVALID_REQUEST: The multipart upload initiate did not request encryption. Please resend the request without sending encryption parameters.",
    );
  });
});

describe("a copy between keys", () => {
  const copy = { bucket: "photos", key: "copy", copySource: "photos/cat.jpg" };

  test.each([
    // keys of the copy, files afterwards, how the copy is read
    [{ ...sourceKey(1), ...ownKey(1) }, 1, ownKey(1)],
    [{ ...sourceKey(1), ...ownKey(2) }, 2, ownKey(2)],
    [sourceKey(1), 2, {}],
    [{ ...sourceKey(1), serverSideEncryption: ServerSideEncryption.KMS }, 2, {}],
  ])("with %o shares files only under the same key: there are %i", async (keys, files, reading) => {
    const harness = await startWithBucket();
    await put(harness, { ...cat, ...ownKey(1) }, large);
    const { checksumCrc64nvme } = await harness.client.headObject(
      { ...cat, ...ownKey(1), checksumMode: "ENABLED" },
      as(alice),
    );
    const { copyObjectResult } = await harness.client.copyObject({ ...copy, ...keys }, as(alice));
    expect(copyObjectResult?.checksumCrc64nvme).toBe(checksumCrc64nvme);
    expect(await countFiles(harness)).toBe(files);
    expect((await get(harness, { ...copy, ...reading })).body.equals(large)).toBe(true);
  });

  test("of a part is encrypted under the upload's key", async () => {
    const harness = await startWithBucket({ limits: smallParts });
    await put(harness, { ...cat, ...ownKey(1) }, large);
    const uploadId = await startUpload(harness, ownKey(2));
    const request = {
      ...film,
      uploadId,
      partNumber: 1,
      copySource: "photos/cat.jpg",
      copySourceRange: "bytes=5-262200",
    };
    expect(await refusalOf(harness.client.uploadPartCopy({ ...request, ...ownKey(2) }, as(alice)))).toBe(needed);
    const { copyPartResult } = await harness.client.uploadPartCopy(
      { ...request, ...ownKey(2), ...sourceKey(1) },
      as(alice),
    );
    await complete(harness, uploadId, [{ partNumber: 1, eTag: copyPartResult?.eTag }]);
    expect((await get(harness, { ...film, ...ownKey(2) })).body.equals(large.subarray(5, 262_201))).toBe(true);
  });

  test("decrypts and encrypts an object in its place, which is a change of it", async () => {
    const harness = await startWithBucket();
    const { eTag } = await put(harness, cat, large);
    const self = { ...cat, copySource: "photos/cat.jpg" };
    await harness.client.copyObject({ ...self, ...ownKey(1) }, as(alice));
    expect((await get(harness, { ...cat, ...ownKey(1) })).head.eTag).not.toBe(eTag);
    await harness.client.copyObject({ ...self, ...sourceKey(1) }, as(alice)).catch(() => undefined);
    const back = { ...self, ...sourceKey(1), serverSideEncryption: ServerSideEncryption.AES256 };
    await harness.client.copyObject(back, as(alice));
    expect((await get(harness, cat)).head.eTag).toBe(eTag);
  });

  test.each([
    // key of the source, reason
    [{}, needed],
    [sourceKey(2), "ACCESS_DENIED"],
  ])("with %o is refused with %s", async (keys, reason) => {
    const harness = await startWithBucket();
    await put(harness, { ...cat, ...ownKey(1) }, "x");
    expect(await refusalOf(harness.client.copyObject({ ...copy, ...keys }, as(alice)))).toBe(reason);
  });
});
