import { describe, expect, test } from "vitest";

import { declaredAccessPoints } from "../../../services/object-storage/access/access-points.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, get, put, refusalOf, startHarness } from "../harness.ts";

const allow = (action: string, resource: string, account = bob) => ({
  Effect: "Allow",
  Principal: { AWS: account },
  Action: action,
  Resource: resource,
});
const policyOf = (...Statement: object[]) => ({ Version: "2012-10-17", Statement });

const pointArn = `arn:aws:s3:us-east-1:${alice}:accesspoint/shots`;
const outpostArn = `arn:aws:s3-outposts:us-east-1:${alice}:outpost/op-1`;

/** A service with Alice's bucket `photos`, which Bob may read, and access points of it. */
const start = async (): Promise<Harness> => {
  const harness = await startHarness({
    objectOwnership: "ObjectWriter",
    accessPoints: declaredAccessPoints(
      {
        [`shots-${alice}`]: {
          bucket: "photos",
          alias: "shots-x1-s3alias",
          policy: policyOf(allow("s3:GetObject", `${pointArn}/object/open/*`), {
            ...allow("s3:*", `${pointArn}/object/secret/*`, alice),
            Effect: "Deny",
          }),
        },
        [`local-${alice}`]: { bucket: "photos", outpost: "op-1" },
      },
      { region: "us-east-1" },
    ),
  });
  await harness.client.createBucket({ bucket: "photos" }, as(alice));
  const policy = JSON.stringify(policyOf(allow("s3:GetObject", "arn:aws:s3:::photos/open/*")));
  await harness.client.putBucketPolicy({ bucket: "photos", policy }, as(alice));
  return harness;
};

describe("an access point", () => {
  test.each([
    // name of the bucket in requests
    pointArn,
    `arn:svc:object-storage:us-east-1:${alice}:accesspoint:shots`,
    `shots-${alice}`,
    `shots-${alice}.s3-accesspoint.us-east-1`,
    "shots-x1-s3alias",
  ])("is another name of its bucket: %s", async (bucket) => {
    const harness = await start();
    await put(harness, { bucket, key: "a/cat.jpg" }, "meow");
    expect((await get(harness, { bucket: "photos", key: "a/cat.jpg" })).body.toString()).toBe("meow");
    expect((await get(harness, { bucket, key: "a/cat.jpg" })).body.toString()).toBe("meow");
    const { contents } = await harness.client.listObjectsV2({ bucket }, as(alice));
    expect(contents.map(({ key }) => key)).toEqual(["a/cat.jpg"]);
    expect(await refusalOf(harness.client.deleteObject({ bucket, key: "a/cat.jpg" }, as(alice)))).toBe("answered");
  });

  test.each([
    `arn:aws:s3:us-east-1:${alice}:accesspoint/other`,
    `arn:aws:s3:eu-west-1:${alice}:accesspoint/shots`,
    `arn:aws:s3:us-east-1:${bob}:accesspoint/shots`,
    `shots-${bob}`,
  ])("is not there for the name %s", async (bucket) => {
    const { client } = await start();
    expect(await refusalOf(client.headBucket({ bucket }, as(alice)))).toBe("NO_SUCH_BUCKET");
  });

  test.each([
    // account, bucket, key, outcome: both policies must allow it
    [bob, "photos", "open/a", "answered"],
    [bob, pointArn, "open/a", "answered"],
    [bob, pointArn, "closed/a", "ACCESS_DENIED"],
    [bob, `${outpostArn}/accesspoint/local`, "open/a", "ACCESS_DENIED"],
    [alice, "photos", "secret/a", "answered"],
    [alice, pointArn, "secret/a", "ACCESS_DENIED"],
    [alice, pointArn, "closed/a", "answered"],
  ])(
    "lets the account %s at %s read %s as its policy and that of the bucket say: %s",
    async (account, bucket, key, outcome) => {
      const harness = await start();
      await put(harness, { bucket: "photos", key }, "meow");
      expect(await refusalOf(get(harness, { bucket, key }, as(account)))).toBe(outcome);
    },
  );

  test.each([
    // copy source, key of the copy
    [`${pointArn}/object/a/cat%20one.jpg`, "by point"],
    [`${outpostArn}/object/a/cat%20one.jpg`, "by deployment"],
    [`${outpostArn}/accesspoint/local/object/a/cat%20one.jpg`, "by point on premises"],
    [`${outpostArn}/bucket/photos/object/a/cat%20one.jpg`, "by bucket on premises"],
  ])("is the source of a copy: %s", async (source, key) => {
    const harness = await start();
    await put(harness, { bucket: "photos", key: "a/cat one.jpg" }, "meow");
    const copySource = encodeURIComponent(decodeURIComponent(source));
    await harness.client.copyObject({ bucket: "photos", key, copySource }, as(alice));
    expect((await get(harness, { bucket: "photos", key })).body.toString()).toBe("meow");
    const foreign = { bucket: "photos", key: "secret", copySource: `${pointArn}/object/secret/a` };
    expect(await refusalOf(harness.client.copyObject(foreign, as(alice)))).toBe("ACCESS_DENIED");
  });
});

describe("an access point on premises", () => {
  test.each([
    `${outpostArn}/accesspoint/local`,
    `${outpostArn}/bucket/photos`,
    `local-${alice}.op-1`,
    `local-${alice}.op-1.s3-outposts.us-east-1`,
  ])("has one storage class: %s", async (bucket) => {
    const harness = await start();
    await put(harness, { bucket, key: "cat.jpg" }, "meow");
    await put(harness, { bucket, key: "dog.jpg", storageClass: "OUTPOSTS" }, "woof");
    const { contents } = await harness.client.listObjectsV2({ bucket }, as(alice));
    expect(contents.map(({ storageClass }) => storageClass)).toEqual(["OUTPOSTS", "OUTPOSTS"]);
    const other = put(harness, { bucket, key: "cat.jpg", storageClass: "STANDARD" }, "meow");
    expect(await refusalOf(other)).toBe("INVALID_STORAGE_CLASS");
  });

  test.each([{ acl: "private" }, { grantRead: `id="${"a".repeat(64)}"` }, { grantFullControl: "x" }])(
    "takes no ACL: %o",
    async (members) => {
      const harness = await start();
      const object = { bucket: `local-${alice}.op-1`, key: "cat.jpg" };
      const refused = "ACCESS_CONTROL_LIST_NOT_SUPPORTED";
      expect(await refusalOf(put(harness, { ...object, ...members }, "meow"))).toBe(refused);
      expect(await refusalOf(harness.client.createMultipartUpload({ ...object, ...members }, as(alice)))).toBe(refused);
      expect(await refusalOf(harness.client.putObjectAcl({ ...object, ...members }, as(alice)))).toBe(refused);
    },
  );
});
