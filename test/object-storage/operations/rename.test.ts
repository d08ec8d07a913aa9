import { createHash } from "node:crypto";

import { describe, expect, test } from "vitest";

import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import { blobs } from "../../../services/object-storage/store/layout.ts";
import { policyOf, outcomeOf } from "../access/in-process.ts";
import { userCaller } from "../../../services/kit/identity/caller.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { GetInit, Harness, HarnessOptions } from "../harness.ts";
import { alice, as, get, put, refusalOf, startWithBucket } from "../harness.ts";

const bucket = "photos";
const startMs = Date.UTC(2026, 0, 2);
const hourMs = 3_600_000;

const start = async (options: HarnessOptions = {}) => {
  const clock = new FakeClock(startMs);
  return { clock, harness: await startWithBucket({ clock, ...options }) };
};

type Members = Omit<Parameters<Harness["client"]["renameObject"]>[0], "$typeName" | "$unknown">;

const rename = ({ client }: Harness, renameSource: string, key: string, members: Partial<Members> = {}) =>
  client.renameObject({ bucket, key, renameSource, ...members }, as(alice));

const keys = async ({ client }: Harness) =>
  (await client.listObjectsV2({ bucket }, as(alice))).contents.map(({ key }) => key);

const read = async (harness: Harness, key: string, members: Partial<GetInit> = {}) =>
  (await get(harness, { bucket, key, ...members })).body.toString();

describe("renameObject", () => {
  test("gives an object another key and keeps everything else, its date and its one copy of the content too", async () => {
    const { harness, clock } = await start();
    const body = Buffer.alloc(300_000, "x");
    const attributes = {
      contentType: "image/png",
      metadata: { by: "ann" },
      tagging: "a=1",
      storageClass: "GLACIER_IR",
    };
    await put(harness, { bucket, key: "a/old é", ...attributes }, body);
    const before = await harness.client.headObject({ bucket, key: "a/old é" }, as(alice));
    clock.advance(hourMs);
    await rename(harness, encodeURIComponent("a/old é"), "b/new");
    expect(await keys(harness)).toEqual(["b/new"]);
    expect(await harness.client.headObject({ bucket, key: "b/new" }, as(alice))).toEqual(before);
    expect((await get(harness, { bucket, key: "b/new" })).body.equals(body)).toBe(true);
    const stored = await harness.opened.app.store.read((reader) => reader.list(blobs, { limit: 10 }));
    expect(stored.map(({ value }) => value.references)).toEqual([1n]);
  });

  test("replaces an object that has the key, and frees its content", async () => {
    const { harness } = await start();
    await put(harness, { bucket, key: "a" }, "one");
    await put(harness, { bucket, key: "b" }, "two");
    await rename(harness, "a", "b");
    expect(await read(harness, "b")).toBe("one");
    const stored = await harness.opened.app.store.read((reader) => reader.list(blobs, { limit: 10 }));
    expect(stored).toHaveLength(1);
  });

  test("makes a version and a delete marker in a bucket with versioning", async () => {
    const { harness } = await start();
    await harness.client.putBucketVersioning({ bucket, versioningConfiguration: { status: "Enabled" } }, as(alice));
    const { versionId } = await put(harness, { bucket, key: "a" }, "one");
    await put(harness, { bucket, key: "b" }, "two");
    await rename(harness, "a", "b");
    expect([await read(harness, "b"), await read(harness, "a", { versionId: versionId ?? "" })]).toEqual([
      "one",
      "one",
    ]);
    const { versions, deleteMarkers } = await harness.client.listObjectVersions({ bucket }, as(alice));
    expect(versions.map(({ key, isLatest }) => [key, isLatest])).toEqual([
      ["a", false],
      ["b", true],
      ["b", false],
    ]);
    expect(deleteMarkers.map(({ key, isLatest }) => [key, isLatest])).toEqual([["a", true]]);
  });

  test("moves an object under a caller's key, which need not be given", async () => {
    const { harness } = await start();
    const key = Buffer.alloc(32, 7);
    const own = {
      sseCustomerAlgorithm: "AES256",
      sseCustomerKey: key.toString("base64"),
      sseCustomerKeyMd5: createHash("md5").update(key).digest("base64"),
    };
    await put(harness, { bucket, key: "a", ...own }, "secret");
    await rename(harness, "a", "b");
    expect(await read(harness, "b", own)).toBe("secret");
    expect(await refusalOf(get(harness, { bucket, key: "b" }))).toContain("INVALID_REQUEST");
  });

  test("may be repeated with its token, until another object has the key", async () => {
    const { harness } = await start();
    await put(harness, { bucket, key: "a" }, "one");
    const again = () => refusalOf(rename(harness, "a", "b", { clientToken: "t" }));
    expect([await again(), await again()]).toEqual(["answered", "answered"]);
    expect(await refusalOf(rename(harness, "a", "b", { clientToken: "u" }))).toContain("NO_SUCH_KEY");
    expect(await refusalOf(rename(harness, "a", "b"))).toContain("NO_SUCH_KEY");
    await put(harness, { bucket, key: "b" }, "two");
    expect(await again()).toContain("NO_SUCH_KEY");
  });

  test("of one object to many keys at once succeeds for one", async () => {
    const { harness } = await start();
    await put(harness, { bucket, key: "a" }, "one");
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, (_each, index) => refusalOf(rename(harness, "a", `to/${index}`))),
    );
    expect(outcomes.filter((outcome) => outcome === "answered")).toHaveLength(1);
    expect(await keys(harness)).toHaveLength(1);
  });

  test.each([
    // source, key, members, reason; in the order in which they are refused
    ["a", "k".repeat(1025), {}, "KEY_TOO_LONG"],
    ["%zz", "b", {}, "INVALID_ARGUMENT"],
    ["%61", "a", {}, "INVALID_REQUEST"],
    ["none", "b", { sourceIfMatch: "x" }, "NO_SUCH_KEY"],
    ["a", "b", { sourceIfMatch: '"x"' }, "PRECONDITION_FAILED"],
    ["a", "b", { sourceIfNoneMatch: "*" }, "PRECONDITION_FAILED"],
    ["a", "b", { sourceIfModifiedSince: timestampFromMs(startMs) }, "PRECONDITION_FAILED"],
    ["a", "b", { sourceIfUnmodifiedSince: timestampFromMs(startMs - hourMs) }, "PRECONDITION_FAILED"],
    ["a", "b", { destinationIfNoneMatch: "*" }, "PRECONDITION_FAILED"],
    ["a", "b", { destinationIfMatch: '"x"' }, "PRECONDITION_FAILED"],
    ["a", "b", { destinationIfUnmodifiedSince: timestampFromMs(startMs - hourMs) }, "PRECONDITION_FAILED"],
    ["a", "c", { destinationIfMatch: "*" }, "NO_SUCH_KEY"],
    ["a", "c", { destinationIfNoneMatch: "*" }, "answered"],
    ["a", "b", { destinationIfMatch: "*", sourceIfMatch: "*" }, "answered"],
  ] as const)("from %.8s to %.8s with %o is %s", async (source, key, members, reason) => {
    const { harness } = await start();
    await put(harness, { bucket, key: "a" }, "one");
    await put(harness, { bucket, key: "b" }, "two");
    expect((await refusalOf(rename(harness, source, key, members))).split(":")[0]).toBe(reason);
    expect(await keys(harness)).toContain(reason === "answered" ? key : "a");
  });

  test.each([
    // what a user may do, outcome
    [["PutObject", "GetObject", "DeleteObject"], "answered"],
    [["PutObject", "GetObject"], "ACCESS_DENIED"],
    [["PutObject", "DeleteObject"], "ACCESS_DENIED"],
    [["GetObject", "DeleteObject"], "ACCESS_DENIED"],
  ])("by a user who may %j is %s", async (actions, outcome) => {
    const { harness } = await start();
    await put(harness, { bucket, key: "a" }, "one");
    const statement = {
      Effect: "Allow",
      Action: actions.map((each) => `s3:${each}`),
      Resource: "arn:aws:s3:::photos/*",
    };
    const caller = userCaller(alice, "carol", [policyOf(statement)]);
    const request = { bucket, key: "b", renameSource: "a" };
    expect(await outcomeOf(harness.opened.app, "renameObject", request, caller)).toBe(outcome);
  });
});
