import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import { addMasterKey, masterKeysFile } from "../../../services/kit/keyring/master-keys.ts";
import { wrappingKeys } from "../../../services/object-storage/store/layout.ts";
import { sweepBlobs } from "../../../services/object-storage/work/blob-sweep.ts";
import { eventually } from "../../support/eventually.ts";
import type { CrashService } from "./service.ts";
import { contentOf, roleArn } from "./service.ts";

/** One change, which is answered when `run` resolves; what a crash in it leaves is all of it or nothing. */
export interface Step {
  readonly name: string;
  /** How far the clock is moved before it, in milliseconds. */
  readonly afterMs?: number;
  run(service: CrashService, memory: Memory): Promise<unknown>;
}

/** What later steps need of earlier ones. */
type Memory = Map<string, string>;

const dayMs = 24 * 60 * 60 * 1000;
/** In a file, and in the database. */
const [large, small] = [140_000, 1_000];

async function* messages(head: object, body: Uint8Array) {
  yield head;
  for (let at = 0; at < body.length; at += 64_000) yield { body: body.subarray(at, at + 64_000) };
}

const put =
  (bucket: string, key: string, size: number, further: object = {}): Step["run"] =>
  ({ client }) =>
    client.putObject(messages({ bucket, key, ...further }, contentOf(`${key} ${size}`, size)));

const append = (bucket: string, key: string, offset: number, size: number): Step["run"] =>
  put(bucket, key, size, { writeOffsetBytes: BigInt(offset) });

const fork =
  (bucket: string, destination: string): Step["run"] =>
  async ({ client, opened }) => {
    await client.forkBucket({ bucket, destination });
    await opened.jobs.idle();
  };

const keepVersions = async ({ client }: CrashService, bucket: string): Promise<void> => {
  await client.putBucketVersioning({ bucket, versioningConfiguration: { status: "Enabled" } });
};

const part =
  (number: number, size: number): Step["run"] =>
  async ({ client }, memory) => {
    const head = { bucket: "plain", key: "film", uploadId: memory.get("upload") ?? "", partNumber: number };
    const { eTag = "" } = await client.uploadPart(messages(head, contentOf(`part ${number} ${size}`, size)));
    memory.set(`part ${number}`, eTag);
  };

const upload =
  (bucket: string, key: string, name: string): Step["run"] =>
  async ({ client }, memory) => {
    memory.set(name, (await client.createMultipartUpload({ bucket, key })).uploadId ?? "");
  };

const applyRules: Step["run"] = ({ opened }) => opened.lifecycle.run(new AbortController().signal);
const sweep: Step["run"] = ({ opened }) => sweepBlobs(opened.sweep);
const copy =
  (key: string, source: string, further: object = {}): Step["run"] =>
  ({ client }) =>
    client.copyObject({ bucket: "plain", key, copySource: `plain/${source}`, ...further });

const wrappedKeys = ({ opened }: CrashService): Promise<string[]> =>
  opened.app.store.read(async (reader) =>
    (await Array.fromAsync(reader.range(wrappingKeys, {}))).map(({ value }) =>
      Buffer.from(value.wrappedKey).toString("hex"),
    ),
  );

const locked = { bucket: "locked", key: "ledger" };
const film = { bucket: "plain", key: "film" };

/** Has the objects of a bucket indexed by a tag and the content type, and waits until they are. */
const index =
  (bucket: string, tag = "kind"): Step["run"] =>
  async ({ client, opened }) => {
    const attributes = [{ source: "Tag", name: tag }, { source: "ContentType" }];
    await client.putBucketSearchIndex({ bucket, searchIndexConfiguration: { attributes } });
    await opened.jobs.idle();
  };

/** The buckets are there, with their rules and indexes, before the first step. */
export const prepare = async (service: CrashService): Promise<void> => {
  const { client } = service;
  for (const bucket of ["copies", "plain", "versions"]) await client.createBucket({ bucket });
  await client.createBucket({ bucket: "locked", objectLockEnabledForBucket: true });
  for (const bucket of ["copies", "versions"]) await keepVersions(service, bucket);
  const rule = { status: "Enabled" };
  const rules = [
    { ...rule, id: "expire", filter: { prefix: "short/" }, expiration: { days: 1 } },
    { ...rule, id: "move", filter: { prefix: "move/" }, transitions: [{ days: 1, storageClass: "GLACIER" }] },
    { ...rule, id: "abort", filter: {}, abortIncompleteMultipartUpload: { daysAfterInitiation: 20 } },
  ];
  await client.putBucketLifecycleConfiguration({ bucket: "plain", lifecycleConfiguration: { rules } });
  const older = [{ ...rule, id: "older", filter: {}, noncurrentVersionExpiration: { noncurrentDays: 10 } }];
  await client.putBucketLifecycleConfiguration({ bucket: "versions", lifecycleConfiguration: { rules: older } });
  const destination = { bucket: "arn:aws:s3:::copies" };
  const replicated = [{ ...rule, priority: 1, filter: { prefix: "out/" }, deleteMarkerReplication: rule, destination }];
  await client.putBucketReplication({
    bucket: "versions",
    replicationConfiguration: { role: roleArn, rules: replicated },
  });
  for (const bucket of ["copies", "plain", "versions"]) await index(bucket)(service, new Map());
};

/** Every kind of write and of work, one after the other. */
export const steps: readonly Step[] = [
  { name: "put a file", run: put("plain", "file", large) },
  { name: "put into the database", run: put("plain", "inline", small) },
  { name: "put over a file", run: put("plain", "file", large + 1) },
  { name: "append by making", run: append("plain", "log", 0, small) },
  { name: "append to the database", run: append("plain", "log", small, small) },
  { name: "append so that it becomes a file", run: append("plain", "log", 2 * small, large) },
  { name: "append to a file", run: append("plain", "log", 2 * small + large, small) },
  { name: "start an upload", run: upload("plain", "film", "upload") },
  { name: "upload a part", run: part(1, large) },
  { name: "upload a part again", run: part(1, large + 2) },
  { name: "upload a small part", run: part(2, small) },
  {
    name: "copy a part",
    run: async ({ client }, memory) => {
      const reference = { ...film, uploadId: memory.get("upload") ?? "", partNumber: 3 };
      const { copyPartResult } = await client.uploadPartCopy({ ...reference, copySource: "plain/file" });
      memory.set("part 3", copyPartResult?.eTag ?? "");
    },
  },
  { name: "upload a part that is left out", run: part(4, large) },
  {
    name: "complete",
    run: ({ client }, memory) => {
      const parts = [1, 2, 3].map((partNumber) => ({ partNumber, eTag: memory.get(`part ${partNumber}`) ?? "" }));
      const uploadId = memory.get("upload") ?? "";
      return client.completeMultipartUpload({ ...film, uploadId, completeMultipartUpload: { parts } });
    },
  },
  { name: "copy by reference", run: copy("copied", "film") },
  { name: "copy under another key", run: copy("sealed", "file", { serverSideEncryption: ServerSideEncryption.KMS }) },
  { name: "delete", run: ({ client }) => client.deleteObject({ bucket: "plain", key: "file" }) },
  { name: "put one to delete", run: put("plain", "gone", large) },
  {
    name: "delete a batch",
    run: ({ client }) =>
      client.deleteObjects({ bucket: "plain", delete: { objects: [{ key: "gone" }, { key: "inline" }] } }),
  },
  { name: "start an upload to abort", run: upload("plain", "aborted", "aborted") },
  {
    name: "abort",
    run: ({ client }, memory) =>
      client.abortMultipartUpload({ bucket: "plain", key: "aborted", uploadId: memory.get("aborted") ?? "" }),
  },
  { name: "sweep", afterMs: 2 * 60 * 60 * 1000, run: sweep },
  {
    name: "tag",
    run: ({ client }) => client.putObjectTagging({ ...film, tagging: { tagSet: [{ key: "kind", value: "cat" }] } }),
  },
  { name: "index by another tag", run: index("plain", "other") },
  { name: "index the tag again", run: index("plain") },
  {
    name: "remove an index",
    run: async ({ client, opened }) => {
      await client.deleteBucketSearchIndex({ bucket: "copies" });
      await opened.jobs.idle();
    },
  },
  { name: "index copies", run: index("copies") },
  { name: "put to be locked", run: put("locked", "ledger", large) },
  {
    name: "retain",
    run: ({ client }) =>
      client.putObjectRetention({
        ...locked,
        retention: { mode: "COMPLIANCE", retainUntilDate: { seconds: BigInt(4_102_444_800), nanos: 0 } },
      }),
  },
  {
    name: "hold",
    run: ({ client }) => client.putObjectLegalHold({ ...locked, legalHold: { status: "ON" } }),
  },
  { name: "put a version", run: put("versions", "page", large) },
  { name: "put another version", run: put("versions", "page", large + 3) },
  { name: "append a version", run: append("versions", "page", large + 3, small) },
  {
    name: "delete by a marker",
    run: async ({ client }, memory) => {
      const { versionId = "" } = await client.deleteObject({ bucket: "versions", key: "page" });
      memory.set("marker", versionId);
    },
  },
  {
    name: "delete the marker",
    run: ({ client }, memory) =>
      client.deleteObject({ bucket: "versions", key: "page", versionId: memory.get("marker") ?? "" }),
  },
  { name: "put what expires", run: put("plain", "short/lived", large) },
  { name: "put what moves", run: put("plain", "move/me", large) },
  { name: "expire and move", afterMs: 3 * dayMs, run: applyRules },
  { name: "start an upload that is left", run: upload("plain", "left", "left") },
  { name: "expire older versions and uploads", afterMs: 30 * dayMs, run: applyRules },
  { name: "put into an archive", run: put("plain", "archived", large, { storageClass: "GLACIER" }) },
  {
    name: "restore",
    run: ({ client }) => client.restoreObject({ bucket: "plain", key: "archived", restoreRequest: { days: 1 } }),
  },
  { name: "end the restore", afterMs: 120_000, run: ({ opened }) => opened.jobs.idle() },
  {
    name: "put what is copied to another bucket",
    run: async (service, memory) => {
      await put("versions", "out/page", large)(service, memory);
      await service.opened.jobs.idle();
    },
  },
  {
    name: "delete what was copied to another bucket",
    run: async ({ client, opened }) => {
      await client.deleteObject({ bucket: "versions", key: "out/page" });
      await opened.jobs.idle();
    },
  },
  { name: "fork a bucket", run: fork("plain", "plain-fork") },
  { name: "fork a bucket with versions", run: fork("versions", "versions-fork") },
  { name: "put over what is in a fork", run: put("plain", "move/me", small) },
  {
    name: "delete what was forked",
    run: ({ client }) =>
      client.deleteObjects({ bucket: "plain", delete: { objects: [{ key: "copied" }, { key: "film" }] } }),
  },
  {
    name: "wrap the keys again",
    run: async (service) => {
      const before = await wrappedKeys(service);
      await addMasterKey(masterKeysFile(service.directory));
      await eventually(async () => {
        service.clock.advance(60_000);
        const now = await wrappedKeys(service);
        return now.every((key) => !before.includes(key));
      }, "the keys are wrapped again");
    },
  },
  { name: "sweep again", afterMs: 2 * 60 * 60 * 1000, run: sweep },
];
