/** The calls with which tools of infrastructure as code keep groups, policies and roles, with the official SDK. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  AddRoleToInstanceProfileCommand,
  AttachRolePolicyCommand,
  CreateAccessKeyCommand,
  CreateGroupCommand,
  CreateInstanceProfileCommand,
  CreatePolicyCommand,
  CreatePolicyVersionCommand,
  CreateRoleCommand,
  CreateUserCommand,
  DeleteInstanceProfileCommand,
  DeletePolicyCommand,
  DeletePolicyVersionCommand,
  DeleteRoleCommand,
  DetachRolePolicyCommand,
  GetInstanceProfileCommand,
  GetPolicyCommand,
  GetPolicyVersionCommand,
  GetRoleCommand,
  IAMClient,
  ListAttachedRolePoliciesCommand,
  ListEntitiesForPolicyCommand,
  ListInstanceProfilesCommand,
  ListInstanceProfilesForRoleCommand,
  ListPoliciesCommand,
  ListPolicyTagsCommand,
  ListPolicyVersionsCommand,
  ListRolesCommand,
  ListRoleTagsCommand,
  PutUserPolicyCommand,
  RemoveRoleFromInstanceProfileCommand,
  SetDefaultPolicyVersionCommand,
  TagPolicyCommand,
  TagRoleCommand,
  TagUserCommand,
  UntagPolicyCommand,
  UntagRoleCommand,
  UpdateGroupCommand,
  UpdateRoleDescriptionCommand,
} from "@aws-sdk/client-iam";
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutBucketPolicyCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { AssumeRoleCommand, STSClient } from "@aws-sdk/client-sts";
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

test("an instance profile shows its role, and an empty list without one, which scripts read without asking", async () => {
  const [InstanceProfileName, RoleName] = ["workers", "worker"];
  const profileOf = async () =>
    (await iam.send(new GetInstanceProfileCommand({ InstanceProfileName }))).InstanceProfile;
  await iam.send(new CreateRoleCommand({ RoleName, AssumeRolePolicyDocument: trust }));
  const { InstanceProfile } = await iam.send(new CreateInstanceProfileCommand({ InstanceProfileName }));
  expect(InstanceProfile?.Roles).toEqual([]);
  await iam.send(new AddRoleToInstanceProfileCommand({ InstanceProfileName, RoleName }));
  expect((await profileOf())?.Roles).toMatchObject([{ RoleName: "worker" }]);

  await iam.send(new RemoveRoleFromInstanceProfileCommand({ InstanceProfileName, RoleName }));
  expect((await profileOf())?.Roles).toEqual([]);
  const { InstanceProfiles } = await iam.send(new ListInstanceProfilesCommand({}));
  expect(InstanceProfiles?.map(({ Roles }) => Roles)).toEqual([[]]);
  await iam.send(new DeleteInstanceProfileCommand({ InstanceProfileName }));
  await iam.send(new DeleteRoleCommand({ RoleName }));
});

test("a role of a path is assumed, named by policies and deleted, as deployments with paths do", async () => {
  const [RoleName, Path] = ["deploy-files", "/cdk/"];
  const { Role } = await iam.send(new CreateRoleCommand({ RoleName, Path, AssumeRolePolicyDocument: trust }));
  expect(Role).toMatchObject({ Path, Arn: `arn:aws:iam::${account}:role/cdk/deploy-files` });
  await expect(
    iam.send(new CreateRoleCommand({ RoleName: "Deploy-Files", AssumeRolePolicyDocument: trust })),
  ).rejects.toMatchObject({ name: "EntityAlreadyExistsException" });
  const listed = await iam.send(new ListRolesCommand({ PathPrefix: "/cdk/" }));
  expect(listed.Roles?.map(({ Arn }) => Arn)).toEqual([Role?.Arn]);
  const created = await iam.send(
    new CreatePolicyCommand({
      PolicyName: "assets",
      Path: "/cdk/",
      PolicyDocument: documentOf({ Action: "s3:ListBucket", Resource: "arn:aws:s3:::assets" }),
    }),
  );
  const PolicyArn = created.Policy?.Arn;
  expect(PolicyArn).toBe(`arn:aws:iam::${account}:policy/cdk/assets`);
  await iam.send(new AttachRolePolicyCommand({ RoleName, PolicyArn }));
  const { PolicyRoles } = await iam.send(new ListEntitiesForPolicyCommand({ PolicyArn, PathPrefix: "/cdk/" }));
  expect(PolicyRoles?.map((each) => each.RoleName)).toEqual([RoleName]);

  const place = { endpoint: system.installation.gatewayUrl, region: "us-east-1" };
  const owner = new S3Client({ ...place, credentials: system, forcePathStyle: true });
  const sts = new STSClient({ ...place, credentials: await keyOfDeployer(Role?.Arn ?? "") });
  const Bucket = "assets";
  await owner.send(new CreateBucketCommand({ Bucket }));
  await owner.send(new PutObjectCommand({ Bucket, Key: "a", Body: "a" }));
  const assumed = await sts.send(new AssumeRoleCommand({ RoleArn: Role?.Arn, RoleSessionName: "cdk" }));
  expect(assumed.AssumedRoleUser?.Arn).toBe(`arn:aws:sts::${account}:assumed-role/deploy-files/cdk`);
  await expect(
    sts.send(new AssumeRoleCommand({ RoleArn: `arn:aws:iam::${account}:role/deploy-files`, RoleSessionName: "cdk" })),
  ).rejects.toMatchObject({ name: "AccessDenied" });
  const { AccessKeyId = "", SecretAccessKey = "", SessionToken = "" } = assumed.Credentials ?? {};
  const credentials = { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: SessionToken };
  const deployer = new S3Client({ ...place, credentials, forcePathStyle: true });
  expect((await deployer.send(new ListObjectsV2Command({ Bucket }))).KeyCount).toBe(1);

  // The policy of a bucket names the role with its path, as its principal and in conditions.
  const readBy = async (statement: object): Promise<string> => {
    const Policy = documentOf({ Action: "s3:GetObject", Resource: "arn:aws:s3:::assets/*", ...statement });
    await owner.send(new PutBucketPolicyCommand({ Bucket, Policy }));
    try {
      return (await (await deployer.send(new GetObjectCommand({ Bucket, Key: "a" }))).Body?.transformToString()) ?? "";
    } catch (error) {
      return (error as Error).name;
    }
  };
  const named = (PrincipalArn: string) => ({
    Principal: { AWS: account },
    Condition: { ArnEquals: { "aws:PrincipalArn": PrincipalArn } },
  });
  expect(await readBy({ Principal: { AWS: Role?.Arn } })).toBe("a");
  const everyone = {
    Principal: "*",
    Condition: { ArnLike: { "aws:PrincipalArn": `arn:aws:iam::${account}:role/cdk/*` } },
  };
  expect(await readBy(everyone)).toBe("a");
  expect(await readBy(named(`arn:aws:iam::${account}:role/deploy-files`))).toBe("AccessDenied");

  await expect(iam.send(new DeleteRoleCommand({ RoleName }))).rejects.toMatchObject({
    name: "DeleteConflictException",
  });
  await iam.send(new DetachRolePolicyCommand({ RoleName, PolicyArn }));
  await iam.send(new DeleteRoleCommand({ RoleName }));
  await iam.send(new DeletePolicyCommand({ PolicyArn }));
  await expect(deployer.send(new ListObjectsV2Command({ Bucket }))).rejects.toMatchObject({ name: "InvalidToken" });
  for (const client of [owner, sts, deployer]) client.destroy();
});

/** The key of a user who may assume one role. */
const keyOfDeployer = async (role: string) => {
  const UserName = "deployer";
  await iam.send(new CreateUserCommand({ UserName, Path: "/people/" }));
  const PolicyDocument = documentOf({ Action: "sts:AssumeRole", Resource: role });
  await iam.send(new PutUserPolicyCommand({ UserName, PolicyName: "assume", PolicyDocument }));
  const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));
  return { accessKeyId: AccessKey?.AccessKeyId ?? "", secretAccessKey: AccessKey?.SecretAccessKey ?? "" };
};

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

test("requests that the public service refuses are refused alike, with the members' names on the wire", async () => {
  const twice = [
    { Key: "Stage", Value: "a" },
    { Key: "stage", Value: "b" },
  ];
  const UserName = "twice";
  const refused = {
    name: "InvalidInputException",
    message: "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
  };
  await expect(iam.send(new CreateUserCommand({ UserName, Tags: twice }))).rejects.toMatchObject(refused);
  await iam.send(new CreateUserCommand({ UserName }));
  await expect(iam.send(new TagUserCommand({ UserName, Tags: twice }))).rejects.toMatchObject(refused);
  await expect(iam.send(new ListRolesCommand({ PathPrefix: "cdk" }))).rejects.toMatchObject({
    name: "ValidationError",
    message:
      "1 validation error detected: Value 'cdk' at 'pathPrefix' failed to satisfy constraint: " +
      "Member must satisfy regular expression pattern: /[!-\\u007f]*",
  });
  const PolicyDocument = documentOf({ Action: "s3:GetObject", Resource: "photos/*" });
  await expect(
    iam.send(new PutUserPolicyCommand({ UserName, PolicyName: "own", PolicyDocument })),
  ).rejects.toMatchObject({
    name: "MalformedPolicyDocumentException",
    message: 'Resource photos/* must be in ARN format or "*".',
  });
});

test("a group is renamed", async () => {
  await iam.send(new CreateGroupCommand({ GroupName: "tills" }));
  await iam.send(new UpdateGroupCommand({ GroupName: "tills", NewGroupName: "shops", NewPath: "/team/" }));
  await expect(iam.send(new CreateGroupCommand({ GroupName: "shops" }))).rejects.toMatchObject({
    name: "EntityAlreadyExistsException",
  });
});
