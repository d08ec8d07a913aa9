import { expect, onTestFinished, test } from "vitest";

import { commonPolicies } from "../../../gateway/identity/domain/common-policies.ts";
import { documentOf } from "../../../gateway/identity/domain/documents.ts";
import { parseIdentityPolicy } from "../../../services/kit/identity/identity-policies.ts";
import { allowing, openIdentity, shop } from "./identity.ts";

type Opened = Awaited<ReturnType<typeof openIdentity>>;

const policyArn = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess";
const ownArn = `arn:aws:iam::${shop}:policy/AmazonS3ReadOnlyAccess`;

const furnished = async (): Promise<Opened> => {
  const opened = await openIdentity();
  onTestFinished(opened.close);
  await opened.call("createUser", { userName: "alice" });
  return opened;
};

test.for([...commonPolicies.values()])("$name can be parsed, and allows something", (policy) => {
  expect(parseIdentityPolicy(documentOf(policy)).statements).not.toHaveLength(0);
});

test("a common policy is attached by its ARN, beside one of the account with its name", async () => {
  const { call, stored } = await furnished();
  const { accessKey } = (await call("createAccessKey", { userName: "alice" })) as {
    accessKey: { accessKeyId: string };
  };
  const policies = () => stored.findAccessKey(accessKey.accessKeyId)?.policies;
  await call("attachUserPolicy", { userName: "alice", policyArn });
  await call("attachUserPolicy", { userName: "alice", policyArn });
  expect(policies()).toEqual([documentOf(commonPolicies.get("amazons3readonlyaccess")!)]);
  await call("createPolicy", { policyName: "AmazonS3ReadOnlyAccess", policyDocument: allowing("s3:GetObject") });
  await call("attachUserPolicy", { userName: "alice", policyArn: ownArn });
  expect(await call("listAttachedUserPolicies", { userName: "alice" })).toMatchObject({
    attachedPolicies: [
      { policyName: "AmazonS3ReadOnlyAccess", policyArn: ownArn },
      { policyName: "AmazonS3ReadOnlyAccess", policyArn },
    ],
  });
  await call("detachUserPolicy", { userName: "alice", policyArn });
  expect(policies()).toEqual([allowing("s3:GetObject")]);
});

test("listings tell the account's policies from the common ones", async () => {
  const { call } = await furnished();
  await call("createPolicy", { policyName: "IAMFullAccess", policyDocument: allowing("iam:*") });
  await call("attachUserPolicy", { userName: "alice", policyArn });
  const arns = async (request: object): Promise<string[]> => {
    const found: string[] = [];
    let marker: unknown;
    do {
      const page = await call("listPolicies", { maxItems: 3, ...request, marker });
      found.push(...(page["policies"] as { arn: string }[]).map(({ arn }) => arn));
      marker = page["marker"];
    } while (marker !== undefined);
    return found;
  };
  const own = `arn:aws:iam::${shop}:policy/IAMFullAccess`;
  const common = [...commonPolicies.values()].map(({ name }) => `arn:aws:iam::aws:policy/${name}`);
  expect(await arns({ scope: "Local" })).toEqual([own]);
  expect((await arns({ scope: "AWS" })).toSorted()).toEqual(common.toSorted());
  expect((await arns({})).toSorted()).toEqual([own, ...common].toSorted());
  expect(await arns({ onlyAttached: true })).toEqual([policyArn]);
});

test("a common policy is read as one of the account", async () => {
  const { call, stored } = await furnished();
  expect(await call("getPolicy", { policyArn })).toMatchObject({
    policy: { arn: policyArn, defaultVersionId: "v1", attachmentCount: 0 },
  });
  expect(await call("getPolicyVersion", { policyArn, versionId: "v1" })).toMatchObject({
    policyVersion: { document: stored.findPolicy(policyArn), isDefaultVersion: true },
  });
});

// the operation, its request
test.for<[Parameters<Opened["call"]>[0], object]>([
  ["createPolicyVersion", { policyDocument: allowing("s3:*"), setAsDefault: true }],
  ["setDefaultPolicyVersion", { versionId: "v1" }],
  ["deletePolicyVersion", { versionId: "v1" }],
  ["deletePolicy", {}],
  ["tagPolicy", { tags: [{ key: "a", value: "b" }] }],
  ["untagPolicy", { tagKeys: ["a"] }],
])("%s does not change a common policy", async ([name, request]) => {
  const { call } = await furnished();
  await expect(call(name, { policyArn, ...request })).rejects.toMatchObject({ facts: { reason: "ACCESS_DENIED" } });
});

test("a common policy that there is not is refused", async () => {
  const { call } = await furnished();
  for (const unknown of [`${policyArn}s`, "arn:aws:iam::aws:policy/team/AmazonS3ReadOnlyAccess"])
    await expect(call("attachUserPolicy", { userName: "alice", policyArn: unknown })).rejects.toMatchObject({
      facts: { reason: "NO_SUCH_ENTITY" },
    });
});
