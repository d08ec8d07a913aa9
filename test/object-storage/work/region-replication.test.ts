import { describe, expect, test } from "vitest";

import { seededRandom } from "../../kit/store/seeded-random.ts";
import { eventually } from "../../support/eventually.ts";
import { rounds } from "../../support/rounds.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { alice, as, bob, get, put, refusalOf, startHarness } from "../harness.ts";
import type { Region } from "../support/region.ts";
import { startRegion } from "../support/region.ts";
import { accountsWith, allowed, inBucket, keep, keptOf, newer, replicateBy, statusOf } from "../support/replication.ts";

const inWest = { createBucketConfiguration: { locationConstraint: "us-west-2" } };

/** Has the versions of one bucket copied into another, with its tags and delete markers. */
const copyTo = (harness: Harness, destination: string, bucket = "photos", further: object = {}) =>
  replicateBy(harness, [newer(destination, { deleteMarkerReplication: { status: "Enabled" }, ...further })], {
    bucket,
  });

/** Changes of the walk. */
const changes = rounds(160, 4_000);

interface Two {
  readonly east: Harness;
  readonly west: Harness;
  readonly region: Region;
}

/** Two services: Alice's bucket `photos` of the first is to be copied into her bucket `kept` of the second. */
const startTwo = async (
  options: HarnessOptions = {},
  { bucket = {}, signer = alice, rule = {} }: { bucket?: object; signer?: string; rule?: object } = {},
): Promise<Two> => {
  const west = await startHarness({ region: "us-west-2" });
  await keep(west, "kept", { ...inWest, ...bucket });
  const region = await startRegion("us-west-2", signer);
  region.serve(west, ["kept"]);
  const regions = { "us-west-2": region.endpoint };
  const east = await startHarness({ accounts: accountsWith(allowed), regions, ...options });
  await keep(east, "photos", bucket);
  await copyTo(east, "kept", "photos", rule);
  return { east, west, region };
};

const until = (east: Harness, key: string, status: string): Promise<true> =>
  eventually(async () => (await statusOf(east, key)) === status, `${key} is ${status}`);

describe("a version that a rule copies into a bucket of another region", () => {
  test("is there as it is, and calls are signed with the key of that region", async () => {
    const { east, west, region } = await startTwo();
    const head = { key: "cat.jpg", metadata: { colour: "red" }, tagging: "kind=cat", contentType: "image/jpeg" };
    const body = Buffer.alloc(300_000, "meow");
    await put(east, { bucket: "photos", ...head }, body);
    await put(east, { bucket: "photos", key: "empty" }, "");
    await until(east, "cat.jpg", "COMPLETED");
    await until(east, "empty", "COMPLETED");
    expect(await keptOf(west)).toEqual(await keptOf(east, "photos"));
    const read = (harness: Harness, bucket: string) =>
      get(harness, { bucket, key: "cat.jpg", checksumMode: "ENABLED" });
    const { replicationStatus: _ours, ...original } = (await read(east, "photos")).head;
    const replica = await read(west, "kept");
    const { replicationStatus, ...shown } = replica.head;
    expect(shown).toEqual(original);
    expect([replica.body.equals(body), replicationStatus]).toEqual([true, "REPLICA"]);
    const scope = /^AWS4-HMAC-SHA256 Credential=AKIAEAST\/\d{8}\/us-west-2\/s3\/aws4_request, SignedHeaders=host;/;
    expect(region.signatures.every((each) => scope.test(each))).toBe(true);
    expect(region.signatures).toHaveLength(3);
  });

  test("keeps its lock, but for a retention that has ended", async () => {
    const lockable = { objectLockEnabledForBucket: true };
    const { east, west, region } = await startTwo({}, { bucket: lockable });
    region.behave("busy");
    const second = (ahead: number) => ({ seconds: BigInt(Math.floor(Date.now() / 1000) + ahead), nanos: 0 });
    const lock = { objectLockMode: "COMPLIANCE", objectLockLegalHoldStatus: "ON" };
    await put(east, { bucket: "photos", key: "long", ...lock, objectLockRetainUntilDate: second(86_400) }, "1");
    await put(east, { bucket: "photos", key: "short", ...lock, objectLockRetainUntilDate: second(2) }, "2");
    await eventually(async () => {
      const { objectLockRetainUntilDate: ended } = await east.client.headObject(
        { bucket: "photos", key: "short" },
        as(alice),
      );
      return Number(ended?.seconds) * 1000 < Date.now();
    }, "the short retention has ended");
    region.behave("serving");
    await until(east, "long", "COMPLETED");
    await until(east, "short", "COMPLETED");
    const lockOf = async (key: string) => {
      const replica = await west.client.headObject({ bucket: "kept", key }, as(alice));
      return [replica.objectLockMode, replica.objectLockLegalHoldStatus];
    };
    expect([await lockOf("long"), await lockOf("short")]).toEqual([
      ["COMPLIANCE", "ON"],
      [undefined, "ON"],
    ]);
  });

  test("under a managed key is there under the key that the rule names, in its context", async () => {
    const keyArn = `arn:aws:kms:us-west-2:${alice}:alias/kept`;
    const rule = {
      sourceSelectionCriteria: { sseKmsEncryptedObjects: { status: "Enabled" } },
      destination: { bucket: inBucket("kept"), encryptionConfiguration: { replicaKmsKeyId: keyArn } },
    };
    const accounts = accountsWith([...allowed, "kms:Decrypt", "kms:Encrypt"]);
    const { east, west } = await startTwo({ accounts }, { rule });
    const sseKmsEncryptionContext = Buffer.from('{"of":"cats"}').toString("base64");
    const managed = { serverSideEncryption: 2 as const, sseKmsKeyId: "alias/photos", sseKmsEncryptionContext };
    await put(east, { bucket: "photos", key: "cat.jpg", ...managed, bucketKeyEnabled: true }, "meow");
    await until(east, "cat.jpg", "COMPLETED");
    const replica = await get(west, { bucket: "kept", key: "cat.jpg" });
    expect([replica.body.toString(), replica.head.sseKmsKeyId]).toEqual(["meow", keyArn]);
    expect(replica.head).toMatchObject({ serverSideEncryption: 2, bucketKeyEnabled: true });
  });

  test("is copied once the region can be reached and has room again", async () => {
    const { east, west, region } = await startTwo();
    for (const behaviour of ["unreachable", "busy"] as const) {
      region.behave(behaviour);
      await put(east, { bucket: "photos", key: behaviour }, "meow");
      const before = east.opened.jobs.stats().retried;
      await eventually(() => east.opened.jobs.stats().retried > before, "it was tried in vain");
      expect(await statusOf(east, behaviour)).toBe("PENDING");
    }
    region.behave("serving");
    await until(east, "unreachable", "COMPLETED");
    await until(east, "busy", "COMPLETED");
    expect(await keptOf(west)).toHaveLength(2);
  });

  test("is copied after the next start if it was answered before", async () => {
    const directory = await temporaryDirectory();
    const { east, west, region } = await startTwo({ directory });
    await east.opened.jobs.stop();
    await put(east, { bucket: "photos", key: "cat.jpg" }, "meow");
    await east.stop();
    const regions = { "us-west-2": region.endpoint };
    const again = await startHarness({ accounts: accountsWith(allowed), regions, directory });
    await until(again, "cat.jpg", "COMPLETED");
    expect(await keptOf(west)).toHaveLength(1);
  });

  test.each([
    ["the role may not read versions", { accounts: accountsWith(["s3:Replicate*"]) }, {}],
    ["the role may not store replicas", { accounts: accountsWith(["s3:GetObjectVersionForReplication"]) }, {}],
    ["who signs may not store replicas", {}, { signer: bob }],
    ["the rule names another owner", {}, { rule: { destination: { bucket: inBucket("kept"), account: bob } } }],
  ])("has FAILED if %s", async (_why, options, parts) => {
    const { east, west } = await startTwo(options, parts);
    await put(east, { bucket: "photos", key: "cat.jpg" }, "meow");
    await until(east, "cat.jpg", "FAILED");
    expect(await keptOf(west)).toEqual([]);
  });

  test("has FAILED if the bucket keeps no versions any more, or it is under a key of its caller", async () => {
    const { east, west } = await startTwo();
    const key = Buffer.alloc(32, 1);
    const { createHash } = await import("node:crypto");
    const own = {
      sseCustomerAlgorithm: "AES256",
      sseCustomerKey: key.toString("base64"),
      sseCustomerKeyMd5: createHash("md5").update(key).digest("base64"),
    };
    await put(east, { bucket: "photos", key: "own", ...own }, "meow");
    const ownStatus = async () =>
      (await east.client.headObject({ bucket: "photos", key: "own", ...own }, as(alice))).replicationStatus;
    await eventually(async () => (await ownStatus()) === "FAILED", "it has failed");
    const versioningConfiguration = { status: "Suspended" };
    await west.client.putBucketVersioning({ bucket: "kept", versioningConfiguration }, as(alice));
    await put(east, { bucket: "photos", key: "cat.jpg" }, "meow");
    await until(east, "cat.jpg", "FAILED");
    expect(await keptOf(west)).toEqual([]);
  });

  test("of a region that does not answer holds up no copy within the region", async () => {
    const { east, region } = await startTwo();
    region.behave("hanging");
    for (let number = 0; number < 40; number += 1) await put(east, { bucket: "photos", key: `far/${number}` }, "x");
    await keep(east, "others");
    await keep(east, "near");
    await copyTo(east, "near", "others");
    await put(east, { bucket: "others", key: "cat.jpg" }, "meow");
    await eventually(async () => (await keptOf(east, "near")).length === 1, "the copy is near");
    expect(await statusOf(east, "far/0")).toBe("PENDING");
  });
});

test("two regions that copy to each other end with the same versions, of which the same are current", async () => {
  const accounts = accountsWith(allowed);
  const [eastAt, westAt] = [await startRegion("us-east-1"), await startRegion("us-west-2")];
  const start = async (region: string, other: Region): Promise<Harness> =>
    startHarness({ accounts, region, regions: { [other.endpoint.region]: other.endpoint } });
  const [east, west] = [await start("us-east-1", westAt), await start("us-west-2", eastAt)];
  eastAt.serve(east, ["photos"]);
  westAt.serve(west, ["kept"]);
  await keep(east, "photos");
  await keep(west, "kept", inWest);
  await copyTo(east, "kept", "photos");
  await copyTo(west, "photos", "kept");
  const places = [
    { harness: east, bucket: "photos", region: eastAt },
    { harness: west, bucket: "kept", region: westAt },
  ];
  const random = seededRandom(7);
  const change = async ({ harness, bucket }: (typeof places)[number], number: number): Promise<unknown> => {
    const key = random.pick(["a", "b", "c"]);
    if (random.chance(0.2)) return harness.client.deleteObject({ bucket, key }, as(alice));
    return put(harness, { bucket, key }, `${number}`);
  };
  for (let number = 0; number < changes; number += 8) {
    random.pick(places).region.behave(random.pick(["serving", "serving", "unreachable"]));
    await Promise.all(Array.from({ length: 8 }, (_, index) => change(random.pick(places), number + index)));
  }
  for (const { region } of places) region.behave("serving");
  await eventually(
    async () => {
      const [here, there] = [await keptOf(east, "photos"), await keptOf(west, "kept")];
      return here.length === changes && here.join() === there.join();
    },
    "both have all versions",
    300_000,
  );
  expect((await keptOf(east, "photos")).filter((each) => each.endsWith("latest"))).toHaveLength(3);
});

test("a rule for a bucket of a region without a key is refused, and so is one for a bucket that no region has", async () => {
  const { endpoint, behave, serve } = await startRegion("us-west-2");
  serve({ url: "" }, ["kept"]);
  const regions = { "us-west-2": { ...endpoint, accessKeyId: "", secretAccessKey: "" } };
  const east = await startHarness({ accounts: accountsWith(allowed), regions });
  await keep(east, "photos");
  expect(await refusalOf(copyTo(east, "kept"))).toBe(
    "INVALID_REQUEST: Destination bucket is in us-west-2, for which this installation has no key.",
  );
  behave("unreachable");
  expect(await refusalOf(copyTo(east, "nowhere"))).toBe("INVALID_REQUEST: Destination bucket must exist.");
});
