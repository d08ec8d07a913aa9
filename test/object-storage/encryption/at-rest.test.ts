import { randomBytes } from "node:crypto";
import { readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import type { Harness } from "../harness.ts";
import { alice, as, get, put, startHarness, startWithBucket } from "../harness.ts";
import { cat, ownKey, sourceKey } from "./keys.ts";

const large = randomBytes(600_000);

/** Every file of the service, joined. */
const everythingOnDisk = async ({ directory }: Harness): Promise<Buffer> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Buffer.concat(await Promise.all(paths.map((path) => readFile(path))));
};

describe("content at rest", () => {
  test("is found neither in the database nor in a file, nor is a caller's key", async () => {
    const harness = await startWithBucket();
    const small = "the quick brown fox ".repeat(20);
    const key = ownKey(0x41);
    await put(harness, { ...cat, key: "small" }, small);
    await put(harness, { ...cat, key: "large" }, small.repeat(1_000));
    await put(harness, { ...cat, key: "own", ...key }, small);
    await put(harness, { ...cat, key: "managed", serverSideEncryption: ServerSideEncryption.KMS }, small.repeat(1_000));
    const copy = { bucket: "photos", key: "copy", copySource: "photos/own", ...sourceKey(0x41) };
    await harness.client.copyObject(copy, as(alice));
    const requests = [{ key: "small" }, { key: "large" }, { key: "own", ...key }, { key: "managed" }, { key: "copy" }];
    const read: Buffer[] = [];
    for (const request of requests) read.push((await get(harness, { bucket: "photos", ...request })).body);
    await harness.stop();

    const stored = await everythingOnDisk(harness);

    expect(read.map((body) => body.length)).toEqual([400, 400_000, 400, 400_000, 400]);
    expect(read.every((body) => body.subarray(0, 20).toString() === "the quick brown fox ")).toBe(true);
    // Names are stored as they are, so the search can find something.
    expect(stored.includes("managed")).toBe(true);
    expect(stored.includes("quick")).toBe(false);
    expect(stored.includes(Buffer.alloc(32, 0x41))).toBe(false);
    expect(stored.includes(key.sseCustomerKey)).toBe(false);
    expect(stored.includes(key.sseCustomerKeyMd5)).toBe(false);
  });

  test("is read after a restart, which fails without the master keys", async () => {
    const harness = await startWithBucket();
    await put(harness, cat, large);
    await harness.stop();
    const { directory } = harness;
    await rename(join(directory, "master.keys"), join(directory, "aside.keys"));
    await expect(startHarness({ directory })).rejects.toThrow("master.keys is missing");
    await rename(join(directory, "aside.keys"), join(directory, "master.keys"));

    const again = await startHarness({ directory });

    expect((await get(again, cat)).body.equals(large)).toBe(true);
  });
});
