import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  CreateBucketCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  waitUntilObjectExists,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";

const Bucket = "zoes-files";
/** Keys that paths, queries and XML trip over, in the order of a listing. `fetch` itself resolves dot segments. */
const oddKeys = [
  "#hash",
  "//two",
  "/lead",
  "?acl",
  "a b",
  "a%20b",
  "a&b=c",
  "a+b",
  "<x>&'\"",
  "trail/",
  "ü/日本",
  "😀",
].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

let dataDir: string;
let system: System;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-files-"));
  system = await startSystem(dataDir);
  await system.clients.objectStorage.send(new CreateBucketCommand({ Bucket }));
});
afterAll(async () => {
  await system.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const sha256 = (data: Uint8Array | string): string => createHash("sha256").update(data).digest("hex");

/** All keys with a prefix, page by page. */
const keysOf = async (Prefix: string, pageSize: number): Promise<(string | undefined)[]> => {
  const keys: (string | undefined)[] = [];
  for await (const { Contents = [] } of paginateListObjectsV2(
    { client: system.clients.objectStorage, pageSize },
    { Bucket, Prefix },
  ))
    keys.push(...Contents.map(({ Key }) => Key));
  return keys;
};

describe("a person with files", () => {
  test("uploads a large one in parts that go side by side, and reads any piece of it", async () => {
    const { objectStorage } = system.clients;
    const Body = Buffer.alloc(12_000_000, "0123456789abcdef");
    const progress: number[] = [];
    const upload = new Upload({
      client: objectStorage,
      params: { Bucket, Key: "film", Body, ContentType: "video/x-test", Metadata: { who: "zoe" } },
      partSize: 5 * 1024 * 1024,
      queueSize: 3,
    });
    upload.on("httpUploadProgress", ({ loaded }) => progress.push(loaded ?? 0));
    await upload.done();
    expect(progress.at(-1)).toBe(12_000_000);
    await waitUntilObjectExists({ client: objectStorage, maxWaitTime: 10 }, { Bucket, Key: "film" });

    const whole = await objectStorage.send(new GetObjectCommand({ Bucket, Key: "film" }));
    expect(whole).toMatchObject({ ContentType: "video/x-test", Metadata: { who: "zoe" }, ContentLength: 12_000_000 });
    expect(sha256((await whole.Body?.transformToByteArray()) ?? "")).toBe(sha256(Body));
    const piece = await objectStorage.send(
      new GetObjectCommand({ Bucket, Key: "film", Range: "bytes=11999996-", IfMatch: whole.ETag }),
    );
    expect([piece.ContentRange, await piece.Body?.transformToString()]).toEqual([
      "bytes 11999996-11999999/12000000",
      "cdef",
    ]);
    const second = await objectStorage.send(new HeadObjectCommand({ Bucket, Key: "film", PartNumber: 3 }));
    expect([second.PartsCount, second.ContentLength]).toEqual([3, 1_514_240]);
  });

  test("gives away links to upload and to read, whatever the key is called", async () => {
    const { objectStorage } = system.clients;
    for (const name of oddKeys) {
      const Key = `odd/${name}`;
      const upload = await getSignedUrl(objectStorage, new PutObjectCommand({ Bucket, Key }), { expiresIn: 60 });
      const stored = await fetch(upload, { method: "PUT", body: name });
      const link = await getSignedUrl(objectStorage, new GetObjectCommand({ Bucket, Key }), { expiresIn: 60 });
      const read = await fetch(link);
      expect([Key, stored.status, read.status, await read.text()]).toEqual([Key, 200, 200, name]);
      const misused = await fetch(link, { method: "DELETE" });
      expect([misused.status, (await misused.text()).includes("<Code>SignatureDoesNotMatch</Code>")]).toEqual([
        403,
        true,
      ]);
    }
    const expected = oddKeys.map((name) => `odd/${name}`);
    expect(await keysOf("odd/", 3)).toEqual(expected);
    const deleted = await objectStorage.send(
      new DeleteObjectsCommand({ Bucket, Delete: { Objects: expected.map((Key) => ({ Key })) } }),
    );
    expect([deleted.Deleted?.length, deleted.Errors]).toEqual([oddKeys.length, undefined]);
    expect(await keysOf("odd/", 1000)).toEqual([]);
  });

  test("stores more of them than the gateway has connections, many at a time", async () => {
    const { objectStorage } = system.clients;
    const names = Array.from({ length: 1_100 }, (_, index) => `many/${String(index).padStart(5, "0")}`);
    const waiting = names.values();
    const worker = async (): Promise<void> => {
      for (const Key of waiting) await objectStorage.send(new PutObjectCommand({ Bucket, Key, Body: Key }));
    };
    await Promise.all(Array.from({ length: 32 }, worker));
    expect(await keysOf("many/", 1000)).toEqual(names);
  });
});
