import { describe, expect, test } from "vitest";

import { alice, as, put, refusalOf, startWithBucket, withoutAlgorithm } from "../harness.ts";

const cat = { bucket: "photos", key: "cat.jpg" };

describe("getObjectAttributes", () => {
  test("tells what is asked for and nothing else", async () => {
    const harness = await startWithBucket();
    await put(harness, cat, "0123456789");
    const attributes = (...objectAttributes: string[]) =>
      harness.client.getObjectAttributes({ ...cat, objectAttributes }, as(alice));

    const all = await attributes("ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize");
    expect(all).toMatchObject({
      eTag: "781e5e245d69b566979b86e28d23f2c7",
      checksum: { checksumType: "FULL_OBJECT" },
      storageClass: "STANDARD",
      objectSize: 10n,
    });
    expect(all.objectParts).toBeUndefined();
    const one = await attributes("ObjectSize");
    expect([one.eTag, one.checksum, one.storageClass]).toEqual([undefined, undefined, undefined]);
  });

  test("tells the parts of an object that was made of parts, page by page", async () => {
    const harness = await startWithBucket({ limits: { partBytesMin: 1 } });
    const { uploadId = "" } = await harness.client.createMultipartUpload(
      { ...cat, checksumAlgorithm: "SHA1" },
      as(alice),
    );
    const parts = [];
    for (const partNumber of [3, 5, 9]) {
      const messages = [{ ...cat, uploadId, partNumber, checksumAlgorithm: "SHA1" }, { body: Buffer.from("part") }];
      const { eTag, checksumSha1 } = await harness.client.uploadPart(
        (async function* sent() {
          yield* messages;
        })(),
        as(alice),
      );
      parts.push({ partNumber, eTag, checksumSha1 });
    }
    await harness.client.completeMultipartUpload({ ...cat, uploadId, completeMultipartUpload: { parts } }, as(alice));

    const { objectParts, checksum } = await harness.client.getObjectAttributes(
      { ...cat, objectAttributes: ["ObjectParts", "Checksum"], maxParts: 1, partNumberMarker: 1 },
      as(alice),
    );

    expect(objectParts).toMatchObject({ partsCount: 3, isTruncated: true, nextPartNumberMarker: 2 });
    // Without the number of parts that other answers append to it.
    expect(checksum).toMatchObject({ checksumSha1: "RY9tsjP/yJ815PUqi3Oc0+gapbA=", checksumType: "COMPOSITE" });
    expect(objectParts?.parts).toMatchObject([{ partNumber: 2, size: 4n, checksumSha1: parts[1]?.checksumSha1 }]);
  });

  test.each([
    // request, reason; in the order of refusal
    [{ bucket: "unknown", sseCustomerKey: "x" }, "NO_SUCH_BUCKET"],
    [{ sseCustomerKey: "x", objectAttributes: ["Colour"] }, withoutAlgorithm],
    [
      { objectAttributes: [], versionId: "x" },
      "INVALID_REQUEST: The x-svc-object-attributes header specifying the attributes to be retrieved is either missing or empty",
    ],
    [{ objectAttributes: ["Colour"], versionId: "x" }, "INVALID_ARGUMENT: Invalid attribute name specified."],
    [{ versionId: "x", key: "unknown" }, "INVALID_VERSION_ID"],
    [{ key: "unknown" }, "NO_SUCH_KEY"],
  ])("a request with %o ends as %s", async (request, reason) => {
    const { client } = await startWithBucket();
    const call = client.getObjectAttributes({ ...cat, objectAttributes: ["ETag"], ...request }, as(alice));
    expect(await refusalOf(call)).toBe(reason);
  });
});
