import { describe, expect, test } from "vitest";

import { sweepBlobs } from "../../../services/object-storage/work/blob-sweep.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { alice, as, bob, refusalOf, startWithBucket, withoutAlgorithm } from "../harness.ts";
import { bytes, countFiles, film, sendPart, smallParts, startUpload, startWithParts } from "../multipart.ts";

describe("createMultipartUpload", () => {
  test.each([
    // request, reason; in the order of refusal
    [{ bucket: "unknown", key: "k".repeat(1025) }, "NO_SUCH_BUCKET"],
    [{ key: "k".repeat(1025), acl: "public-read" }, "KEY_TOO_LONG"],
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
    [{ checksumAlgorithm: "SHA1", checksumType: "COMPOSITE", sseCustomerKey: "x" }, withoutAlgorithm],
    [{ checksumAlgorithm: "CRC32C", checksumType: "FULL_OBJECT" }, "answered"],
  ])("a request with %o ends as %s", async (request, reason) => {
    const harness = await startWithBucket();
    expect(await refusalOf(harness.client.createMultipartUpload({ ...film, ...request }, as(alice)))).toBe(reason);
  });
});

describe("abortMultipartUpload", () => {
  test("leaves nothing of a part that was being sent meanwhile", async () => {
    const harness = await startWithBucket({ limits: smallParts });
    const uploadId = await startUpload(harness);
    let aborted = async (): Promise<void> => {};
    async function* messages(): AsyncGenerator<object> {
      yield { ...film, uploadId, partNumber: 1 };
      yield { body: bytes[0] };
      await aborted();
      yield { body: bytes[0] };
    }
    aborted = async () => {
      await harness.client.abortMultipartUpload({ ...film, uploadId }, as(alice));
    };
    expect(await refusalOf(harness.client.uploadPart(messages() as AsyncIterable<never>, as(alice)))).toBe(
      "NO_SUCH_UPLOAD",
    );
    expect(await countFiles(harness)).toBe(0);
    expect(await refusalOf(harness.client.listParts({ ...film, uploadId }, as(alice)))).toBe("NO_SUCH_UPLOAD");
  });

  test("frees the parts and refuses everything afterwards", async () => {
    const clock = new FakeClock(Date.now());
    const harness = await startWithBucket({ limits: smallParts, clock });
    const uploadId = await startUpload(harness);
    await sendPart(harness, uploadId, 1, bytes[1]);
    const place = { ...film, uploadId };
    const elsewhen = { ...place, ifMatchInitiatedTime: { seconds: 1n } };
    expect(await refusalOf(harness.client.abortMultipartUpload(elsewhen, as(alice)))).toBe("PRECONDITION_FAILED");

    await harness.client.abortMultipartUpload(place, as(alice));

    expect(await refusalOf(harness.client.abortMultipartUpload(place, as(alice)))).toBe("NO_SUCH_UPLOAD");
    expect(await refusalOf(sendPart(harness, uploadId, 1, bytes[2]))).toBe("NO_SUCH_UPLOAD");
    expect(await refusalOf(harness.client.listParts(place, as(alice)))).toBe("NO_SUCH_UPLOAD");
    clock.advance(11 * 60_000);
    await sweepBlobs(harness.opened.sweep);
    expect(await countFiles(harness)).toBe(0);
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
      ids.push(await startUpload(harness, { key }));
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
    expect(await refusalOf(list({ keyMarker: "b", uploadIdMarker: ids[1] }))).toBe(
      "INVALID_ARGUMENT: Invalid uploadId marker",
    );
    expect(await refusalOf(list({ uploadIdMarker: "x" }))).toBe("answered");
    expect((await list({ delimiter: "" })).delimiter).toBeUndefined();
  });
});
