/** The calls with which tools of infrastructure as code keep groups, policies and roles, with the official SDK. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  AttachRolePolicyCommand,
  CreateGroupCommand,
  CreatePolicyCommand,
  CreatePolicyVersionCommand,
  CreateRoleCommand,
  DeletePolicyCommand,
  DeletePolicyVersionCommand,
  DeleteRoleCommand,
  DetachRolePolicyCommand,
  GetPolicyCommand,
  GetPolicyVersionCommand,
  GetRoleCommand,
  IAMClient,
  ListAttachedRolePoliciesCommand,
  ListEntitiesForPolicyCommand,
  ListInstanceProfilesForRoleCommand,
  ListPoliciesCommand,
  ListPolicyTagsCommand,
  ListPolicyVersionsCommand,
  ListRoleTagsCommand,
  SetDefaultPolicyVersionCommand,
  TagPolicyCommand,
  TagRoleCommand,
  UntagPolicyCommand,
  UntagRoleCommand,
  UpdateGroupCommand,
  UpdateRoleDescriptionCommand,
} from "@aws-sdk/client-iam";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";

let dataDir: string;
let system: System;
let iam: IAMClient;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-as-code-"));
  system = await startSystem(dataDir, "error");
  iam = new IAMClient({ endpoint: system.installation.gatewayUrl, region: "us-east-1", credentials: system });
});
afterAll(async () => {
  iam.destroy();
  await system.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const documentOf = (statement: object): string =>
  JSON.stringify({ Version: "2012-10-17", Statement: [{ Effect: "Allow", ...statement }] });
const account = "000000000000";
const trust = documentOf({ Principal: { AWS: account }, Action: "sts:AssumeRole" });
const readOnly = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess";
const Tags = [
  { Key: "owner", Value: "shop" },
  { Key: "stage", Value: "test" },
];

test("a role is created, changed, tagged and deleted", async () => {
  const RoleName = "reader";
  await iam.send(new CreateRoleCommand({ RoleName, AssumeRolePolicyDocument: trust, Tags: Tags.slice(0, 1) }));
  await iam.send(new AttachRolePolicyCommand({ RoleName, PolicyArn: readOnly }));
  const described = await iam.send(new UpdateRoleDescriptionCommand({ RoleName, Description: "reads" }));
  expect(described.Role?.Description).toBe("reads");
  await iam.send(new TagRoleCommand({ RoleName, Tags }));
  expect((await iam.send(new ListRoleTagsCommand({ RoleName }))).Tags).toEqual(Tags);
  await iam.send(new UntagRoleCommand({ RoleName, TagKeys: ["stage"] }));
  const { Role } = await iam.send(new GetRoleCommand({ RoleName }));
  expect(Role).toMatchObject({ Description: "reads", Tags: Tags.slice(0, 1) });
  const { AttachedPolicies } = await iam.send(new ListAttachedRolePoliciesCommand({ RoleName }));
  expect(AttachedPolicies).toEqual([{ PolicyName: "AmazonS3ReadOnlyAccess", PolicyArn: readOnly }]);

  const { InstanceProfiles, IsTruncated } = await iam.send(new ListInstanceProfilesForRoleCommand({ RoleName }));
  expect([InstanceProfiles, IsTruncated]).toEqual([[], false]);
  await iam.send(new DetachRolePolicyCommand({ RoleName, PolicyArn: readOnly }));
  await iam.send(new DeleteRoleCommand({ RoleName }));
});

test("a policy is created, changed by versions, tagged and deleted", async () => {
  const documents = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"].map((Action) =>
    documentOf({ Action, Resource: "*" }),
  );
  const created = await iam.send(
    new CreatePolicyCommand({ PolicyName: "objects", PolicyDocument: documents[0], Tags: Tags.slice(0, 1) }),
  );
  const PolicyArn = created.Policy?.Arn ?? "";
  expect(created.Policy).toMatchObject({ DefaultVersionId: "v1", Tags: Tags.slice(0, 1) });
  for (const PolicyDocument of documents.slice(1)) {
    const { PolicyVersion } = await iam.send(
      new CreatePolicyVersionCommand({ PolicyArn, PolicyDocument, SetAsDefault: true }),
    );
    expect(PolicyVersion).toMatchObject({ IsDefaultVersion: true });
  }
  const { Policy } = await iam.send(new GetPolicyCommand({ PolicyArn }));
  expect(Policy).toMatchObject({ DefaultVersionId: "v3", AttachmentCount: 0 });
  const shown = await iam.send(new GetPolicyVersionCommand({ PolicyArn, VersionId: "v3" }));
  expect(decodeURIComponent(shown.PolicyVersion?.Document ?? "")).toBe(documents[2]);
  await iam.send(new SetDefaultPolicyVersionCommand({ PolicyArn, VersionId: "v1" }));
  await iam.send(new DeletePolicyVersionCommand({ PolicyArn, VersionId: "v3" }));
  const { Versions } = await iam.send(new ListPolicyVersionsCommand({ PolicyArn }));
  expect(Versions?.map(({ VersionId, IsDefaultVersion }) => [VersionId, IsDefaultVersion])).toEqual([
    ["v2", false],
    ["v1", true],
  ]);
  await iam.send(new TagPolicyCommand({ PolicyArn, Tags }));
  await iam.send(new UntagPolicyCommand({ PolicyArn, TagKeys: ["owner"] }));
  expect((await iam.send(new ListPolicyTagsCommand({ PolicyArn }))).Tags).toEqual(Tags.slice(1));
  const local = await iam.send(new ListPoliciesCommand({ Scope: "Local" }));
  expect(local.Policies?.map(({ PolicyName }) => PolicyName)).toEqual(["objects"]);
  expect(await iam.send(new ListEntitiesForPolicyCommand({ PolicyArn }))).toMatchObject({
    PolicyGroups: [],
    PolicyUsers: [],
    PolicyRoles: [],
    IsTruncated: false,
  });
  await expect(iam.send(new DeletePolicyCommand({ PolicyArn }))).rejects.toMatchObject({
    name: "DeleteConflictException",
  });
  await iam.send(new DeletePolicyVersionCommand({ PolicyArn, VersionId: "v2" }));
  await iam.send(new DeletePolicyCommand({ PolicyArn }));
});

test("a group is renamed", async () => {
  await iam.send(new CreateGroupCommand({ GroupName: "tills" }));
  await iam.send(new UpdateGroupCommand({ GroupName: "tills", NewGroupName: "shops", NewPath: "/team/" }));
  await expect(iam.send(new CreateGroupCommand({ GroupName: "shops" }))).rejects.toMatchObject({
    name: "EntityAlreadyExistsException",
  });
});
