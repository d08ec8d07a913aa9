import { expect, onTestFinished, test } from "vitest";

import { parseTrustPolicy } from "../../../services/kit/accounts/trust-policy.ts";
import { allowing, openIdentity, shop } from "./identity.ts";

const trust = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Principal: { AWS: shop }, Action: "sts:AssumeRole" }],
});
const reading = allowing("s3:GetObject", "arn:aws:s3:::photos/*");
const putting = allowing("events:PutEvents");
const ownPolicy = `arn:aws:iam::${shop}:policy/team/own`;
const commonPolicy = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess";

/**
 * bob (declared)      clerk (declared)
 * alice: group all, inline "read", attached "own"
 * group all: inline "put", attached AmazonS3ReadOnlyAccess
 * role nightly: inline "read", in the instance profile "web"
 * policy own: versions v1 and v2 (default)
 */
const open = async () => {
  const opened = await openIdentity({
    users: [{ accountId: shop, name: "team/bob", policies: [putting] }],
    roles: [
      {
        accountId: shop,
        name: "clerk",
        arn: `arn:aws:iam::${shop}:role/clerk`,
        trustPolicy: parseTrustPolicy(trust),
        policies: [putting],
      },
    ],
  });
  onTestFinished(opened.close);
  const { call } = opened;
  await call("createPolicy", { policyName: "own", path: "/team/", policyDocument: reading });
  await call("createPolicyVersion", { policyArn: ownPolicy, policyDocument: putting, setAsDefault: true });
  await call("createUser", { userName: "alice", tags: [{ key: "team", value: "shop" }] });
  await call("putUserPolicy", { userName: "alice", policyName: "read", policyDocument: reading });
  await call("attachUserPolicy", { userName: "alice", policyArn: ownPolicy });
  await call("createGroup", { groupName: "all" });
  await call("putGroupPolicy", { groupName: "all", policyName: "put", policyDocument: putting });
  await call("attachGroupPolicy", { groupName: "all", policyArn: commonPolicy });
  await call("addUserToGroup", { groupName: "all", userName: "alice" });
  await call("createRole", { roleName: "nightly", assumeRolePolicyDocument: trust });
  await call("putRolePolicy", { roleName: "nightly", policyName: "read", policyDocument: reading });
  await call("createInstanceProfile", { instanceProfileName: "web" });
  await call("addRoleToInstanceProfile", { instanceProfileName: "web", roleName: "nightly" });
  return opened;
};

type Answer = Record<"userDetailList" | "groupDetailList" | "roleDetailList" | "policies", Record<string, unknown>[]>;

const details = async ({ call }: Awaited<ReturnType<typeof open>>, request = {}): Promise<Answer> =>
  (await call("getAccountAuthorizationDetails", request)) as Answer;

const namesOf = ({ userDetailList, groupDetailList, roleDetailList, policies }: Answer): unknown[] => [
  ...userDetailList.map(({ userName }) => userName),
  ...groupDetailList.map(({ groupName }) => groupName),
  ...roleDetailList.map(({ roleName }) => roleName),
  ...policies.map(({ policyName }) => policyName),
];

test("everything that says what entities may do is listed, the policies of declared ones excepted", async () => {
  const answer = await details(await open());
  expect(namesOf(answer)).toEqual(["alice", "bob", "all", "clerk", "nightly", "own", "AmazonS3ReadOnlyAccess"]);
  const [alice, bob] = answer.userDetailList;
  expect(alice).toMatchObject({
    arn: `arn:aws:iam::${shop}:user/alice`,
    userPolicyList: [{ policyName: "read", policyDocument: reading }],
    groupList: ["all"],
    attachedManagedPolicies: [{ policyName: "own", policyArn: ownPolicy }],
    tags: [{ key: "team", value: "shop" }],
  });
  expect(bob).toMatchObject({ path: "/team/", arn: `arn:aws:iam::${shop}:user/team/bob` });
  expect(bob?.["userPolicyList"]).toBeUndefined();
  expect(answer.groupDetailList).toMatchObject([
    {
      groupPolicyList: [{ policyName: "put", policyDocument: putting }],
      attachedManagedPolicies: [{ policyName: "AmazonS3ReadOnlyAccess", policyArn: commonPolicy }],
    },
  ]);
  expect(answer.roleDetailList).toMatchObject([
    { arn: `arn:aws:iam::${shop}:role/clerk` },
    {
      assumeRolePolicyDocument: trust,
      rolePolicyList: [{ policyName: "read", policyDocument: reading }],
      instanceProfileList: [{ instanceProfileName: "web", roles: [{ roleName: "nightly" }] }],
    },
  ]);
  expect(answer.policies).toMatchObject([
    {
      arn: ownPolicy,
      defaultVersionId: "v2",
      attachmentCount: 1,
      policyVersionList: [
        { versionId: "v2", isDefaultVersion: true, document: putting },
        { versionId: "v1", isDefaultVersion: false, document: reading },
      ],
    },
    { arn: commonPolicy, attachmentCount: 1, policyVersionList: [{ versionId: "v1", isDefaultVersion: true }] },
  ]);
});

// the filter, what is listed
test.for<[string[], string[]]>([
  [["User"], ["alice", "bob"]],
  [["Group"], ["all"]],
  [["Role"], ["clerk", "nightly"]],
  [["LocalManagedPolicy"], ["own"]],
  [["AWSManagedPolicy"], ["AmazonS3ReadOnlyAccess"]],
  [
    ["AWSManagedPolicy", "User"],
    ["alice", "bob", "AmazonS3ReadOnlyAccess"],
  ],
])("the filter %j lists %j", async ([filter, names]) => {
  const answer = await details(await open(), { filter });
  expect(namesOf(answer)).toEqual(names);
});

test("pages go on from one kind to the next, each entity once", async () => {
  const opened = await open();
  const pages: unknown[] = [];
  let marker: string | undefined;
  do {
    const answer = await details(opened, { maxItems: 3, marker });
    pages.push(namesOf(answer));
    ({ marker } = answer as unknown as { readonly marker?: string });
  } while (marker !== undefined);
  expect(pages).toEqual([["alice", "bob", "all"], ["clerk", "nightly", "own"], ["AmazonS3ReadOnlyAccess"]]);
});

test("a marker of another filter is refused", async () => {
  const opened = await open();
  const { marker } = (await details(opened, { maxItems: 1 })) as unknown as { readonly marker: string };
  await expect(details(opened, { maxItems: 1, marker, filter: ["User"] })).rejects.toMatchObject({
    facts: { reason: "INVALID_PAGE_TOKEN" },
  });
});

test("a page ends before its documents have more than 3 MiB", async () => {
  const opened = await openIdentity();
  onTestFinished(opened.close);
  const document = allowing("s3:GetObject", `arn:aws:s3:::photos/${"p".repeat(6_000)}`);
  for (let index = 0; index < 120; index += 1) {
    const policyName = `policy-${String(index).padStart(3, "0")}`;
    await opened.call("createPolicy", { policyName, policyDocument: document });
    for (let version = 0; version < 4; version += 1)
      await opened.call("createPolicyVersion", {
        policyArn: `arn:aws:iam::${shop}:policy/${policyName}`,
        policyDocument: document,
      });
  }
  const answer = await opened.call("getAccountAuthorizationDetails", { maxItems: 1_000 });
  const { policies } = answer as { readonly policies: readonly unknown[] };
  expect(policies.length).toBe(99);
  expect(answer["isTruncated"]).toBe(true);
});
