/** People who share buckets with exactly the rights that they need, with the official SDK and with plain HTTP. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetBucketAclCommand,
  GetBucketPolicyCommand,
  GetBucketPolicyStatusCommand,
  GetObjectAclCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutBucketAclCommand,
  PutBucketOwnershipControlsCommand,
  PutBucketPolicyCommand,
  PutObjectAclCommand,
  PutObjectCommand,
  PutPublicAccessBlockCommand,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { aSecondAfter, eventually } from "../support/eventually.ts";
import type { SdkClients } from "../support/sdk-clients.ts";
import type { System } from "../support/system.ts";
import { configurationFile, startSystem } from "../support/system.ts";

const shopAccount = "111122223333";
const bankAccount = "444455556666";
const shopsId = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const banksId = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

const policy = (...statements: object[]) => ({ Version: "2012-10-17", Statement: statements });
const allow = (actions: string | string[], resources: string | string[], more: object = {}) => ({
  Effect: "Allow",
  Action: actions,
  Resource: resources,
  ...more,
});
const home = policy(
  allow("s3:ListBucket", "arn:aws:s3:::homes", { Condition: { StringLike: { "s3:prefix": "${aws:username}/*" } } }),
  allow(["s3:GetObject", "s3:PutObject", "s3:DeleteObject"], "arn:aws:s3:::homes/${aws:username}/*"),
);
const reading = policy(allow(["s3:GetObject", "s3:ListBucket"], ["arn:aws:s3:::homes", "arn:aws:s3:::homes/*"]));
const secretOf = (name: string): string => `${name}'s own secret`;
const user = (name: string, ...policies: object[]) => ({
  name,
  policies,
  accessKeys: [{ id: `QKIA${name.toUpperCase()}`, secret: secretOf(name) }],
});
const configuration = (ritasPolicy: object) => ({
  accounts: {
    [shopAccount]: {
      canonicalId: shopsId,
      accessKeys: [{ id: "QKIASHOP", secret: secretOf("shop") }],
      users: [user("alice", home), user("rita", ritasPolicy)],
    },
    [bankAccount]: {
      canonicalId: banksId,
      email: "bank@example.com",
      accessKeys: [{ id: "QKIABANK", secret: secretOf("bank") }],
      users: [user("ben")],
    },
  },
});

let dataDir: string;
let system: System;
const of = (name: string): SdkClients["objectStorage"] =>
  system.clientsFor(`QKIA${name.toUpperCase()}`, secretOf(name)).objectStorage;
const urlOf = (path: string): string => `${system.installation.gatewayUrl}${path}`;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-sharing-"));
  system = await startSystem(dataDir, "silent", { configuration: configuration(reading) });
  const shop = of("shop");
  for (const Bucket of ["homes", "inbox", "shared"]) await shop.send(new CreateBucketCommand({ Bucket }));
  await shop.send(new PutObjectCommand({ Bucket: "homes", Key: "bob/diary", Body: "bob's" }));
});

afterAll(async () => {
  await system.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/** How a call ends: its refusal's name and status. */
const outcomeOf = async (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    () => "answered",
    (error: { name: string; $metadata?: { httpStatusCode?: number } }) =>
      `${error.name} ${error.$metadata?.httpStatusCode}`,
  );

const setPolicy = (Bucket: string, ...statements: object[]) =>
  of("shop").send(new PutBucketPolicyCommand({ Bucket, Policy: JSON.stringify(policy(...statements)) }));

describe("a user who has a home in a bucket", () => {
  test("uses it, and sees and changes nothing else", async () => {
    const alice = of("alice");
    const Bucket = "homes";
    await alice.send(new PutObjectCommand({ Bucket, Key: "alice/letter", Body: "dear Bob" }));
    const listed = await alice.send(new ListObjectsV2Command({ Bucket, Prefix: "alice/" }));
    expect(listed.Contents?.map(({ Key }) => Key)).toEqual(["alice/letter"]);
    const got = await alice.send(new GetObjectCommand({ Bucket, Key: "alice/letter" }));
    expect(await got.Body?.transformToString()).toBe("dear Bob");
    const refused = [
      outcomeOf(alice.send(new ListObjectsV2Command({ Bucket }))),
      outcomeOf(alice.send(new ListObjectsV2Command({ Bucket, Prefix: "bob/" }))),
      outcomeOf(alice.send(new GetObjectCommand({ Bucket, Key: "bob/diary" }))),
      outcomeOf(alice.send(new PutObjectCommand({ Bucket, Key: "bob/diary", Body: "x" }))),
      outcomeOf(alice.send(new PutObjectCommand({ Bucket, Key: "alice", Body: "x" }))),
      outcomeOf(alice.send(new DeleteObjectCommand({ Bucket, Key: "bob/diary" }))),
      outcomeOf(alice.send(new GetObjectCommand({ Bucket, Key: "alice/none" }))),
    ];
    expect(new Set(await Promise.all(refused))).toEqual(new Set(["AccessDenied 403"]));
  });
});

describe("a user who may read", () => {
  test("reads, learns what is not there, and writes nothing", async () => {
    const rita = of("rita");
    const diary = { Bucket: "homes", Key: "bob/diary" };
    expect(await outcomeOf(rita.send(new GetObjectCommand(diary)))).toBe("answered");
    expect(await outcomeOf(rita.send(new GetObjectCommand({ ...diary, Key: "none" })))).toBe("NoSuchKey 404");
    expect(await outcomeOf(rita.send(new PutObjectCommand({ ...diary, Body: "x" })))).toBe("AccessDenied 403");
    expect(await outcomeOf(rita.send(new DeleteObjectCommand(diary)))).toBe("AccessDenied 403");
  });

  test("whose right is taken away has signed her last URL", async () => {
    const signed = await getSignedUrl(of("rita"), new GetObjectCommand({ Bucket: "homes", Key: "bob/diary" }));
    const statusOf = async (): Promise<number> => (await fetch(signed)).status;
    expect(await statusOf()).toBe(200);
    const declare = async (rights: object): Promise<void> => {
      await writeFile(configurationFile(dataDir), JSON.stringify(configuration(rights)));
      await aSecondAfter(Date.now());
    };
    await declare(policy(allow("s3:ListBucket", "*")));
    expect(await statusOf()).toBe(403);
    await declare(reading);
    expect(await statusOf()).toBe(200);
    await setPolicy("homes", { ...allow("s3:GetObject", "arn:aws:s3:::homes/*"), Effect: "Deny", Principal: "*" });
    expect(await statusOf()).toBe(403);
  });
});

describe("a bucket into which everybody may put something", () => {
  const put = (key: string, body: string, query = "") => fetch(urlOf(`/inbox/${key}${query}`), { method: "PUT", body });

  test("takes uploads whole and in parts, and shows nothing", async () => {
    expect((await put("early", "x")).status).toBe(403);
    await setPolicy("inbox", allow("s3:PutObject", "arn:aws:s3:::inbox/*", { Principal: "*" }));
    expect((await put("letter", "hello")).status).toBe(200);

    const begun = await fetch(urlOf("/inbox/parcel?uploads"), { method: "POST" });
    const uploadId = /<UploadId>(.*)<\/UploadId>/.exec(await begun.text())?.[1] ?? "";
    const part = await put("parcel", "content", `?partNumber=1&uploadId=${uploadId}`);
    const parts = `<Part><PartNumber>1</PartNumber><ETag>${part.headers.get("etag")}</ETag></Part>`;
    const completed = await fetch(urlOf(`/inbox/parcel?uploadId=${uploadId}`), {
      method: "POST",
      body: `<CompleteMultipartUpload>${parts}</CompleteMultipartUpload>`,
    });
    expect([begun.status, part.status, completed.status]).toEqual([200, 200, 200]);

    for (const path of ["/inbox/letter", "/inbox/parcel", "/inbox", "/inbox?policy"])
      expect((await fetch(urlOf(path))).status).toBe(403);
    expect((await fetch(urlOf("/inbox/letter"), { method: "DELETE" })).status).toBe(403);
    const listed = await of("shop").send(new ListObjectsV2Command({ Bucket: "inbox", FetchOwner: true }));
    expect(listed.Contents?.map(({ Key, Owner }) => [Key, Owner?.ID])).toEqual([
      ["letter", shopsId],
      ["parcel", shopsId],
    ]);
  });

  test("is public, and closed to the public by its owner's block", async () => {
    const shop = of("shop");
    const status = await shop.send(new GetBucketPolicyStatusCommand({ Bucket: "inbox" }));
    expect(status.PolicyStatus?.IsPublic).toBe(true);
    const PublicAccessBlockConfiguration = { RestrictPublicBuckets: true };
    await shop.send(new PutPublicAccessBlockCommand({ Bucket: "inbox", PublicAccessBlockConfiguration }));
    expect((await put("letter", "again")).status).toBe(403);
  });

  test("that is private refuses an upload before a byte of it is sent", async () => {
    const { hostname, port } = new URL(system.installation.gatewayUrl);
    const socket = connect(Number(port), hostname);
    let text = "";
    socket.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    const head = ["PUT /homes/x HTTP/1.1", `host: ${hostname}:${port}`, "content-length: 1000000000"];
    socket.write(`${[...head, "expect: 100-continue"].join("\r\n")}\r\n\r\n`);
    await eventually(() => text.includes("</Error>"), "the upload is refused");
    socket.destroy();
    expect(text).toMatch(/^HTTP\/1\.1 403 /);
    expect(text).toContain("<Code>AccessDenied</Code>");
  });
});

describe("two accounts that share a bucket", () => {
  test("by a policy: the other account's users need its permission, too", async () => {
    const Bucket = "shared";
    const statement = allow("s3:*", [`arn:aws:s3:::${Bucket}`, `arn:aws:s3:::${Bucket}/*`], {
      Principal: { AWS: `arn:aws:iam::${bankAccount}:root` },
    });
    await setPolicy(Bucket, statement);
    const kept = await of("shop").send(new GetBucketPolicyCommand({ Bucket }));
    expect(JSON.parse(kept.Policy ?? "")).toEqual(policy(statement));
    const bank = of("bank");
    await bank.send(new PutObjectCommand({ Bucket, Key: "statement", Body: "1,000" }));
    expect(await outcomeOf(of("ben").send(new HeadObjectCommand({ Bucket, Key: "statement" })))).toBe("Unknown 403");
    const read = await of("shop").send(new GetObjectCommand({ Bucket, Key: "statement" }));
    expect(await read.Body?.transformToString()).toBe("1,000");
    expect(await outcomeOf(bank.send(new GetBucketPolicyCommand({ Bucket })))).toBe("MethodNotAllowed 405");
  });

  test("by ACLs: who writes an object owns it and lets the others in", async () => {
    const Bucket = "mixed";
    const shop = of("shop");
    const bank = of("bank");
    await shop.send(new CreateBucketCommand({ Bucket }));
    expect(await outcomeOf(shop.send(new PutBucketAclCommand({ Bucket, ACL: "private" })))).toBe("answered");
    expect(await outcomeOf(shop.send(new PutBucketAclCommand({ Bucket, ACL: "public-read" })))).toBe(
      "AccessControlListNotSupported 400",
    );
    const OwnershipControls = { Rules: [{ ObjectOwnership: "ObjectWriter" as const }] };
    await shop.send(new PutBucketOwnershipControlsCommand({ Bucket, OwnershipControls }));
    const GrantWrite = 'emailAddress="bank@example.com"';
    const GrantFullControl = `id="${shopsId}"`;
    await shop.send(new PutBucketAclCommand({ Bucket, GrantWrite, GrantFullControl }));
    const acl = await shop.send(new GetBucketAclCommand({ Bucket }));
    expect(acl.Grants?.map(({ Grantee, Permission }) => [Grantee?.ID, Permission])).toEqual([
      [shopsId, "FULL_CONTROL"],
      [banksId, "WRITE"],
    ]);

    const key = { Bucket, Key: "ledger" };
    await bank.send(new PutObjectCommand({ ...key, Body: "debts" }));
    expect(await outcomeOf(shop.send(new GetObjectCommand(key)))).toBe("AccessDenied 403");
    const own = await bank.send(new GetObjectAclCommand(key));
    const Grants = [
      ...(own.Grants ?? []),
      { Grantee: { Type: "CanonicalUser" as const, ID: shopsId }, Permission: "READ" as const },
    ];
    await bank.send(new PutObjectAclCommand({ ...key, AccessControlPolicy: { Owner: own.Owner, Grants } }));
    expect(await outcomeOf(shop.send(new GetObjectCommand(key)))).toBe("answered");
    expect(await outcomeOf(shop.send(new PutObjectAclCommand({ ...key, ACL: "private" })))).toBe("AccessDenied 403");
    expect((await fetch(urlOf("/mixed/ledger"))).status).toBe(403);
    await bank.send(new PutObjectAclCommand({ ...key, ACL: "public-read" }));
    expect(await (await fetch(urlOf("/mixed/ledger"))).text()).toBe("debts");
  });
});
