import { expect, test } from "vitest";

import { findBucket } from "../../../services/object-storage/store/bucket.ts";
import { findLifecycle, walkVersions } from "../../../services/object-storage/store/lifecycle.ts";
import { alice, as, startWithBucket } from "../harness.ts";

const dayMs = 86_400_000;

test("the rules of a bucket are read once for each change, not for each request", async () => {
  const { client, opened } = await startWithBucket();
  const putRules = async (...ids: string[]): Promise<void> => {
    const rules = ids.map((id) => ({ id, status: "Enabled", filter: { prefix: `${id}/` }, expiration: { days: 1 } }));
    await client.putBucketLifecycleConfiguration({ bucket: "photos", lifecycleConfiguration: { rules } }, as(alice));
  };
  const find = () =>
    opened.app.store.read(async (reader) => {
      const bucket = await findBucket(reader, "photos");
      return bucket && findLifecycle(reader, bucket, dayMs);
    });
  await putRules("old");
  const first = await find();
  expect(first?.rules.map(({ id }) => id)).toEqual(["old"]);
  expect(await find()).toBe(first);
  await putRules("old", "new");
  expect((await find())?.rules.map(({ id }) => id)).toEqual(["old", "new"]);
  await client.deleteBucketLifecycle({ bucket: "photos" }, as(alice));
  expect(await find()).toBeUndefined();
});

test("a walk knows which delete markers hide nothing, but for the last version of a page", async () => {
  const { client, opened } = await startWithBucket();
  const versioningConfiguration = { status: "Enabled" };
  await client.putBucketVersioning({ bucket: "photos", versioningConfiguration }, as(alice));
  for (const key of ["lone", "twice", "twice", "z"]) await client.deleteObject({ bucket: "photos", key }, as(alice));
  const walk = (limit: number) =>
    opened.app.store.read(async (reader) => {
      const bucket = await findBucket(reader, "photos");
      const { found } = await walkVersions(reader, bucket?.bucketId ?? "", "", undefined, limit);
      return found.map(({ facts: { key, isOnly } }) => [key, isOnly]);
    });
  expect(await walk(10)).toEqual([
    ["lone", true],
    ["twice", false],
    ["twice", false],
    ["z", true],
  ]);
  expect(await walk(2)).toEqual([
    ["lone", true],
    ["twice", true],
  ]);
});
