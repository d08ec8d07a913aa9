import { createHash, randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { PartBoundaryRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import { limits } from "../../../services/object-storage/limits.ts";
import { blobs, versions } from "../../../services/object-storage/store/layout.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { GetInit, Harness, HarnessOptions, PutInit } from "../harness.ts";
import { alice, as, bob, get, metadataOf, put, refusalOf, startWithBucket } from "../harness.ts";

const log = { bucket: "photos", key: "log" };
const large = randomBytes(200_000);

/** Appends at an offset, as Alice. */
const append = (harness: Harness, offset: number, body: string | Uint8Array, members: PutInit = {}) =>
  put(harness, { ...log, writeOffsetBytes: BigInt(offset), ...members }, body);

const head = ({ client }: Harness, members: { range?: string; partNumber?: number } = {}) =>
  client.headObject({ ...log, checksumMode: "ENABLED", ...members }, as(alice));

const read = async (harness: Harness, members: GetInit = {}) => (await get(harness, { ...log, ...members })).body;

const storedBlobs = ({ opened }: Harness) =>
  opened.app.store.read(async (reader) =>
    (await reader.list(blobs, { limit: 100 })).map(({ value }) => [
      Number(value.sizeBytes),
      Number(value.references),
      value.inlineBody !== undefined,
    ]),
  );

const blobFiles = async ({ blobsDirectory }: Harness): Promise<number> => {
  const shards = await readdir(blobsDirectory);
  return (await Promise.all(shards.map((shard) => readdir(join(blobsDirectory, shard))))).flat().length;
};

const setVersioning = ({ client }: Harness, status: string) =>
  client.putBucketVersioning({ bucket: "photos", versioningConfiguration: { status } }, as(alice));

const customerKey = (byte: number) => {
  const key = Buffer.alloc(32, byte);
  return {
    sseCustomerAlgorithm: "AES256",
    sseCustomerKey: key.toString("base64"),
    sseCustomerKeyMd5: createHash("md5").update(key).digest("base64"),
  };
};

describe("putObject with an offset", () => {
  test("creates, and appends to what is there; answers the size, another ETag and the checksum of all", async () => {
    const harness = await startWithBucket();
    const created = await append(harness, 0, "me");
    const { eTag, size, checksumCrc64nvme, checksumType } = await append(harness, 2, "ow");
    expect([created.size, created.eTag]).toEqual([2n, '"ab86a1e1ef70dff97959067b723c5c24"']);
    const md5 = (bytes: Uint8Array | string) => createHash("md5").update(bytes).digest();
    const chained = md5(Buffer.concat([md5("me"), md5("ow")])).toString("hex");
    expect({ eTag, size, checksumCrc64nvme, checksumType }).toEqual({
      eTag: `"${chained}-2"`,
      size: 4n,
      checksumCrc64nvme: "8zdqq7WrNzQ=",
      checksumType: "FULL_OBJECT",
    });
    expect((await read(harness)).toString()).toBe("meow");
    expect(await head(harness)).toMatchObject({ eTag: `"${chained}-2"`, contentLength: 4n, checksumCrc64nvme });
    const { contents } = await harness.client.listObjectsV2({ bucket: "photos" }, as(alice));
    expect(contents.map((each) => [each.key, each.size])).toEqual([["log", 4n]]);
  });

  test("keeps everything about the object, and the date of the last append", async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 2));
    const harness = await startWithBucket({ clock });
    const about = { contentType: "text/plain", cacheControl: "no-cache", metadata: { by: "ann" }, tagging: "a=1" };
    await put(harness, { ...log, ...about, storageClass: "STANDARD_IA" }, "one");
    clock.advance(60_000);
    await append(harness, 3, "two", { contentType: "application/octet-stream", contentEncoding: "aws-chunked" });
    const kept = await head(harness);
    expect(kept.contentEncoding).toBeUndefined();
    expect(kept).toMatchObject({
      contentType: "text/plain",
      cacheControl: "no-cache",
      metadata: { by: "ann" },
      tagCount: 1,
      storageClass: "STANDARD_IA",
      lastModified: { seconds: BigInt(Date.UTC(2026, 0, 2, 0, 1) / 1000) },
    });
  });

  test("copies no more than the tail in the database: small appends share one blob until it is a file", async () => {
    const harness = await startWithBucket();
    await put(harness, log, large);
    const chunk = randomBytes(20_000);
    let size = large.length;
    const seen: unknown[] = [];
    for (let index = 0; index < 4; index += 1, size += chunk.length) {
      await append(harness, size, chunk);
      seen.push((await storedBlobs(harness)).toSorted(([one], [other]) => Number(other) - Number(one)));
    }
    const file = [200_000, 1, false];
    expect(seen).toEqual([
      [file, [20_000, 1, true]],
      [file, [40_000, 1, true]],
      [file, [60_000, 1, true]],
      [file, [80_000, 1, false]],
    ]);
    expect(await blobFiles(harness)).toBe(2);
    expect((await read(harness)).equals(Buffer.concat([large, chunk, chunk, chunk, chunk]))).toBe(true);
  });

  test("reads ranges and parts across appends", async () => {
    const harness = await startWithBucket();
    await append(harness, 0, large);
    await append(harness, 200_000, "tail");
    await append(harness, 200_004, "s and heads");
    expect((await read(harness, { range: "bytes=199998-200009" })).toString("latin1")).toBe(
      `${large.subarray(-2).toString("latin1")}tails and `,
    );
    expect((await read(harness, { partNumber: 2 })).toString()).toBe("tail");
    expect((await head(harness, { partNumber: 3 })).partsCount).toBe(3);
    const { objectParts } = await harness.client.getObjectAttributes(
      { ...log, objectAttributes: ["ObjectParts"] },
      as(alice),
    );
    expect(objectParts?.parts.map(({ partNumber, size }) => [partNumber, size])).toEqual([
      [1, 200_000n],
      [2, 4n],
      [3, 11n],
    ]);
  });

  const sha256 = (bytes: Uint8Array | string): Buffer => createHash("sha256").update(bytes).digest();
  const composite = `${sha256(Buffer.concat([sha256("me"), sha256("ow")])).toString("base64")}-2`;
  test.each([
    // the object's algorithm, that of the append, the checksum of "meow"
    ["CRC32", "SHA256", { checksumCrc32: "ihBq/g==", checksumType: "FULL_OBJECT" }],
    ["CRC32C", "CRC32", { checksumCrc32c: "u86qsg==", checksumType: "FULL_OBJECT" }],
    ["CRC64NVME", undefined, { checksumCrc64nvme: "8zdqq7WrNzQ=", checksumType: "FULL_OBJECT" }],
    ["SHA256", "CRC32", { checksumSha256: composite, checksumType: "COMPOSITE" }],
  ])("an object with %s and an append with %s have %o", async (algorithm, appended, checksum) => {
    const harness = await startWithBucket();
    await put(harness, { ...log, checksumAlgorithm: algorithm }, "me");
    const members = appended === undefined ? {} : { checksumAlgorithm: appended };
    expect(await append(harness, 2, "ow", members)).toMatchObject(checksum);
    expect(await head(harness)).toMatchObject(checksum);
  });

  test("continues the checksum of parts, and of an object without content", async () => {
    const harness = await startWithBucket();
    await put(harness, { ...log, checksumAlgorithm: "SHA256" }, "");
    expect(await append(harness, 0, "me")).toMatchObject({ checksumSha256: sha256("me").toString("base64") });
    expect(await append(harness, 2, "ow")).toMatchObject({ checksumSha256: composite });
    const three = sha256(Buffer.concat([sha256("me"), sha256("ow"), sha256("!")])).toString("base64");
    expect(await append(harness, 4, "!")).toMatchObject({ checksumSha256: `${three}-3`, checksumType: "COMPOSITE" });
  });

  test("verifies the digests of what is appended alone", async () => {
    const harness = await startWithBucket();
    await append(harness, 0, "purr");
    const checksum = { checksumCrc32: "ihBq/g==" };
    expect(await refusalOf(append(harness, 4, "moo", checksum))).toContain("BAD_DIGEST");
    expect((await append(harness, 4, "meow", { ...checksum, contentLength: 4n })).size).toBe(8n);
  });

  test("has one winner of many at one offset, and loses nothing", async () => {
    const harness = await startWithBucket();
    await append(harness, 0, "0");
    const outcomes = await Promise.all(Array.from({ length: 24 }, () => refusalOf(append(harness, 1, "x"))));
    expect(outcomes.toSorted()).toEqual([...Array.from({ length: 23 }, () => "INVALID_WRITE_OFFSET"), "answered"]);
    expect((await read(harness)).toString()).toBe("0x");
  });

  test("of many creations one succeeds", async () => {
    const harness = await startWithBucket();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => refusalOf(append(harness, 0, "x"))));
    expect(outcomes.filter((outcome) => outcome === "answered")).toHaveLength(1);
    expect((await read(harness)).toString()).toBe("x");
  });

  test("goes on although tags changed, and not where the object was replaced by one of the same size", async () => {
    const harness = await startWithBucket();
    await append(harness, 0, "one");
    async function* slow(between: () => Promise<unknown>): AsyncGenerator<PutInit> {
      yield { ...log, writeOffsetBytes: 3n };
      await between();
      yield { body: Buffer.from("!") };
    }
    const tagging = { tagSet: [{ key: "a", value: "1" }] };
    const send = (between: () => Promise<unknown>) => harness.client.putObject(slow(between), as(alice));
    await send(() => harness.client.putObjectTagging({ ...log, tagging }, as(alice)));
    expect(await head(harness)).toMatchObject({ tagCount: 1, contentLength: 4n });
    await put(harness, log, "two");
    expect(await refusalOf(send(() => put(harness, log, "six")))).toBe("CONDITIONAL_REQUEST_CONFLICT");
    expect(await refusalOf(send(() => put(harness, log, "seven")))).toBe("INVALID_WRITE_OFFSET");
    expect(await storedBlobs(harness)).toEqual([[5, 1, true]]);
  });

  test("makes versions that share what was before in a bucket with versioning, and each is whole", async () => {
    const harness = await startWithBucket();
    await put(harness, log, large);
    await setVersioning(harness, "Enabled");
    const first = await append(harness, 200_000, "one");
    const second = await append(harness, 200_003, "two");
    const tails = await Promise.all(
      ["null", first.versionId ?? "", second.versionId ?? ""].map(async (versionId) =>
        (await read(harness, { versionId })).subarray(200_000).toString(),
      ),
    );
    expect(tails).toEqual(["", "one", "onetwo"]);
    expect((await storedBlobs(harness)).toSorted(([one], [other]) => Number(one) - Number(other))).toEqual([
      [3, 1, true],
      [6, 1, true],
      [200_000, 3, false],
    ]);
    await setVersioning(harness, "Suspended");
    expect((await append(harness, 200_006, "three")).versionId).toBe("null");
    expect(await refusalOf(read(harness, { versionId: "null" }))).toBe("answered");
    expect((await read(harness)).subarray(200_000).toString()).toBe("onetwothree");
    await append(harness, 200_011, "!");
    const { versions: listed } = await harness.client.listObjectVersions({ bucket: "photos" }, as(alice));
    expect(listed.map(({ size }) => size)).toEqual([200_012n, 200_006n, 200_003n]);
  });

  test("gives a locked object another version, under the bucket's default and its own members", async () => {
    const harness = await startWithBucket();
    const vault = { bucket: "vault", key: "log" };
    await harness.client.createBucket({ bucket: "vault", objectLockEnabledForBucket: true }, as(alice));
    const first = await put(harness, { ...vault, objectLockLegalHoldStatus: "ON" }, "one");
    const second = await put(harness, { ...vault, writeOffsetBytes: 3n }, "two");
    const statusOf = async (versionId = "") =>
      (await harness.client.headObject({ ...vault, versionId }, as(alice))).objectLockLegalHoldStatus;
    expect([await statusOf(first.versionId), await statusOf(second.versionId)]).toEqual(["ON", undefined]);
    expect((await get(harness, { ...vault, versionId: first.versionId ?? "" })).body.toString()).toBe("one");
    const deletion = harness.client.deleteObject({ ...vault, versionId: first.versionId ?? "" }, as(alice));
    expect(await refusalOf(deletion)).toContain("OBJECT_LOCKED");
  });

  test("leaves copies of the object as they are, and they it", async () => {
    const harness = await startWithBucket();
    await append(harness, 0, large);
    await append(harness, 200_000, "one");
    const copy = { bucket: "photos", key: "copy" };
    await harness.client.copyObject({ ...copy, copySource: "photos/log" }, as(alice));
    await append(harness, 200_003, "two");
    expect((await get(harness, copy)).body.subarray(200_000).toString()).toBe("one");
    await harness.client.deleteObject(copy, as(alice));
    expect((await read(harness)).subarray(200_000).toString()).toBe("onetwo");
    await harness.client.deleteObject(log, as(alice));
    expect(await storedBlobs(harness)).toEqual([]);
  });

  test("keeps the object's encryption, of which a caller's key is repeated", async () => {
    const harness = await startWithBucket();
    const own = customerKey(7);
    await append(harness, 0, "me", own);
    const answer = await append(harness, 2, "ow", own);
    expect(answer.sseCustomerKeyMd5).toBe(own.sseCustomerKeyMd5);
    expect((await read(harness, own)).toString()).toBe("meow");
    const managed = { ...log, key: "managed", serverSideEncryption: ServerSideEncryption.KMS };
    await put(harness, managed, "me");
    const appended = await put(harness, { ...log, key: "managed", writeOffsetBytes: 2n }, "ow");
    expect(appended.serverSideEncryption).toBe(ServerSideEncryption.KMS);
    expect((await get(harness, { bucket: "photos", key: "managed" })).body.toString()).toBe("meow");
  });

  const explained = (header: string) =>
    `INVALID_REQUEST: The ${header} header describes a new object and cannot be used to append to an existing one.`;
  test.each([
    // members, how the object was put, the refusal; in the order in which they are refused
    [{ key: "k".repeat(1025), ifMatch: "x" }, {}, "KEY_TOO_LONG"],
    [{ ifMatch: "x", writeOffsetBytes: 2n }, {}, "PRECONDITION_FAILED"],
    [{ ifNoneMatch: "*", writeOffsetBytes: 2n }, {}, "PRECONDITION_FAILED"],
    [{ key: "other", ifMatch: "*" }, {}, "NO_SUCH_KEY"],
    [{ key: "other", writeOffsetBytes: 3n }, {}, "INVALID_WRITE_OFFSET"],
    [{ writeOffsetBytes: 2n, acl: "private" }, { storageClass: "GLACIER" }, "INVALID_WRITE_OFFSET"],
    [{ writeOffsetBytes: -1n }, {}, "INVALID_WRITE_OFFSET"],
    [{ writeOffsetBytes: 0n }, {}, "INVALID_WRITE_OFFSET"],
    [
      { acl: "private" },
      { storageClass: "GLACIER" },
      "INVALID_OBJECT_STATE: The operation is not valid for the object's storage class",
    ],
    [{ acl: "private", tagging: "a=1" }, {}, explained("x-svc-acl")],
    [{ tagging: "a=1", metadata: { a: "b" } }, {}, explained("x-svc-tagging")],
    [{ cacheControl: "no-cache" }, {}, explained("Cache-Control")],
    [{ metadata: { a: "b" }, contentEncoding: "gzip" }, {}, explained("x-svc-meta-a")],
    [{ contentEncoding: "gzip", storageClass: "ONEZONE_IA" }, {}, explained("Content-Encoding")],
    [{ storageClass: "ONEZONE_IA", objectLockMode: "GOVERNANCE" }, {}, explained("x-svc-storage-class")],
    [
      { objectLockLegalHoldStatus: "ON", contentLength: 1_000_000n },
      {},
      "INVALID_REQUEST: Bucket is missing Object Lock Configuration",
    ],
    [{ contentLength: 1_022n, ...customerKey(1) }, {}, "ENTITY_TOO_LARGE"],
    [{ ...customerKey(1) }, {}, "ENCRYPTION_TYPE_MISMATCH"],
    [{ serverSideEncryption: ServerSideEncryption.KMS }, {}, "ENCRYPTION_TYPE_MISMATCH"],
    [
      { serverSideEncryption: ServerSideEncryption.AES256 },
      { serverSideEncryption: ServerSideEncryption.KMS },
      "ENCRYPTION_TYPE_MISMATCH",
    ],
    [{}, customerKey(1), "ENCRYPTION_TYPE_MISMATCH"],
    [customerKey(2), customerKey(1), "ACCESS_DENIED"],
    [{ contentLength: 5n }, {}, "INCOMPLETE_BODY"],
  ] satisfies [PutInit, PutInit, string][])(
    "refuses %o of an object with %o with %s",
    async (members, before, refusal) => {
      const options: HarnessOptions = { limits: { objectBytesMax: 1024 } };
      const harness = await startWithBucket(options);
      await put(harness, { ...log, ...before }, "one");
      expect(await refusalOf(append(harness, 3, "two", members))).toBe(refusal);
      const { contents } = await harness.client.listObjectsV2({ bucket: "photos" }, as(alice));
      expect(contents.map(({ key, size }) => [key, size])).toEqual([["log", 3n]]);
    },
  );

  test("refuses who may not put, and an object with as many parts as it can have", async () => {
    const harness = await startWithBucket();
    await append(harness, 0, "one");
    const request = { ...log, writeOffsetBytes: 3n };
    expect(await refusalOf(put(harness, request, "two", {}, as(bob)))).toBe("ACCESS_DENIED");
    await harness.opened.app.store.transact(async (transaction) => {
      const [entry] = await transaction.list(versions, { limit: 1 });
      const part = create(PartBoundaryRecordSchema, { sizeBytes: 0n });
      const parts = Array.from({ length: limits.partsPerObjectMax }, () => part);
      if (entry !== undefined) transaction.put(versions, entry.key, { ...entry.value, parts });
    });
    expect(await refusalOf(append(harness, 3, "two"))).toContain("TOO_MANY_PARTS");
    expect(await metadataOf(append(harness, 3, "two"))).toEqual({ max_parts: "10000" });
  });
});
