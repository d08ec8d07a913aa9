import { createHash, randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";

import { describe, expect, test } from "vitest";

import { sweepBlobs } from "../../../services/object-storage/work/blob-sweep.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { Harness, PutInit } from "../harness.ts";
import { alice, as, bob, get, metadataOf, notImplemented, put, refusalOf, startWithBucket } from "../harness.ts";

const film = { bucket: "photos", key: "film.mp4" };
/** Parts may be small here, so that tests are quick. */
const limits = { partBytesMin: 100_000, partBytesMax: 1_000_000, objectBytesMax: 2_000_000 };
const bytes = [randomBytes(100_000), randomBytes(300_000), randomBytes(10)] as const;

const start = async (harness: Harness, request: object = {}): Promise<string> =>
  (await harness.client.createMultipartUpload({ ...film, ...request }, as(alice))).uploadId ?? "";

const sendPart = (harness: Harness, uploadId: string, partNumber: number, body: Uint8Array, request: object = {}) => {
  async function* messages(): AsyncGenerator<PutInit & { uploadId?: string; partNumber?: number }> {
    yield { ...film, uploadId, partNumber, ...request };
    for (let at = 0; at < body.length; at += 64_000) yield { body: body.subarray(at, at + 64_000) };
  }
  return harness.client.uploadPart(messages() as AsyncIterable<never>, as(alice));
};

const complete = (harness: Harness, uploadId: string, parts: object[], request: object = {}) =>
  harness.client.completeMultipartUpload(
    { ...film, uploadId, completeMultipartUpload: { parts }, ...request },
    as(alice),
  );

const files = async (harness: Harness): Promise<number> =>
  (await readdir(harness.blobsDirectory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
    .length;

/** An upload with three parts, and what their answers were. */
const startWithParts = async (request: object = {}, partRequest: object = {}) => {
  const harness = await startWithBucket({ limits });
  const uploadId = await start(harness, request);
  const answers = [];
  for (const [index, body] of bytes.entries())
    answers.push(await sendPart(harness, uploadId, index + 1, body, partRequest));
  const parts = answers.map((answer, index) => ({
    partNumber: index + 1,
    eTag: answer.eTag,
    ...(answer.checksumCrc32 === undefined ? {} : { checksumCrc32: answer.checksumCrc32 }),
  }));
  return { harness, uploadId, parts };
};

const md5 = (...pieces: readonly Uint8Array[]): Buffer => {
  const hash = createHash("md5");
  for (const piece of pieces) hash.update(piece);
  return hash.digest();
};

describe("completeMultipartUpload", () => {
  test("makes one object of the parts, with what the upload was started with, and no byte is copied", async () => {
    const { harness, uploadId, parts } = await startWithParts({ contentType: "video/mp4", metadata: { a: "b" } });
    const filesBefore = await files(harness);

    const done = await complete(harness, uploadId, parts);

    expect(done.eTag).toBe(`"${md5(...bytes.map((each) => md5(each))).toString("hex")}-3"`);
    expect(done).toMatchObject({ bucket: "photos", key: "film.mp4", checksumType: "FULL_OBJECT" });
    const { head, body } = await get(harness, { ...film, checksumMode: "ENABLED" });
    expect(body.equals(Buffer.concat(bytes))).toBe(true);
    expect(head).toMatchObject({ contentType: "video/mp4", metadata: { a: "b" }, contentLength: 400_010n });
    expect(head.checksumCrc64nvme).toBe(done.checksumCrc64nvme);
    expect(await files(harness)).toBe(filesBefore);
    await put(harness, { bucket: "photos", key: "whole" }, Buffer.concat(bytes));
    const whole = await harness.client.headObject(
      { bucket: "photos", key: "whole", checksumMode: "ENABLED" },
      as(alice),
    );
    expect(whole.checksumCrc64nvme).toBe(done.checksumCrc64nvme);
  });

  test("reads parts by number and ranges across parts", async () => {
    const { harness, uploadId, parts } = await startWithParts();
    await complete(harness, uploadId, parts);
    const second = await get(harness, { ...film, partNumber: 2 });
    expect(second.head).toMatchObject({ statusCode: 206, partsCount: 3, contentRange: "bytes 100000-399999/400010" });
    expect(second.body.equals(bytes[1])).toBe(true);
    const across = await get(harness, { ...film, range: "bytes=99990-400005" });
    expect(across.body.equals(Buffer.concat(bytes).subarray(99_990, 400_006))).toBe(true);
    expect(await refusalOf(get(harness, { ...film, partNumber: 4 }))).toBe("INVALID_PART_NUMBER");
  });

  test("answers the same again, also to those who ask at once, for a day", async () => {
    const clock = new FakeClock(Date.now());
    const harness = await startWithBucket({ limits, clock });
    const uploadId = await start(harness);
    const { eTag } = await sendPart(harness, uploadId, 1, bytes[0]);
    const parts = [{ partNumber: 1, eTag }];

    const answers = await Promise.all([1, 2, 3, 4].map(() => complete(harness, uploadId, parts)));
    const again = await complete(harness, uploadId, parts);

    expect(new Set([...answers, again].map((answer) => answer.eTag)).size).toBe(1);
    expect(again.checksumCrc64nvme).toBe(answers[0]?.checksumCrc64nvme);
    clock.advance(25 * 3_600_000);
    await expect.poll(() => refusalOf(complete(harness, uploadId, parts))).toBe("NO_SUCH_UPLOAD");
  });

  test("frees parts that are not listed", async () => {
    const clock = new FakeClock(Date.now());
    const harness = await startWithBucket({ limits, clock });
    const uploadId = await start(harness);
    await sendPart(harness, uploadId, 1, bytes[1]);
    const { eTag } = await sendPart(harness, uploadId, 7, bytes[1]);
    await complete(harness, uploadId, [{ partNumber: 7, eTag }]);
    clock.advance(11 * 60_000);
    await sweepBlobs(harness.opened.sweep);
    expect(await files(harness)).toBe(1);
    expect((await get(harness, film)).body.equals(bytes[1])).toBe(true);
  });

  test("combines checksums of parts as the upload asks", async () => {
    const composite = await startWithParts({ checksumAlgorithm: "CRC32" });
    const done = await complete(composite.harness, composite.uploadId, composite.parts);
    expect(done.checksumCrc32).toMatch(/^[A-Za-z0-9+/]{6}==-3$/);
    expect(done.checksumType).toBe("COMPOSITE");

    const full = await startWithParts({ checksumAlgorithm: "CRC32", checksumType: "FULL_OBJECT" });
    const whole = await put(
      full.harness,
      { bucket: "photos", key: "w", checksumAlgorithm: "CRC32" },
      Buffer.concat(bytes),
    );
    const given = { checksumCrc32: whole.checksumCrc32, checksumType: "FULL_OBJECT" };
    expect(await complete(full.harness, full.uploadId, full.parts, given)).toMatchObject(given);
  });

  test("refuses in this order, and the upload stays open", async () => {
    const { harness, uploadId, parts } = await startWithParts({ checksumAlgorithm: "CRC32" });
    const [first, second, third] = parts as [object, object, object];
    const other = await start(harness);
    await sendPart(harness, other, 1, bytes[2]);
    const rows: [object[], object, string][] = [
      // parts, more of the request, reason
      [[], { sseCustomerKey: "x" }, notImplemented("x-svc-server-side-encryption-customer-key")],
      [[], { bucket: "unknown" }, "MALFORMED_XML"],
      [[{ partNumber: 1 }], {}, "MALFORMED_XML"],
      [[{ eTag: "x" }], {}, "MALFORMED_XML"],
      [[{ partNumber: 10_001, eTag: "x" }], {}, "INVALID_ARGUMENT: PartNumber must be >= 1 and <= 10000"],
      [[second, first], { bucket: "unknown" }, "INVALID_PART_ORDER"],
      [[first, first], {}, "INVALID_PART_ORDER"],
      [parts, { bucket: "unknown", uploadId: "unknown" }, "NO_SUCH_BUCKET"],
      [parts, { uploadId: "unknown" }, "NO_SUCH_UPLOAD"],
      [parts, { key: "other" }, "NO_SUCH_UPLOAD"],
      [[...parts, { partNumber: 4, eTag: "x" }], {}, "INVALID_PART"],
      [[{ ...first, eTag: "x" }, second], {}, "INVALID_PART"],
      [[{ ...first, checksumCrc32: "AAAAAA==" }, second], {}, "INVALID_PART"],
      [
        [{ ...first, checksumCrc32: undefined }, second],
        {},
        "INVALID_REQUEST: The upload was created using a crc32 checksum. The complete request must include the checksum for each part. It was missing for part 1 in the request.",
      ],
      [
        [first, second, third],
        { mpuObjectSize: 1n },
        "INVALID_REQUEST: The provided 'x-svc-mp-object-size' header value 1 does not match what was computed: 400010",
      ],
      [
        parts,
        { checksumType: "FULL_OBJECT" },
        "INVALID_REQUEST: The upload was created using the COMPOSITE checksum mode. The complete request must use the same checksum mode.",
      ],
      [
        parts,
        { checksumSha1: "x" },
        "INVALID_REQUEST: The upload was created using a crc32 checksum. The complete request must use the same one.",
      ],
      [
        parts,
        { checksumCrc32: "AAAAAA==-3" },
        "BAD_DIGEST: The CRC32 you specified did not match the calculated checksum.",
      ],
      [parts, { ifMatch: "x" }, "NO_SUCH_KEY"],
    ];
    const reasons: string[] = [];
    for (const [list, request] of rows) reasons.push(await refusalOf(complete(harness, uploadId, list, request)));
    expect(reasons).toEqual(rows.map(([, , reason]) => reason));
    expect((await complete(harness, uploadId, parts)).eTag).toMatch(/-3"$/);
  });

  test("refuses a small part before the last, and a whole that is too large", async () => {
    const harness = await startWithBucket({ limits });
    const uploadId = await start(harness);
    const small = await sendPart(harness, uploadId, 1, bytes[2]);
    const parts = [{ partNumber: 1, eTag: small.eTag }];
    for (const partNumber of [2, 3, 4]) {
      const { eTag } = await sendPart(harness, uploadId, partNumber, Buffer.alloc(900_000, partNumber));
      parts.push({ partNumber, eTag });
    }
    expect(await metadataOf(complete(harness, uploadId, parts))).toMatchObject({
      min_size_allowed: "100000",
      proposed_size: "10",
      part_number: "1",
    });
    expect(await refusalOf(complete(harness, uploadId, parts.slice(1)))).toBe("ENTITY_TOO_LARGE");
    expect((await complete(harness, uploadId, parts.slice(2))).eTag).toMatch(/-2"$/);
  });

  test.each([
    // what happens before and during the upload, condition, reason
    ["nothing", "nothing", { ifNoneMatch: "*" }, "answered"],
    ["nothing", "put", { ifNoneMatch: "*" }, "PRECONDITION_FAILED"],
    ["put", "delete", { ifNoneMatch: "*" }, "CONDITIONAL_REQUEST_CONFLICT"],
    ["put", "nothing", { ifMatch: '"8d777f385d3dfec8815d20f7496026dc"' }, "answered"],
    ["put", "put", { ifMatch: '"8d777f385d3dfec8815d20f7496026dc"' }, "CONDITIONAL_REQUEST_CONFLICT"],
    ["put", "delete", { ifMatch: '"8d777f385d3dfec8815d20f7496026dc"' }, "NO_SUCH_KEY"],
    ["put", "nothing", { ifMatch: "other" }, "PRECONDITION_FAILED"],
  ])("after %s and then %s ends with the condition %o as %s", async (before, during, condition, reason) => {
    const harness = await startWithBucket({ limits });
    const happen = async (what: string): Promise<void> => {
      if (what === "put") await put(harness, film, "data");
      if (what === "delete") await harness.client.deleteObject(film, as(alice));
    };
    await happen(before);
    const uploadId = await start(harness);
    const { eTag } = await sendPart(harness, uploadId, 1, bytes[2]);
    await happen(during);
    expect(await refusalOf(complete(harness, uploadId, [{ partNumber: 1, eTag }], condition))).toBe(reason);
  });
});

describe("createMultipartUpload", () => {
  test.each([
    // request, reason; in the order of refusal
    [{ key: "k".repeat(1025), acl: "public-read" }, "KEY_TOO_LONG"],
    [{ objectLockMode: "GOVERNANCE", acl: "public-read" }, notImplemented("x-svc-object-lock-mode")],
    [{ acl: "public-read", storageClass: "NONSENSE" }, "ACCESS_CONTROL_LIST_NOT_SUPPORTED"],
    [{ storageClass: "NONSENSE" }, "INVALID_STORAGE_CLASS"],
    [
      { checksumAlgorithm: "NONSENSE" },
      "INVALID_REQUEST: Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]",
    ],
    [
      { checksumType: "COMPOSITE" },
      "INVALID_REQUEST: The x-svc-checksum-type header can only be used with the x-svc-checksum-algorithm header.",
    ],
    [
      { checksumAlgorithm: "CRC64NVME", checksumType: "COMPOSITE" },
      "INVALID_REQUEST: The COMPOSITE checksum type cannot be used with the crc64nvme checksum algorithm.",
    ],
    [
      { checksumAlgorithm: "SHA1", checksumType: "FULL_OBJECT" },
      "INVALID_REQUEST: The FULL_OBJECT checksum type cannot be used with the sha1 checksum algorithm.",
    ],
    [{ bucket: "unknown" }, "NO_SUCH_BUCKET"],
    [{ checksumAlgorithm: "CRC32C", checksumType: "FULL_OBJECT" }, "answered"],
  ])("a request with %o ends as %s", async (request, reason) => {
    const harness = await startWithBucket();
    expect(await refusalOf(harness.client.createMultipartUpload({ ...film, ...request }, as(alice)))).toBe(reason);
  });
});

describe("uploadPart", () => {
  test("refuses in this order and replaces the part of its number", async () => {
    const harness = await startWithBucket({ limits });
    const uploadId = await start(harness, { checksumAlgorithm: "CRC32" });
    const rows: [object, Uint8Array, string][] = [
      // request, content, reason
      [
        { partNumber: 0 },
        bytes[2],
        "INVALID_INPUT: Value '0' at 'PartNumber' failed to satisfy constraint: Member must have value greater than or equal to 1",
      ],
      [
        { partNumber: 10_001 },
        bytes[2],
        "INVALID_INPUT: Value '10001' at 'PartNumber' failed to satisfy constraint: Member must have value less than or equal to 10000",
      ],
      [{ sseCustomerKey: "x", contentMd5: "x" }, bytes[2], notImplemented("x-svc-server-side-encryption-customer-key")],
      [{ contentMd5: "x" }, bytes[2], "INVALID_DIGEST"],
      [{ contentLength: 1_000_001n, bucket: "unknown" }, bytes[2], "ENTITY_TOO_LARGE"],
      [{ bucket: "unknown" }, bytes[2], "NO_SUCH_BUCKET"],
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
    ];
    const reasons: string[] = [];
    for (const [request, body] of rows) reasons.push(await refusalOf(sendPart(harness, uploadId, 1, body, request)));
    expect(reasons).toEqual(rows.map(([, , reason]) => reason));

    await sendPart(harness, uploadId, 1, bytes[1]);
    const { eTag, checksumCrc32 } = await sendPart(harness, uploadId, 1, bytes[0]);
    await complete(harness, uploadId, [{ partNumber: 1, eTag, checksumCrc32 }]);
    expect((await get(harness, film)).body.equals(bytes[0])).toBe(true);
  });
});

describe("abortMultipartUpload", () => {
  test("frees the parts and refuses everything afterwards", async () => {
    const clock = new FakeClock(Date.now());
    const harness = await startWithBucket({ limits, clock });
    const uploadId = await start(harness);
    await sendPart(harness, uploadId, 1, bytes[1]);
    const place = { ...film, uploadId };
    expect(await refusalOf(harness.client.deleteBucket({ bucket: "photos" }, as(alice)))).toBe("BUCKET_NOT_EMPTY");
    const elsewhen = { ...place, ifMatchInitiatedTime: { seconds: 1n } };
    expect(await refusalOf(harness.client.abortMultipartUpload(elsewhen, as(alice)))).toBe("PRECONDITION_FAILED");

    await harness.client.abortMultipartUpload(place, as(alice));

    expect(await refusalOf(harness.client.abortMultipartUpload(place, as(alice)))).toBe("NO_SUCH_UPLOAD");
    expect(await refusalOf(sendPart(harness, uploadId, 1, bytes[2]))).toBe("NO_SUCH_UPLOAD");
    expect(await refusalOf(harness.client.listParts(place, as(alice)))).toBe("NO_SUCH_UPLOAD");
    clock.advance(11 * 60_000);
    await sweepBlobs(harness.opened.sweep);
    expect(await files(harness)).toBe(0);
  });
});

describe("listParts", () => {
  test("lists parts by number, page by page, with their checksums", async () => {
    const { harness, uploadId } = await startWithParts({ checksumAlgorithm: "CRC32" });
    const list = (request: object) => harness.client.listParts({ ...film, uploadId, ...request }, as(alice));

    const first = await list({ maxParts: 2 });
    const second = await list({ maxParts: 2, partNumberMarker: first.nextPartNumberMarker });

    expect(first.parts.map((part) => [part.partNumber, part.size])).toEqual([
      [1, 100_000n],
      [2, 300_000n],
    ]);
    expect(first).toMatchObject({ isTruncated: true, nextPartNumberMarker: 2, checksumAlgorithm: "CRC32" });
    expect(first.parts[0]?.checksumCrc32).toMatch(/==$/);
    expect(second.parts.map((part) => part.partNumber)).toEqual([3]);
    expect(second).toMatchObject({ isTruncated: false, nextPartNumberMarker: 3, partNumberMarker: 2 });
    expect(await refusalOf(harness.client.listParts({ ...film, uploadId: "x" }, as(alice)))).toBe("NO_SUCH_UPLOAD");
    expect(await refusalOf(harness.client.listParts({ ...film, uploadId }, as(bob)))).toBe("ACCESS_DENIED");
  });
});

describe("listMultipartUploads", () => {
  test("lists open uploads by key, the oldest of one key first, page by page", async () => {
    const clock = new FakeClock();
    const harness = await startWithBucket({ clock });
    const ids: string[] = [];
    for (const key of ["b", "a/1", "b", "a/2"]) {
      ids.push(await start(harness, { key }));
      clock.advance(1_000);
    }
    const list = (request: object) => harness.client.listMultipartUploads({ bucket: "photos", ...request }, as(alice));

    const first = await list({ maxUploads: 3 });
    const second = await list({ keyMarker: first.nextKeyMarker, uploadIdMarker: first.nextUploadIdMarker });

    expect(first.uploads.map((upload) => [upload.key, upload.uploadId])).toEqual([
      ["a/1", ids[1]],
      ["a/2", ids[3]],
      ["b", ids[0]],
    ]);
    expect(first).toMatchObject({ isTruncated: true, nextKeyMarker: "b", nextUploadIdMarker: ids[0] });
    expect(second.uploads.map((upload) => upload.uploadId)).toEqual([ids[2]]);
    expect((await list({ keyMarker: "b" })).uploads).toEqual([]);
    const rolled = await list({ delimiter: "/" });
    expect(rolled.commonPrefixes.map(({ prefix }) => prefix)).toEqual(["a/"]);
    expect(rolled.uploads).toHaveLength(2);
    expect(await refusalOf(list({ keyMarker: "b", uploadIdMarker: "x" }))).toBe(
      "INVALID_ARGUMENT: Invalid uploadId marker",
    );
    expect(await refusalOf(list({ uploadIdMarker: "x" }))).toBe("answered");
  });
});
