import { createHash } from "node:crypto";

import type { Client } from "@connectrpc/connect";

import type { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";

type ObjectStorage = Client<typeof ObjectStorageService>;

/**
 * Something that is written again and again, each time with the next generation, counted from 1. One generation is one
 * change that a caller asks for, and what is then stored follows from its number.
 */
export interface Thing {
  readonly name: string;
  /** What is seen once this generation is stored; of generation 0, before the first. */
  stateOf(generation: number): string;
  write(storage: ObjectStorage, generation: number): Promise<unknown>;
  /** What is seen now. */
  read(storage: ObjectStorage): Promise<string>;
}

const sizes = [1, 4_000, 65_536, 65_537, 300_000, 1_500_000];

/** The content of a generation: any two differ, and a whole one can be told from a torn one. */
const contentOf = (name: string, generation: number): Buffer => {
  const digest = createHash("sha256").update(`${name} ${generation}`).digest();
  return Buffer.alloc(sizes[digest.readUInt16BE() % sizes.length] ?? 0, digest);
};

const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");
const stored = (name: string, generation: number): string =>
  generation < 1 ? "absent" : sha256(contentOf(name, generation));

async function* messages(head: object, content: Buffer) {
  yield head;
  for (let at = 0; at < content.length; at += 65_536) yield { body: content.subarray(at, at + 65_536) };
}

/** The digest of an object's content; absent if it is not listed, and listed if it is not found all the same. */
const readContent = async (storage: ObjectStorage, object: { bucket: string; key: string }): Promise<string> => {
  const { contents } = await storage.listObjectsV2({ bucket: object.bucket, prefix: object.key, maxKeys: 1 });
  if (contents[0]?.key !== object.key) return "absent";
  const digest = createHash("sha256");
  for await (const { body } of storage.getObject(object)) digest.update(body);
  return digest.digest("hex");
};

const plain = (key: string) => ({ bucket: "plain", key });

/** Puts, each over the one before. */
const put = (key: string): Thing => ({
  name: key,
  stateOf: (generation) => stored(key, generation),
  write: (storage, generation) => storage.putObject(messages(plain(key), contentOf(key, generation))),
  read: (storage) => readContent(storage, plain(key)),
});

/** Puts of what the next generation deletes, alone or in a batch. */
const deleted = (key: string): Thing => ({
  name: key,
  stateOf: (generation) => (generation % 2 === 0 ? "absent" : stored(key, generation)),
  write: (storage, generation) => {
    if (generation % 2 === 1) return storage.putObject(messages(plain(key), contentOf(key, generation)));
    if (generation % 4 === 0) return storage.deleteObject(plain(key));
    return storage.deleteObjects({ bucket: "plain", delete: { objects: [{ key }, { key: `${key}/not there` }] } });
  },
  read: (storage) => readContent(storage, plain(key)),
});

/** What an object is written again after, so that it does not grow for ever. */
const appendsMax = 12;

/** Appends of each generation to those before, in a bucket without and in one with versions. */
const appended = (bucket: string, key: string): Thing => {
  /** The generations whose contents the object has. */
  const held = (generation: number): number[] =>
    Array.from({ length: ((generation - 1) % appendsMax) + 1 }, (_, index) => generation - index).toReversed();
  const whole = (generation: number): Buffer =>
    Buffer.concat(generation < 1 ? [] : held(generation).map((each) => contentOf(key, each)));
  return {
    name: `${bucket}/${key}`,
    stateOf: (generation) => (generation < 1 ? "absent" : sha256(whole(generation))),
    write(storage, generation) {
      const before = generation % appendsMax === 1 ? undefined : BigInt(whole(generation - 1).length);
      const offset = before === undefined ? {} : { writeOffsetBytes: before };
      return storage.putObject(messages({ bucket, key, ...offset }, contentOf(key, generation)));
    },
    read: (storage) => readContent(storage, { bucket, key }),
  };
};

/** Uploads of one part, sent twice, every third of them aborted. */
const uploaded = (key: string): Thing => {
  const completed = (generation: number): number => (generation % 3 === 0 ? generation - 1 : generation);
  return {
    name: key,
    stateOf: (generation) => stored(key, completed(generation)),
    async write(storage, generation) {
      const { uploadId = "" } = await storage.createMultipartUpload(plain(key));
      const part = { ...plain(key), uploadId, partNumber: 7 };
      await storage.uploadPart(messages(part, contentOf(`${key} before`, generation)));
      const { eTag = "" } = await storage.uploadPart(messages(part, contentOf(key, generation)));
      if (generation % 3 === 0) return storage.abortMultipartUpload({ ...plain(key), uploadId });
      const parts = [{ partNumber: 7, eTag }];
      return storage.completeMultipartUpload({ ...plain(key), uploadId, completeMultipartUpload: { parts } });
    },
    read: (storage) => readContent(storage, plain(key)),
  };
};

/** Copies of a source that is deleted next: by reference, and under another key. */
const copied = (key: string): Thing => ({
  name: key,
  stateOf: (generation) => stored(key, generation),
  async write(storage, generation) {
    const source = `${key}/source`;
    await storage.putObject(messages(plain(source), contentOf(key, generation)));
    const copySource = `plain/${source}`;
    const customerKey = Buffer.alloc(32, 1);
    const sealed = {
      sseCustomerAlgorithm: "AES256",
      sseCustomerKey: customerKey.toString("base64"),
      sseCustomerKeyMd5: createHash("md5").update(customerKey).digest("base64"),
    };
    if (generation % 2 === 0) {
      await storage.copyObject({ ...plain(`${key}/sealed`), ...sealed, copySource });
      await storage.deleteObject(plain(`${key}/sealed`));
    }
    await storage.copyObject({ ...plain(key), copySource });
    return storage.deleteObject(plain(source));
  },
  read: (storage) => readContent(storage, plain(key)),
});

/** A version, a delete marker over it, then the marker and the version deleted by their ids. */
const versioned = (key: string): Thing => {
  const object = { bucket: "versions", key };
  const list = async (storage: ObjectStorage) => {
    const { versions, deleteMarkers } = await storage.listObjectVersions({ bucket: "versions", prefix: key });
    return { version: versions[0], marker: deleteMarkers[0] };
  };
  return {
    name: key,
    stateOf: (generation) => {
      const phase = generation % 4;
      if (phase === 0) return "nothing";
      const content = stored(key, generation - phase + 1);
      return phase === 2 ? `${content} and a marker` : content;
    },
    async write(storage, generation) {
      const phase = generation % 4;
      if (phase === 1) return storage.putObject(messages(object, contentOf(key, generation)));
      if (phase === 2) return storage.deleteObject(object);
      const { version, marker } = await list(storage);
      const { versionId } = (phase === 3 ? marker : version) ?? {};
      return storage.deleteObject({ ...object, versionId: versionId ?? "" });
    },
    async read(storage) {
      const { version, marker } = await list(storage);
      if (version === undefined) return marker === undefined ? "nothing" : "a marker alone";
      const digest = createHash("sha256");
      for await (const { body } of storage.getObject({ ...object, versionId: version.versionId ?? "" }))
        digest.update(body);
      return `${digest.digest("hex")}${marker === undefined ? "" : " and a marker"}`;
    },
  };
};

/** Tags, retentions and legal holds of one locked version. */
const locked = (key: string): Thing => {
  const object = { bucket: "locked", key };
  const state = (count: number, tag: number, hold: number): string =>
    count === 0 ? "nothing" : `tagged ${tag}, ${hold % 2 === 1 ? "held" : "free"}`;
  return {
    name: key,
    stateOf: (generation) => {
      const tag = Math.floor((generation + 1) / 3);
      const hold = Math.floor(generation / 3);
      return `${state(generation, tag, hold)}, retained ${Math.max(0, Math.floor((generation - 1) / 3))}`;
    },
    async write(storage, generation) {
      if (generation === 1) return storage.putObject(messages(object, contentOf(key, generation)));
      const number = Math.floor((generation + 1) / 3);
      if (generation % 3 === 2)
        return storage.putObjectTagging({ ...object, tagging: { tagSet: [{ key: "tag", value: `${number}` }] } });
      if (generation % 3 === 0)
        return storage.putObjectLegalHold({
          ...object,
          legalHold: { status: (generation / 3) % 2 === 1 ? "ON" : "OFF" },
        });
      const retainUntilDate = { seconds: BigInt(4_000_000_000 + Math.floor((generation - 1) / 3)), nanos: 0 };
      return storage.putObjectRetention({ ...object, retention: { mode: "COMPLIANCE", retainUntilDate } });
    },
    async read(storage) {
      const { contents } = await storage.listObjectsV2({ bucket: "locked", prefix: key });
      if (contents.length === 0) return "nothing, retained 0";
      const head = await storage.headObject(object);
      const { tagSet } = await storage.getObjectTagging(object);
      const until = Number(head.objectLockRetainUntilDate?.seconds ?? 4_000_000_000n) - 4_000_000_000;
      const hold = head.objectLockLegalHoldStatus === "ON" ? 1 : 0;
      return `${state(1, Number(tagSet[0]?.value ?? 0), hold)}, retained ${until}`;
    },
  };
};

/** Creates the buckets. */
export const prepareLoad = async (storage: ObjectStorage): Promise<void> => {
  await storage.createBucket({ bucket: "plain" });
  await storage.createBucket({ bucket: "versions" });
  await storage.putBucketVersioning({ bucket: "versions", versioningConfiguration: { status: "Enabled" } });
  await storage.createBucket({ bucket: "locked", objectLockEnabledForBucket: true });
  const searchIndexConfiguration = { attributes: [{ source: "Tag", name: "tag" }, { source: "ContentType" }] };
  for (const bucket of ["plain", "versions", "locked"])
    await storage.putBucketSearchIndex({ bucket, searchIndexConfiguration });
};

/** Things of every kind, `count` of each; a writer changes those of one number. */
export const thingsOf = (count: number): Thing[][] =>
  Array.from({ length: count }, (_, index) => [
    put(`put ${index}`),
    appended("plain", `appended ${index}`),
    appended("versions", `appended ${index}`),
    deleted(`deleted ${index}`),
    uploaded(`uploaded ${index}`),
    copied(`copied ${index}`),
    versioned(`versioned ${index}`),
    locked(`locked ${index}`),
  ]);
