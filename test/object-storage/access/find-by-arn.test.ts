import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { ReasonSchema, SimulatePolicyRequestSchema } from "../../../gen/quartet/kit/policy/v1/policy_service_pb.ts";
import { simulatePolicy } from "../../../services/kit/access/policy-service.ts";
import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { findByArn } from "../../../services/object-storage/access/find-by-arn.ts";
import { rules } from "../../../services/object-storage/access/rules.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, put, startHarness } from "../harness.ts";
import { policyOf } from "./in-process.ts";

const root = `arn:aws:iam::${alice}:root`;
const carol = `arn:aws:iam::${alice}:user/carol`;
const everybody = "*";

/** A service with buckets of Alice whose decisions differ, and one of Bob. */
const start = async (): Promise<Harness> => {
  const harness = await startHarness({ objectOwnership: "ObjectWriter" });
  const { client } = harness;
  const blocks = { listed: { ignorePublicAcls: true }, restricted: { restrictPublicBuckets: true } };
  for (const bucket of ["album", "closed", "listed", "restricted", "enforced"])
    await client.createBucket(
      { bucket, ...(bucket === "enforced" && { objectOwnership: "BucketOwnerEnforced" as const }) },
      as(alice),
    );
  await client.createBucket({ bucket: "theirs" }, as(bob));
  for (const bucket of ["album", "listed"]) {
    await put(harness, { bucket, key: "open.jpg", acl: "public-read", tagging: "team=press" }, "open");
    await put(harness, { bucket, key: "own.jpg" }, "own");
  }
  const allow = { Effect: "Allow", Principal: "*", Action: "s3:GetObject" };
  const ofPress = { StringEquals: { "s3:ExistingObjectTag/team": "press" } };
  const policies = {
    album: { Effect: "Deny", Principal: "*", Action: "s3:*", Resource: "arn:aws:s3:::album/own.jpg" },
    closed: { Effect: "Deny", Principal: "*", Action: "s3:*", Resource: "arn:aws:s3:::closed" },
    listed: {
      ...allow,
      Principal: { AWS: carol },
      Resource: "arn:aws:s3:::listed/*",
      Condition: ofPress,
    },
    restricted: { ...allow, Resource: "arn:aws:s3:::restricted/*" },
    enforced: { ...allow, Resource: "arn:aws:s3:::enforced/*" },
  };
  for (const [bucket, statement] of Object.entries(policies))
    await client.putBucketPolicy({ bucket, policy: policyOf(statement) }, as(alice));
  for (const [bucket, publicAccessBlockConfiguration] of Object.entries(blocks))
    await client.putPublicAccessBlock({ bucket, publicAccessBlockConfiguration }, as(alice));
  return harness;
};

/** The reason of the decision on a request by a principal without policies of its own, asked for by Alice's root. */
const explained = async (
  { opened: { app } }: Harness,
  [principalArn, action, resource]: readonly [string, string, string],
): Promise<string | undefined> => {
  const request = create(SimulatePolicyRequestSchema, {
    principalArn,
    action: `s3:${action}`,
    resourceArn: `arn:aws:s3:::${resource}`,
    identityPolicies: { documents: [] },
  });
  const users = { accounts: [], users: [], roles: [], organizations: new Map(), accessKeys: [] };
  const service = {
    rules,
    clock: app.clock,
    accounts: accountsOf(users),
    findResource: (asked: Parameters<typeof findByArn>[1]) => findByArn(app, asked),
  };
  const { reason } = await simulatePolicy(request, { app: service, caller: rootCaller(alice) });
  return ReasonSchema.value[reason]?.localName;
};

const expected = [
  // who asks, action, resource, what decides
  // the bucket's policy, of which the root cannot be locked out
  [root, "GetObject", "album/open.jpg", "OWNER"],
  [root, "GetObject", "album/own.jpg", "EXPLICIT_DENY"],
  [root, "ListBucket", "closed", "EXPLICIT_DENY"],
  [root, "PutBucketPolicy", "closed", "OWNER"],
  [carol, "GetObject", "enforced/a.jpg", "RESOURCE_POLICY"],
  // the ACL of an object, and of the bucket for a key that does not exist
  [everybody, "GetObject", "album/open.jpg", "OWNER_GRANT"],
  [everybody, "PutObject", "album/open.jpg", "NO_ALLOW"],
  [everybody, "GetObject", "album/other.jpg", "NO_ALLOW"],
  // an ACL that is ignored, and the tags of the object
  [everybody, "GetObject", "listed/open.jpg", "NO_ALLOW"],
  [carol, "GetObject", "listed/open.jpg", "RESOURCE_POLICY"],
  [carol, "GetObject", "listed/own.jpg", "NO_ALLOW"],
  // a public policy, restricted and not
  [everybody, "GetObject", "restricted/a.jpg", "NO_ALLOW"],
  [carol, "GetObject", "restricted/a.jpg", "RESOURCE_POLICY"],
  [everybody, "GetObject", "enforced/a.jpg", "RESOURCE_POLICY"],
  // no such bucket
  [root, "CreateBucket", "another", "OWNER"],
  [root, "CreateBucket", "theirs", "OWNER"],
] as const;

test("a simulation decides by the policy, ownership, ACLs and public access block of a bucket", async () => {
  const harness = await start();
  const decided = [];
  for (const [principal, action, resource] of expected)
    decided.push([principal, action, resource, await explained(harness, [principal, action, resource])]);
  expect(decided).toEqual(expected);
  const ofBob = explained(harness, [root, "GetObject", "theirs/a.jpg"]);
  await expect(ofBob).rejects.toThrow("Not authorized to simulate this request.");
});
