import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

import { describe, expect, test } from "vitest";

import { alice, as, bob, get, put, refusalOf, startWithBucket, withoutAlgorithm } from "../harness.ts";
import { bytes, complete, countFiles, film, sendPart, smallParts, startUpload } from "../multipart.ts";

describe("uploadPart", () => {
  test("refuses in this order and replaces the part of its number", async () => {
    const harness = await startWithBucket({ limits: smallParts });
    const uploadId = await startUpload(harness, { checksumAlgorithm: "CRC32" });
    const rows: [object, Uint8Array, string][] = [
      // request, content, reason
      [
        { partNumber: 0 },
        bytes[2],
        "INVALID_INPUT: Value '0' at 'part_number' failed to satisfy constraint: Member must have value greater than or equal to 1",
      ],
      [
        { partNumber: 10_001 },
        bytes[2],
        "INVALID_INPUT: Value '10001' at 'part_number' failed to satisfy constraint: Member must have value less than or equal to 10000",
      ],
      [{ bucket: "unknown", sseCustomerKey: "x" }, bytes[2], "NO_SUCH_BUCKET"],
      [{ expectedBucketOwner: bob, sseCustomerKey: "x" }, bytes[2], "ACCESS_DENIED"],
      [{ contentMd5: "x", contentLength: 1_000_001n }, bytes[2], "INVALID_DIGEST"],
      [{ contentLength: 1_000_001n, sseCustomerKey: "x" }, bytes[2], "ENTITY_TOO_LARGE"],
      [{ sseCustomerKey: "x", uploadId: "unknown" }, bytes[2], withoutAlgorithm],
      [{ uploadId: "unknown" }, bytes[2], "NO_SUCH_UPLOAD"],
      [{ key: "other" }, bytes[2], "NO_SUCH_UPLOAD"],
      [
        { checksumAlgorithm: "SHA1" },
        bytes[2],
        "INVALID_REQUEST: Checksum Type mismatch occurred, expected checksum Type: crc32, actual checksum Type: sha1",
      ],
      [
        { checksumCrc32: "AAAAAA==" },
        bytes[2],
        "BAD_DIGEST: The CRC32 you specified did not match the calculated checksum.",
      ],
      [{}, Buffer.alloc(1_000_001), "ENTITY_TOO_LARGE"],
      [
        {},
        bytes[2],
        "INVALID_REQUEST: Checksum Type mismatch occurred, expected checksum Type: crc32, actual checksum Type: null",
      ],
    ];
    const reasons: string[] = [];
    for (const [request, body] of rows) reasons.push(await refusalOf(sendPart(harness, uploadId, 1, body, request)));
    expect(reasons).toEqual(rows.map(([, , reason]) => reason));

    const named = { checksumAlgorithm: "CRC32" };
    await sendPart(harness, uploadId, 1, bytes[1], named);
    const { eTag, checksumCrc32 } = await sendPart(harness, uploadId, 1, bytes[0], named);
    await complete(harness, uploadId, [{ partNumber: 1, eTag, checksumCrc32 }]);
    expect((await get(harness, film)).body.equals(bytes[0])).toBe(true);
  });
});

test("parts of a checksum of the whole need none of their own, and are answered with theirs", async () => {
  const harness = await startWithBucket({ limits: smallParts });
  const uploadId = await startUpload(harness, { checksumAlgorithm: "CRC32", checksumType: "FULL_OBJECT" });
  const parts = [];
  for (const [index, body] of [bytes[0], bytes[1]].entries()) {
    const { eTag, checksumCrc32 } = await sendPart(harness, uploadId, index + 1, body);
    expect(checksumCrc32).toBe(crcOf(body));
    parts.push({ partNumber: index + 1, eTag });
  }
  const whole = crcOf(Buffer.concat([bytes[0], bytes[1]]));
  const done = await complete(harness, uploadId, parts, { checksumCrc32: whole });
  expect([done.checksumType, done.checksumCrc32]).toEqual(["FULL_OBJECT", whole]);
});

const crcOf = (content: Uint8Array): string => {
  const value = Buffer.alloc(4);
  value.writeUInt32BE(crc32(content));
  return value.toString("base64");
};

describe("uploadPartCopy", () => {
  const source = { bucket: "photos", key: "cat one.jpg" };
  const content = randomBytes(1_000_010);

  /** An open upload of the film, and an object of 1,000,010 bytes to copy from. */
  const startWithSource = async () => {
    const harness = await startWithBucket({ limits: smallParts });
    await put(harness, source, content);
    const uploadId = await startUpload(harness);
    const copyPart = (request: object) =>
      harness.client.uploadPartCopy(
        { ...film, uploadId, partNumber: 1, copySource: "photos/cat%20one.jpg", ...request },
        as(alice),
      );
    return { harness, uploadId, copyPart };
  };

  test("makes parts of ranges of an object without storing their bytes again", async () => {
    const { harness, uploadId, copyPart } = await startWithSource();

    const answer = await copyPart({ copySourceRange: "bytes=1000000-1000009" });
    const eTag = answer.copyPartResult?.eTag;
    expect(eTag).toBe(`"${createHash("md5").update(content.subarray(1_000_000)).digest("hex")}"`);
    await complete(harness, uploadId, [{ partNumber: 1, eTag }]);

    await harness.client.deleteObject(source, as(alice));
    expect((await get(harness, film)).body.equals(content.subarray(1_000_000))).toBe(true);
    expect(await countFiles(harness)).toBe(1);
  });

  test.each([
    // request, reason; in the order of refusal
    [{ bucket: "unknown", copySource: "photos" }, "NO_SUCH_BUCKET"],
    [
      { copySource: "photos", sseCustomerKey: "x" },
      "INVALID_ARGUMENT: Copy Source must mention the source bucket and key: sourcebucket/sourcekey",
    ],
    [{ copySource: "unknown/k", sseCustomerKey: "x" }, "NO_SUCH_BUCKET"],
    [{ expectedSourceBucketOwner: bob, sseCustomerKey: "x" }, "ACCESS_DENIED"],
    [{ copySource: "photos/k?versionId=x", sseCustomerKey: "x" }, "INVALID_VERSION_ID"],
    [{ sseCustomerKey: "x", uploadId: "unknown" }, withoutAlgorithm],
    [{ copySourceSseCustomerKey: "x", uploadId: "unknown" }, withoutAlgorithm],
    [{ uploadId: "unknown", copySource: "photos/unknown" }, "NO_SUCH_UPLOAD"],
    [{ copySource: "photos/unknown", copySourceIfMatch: "other" }, "NO_SUCH_KEY"],
    [{ copySourceIfMatch: "other", copySourceRange: "bytes=0-" }, "PRECONDITION_FAILED"],
    [
      { copySourceRange: "bytes=0-" },
      "INVALID_ARGUMENT: The x-svc-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy",
    ],
    [
      { copySourceRange: "bytes=1000010-1000011" },
      "INVALID_REQUEST: The specified copy range is invalid for the source object size",
    ],
    [
      { copySourceRange: "bytes=0-1000010" },
      "INVALID_ARGUMENT: Range specified is not valid for source object of size: 1000010",
    ],
    [{}, "ENTITY_TOO_LARGE"],
    [{ copySourceRange: "bytes=0-999999" }, "answered"],
  ])("a request with %o ends as %s", async (request, reason) => {
    const { copyPart } = await startWithSource();
    expect(await refusalOf(copyPart(request))).toBe(reason);
  });
});
