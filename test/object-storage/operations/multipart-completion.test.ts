import { createHash } from "node:crypto";

import { describe, expect, test } from "vitest";

import { sweepBlobs } from "../../../services/object-storage/work/blob-sweep.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import {
  alice,
  as,
  bob,
  get,
  metadataOf,
  oneCondition,
  put,
  refusalOf,
  startWithBucket,
  withoutAlgorithm,
} from "../harness.ts";
import { bytes, complete, countFiles, film, sendPart, smallParts, startUpload, startWithParts } from "../multipart.ts";

const md5 = (...pieces: readonly Uint8Array[]): Buffer => {
  const hash = createHash("md5");
  for (const piece of pieces) hash.update(piece);
  return hash.digest();
};

describe("completeMultipartUpload", () => {
  test("makes one object of the parts, with what the upload was started with, and no byte is copied", async () => {
    const { harness, uploadId, parts } = await startWithParts({ contentType: "video/mp4", metadata: { a: "b" } });
    const filesBefore = await countFiles(harness);

    const done = await complete(harness, uploadId, parts);

    expect(done.eTag).toBe(`"${md5(...bytes.map((each) => md5(each))).toString("hex")}-3"`);
    expect(done).toMatchObject({ bucket: "photos", key: "film.mp4", checksumType: "FULL_OBJECT" });
    const { head, body } = await get(harness, { ...film, checksumMode: "ENABLED" });
    expect(body.equals(Buffer.concat(bytes))).toBe(true);
    expect(head).toMatchObject({ contentType: "video/mp4", metadata: { a: "b" }, contentLength: 400_010n });
    expect(head.checksumCrc64nvme).toBe(done.checksumCrc64nvme);
    expect(await countFiles(harness)).toBe(filesBefore);
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
    expect((await get(harness, { ...film, partNumber: 2, checksumMode: "ENABLED" })).head.checksumType).toBeUndefined();
  });

  test("reads parts with their own checksums, if the upload named an algorithm", async () => {
    const { harness, uploadId, parts } = await startWithParts({ checksumAlgorithm: "CRC32" });
    await complete(harness, uploadId, parts);
    for (const [index, part] of parts.entries()) {
      const { head } = await get(harness, { ...film, partNumber: index + 1, checksumMode: "ENABLED" });
      expect(head.checksumCrc32).toBe(part.checksumCrc32);
      expect(head.checksumType).toBe("COMPOSITE");
    }
  });

  test("answers the same again, also to those who ask at once, for a day", async () => {
    const clock = new FakeClock(Date.now());
    const harness = await startWithBucket({ limits: smallParts, clock });
    const uploadId = await startUpload(harness);
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
    const harness = await startWithBucket({ limits: smallParts, clock });
    const uploadId = await startUpload(harness);
    await sendPart(harness, uploadId, 1, bytes[1]);
    const { eTag } = await sendPart(harness, uploadId, 7, bytes[1]);
    await complete(harness, uploadId, [{ partNumber: 7, eTag }]);
    clock.advance(11 * 60_000);
    await sweepBlobs(harness.opened.sweep);
    expect(await countFiles(harness)).toBe(1);
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
    const spelled = { ...given, checksumType: "full_object" };
    expect(await complete(full.harness, full.uploadId, full.parts, spelled)).toMatchObject(given);
  });

  test("refuses in this order, and the upload stays open", async () => {
    const { harness, uploadId, parts } = await startWithParts({ checksumAlgorithm: "CRC32" });
    const [first, second, third] = parts as [object, object, object];
    const rows: [object[], object, string][] = [
      // parts, more of the request, reason
      [[], { bucket: "unknown", sseCustomerKey: "x" }, "NO_SUCH_BUCKET"],
      [[], { expectedBucketOwner: bob, sseCustomerKey: "x" }, "ACCESS_DENIED"],
      [[], { sseCustomerKey: "x" }, withoutAlgorithm],
      [
        [],
        { checksumCrc32: "x", checksumSha1: "x" },
        "INVALID_REQUEST: Expecting a single x-svc-checksum- header. Multiple checksum Types are not allowed.",
      ],
      [[], { ifMatch: "x", ifNoneMatch: "*" }, oneCondition],
      [[], { uploadId: "unknown" }, "MALFORMED_XML"],
      [[{ partNumber: 1 }], {}, "MALFORMED_XML"],
      [[{ eTag: "x" }], {}, "MALFORMED_XML"],
      [[{ partNumber: 10_001, eTag: "x" }], {}, "INVALID_ARGUMENT: PartNumber must be >= 1 and <= 10000"],
      [[second, first], { uploadId: "unknown" }, "INVALID_PART_ORDER"],
      [[first, first], {}, "INVALID_PART_ORDER"],
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
      [parts, { checksumCrc32: "x" }, "INVALID_REQUEST: Value for x-svc-checksum-crc32 header is invalid."],
      [parts, { checksumCrc32: "AAAAAA==-x" }, "INVALID_REQUEST: Value for x-svc-checksum-crc32 header is invalid."],
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
    const harness = await startWithBucket({ limits: smallParts });
    const uploadId = await startUpload(harness);
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
    const harness = await startWithBucket({ limits: smallParts });
    const happen = async (what: string): Promise<void> => {
      if (what === "put") await put(harness, film, "data");
      if (what === "delete") await harness.client.deleteObject(film, as(alice));
    };
    await happen(before);
    const uploadId = await startUpload(harness);
    const { eTag } = await sendPart(harness, uploadId, 1, bytes[2]);
    await happen(during);
    expect(await refusalOf(complete(harness, uploadId, [{ partNumber: 1, eTag }], condition))).toBe(reason);
  });
});
