import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import type { PutObjectReplicaRequestSchema } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, get, put, refusalOf, startHarness, startWithBucket } from "../harness.ts";
import { crc64Of, idAt } from "../support/versions.ts";

type ReplicaInit = MessageInitShape<typeof PutObjectReplicaRequestSchema>;

const minute = 60_000;
const content = Buffer.alloc(150_000, "meow;");

const at = (ms: number) => ({ seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 });

/** A replica of a version that was made at an instant, less its content. */
const versionOf = (ms: number, further: object = {}) => ({
  bucket: "photos",
  key: "cat.jpg",
  versionId: idAt(ms),
  lastModified: at(ms),
  eTag: "0123456789abcdef0123456789abcdef-2",
  contentLength: BigInt(content.length),
  ...further,
});

const markerOf = (ms: number) => ({
  bucket: "photos",
  key: "cat.jpg",
  versionId: idAt(ms),
  lastModified: at(ms),
  deleteMarker: true,
});

const send = async ({ client }: Harness, head: ReplicaInit, body = Buffer.of(), last: ReplicaInit = {}, by = alice) => {
  async function* messages(): AsyncGenerator<ReplicaInit> {
    yield head;
    for (let start = 0; start < body.length; start += 65_536) yield { body: body.subarray(start, start + 65_536) };
    yield last;
  }
  return (await client.putObjectReplica(messages(), as(by))).stored;
};

/** Sends a replica with its content and the checksum of it after it. */
const sendWhole = async (harness: Harness, head: ReplicaInit): Promise<boolean> =>
  send(harness, head, content, { checksumCrc64nvme: await crc64Of(content) });

const keep = async (harness: Harness): Promise<Harness> => {
  const versioningConfiguration = { status: "Enabled" };
  await harness.client.putBucketVersioning({ bucket: "photos", versioningConfiguration }, as(alice));
  return harness;
};

/** A service with Alice's bucket `photos`, which keeps versions, and its clock. */
const start = async (options: { readonly directory?: string } = {}) => {
  const clock = new FakeClock();
  return { clock, harness: await keep(await startWithBucket({ clock, ...options })) };
};

const idsOf = async ({ client }: Harness): Promise<(string | undefined)[]> => {
  const { versions, deleteMarkers } = await client.listObjectVersions({ bucket: "photos" }, as(alice));
  return [...versions, ...deleteMarkers].map(({ versionId, isLatest }) => `${versionId}${isLatest ? " latest" : ""}`);
};

describe("putObjectReplica", () => {
  test("stores a version under its id, with its date, its ETag, its parts, its checksum and what describes it", async () => {
    const { clock, harness } = await start();
    const madeMs = clock.now() - 5 * minute;
    const sha256 = { algorithm: "SHA256", type: "COMPOSITE", value: Buffer.alloc(32, 7) };
    const part = (size: number, fill: number) => ({ size: BigInt(size), checksum: Buffer.alloc(32, fill) });
    const head = versionOf(madeMs, {
      checksum: sha256,
      parts: [part(100_000, 1), part(50_000, 2)],
      contentType: "image/jpeg",
      cacheControl: "no-cache",
      metadata: { colour: "red" },
      storageClass: "STANDARD_IA",
      tagging: "kind=cat",
    });
    expect(await sendWhole(harness, head)).toBe(true);
    const read = await get(harness, { bucket: "photos", key: "cat.jpg", partNumber: 2, checksumMode: "ENABLED" });
    expect(read.body.equals(content.subarray(100_000))).toBe(true);
    expect(read.head).toMatchObject({
      versionId: idAt(madeMs),
      lastModified: at(madeMs),
      eTag: '"0123456789abcdef0123456789abcdef-2"',
      contentType: "image/jpeg",
      cacheControl: "no-cache",
      metadata: { colour: "red" },
      storageClass: "STANDARD_IA",
      tagCount: 1,
      partsCount: 2,
      checksumSha256: Buffer.alloc(32, 2).toString("base64"),
      replicationStatus: "REPLICA",
    });
    const whole = await harness.client.headObject(
      { bucket: "photos", key: "cat.jpg", checksumMode: "ENABLED" },
      as(alice),
    );
    expect([whole.checksumSha256, whole.checksumType]).toEqual([
      `${Buffer.alloc(32, 7).toString("base64")}-2`,
      "COMPOSITE",
    ]);
  });

  test("of a version without a checksum keeps the one that came with the content", async () => {
    const { clock, harness } = await start();
    await sendWhole(harness, versionOf(clock.now()));
    const head = await harness.client.headObject(
      { bucket: "photos", key: "cat.jpg", checksumMode: "ENABLED" },
      as(alice),
    );
    expect(head).toMatchObject({ checksumCrc64nvme: await crc64Of(content), checksumType: "FULL_OBJECT" });
  });

  test("repeated changes nothing but the tags, and so does one without its content", async () => {
    const { clock, harness } = await start();
    const head = versionOf(clock.now());
    expect(await send(harness, { ...head, contentOmitted: true })).toBe(false);
    await sendWhole(harness, { ...head, tagging: "kind=cat" });
    await sendWhole(harness, { ...head, tagging: "kind=lion", metadata: { other: "yes" } });
    const tags = async () =>
      (await harness.client.getObjectTagging({ bucket: "photos", key: "cat.jpg" }, as(alice))).tagSet.map(
        ({ value }) => value,
      );
    expect([await tags(), await idsOf(harness)]).toEqual([["lion"], [`${head.versionId} latest`]]);
    expect(await send(harness, { ...head, tagging: "kind=tiger", contentOmitted: true })).toBe(true);
    expect(await tags()).toEqual(["tiger"]);
    const read = await get(harness, { bucket: "photos", key: "cat.jpg" });
    expect([read.body.equals(content), read.head.metadata]).toEqual([true, {}]);
  });

  test("in any order has the newest version current, and a delete marker hides what is older", async () => {
    const { clock, harness } = await start();
    const [first, second, third] = [clock.now() - 3 * minute, clock.now() - 2 * minute, clock.now() - minute];
    await sendWhole(harness, versionOf(second));
    await sendWhole(harness, versionOf(first));
    expect(await idsOf(harness)).toEqual([`${idAt(second)} latest`, idAt(first)]);
    await send(harness, markerOf(third));
    expect(await idsOf(harness)).toEqual([idAt(second), idAt(first), `${idAt(third)} latest`]);
    expect(await refusalOf(get(harness, { bucket: "photos", key: "cat.jpg" }))).toBe("NO_SUCH_KEY");
  });

  test.each([
    // what came of a clock that is ten minutes ahead, whether the service was started again
    ["a version", false],
    ["a delete marker", false],
    ["a version", true],
    ["a delete marker", true],
  ])(
    "of %s of an instant that is ahead is older than what is written next (after a start: %s)",
    async (what, again) => {
      const directory = await temporaryDirectory();
      const { clock, harness } = await start({ directory });
      const aheadMs = clock.now() + 10 * minute;
      await (what === "a version" ? sendWhole(harness, versionOf(aheadMs)) : send(harness, markerOf(aheadMs)));
      if (again) await harness.stop();
      const next = again ? await startHarness({ clock, directory }) : harness;
      await put(next, { bucket: "photos", key: "cat.jpg" }, "new");
      expect((await get(next, { bucket: "photos", key: "cat.jpg" })).body.toString()).toBe("new");
    },
  );

  test("leaves the null version that a key has, which is older", async () => {
    const clock = new FakeClock();
    const harness = await startWithBucket({ clock });
    await put(harness, { bucket: "photos", key: "cat.jpg" }, "old");
    await keep(harness);
    clock.advance(minute);
    await sendWhole(harness, versionOf(clock.now()));
    expect(await idsOf(harness)).toEqual([`${idAt(clock.now())} latest`, "null"]);
    const old = await get(harness, { bucket: "photos", key: "cat.jpg", versionId: "null" });
    expect(old.body.toString()).toBe("old");
  });

  test.each([
    // what is sent, the refusal; in the order of refusal
    [{ key: "k".repeat(1_025), versionId: "1" }, "KEY_TOO_LONG"],
    [{ versionId: "1", eTag: "?" }, "INVALID_VERSION_ID"],
    [{ versionId: idAt(0).replaceAll("0", "f"), eTag: "?" }, "INVALID_VERSION_ID"],
    [{ aheadMs: 16 * minute, eTag: "?" }, "INVALID_ARGUMENT: The version is of an instant that has not come."],
    [{ lastModified: at(9e12), eTag: "?" }, "INVALID_ARGUMENT: The version is of an instant that has not come."],
    [{ deleteMarker: true, metadata: { a: "\n" } }, "INVALID_ARGUMENT: A delete marker has no content."],
    [{ eTag: "?", metadata: { a: "\n" } }, "INVALID_ARGUMENT: The ETag is not one of an object."],
    [
      { checksum: { algorithm: "SHA256", type: "COMPOSITE", value: Buffer.alloc(4) }, metadata: { a: "\n" } },
      "INVALID_ARGUMENT: The checksum is not one of a known algorithm.",
    ],
    [{ parts: [{ size: 1n }], metadata: { a: "\n" } }, "INVALID_ARGUMENT: The parts are not those of the content."],
    [{ metadata: { a: "\n" }, objectLockMode: "GOVERNANCE" }, "INVALID_ARGUMENT: Header value cannot be represented."],
    [{ storageClass: "WARM", objectLockMode: "GOVERNANCE" }, "INVALID_STORAGE_CLASS"],
    [
      { objectLockMode: "GOVERNANCE", bucket: "plain" },
      "INVALID_ARGUMENT: x-svc-object-lock-retain-until-date and x-svc-object-lock-mode must both be supplied",
    ],
    [
      { bucket: "plain", checksumCrc64nvme: "?" },
      "INVALID_REQUEST: A bucket of replicas must have versioning enabled.",
    ],
    [
      { objectLockLegalHoldStatus: "ON", checksumCrc64nvme: "?" },
      "INVALID_REQUEST: Bucket is missing Object Lock Configuration",
    ],
    [{ checksumCrc64nvme: "?" }, "INVALID_REQUEST: Value for x-svc-checksum-crc64nvme header is invalid."],
    [
      {
        checksum: { algorithm: "CRC32", type: "FULL_OBJECT", value: Buffer.alloc(4) },
        checksumCrc64nvme: "AAAAAAAAAAA=",
      },
      "INVALID_REQUEST: The checksum of the whole content is given twice.",
    ],
    [{ contentLength: 6n * 1024n ** 4n, serverSideEncryption: 2 as const, sseKmsKeyId: "?" }, "ENTITY_TOO_LARGE"],
    [{ contentLength: 3n }, "INCOMPLETE_BODY"],
    [{ checksumCrc64nvme: "AAAAAAAAAAA=" }, "BAD_DIGEST"],
    [{ checksum: { algorithm: "CRC32", type: "FULL_OBJECT", value: Buffer.alloc(4) } }, "BAD_DIGEST"],
    [{}, "INVALID_REQUEST: A replica needs a checksum of its whole content."],
  ])("of %o is refused, and leaves nothing: %s", async (what, refusal) => {
    const { aheadMs = 0, ...further } = what as ReplicaInit & { readonly aheadMs?: number };
    const { clock, harness } = await start();
    await harness.client.createBucket({ bucket: "plain" }, as(alice));
    const outcome = await refusalOf(send(harness, versionOf(clock.now() + aheadMs, further), content));
    expect(outcome.slice(0, refusal.length)).toBe(refusal);
    expect(await idsOf(harness)).toEqual([]);
  });

  test("of an id whose place another version of the key has is refused, and leaves that one", async () => {
    const { clock, harness } = await start();
    const { versionId = "" } = await put(harness, { bucket: "photos", key: "cat.jpg" }, "mine");
    const sameInstant = versionId.slice(0, 14) + "f".repeat(18);
    expect(await refusalOf(sendWhole(harness, versionOf(clock.now(), { versionId: sameInstant })))).toBe(
      "INVALID_REQUEST: Another version of the key was made at the same instant.",
    );
    expect((await get(harness, { bucket: "photos", key: "cat.jpg" })).body.toString()).toBe("mine");
  });

  test.each([
    // what Bob may do, what he sends, the outcome
    [["ReplicateObject"], {}, "stored"],
    [["PutObject", "ReplicateDelete", "ReplicateTags"], {}, "ACCESS_DENIED"],
    [["ReplicateObject"], { tagging: "kind=cat" }, "ACCESS_DENIED"],
    [["ReplicateObject", "ReplicateTags"], { tagging: "kind=cat" }, "stored"],
    [["ReplicateObject"], { deleteMarker: true }, "ACCESS_DENIED"],
    [["ReplicateDelete"], { deleteMarker: true }, "stored"],
  ])("by who may %j of %o ends as %s", async (actions, further, outcome) => {
    const { clock, harness } = await start();
    const policy = JSON.stringify({
      Version: "2012-10-17",
      Statement: [
        {
          Effect: "Allow",
          Principal: { AWS: bob },
          Action: actions.map((action) => `s3:${action}`),
          Resource: "arn:aws:s3:::photos/*",
        },
      ],
    });
    await harness.client.putBucketPolicy({ bucket: "photos", policy }, as(alice));
    const isMarker = "deleteMarker" in further;
    const head = isMarker ? markerOf(clock.now()) : versionOf(clock.now(), further);
    const last = isMarker ? {} : { checksumCrc64nvme: await crc64Of(content) };
    const sent = send(harness, head, isMarker ? Buffer.of() : content, last, bob);
    expect(
      await sent.then(
        () => "stored",
        () => refusalOf(sent),
      ),
    ).toBe(outcome);
    expect(await idsOf(harness)).toHaveLength(outcome === "stored" ? 1 : 0);
  });
});
