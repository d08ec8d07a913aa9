import { expect, onTestFinished, test } from "vitest";

import { allowing, openIdentity, root, shop } from "./identity.ts";

type Opened = Awaited<ReturnType<typeof openIdentity>>;

const policyArn = `arn:aws:iam::${shop}:policy/read`;
const trust = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Principal: { AWS: shop }, Action: "sts:AssumeRole" }],
});

/** A user alice, a group and a role that a policy with the action `s3:One` is attached to. */
const furnished = async (): Promise<Opened> => {
  const opened = await openIdentity();
  onTestFinished(opened.close);
  const { call } = opened;
  await call("createPolicy", { policyName: "read", policyDocument: allowing("s3:One") });
  await call("createUser", { userName: "alice", path: "/team/" });
  await call("createGroup", { groupName: "readers" });
  await call("createRole", { roleName: "reader", assumeRolePolicyDocument: trust });
  await call("attachUserPolicy", { userName: "alice", policyArn });
  await call("attachGroupPolicy", { groupName: "readers", policyArn });
  await call("attachRolePolicy", { roleName: "reader", policyArn });
  return opened;
};

const actionsOfRole = ({ stored }: Opened): readonly string[] | undefined =>
  stored.findRoleByName(shop, "reader")?.policies;

const versionsOf = async ({ call }: Opened): Promise<unknown> =>
  ((await call("listPolicyVersions", { policyArn }))["versions"] as Record<string, unknown>[]).map(
    ({ versionId, isDefaultVersion }) => [versionId, isDefaultVersion],
  );

test("a new version counts when it is the default one, for all that the policy is attached to", async () => {
  const opened = await furnished();
  const { call } = opened;
  await call("createPolicyVersion", { policyArn, policyDocument: allowing("s3:Two") });
  expect(actionsOfRole(opened)).toEqual([allowing("s3:One")]);
  expect(await versionsOf(opened)).toEqual([
    ["v2", false],
    ["v1", true],
  ]);
  await call("setDefaultPolicyVersion", { policyArn, versionId: "v2" });
  expect(actionsOfRole(opened)).toEqual([allowing("s3:Two")]);
  expect(await call("getPolicy", { policyArn })).toMatchObject({ policy: { defaultVersionId: "v2" } });
  await call("createPolicyVersion", { policyArn, policyDocument: allowing("s3:Three"), setAsDefault: true });
  expect(actionsOfRole(opened)).toEqual([allowing("s3:Three")]);
  expect(await call("getPolicyVersion", { policyArn, versionId: "v1" })).toMatchObject({
    policyVersion: { document: allowing("s3:One"), isDefaultVersion: false },
  });
});

test("a policy has five versions at most, and a number is used once", async () => {
  const opened = await furnished();
  const { call } = opened;
  const add = () => call("createPolicyVersion", { policyArn, policyDocument: allowing("s3:More"), setAsDefault: true });
  for (let index = 2; index <= 5; index += 1) await add();
  await expect(add()).rejects.toMatchObject({ facts: { reason: "LIMIT_EXCEEDED" } });
  await expect(call("deletePolicyVersion", { policyArn, versionId: "v5" })).rejects.toMatchObject({
    facts: { reason: "DELETE_CONFLICT" },
  });
  await call("deletePolicyVersion", { policyArn, versionId: "v4" });
  await add();
  expect(await versionsOf(opened)).toEqual([
    ["v6", true],
    ["v5", false],
    ["v3", false],
    ["v2", false],
    ["v1", false],
  ]);
});

test("a policy is deleted when it is attached nowhere and has one version", async () => {
  const { call } = await furnished();
  await call("createPolicyVersion", { policyArn, policyDocument: allowing("s3:Two"), setAsDefault: true });
  const isRefused = () =>
    expect(call("deletePolicy", { policyArn })).rejects.toMatchObject({ facts: { reason: "DELETE_CONFLICT" } });
  await isRefused();
  await call("detachUserPolicy", { userName: "alice", policyArn });
  await call("detachGroupPolicy", { groupName: "readers", policyArn });
  await call("detachRolePolicy", { roleName: "reader", policyArn });
  await isRefused();
  await call("deletePolicyVersion", { policyArn, versionId: "v1" });
  await call("deletePolicy", { policyArn });
});

// what is asked, the groups, users and roles that are listed
test.for<[object, string[]]>([
  [{}, ["readers", "alice", "reader"]],
  [{ entityFilter: "User" }, ["alice"]],
  [{ entityFilter: "AWSManagedPolicy" }, []],
  [{ pathPrefix: "/team/" }, ["alice"]],
  [{ policyUsageFilter: "PermissionsPolicy" }, ["readers", "alice", "reader"]],
  [{ policyUsageFilter: "PermissionsBoundary" }, []],
])("of %j, a policy is attached to %j", async ([request, names]) => {
  const { call } = await furnished();
  const listed: string[] = [];
  let marker: unknown;
  do {
    const page = await call("listEntitiesForPolicy", { policyArn, maxItems: 1, ...request, marker });
    const { policyGroups, policyUsers, policyRoles } = page as Record<string, Record<string, string>[]>;
    listed.push(...policyGroups!.map((group) => group["groupName"]!));
    listed.push(...policyUsers!.map((user) => user["userName"]!), ...policyRoles!.map((role) => role["roleName"]!));
    marker = page["marker"];
  } while (marker !== undefined);
  expect(listed).toEqual(names);
});

test("a group keeps its users and policies when it is renamed", async () => {
  const { call, stored } = await furnished();
  await call("addUserToGroup", { groupName: "readers", userName: "alice" });
  await call("detachUserPolicy", { userName: "alice", policyArn });
  const { accessKey } = (await call("createAccessKey", { userName: "alice" })) as {
    accessKey: { accessKeyId: string };
  };
  await call("updateGroup", { groupName: "READERS", newGroupName: "all", newPath: "/team/" });
  expect(stored.findAccessKey(accessKey.accessKeyId)?.policies).toEqual([allowing("s3:One")]);
  expect(await call("getGroup", { groupName: "all" })).toMatchObject({
    group: { arn: `arn:aws:iam::${shop}:group/team/all` },
    users: [{ userName: "alice" }],
  });
  await expect(call("getGroup", { groupName: "readers" })).rejects.toMatchObject({
    facts: { reason: "NO_SUCH_ENTITY" },
  });
});

test("a role's description is changed", async () => {
  const { call } = await furnished();
  expect(await call("updateRoleDescription", { roleName: "reader", description: "reads" })).toMatchObject({
    role: { roleName: "reader", description: "reads" },
  });
});

// the operations that add, remove and list tags, and what names the entity
test.for([
  ["tagUser", "untagUser", "listUserTags", { userName: "alice" }],
  ["tagRole", "untagRole", "listRoleTags", { roleName: "reader" }],
  ["tagPolicy", "untagPolicy", "listPolicyTags", { policyArn }],
] as const)("%s, %s and %s", async ([tag, untag, list, named]) => {
  const { call } = await furnished();
  const pair = (key: string, value: string) => ({ key, value });
  await call(tag, { ...named, tags: [pair("b", "1"), pair("a", "1"), pair("c", "1")] });
  await call(tag, { ...named, tags: [pair("B", "2")] });
  await call(untag, { ...named, tagKeys: ["c", "d"] });
  const first = await call(list, { ...named, maxItems: 1 });
  const second = await call(list, { ...named, marker: first["marker"] });
  expect([first["tags"], second["tags"], second["isTruncated"]]).toEqual([[pair("a", "1")], [pair("B", "2")], false]);
  const many = Array.from({ length: 51 }, (_, at) => pair(`k${at}`, ""));
  await expect(call(tag, { ...named, tags: many })).rejects.toMatchObject({ facts: { reason: "LIMIT_EXCEEDED" } });
});

// the operation, its request, the reason
test.for<[Parameters<Opened["call"]>[0], object, string]>([
  ["createPolicyVersion", { policyArn, policyDocument: "{}" }, "MALFORMED_POLICY"],
  [
    "createPolicyVersion",
    { policyArn, policyDocument: allowing("s3:Get", `arn:aws:s3:::${"x".repeat(6_144)}`) },
    "LIMIT_EXCEEDED",
  ],
  ["createPolicyVersion", { policyArn: `${policyArn}er`, policyDocument: allowing("s3:Get") }, "NO_SUCH_ENTITY"],
  ["setDefaultPolicyVersion", { policyArn, versionId: "v2" }, "NO_SUCH_ENTITY"],
  ["deletePolicyVersion", { policyArn, versionId: "1" }, "NO_SUCH_ENTITY"],
  ["deletePolicyVersion", { policyArn, versionId: "v1" }, "DELETE_CONFLICT"],
  ["getPolicyVersion", { policyArn, versionId: "v2" }, "NO_SUCH_ENTITY"],
  ["listEntitiesForPolicy", { policyArn: `${policyArn}er` }, "NO_SUCH_ENTITY"],
  ["updateGroup", { groupName: "nobodies" }, "NO_SUCH_ENTITY"],
  ["listRoleTags", { roleName: "nobody" }, "NO_SUCH_ENTITY"],
])("%s %j is refused", async ([name, request, reason]) => {
  const { call } = await furnished();
  await expect(call(name, request, root)).rejects.toMatchObject({ facts: { reason } });
});

test("a group does not take the name of another one", async () => {
  const { call } = await furnished();
  await call("createGroup", { groupName: "Writers" });
  await expect(call("updateGroup", { groupName: "readers", newGroupName: "writers" })).rejects.toMatchObject({
    facts: { reason: "ENTITY_EXISTS" },
  });
  await call("updateGroup", { groupName: "readers", newGroupName: "Readers" });
});
