/** The ways in which a request says an ACL, and the list of grants that each means. */
import { describe, expect, test } from "vitest";

import { readAcl } from "../../../services/object-storage/domain/acl-request.ts";
import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import { alice, as, bob, get, put, refusalOf, startWithBucket } from "../harness.ts";
import type { Harness } from "../harness.ts";

const bucket = "photos";
const cat = { bucket, key: "cat.jpg" };
const ofAlice = "5d9a66ea9224bee5d96378366997ae1d8f12f3c4789e28355532bf67dd86385c";
const ofBob = "b".repeat(64);
const everybody = "http://acs.amazonaws.com/groups/global/AllUsers";
const signed = "http://acs.amazonaws.com/groups/global/AuthenticatedUsers";
const logs = "http://acs.amazonaws.com/groups/s3/LogDelivery";
const owners = `${ofAlice} FULL_CONTROL`;

/** A bucket of alice with ACLs and an object; bob has declared his e-mail address. */
const startWithAcls = async (options: { readonly emailGrants?: "accept" | "refuse" } = {}): Promise<Harness> => {
  const bobs = { id: bob, name: "Bob", email: "bob@example.com", canonicalUserId: ofBob };
  const declared = { users: [], roles: [], organizations: new Map(), accessKeys: [] };
  const accounts = accountsOf({ ...declared, accounts: [bobs] });
  const harness = await startWithBucket({ objectOwnership: "ObjectWriter", accounts, ...options });
  await put(harness, cat, "meow");
  return harness;
};

interface Acl {
  readonly grants: readonly {
    readonly grantee?: { readonly id?: string; readonly uri?: string };
    readonly permission?: string;
  }[];
}

const grantsOf = ({ grants }: Acl): readonly string[] =>
  grants.map(({ grantee, permission }) => `${grantee?.uri ?? grantee?.id} ${permission}`);

/** Canned ACLs of buckets and objects, and headers of grants. */
const requests: readonly (readonly [object, readonly string[]])[] = [
  // members of the request, grants
  [{ acl: "private" }, [owners]],
  [{ acl: "public-read" }, [owners, `${everybody} READ`]],
  [{ acl: "public-read-write" }, [owners, `${everybody} READ`, `${everybody} WRITE`]],
  [{ acl: "authenticated-read" }, [owners, `${signed} READ`]],
  [{ grantRead: `id=${ofBob}` }, [`${ofBob} READ`]],
  [{ grantRead: `uri="${everybody}"` }, [`${everybody} READ`]],
  [{ grantRead: 'emailAddress="Bob@example.com"' }, [`${ofBob} READ`]],
  [
    { grantReadAcp: `id="${ofBob}", uri="${signed}",emailAddress=bob@example.com` },
    [`${ofBob} READ_ACP`, `${signed} READ_ACP`, `${ofBob} READ_ACP`],
  ],
  [
    { grantFullControl: `id=${ofAlice}`, grantWriteAcp: `id=${ofBob}` },
    [`${ofAlice} FULL_CONTROL`, `${ofBob} WRITE_ACP`],
  ],
];

test("a grant by e-mail address is refused where such grants are turned off, whoever has the address", async () => {
  const { client } = await startWithAcls({ emailGrants: "refuse" });
  const refused = (grantRead: string) => refusalOf(client.putObjectAcl({ ...cat, grantRead }, as(alice)));
  expect(await refused("emailAddress=bob@example.com")).toBe("METHOD_NOT_ALLOWED");
  expect(await refused("emailAddress=nobody@example.com")).toBe("METHOD_NOT_ALLOWED");
  const grantee = { type: "AmazonCustomerByEmail", emailAddress: "bob@example.com" };
  const accessControlPolicy = { owner: { id: ofAlice }, grants: [{ grantee, permission: "READ" }] };
  expect(await refusalOf(client.putObjectAcl({ ...cat, accessControlPolicy }, as(alice)))).toBe("METHOD_NOT_ALLOWED");
  expect(await refused(`id=${ofBob}`)).toBe("answered");
});

describe("an ACL in a request", () => {
  test.each([
    ...requests,
    [{ acl: "log-delivery-write" }, [owners, `${logs} WRITE`, `${logs} READ_ACP`]] as const,
    [{ grantWrite: `id=${ofBob}` }, [`${ofBob} WRITE`]] as const,
  ])("%j of a bucket means %j", async (members, grants) => {
    const { client } = await startWithAcls();
    await client.putBucketAcl({ bucket, ...members }, as(alice));
    expect(grantsOf(await client.getBucketAcl({ bucket }, as(alice)))).toEqual(grants);
    await client.createBucket({ bucket: "albums", objectOwnership: "ObjectWriter", ...members }, as(alice));
    expect(grantsOf(await client.getBucketAcl({ bucket: "albums" }, as(alice)))).toEqual(grants);
  });

  test.each([
    ...requests,
    [{ acl: "bucket-owner-read" }, [owners]] as const,
    [{ acl: "bucket-owner-full-control" }, [owners]] as const,
  ])("%j of an object means %j, however the object is made", async (members, grants) => {
    const harness = await startWithAcls();
    const { client } = harness;
    const read = async (key: string) => grantsOf(await client.getObjectAcl({ bucket, key }, as(alice)));
    await client.putObjectAcl({ ...cat, ...members }, as(alice));
    await put(harness, { bucket, key: "put", ...members }, "meow");
    await client.copyObject({ bucket, key: "copy", copySource: `${bucket}/${cat.key}`, ...members }, as(alice));
    expect([await read(cat.key), await read("put"), await read("copy")]).toEqual([grants, grants, grants]);
  });

  test("as a document names each grantee by its type: an id, a group or an address", async () => {
    const { client } = await startWithAcls();
    const grants = [
      { grantee: { type: "CanonicalUser", id: ofBob }, permission: "READ" },
      { grantee: { type: "Group", uri: everybody }, permission: "READ_ACP" },
      { grantee: { type: "AmazonCustomerByEmail", emailAddress: "bob@example.com" }, permission: "WRITE_ACP" },
    ];
    const accessControlPolicy = { owner: { id: ofAlice }, grants };
    await client.putObjectAcl({ ...cat, accessControlPolicy }, as(alice));
    expect(grantsOf(await client.getObjectAcl(cat, as(alice)))).toEqual([
      `${ofBob} READ`,
      `${everybody} READ_ACP`,
      `${ofBob} WRITE_ACP`,
    ]);
  });

  test("gives the permissions that it grants, and no others", async () => {
    const { client } = await startWithAcls();
    const mayOf = async () => [
      await refusalOf(client.headObject(cat, as(bob))),
      await refusalOf(client.getObjectAcl(cat, as(bob))),
    ];
    expect(await mayOf()).toEqual(["ACCESS_DENIED", "ACCESS_DENIED"]);
    await client.putObjectAcl({ ...cat, grantRead: "emailAddress=bob@example.com" }, as(alice));
    expect(await refusalOf(client.headObject(cat))).toBe("ACCESS_DENIED");
    await client.putObjectAcl({ ...cat, grantRead: `uri=${everybody}` }, as(alice));
    expect([...(await mayOf()), await refusalOf(client.headObject(cat))]).toEqual([
      "answered",
      "ACCESS_DENIED",
      "answered",
    ]);
  });
});

test.each([
  ["begins with a quote", `id=${" ".repeat(240_000)}"`],
  ["has two values", `id=${" ".repeat(240_000)}a b`],
])("a grant that %s after many spaces is refused in time that grows with them", (_what, grantRead) => {
  const grantees = { accounts: { list: () => [] }, acceptsEmailGrants: true };
  expect(() => readAcl({ grantRead }, grantees)).toThrow("Argument format not recognized");
});

describe("the ACL of a copy", () => {
  test("is not that of its source, but private to whoever copies", async () => {
    const harness = await startWithAcls();
    const { client } = harness;
    await client.putObjectAcl({ ...cat, acl: "public-read" }, as(alice));
    await client.copyObject({ bucket, key: "copy", copySource: `${bucket}/${cat.key}` }, as(alice));
    const copy = await client.getObjectAcl({ bucket, key: "copy" }, as(alice));
    expect(grantsOf(copy)).toEqual([owners]);
    expect((await get(harness, { bucket, key: "copy" })).body.toString()).toBe("meow");
  });

  test("needs a caller who signed, whatever the source allows", async () => {
    const { client } = await startWithAcls();
    const statement = { Effect: "Allow", Principal: "*", Action: "s3:*", Resource: `arn:aws:s3:::${bucket}/*` };
    const policy = JSON.stringify({ Version: "2012-10-17", Statement: [statement] });
    await client.putBucketPolicy({ bucket, policy }, as(alice));
    expect(await refusalOf(client.headObject(cat))).toBe("answered");
    const copy = { bucket, key: "copy", copySource: `${bucket}/${cat.key}` };
    expect(await refusalOf(client.copyObject(copy))).toBe("ACCESS_DENIED");
    expect(await refusalOf(client.copyObject(copy, as(bob)))).toBe("answered");
  });
});
