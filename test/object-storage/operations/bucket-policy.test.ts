import { describe, expect, test } from "vitest";

import { anonymousCaller } from "../../../services/kit/identity/caller.ts";
import type { Bucket } from "../../../services/object-storage/store/bucket.ts";
import { changeRules, findBucket } from "../../../services/object-storage/store/bucket.ts";
import { putDocument } from "../../../services/object-storage/store/configuration.ts";
import { aliceRoot, bobRoot, outcomeOf, policyOf, usersOfAlice, usersOfBob } from "../access/in-process.ts";
import { alice, as, bob, put, refusalOf, startWithBucket } from "../harness.ts";

const bucket = "photos";
const everything = ["arn:aws:s3:::photos", "arn:aws:s3:::photos/*"];
const allow = (members: object = {}) => ({
  Effect: "Allow",
  Principal: "*",
  Action: "s3:GetObject",
  Resource: "arn:aws:s3:::photos/*",
  ...members,
});
const canonicalId = "0123456789abcdef".repeat(4);

describe("putBucketPolicy", () => {
  test("stores the text as it is, decides on the next call, and repeating it changes nothing", async () => {
    const harness = await startWithBucket();
    const { client } = harness;
    await put(harness, { bucket, key: "cat.jpg" }, "meow");
    const head = () => refusalOf(client.headObject({ bucket, key: "cat.jpg" }));
    const policy = ` ${policyOf(allow())} `.trim().replace("{", "{ ");

    expect(await head()).toBe("ACCESS_DENIED");
    await client.putBucketPolicy({ bucket, policy }, as(alice));
    expect(await head()).toBe("answered");
    await client.putBucketPolicy({ bucket, policy }, as(alice));
    expect((await client.getBucketPolicy({ bucket }, as(alice))).policy).toBe(policy);

    await client.putBucketPolicy({ bucket, policy: policyOf(allow({ Principal: { AWS: bob } })) }, as(alice));
    expect(await head()).toBe("ACCESS_DENIED");
    await client.deleteBucketPolicy({ bucket }, as(alice));
    expect(await refusalOf(client.headObject({ bucket, key: "cat.jpg" }, as(bob)))).toBe("ACCESS_DENIED");
    expect(await refusalOf(client.deleteBucketPolicy({ bucket }, as(alice)))).toBe("answered");
    expect(await refusalOf(client.getBucketPolicy({ bucket }, as(alice)))).toBe("NO_SUCH_BUCKET_POLICY");
  });

  test("goes with its bucket", async () => {
    const { client } = await startWithBucket();
    await client.putBucketPolicy({ bucket, policy: policyOf(allow()) }, as(alice));
    await client.deleteBucket({ bucket }, as(alice));
    await client.createBucket({ bucket }, as(alice));
    expect(await refusalOf(client.getBucketPolicy({ bucket }, as(alice)))).toBe("NO_SUCH_BUCKET_POLICY");
  });

  /** The length of a policy without the key that its resource names. */
  const baseLength = 131;
  const malformed = (explanation: string): string => `MALFORMED_POLICY: ${explanation}`;
  const misfit = malformed("Action does not apply to any resource(s) in statement");
  const badResource = malformed("Policy has invalid resource");

  test.each([
    // policy, reason; in the order of refusal
    [` ${policyOf(allow())}`, malformed("Policies must be valid JSON and the first byte must be '{'")],
    ["{", malformed("The policy is not valid JSON.")],
    [`{"Version":"2012-10-17"}`, malformed("Statement must not be empty.")],
    [policyOf(allow({ Effect: "Perhaps" })), malformed("Statement[0].Effect must be Allow or Deny.")],
    [policyOf(allow({ Principal: undefined })), malformed("Statement[0] needs Principal or NotPrincipal.")],
    [policyOf(allow({ Principal: { AWS: "1" } })), malformed("Invalid principal in policy")],
    [policyOf(allow({ Principal: { AWS: [] } })), malformed("Invalid principal in policy")],
    [policyOf(allow({ Principal: "alice" })), malformed("Invalid principal in policy")],
    [policyOf(allow({ Principal: { CanonicalUser: "1" } })), malformed("Invalid principal in policy")],
    [policyOf(allow({ Principal: { AWS: `arn:aws:iam::${bob}:house/x` } })), malformed("Invalid principal in policy")],
    [policyOf(allow({ Action: "s3:GetNothing" })), malformed("Policy has invalid action")],
    [policyOf(allow({ Action: "s3:Got*" })), malformed("Policy has invalid action")],
    [policyOf(allow({ Action: "events:PutEvents" })), malformed("Policy has invalid action")],
    [policyOf(allow({ Resource: undefined })), malformed("Missing required field Resource")],
    [policyOf(allow({ Resource: "*" })), badResource],
    [policyOf(allow({ Resource: "arn:aws:s3:::other/*" })), badResource],
    [policyOf(allow({ Resource: "arn:aws:s3:::photos2/*" })), badResource],
    [policyOf(allow({ Resource: "arn:aws:s3:::*" })), badResource],
    [policyOf(allow({ Resource: "arn:aws:s3:us-east-1::photos/*" })), badResource],
    [policyOf(allow({ Resource: [...everything, "arn:aws:s3:::other"] })), badResource],
    [policyOf(allow({ Resource: "arn:aws:s3:::photos" })), misfit],
    [policyOf(allow({ Action: ["s3:GetObject", "s3:ListBucket"] })), misfit],
    [policyOf(allow({ Action: "s3:ListAllMyBuckets", Resource: everything })), misfit],
    [
      policyOf(allow({ Condition: { IpAddress: { "aws:SourceIp": "x" } } })),
      malformed('Statement[0].Condition.IpAddress.aws:SourceIp: "x" is not an address or network.'),
    ],
    [policyOf(allow({ Action: ["s3:GetObject", "s3:ListBucket"], Resource: everything })), "answered"],
    [policyOf(allow({ Action: "s3:*", Resource: "arn:aws:s3:::photos" })), "answered"],
    [policyOf(allow({ Action: "*", Resource: "arn:aws:s3:::photos*" })), "answered"],
    [
      policyOf(allow({ Action: "object-storage:GetObject", Resource: "arn:svc:object-storage:::photos/*" })),
      "answered",
    ],
    [policyOf(allow({ Principal: { CanonicalUser: canonicalId } })), "answered"],
    [policyOf(allow({ Principal: { SVC: `arn:svc:iam::${bob}:user/dave` } })), "answered"],
    [policyOf(allow({ Principal: undefined, NotPrincipal: { AWS: bob }, Effect: "Deny" })), "answered"],
    [policyOf(allow({ Action: undefined, NotAction: "s3:ListBucket" })), "answered"],
    [policyOf(allow({ Resource: `arn:aws:s3:::photos/${"k".repeat(20_480 - baseLength)}` })), "answered"],
    [
      policyOf(allow({ Resource: `arn:aws:s3:::photos/${"k".repeat(20_481 - baseLength)}` })),
      malformed("Policy exceeds the maximum allowed document size."),
    ],
  ])("number %# is decided as its row says", async (policy, reason) => {
    const { client } = await startWithBucket();
    expect(await refusalOf(client.putBucketPolicy({ bucket, policy }, as(alice)))).toBe(reason);
  });

  const unknownKey = malformed("Policy has an invalid condition key");
  const unfitKey = malformed("Conditions do not apply to combination of actions and resources in statement");

  test.each([
    // condition key, action, outcome
    ["aws:SourceIpp", "s3:GetObject", unknownKey],
    ["aws:sourceIP", "s3:GetObject", "answered"],
    ["svc:SourceIp", "s3:GetObject", "answered"],
    ["SourceIp", "s3:GetObject", unknownKey],
    ["s3:x-amz-server-side-encrytion", "s3:PutObject", unknownKey],
    ["s3:x-amz-server-side-encryption", "s3:PutObject", "answered"],
    ["object-storage:x-svc-server-side-encryption", "s3:PutObject", "answered"],
    ["s3:x-amz-acl", "s3:GetObjectAcl", unfitKey],
    ["s3:prefix", "s3:GetObject", unfitKey],
    ["s3:prefix", "s3:ListBucket", "answered"],
    ["s3:prefix", "s3:*", "answered"],
    ["s3:VersionId", "s3:GetObjectVersion", "answered"],
    ["s3:ExistingObjectTag/kind", "s3:GetObject", "answered"],
    ["s3:ExistingObjectTag/", "s3:GetObject", unknownKey],
    ["aws:PrincipalTag/team", "s3:GetObject", "answered"],
    ["aws:PrincipalTags/team", "s3:GetObject", unknownKey],
    ["aws:PrincipalOrgID", "s3:GetObject", "answered"],
    ["aws:SourceAccount", "s3:GetObject", "answered"],
    ["aws:SourceVpce", "s3:GetObject", "answered"],
    ["aws:MultiFactorAuthAge", "s3:GetObject", "answered"],
    ["s3:TlsVersion", "s3:GetObject", "answered"],
    ["events:source", "s3:GetObject", unknownKey],
  ])("a denial on the condition key %s of %s: %s", async (key, action, outcome) => {
    const { client } = await startWithBucket();
    const Condition = { Null: { [key]: "false" } };
    const policy = policyOf({ Effect: "Deny", Principal: "*", Action: action, Resource: everything, Condition });
    expect(await refusalOf(client.putBucketPolicy({ bucket, policy }, as(alice)))).toBe(outcome);
  });

  test("that is stored keeps acting, whatever keys it has", async () => {
    const { opened, client } = await startWithBucket();
    const Condition = { Null: { "aws:Sources": "true" } };
    const policy = policyOf(allow({ Action: "s3:ListBucket", Resource: everything, Condition }));
    await opened.app.store.transact(async (transaction) => {
      const found = (await findBucket(transaction, bucket)) as Bucket;
      putDocument(transaction, found.bucketId, "policy", policy);
      changeRules(transaction, found, "r1", { policyRevision: "r1" });
    });
    expect(await refusalOf(client.listObjectsV2({ bucket }, as(bob)))).toBe("answered");
  });

  const manage = ["s3:GetBucketPolicy", "s3:PutBucketPolicy", "s3:DeleteBucketPolicy"];
  const denial = policyOf({ Effect: "Deny", Principal: "*", Action: manage, Resource: "arn:aws:s3:::photos" });

  test("that locks its author out is refused, unless it is confirmed; the owner's root is never locked out", async () => {
    const { opened } = await startWithBucket();
    const { app } = opened;
    const carol = usersOfAlice({ Effect: "Allow", Action: manage, Resource: "*" });
    expect(await outcomeOf(app, "putBucketPolicy", { bucket, policy: denial }, carol)).toBe("MALFORMED_POLICY");
    expect(await outcomeOf(app, "getBucketPolicy", { bucket }, carol)).toBe("NO_SUCH_BUCKET_POLICY");
    const confirmed = { bucket, policy: denial, confirmRemoveSelfBucketAccess: true };
    expect(await outcomeOf(app, "putBucketPolicy", confirmed, carol)).toBe("answered");
    for (const name of ["getBucketPolicy", "deleteBucketPolicy"] as const)
      expect(await outcomeOf(app, name, { bucket }, carol)).toBe("ACCESS_DENIED");
    expect(await outcomeOf(app, "putBucketPolicy", confirmed, carol)).toBe("ACCESS_DENIED");
    expect(await outcomeOf(app, "getBucketPolicy", { bucket }, aliceRoot)).toBe("answered");
    expect(await outcomeOf(app, "putBucketPolicy", { bucket, policy: denial }, aliceRoot)).toBe("answered");
    expect(await outcomeOf(app, "deleteBucketPolicy", { bucket }, aliceRoot)).toBe("answered");
  });

  test("is refused where public policies are blocked, if it is public", async () => {
    const { client } = await startWithBucket();
    const publicAccessBlockConfiguration = { blockPublicPolicy: true };
    await client.putPublicAccessBlock({ bucket, publicAccessBlockConfiguration }, as(alice));
    const policy = policyOf(allow());
    expect(await refusalOf(client.putBucketPolicy({ bucket, policy }, as(alice)))).toBe("ACCESS_DENIED");
    const named = policyOf(allow({ Principal: { AWS: bob } }));
    expect(await refusalOf(client.putBucketPolicy({ bucket, policy: named }, as(alice)))).toBe("answered");
  });
});

test.each([
  // operation, who has the permission, outcome for the owner's users and for other accounts
  ["getBucketPolicy", "answered", "METHOD_NOT_ALLOWED"],
  ["putBucketPolicy", "answered", "METHOD_NOT_ALLOWED"],
  ["getBucketPolicyStatus", "answered", "answered"],
  ["deleteBucketPolicy", "answered", "METHOD_NOT_ALLOWED"],
] as const)(
  "%s with the permission ends as %s in the owner's account, as %s in another",
  async (name, own, foreign) => {
    const { opened, client } = await startWithBucket();
    const policy = policyOf(allow({ Action: "s3:*", Principal: { AWS: [alice, bob] }, Resource: everything }));
    await client.putBucketPolicy({ bucket, policy }, as(alice));
    const all = { Effect: "Allow", Action: "s3:*", Resource: "*" };
    const request = { bucket, policy };
    expect(await outcomeOf(opened.app, name, request, usersOfBob(all))).toBe(foreign);
    expect(await outcomeOf(opened.app, name, request, bobRoot)).toBe(foreign);
    expect(await outcomeOf(opened.app, name, request, usersOfBob())).toBe("ACCESS_DENIED");
    expect(await outcomeOf(opened.app, name, request, anonymousCaller)).toBe("ACCESS_DENIED");
    expect(await outcomeOf(opened.app, name, request, usersOfAlice(all))).toBe(own);
  },
);

const condition = (operator: string, key: string, value: string | string[]) => ({
  Condition: { [operator]: { [key]: value } },
});

test.each([
  // the members of an Allow statement, whether the policy is public
  [{}, true],
  [{ Principal: { AWS: "*" } }, true],
  [{ Principal: undefined, NotPrincipal: { AWS: bob } }, true],
  [{ Principal: { AWS: bob } }, false],
  [{ Effect: "Deny" }, false],
  [condition("IpAddress", "aws:SourceIp", "192.0.2.0/24"), false],
  [condition("IpAddress", "aws:SourceIp", "10.0.0.0/8"), false],
  [condition("IpAddress", "aws:SourceIp", ["10.0.0.0/8", "0.0.0.0/1"]), true],
  [condition("IpAddress", "aws:SourceIp", "2001:db8::/32"), false],
  [condition("IpAddress", "aws:SourceIp", "::/0"), true],
  [condition("NotIpAddress", "aws:SourceIp", "192.0.2.0/24"), true],
  [condition("StringEquals", "aws:PrincipalOrgID", "o-1234567890"), false],
  [condition("StringEquals", "svc:PrincipalOrgID", "o-1234567890"), false],
  [condition("StringEqualsIfExists", "aws:PrincipalOrgID", "o-1234567890"), true],
  [condition("ForAllValues:StringEquals", "aws:PrincipalOrgID", "o-1234567890"), true],
  [condition("StringLike", "aws:PrincipalArn", `arn:aws:iam::${bob}:role/*`), true],
  [condition("ArnEquals", "aws:PrincipalArn", `arn:aws:iam::${bob}:role/reader`), false],
  [condition("StringEquals", "aws:Referer", "https://example.com"), true],
  [condition("StringNotEquals", "aws:PrincipalAccount", bob), true],
])("a policy that allows with %j has the status public: %s", async (members, isPublic) => {
  const { client } = await startWithBucket();
  await client.putBucketPolicy({ bucket, policy: policyOf(allow(members)) }, as(alice));
  expect((await client.getBucketPolicyStatus({ bucket }, as(alice))).policyStatus?.isPublic).toBe(isPublic);
});

test("configurations need the permission that puts them, which the owner has and can grant", async () => {
  const { client, opened } = await startWithBucket();
  const corsconfiguration = { corsrules: [{ allowedMethods: ["GET"], allowedOrigins: ["*"] }] };
  const putCors = (account: string) => refusalOf(client.putBucketCors({ bucket, corsconfiguration }, as(account)));
  const user = usersOfAlice({ Effect: "Allow", Action: "s3:GetBucketCORS", Resource: "*" });
  expect(await outcomeOf(opened.app, "putBucketCors", { bucket, corsconfiguration }, user)).toBe("ACCESS_DENIED");
  expect([await putCors(alice), await putCors(bob)]).toEqual(["answered", "ACCESS_DENIED"]);
  const granted = allow({ Principal: { AWS: bob }, Action: "s3:PutBucketCORS", Resource: "arn:aws:s3:::photos" });
  await client.putBucketPolicy({ bucket, policy: policyOf(granted) }, as(alice));
  expect(await putCors(bob)).toBe("answered");
  expect(await refusalOf(client.deleteBucketCors({ bucket }, as(bob)))).toBe("answered");
  expect(await refusalOf(client.getBucketCors({ bucket }, as(bob)))).toBe("ACCESS_DENIED");
});
