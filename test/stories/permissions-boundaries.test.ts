/** A team that may hire people, but give them no more than its account has set for it, with the official SDK. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  AttachUserPolicyCommand,
  CreateAccessKeyCommand,
  CreatePolicyCommand,
  CreatePolicyVersionCommand,
  CreateRoleCommand,
  CreateUserCommand,
  DeletePolicyCommand,
  DeleteUserPermissionsBoundaryCommand,
  GetPolicyCommand,
  GetRoleCommand,
  GetUserCommand,
  IAMClient,
  ListEntitiesForPolicyCommand,
  PutRolePermissionsBoundaryCommand,
  PutRolePolicyCommand,
  PutUserPermissionsBoundaryCommand,
  PutUserPolicyCommand,
  SimulatePrincipalPolicyCommand,
} from "@aws-sdk/client-iam";
import {
  CreateBucketCommand,
  GetObjectCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { AssumeRoleCommand, STSClient } from "@aws-sdk/client-sts";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";

const account = "000000000000";
const Bucket = "papers";
const administrator = "arn:aws:iam::aws:policy/AdministratorAccess";
let dataDir: string;
let system: System;
let iam: IAMClient;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-boundaries-"));
  system = await startSystem(dataDir, "error");
  iam = new IAMClient({ ...place(), credentials: system });
  await system.clients.objectStorage.send(new CreateBucketCommand({ Bucket }));
  await system.clients.objectStorage.send(new PutObjectCommand({ Bucket, Key: "a", Body: "a paper" }));
});
afterAll(async () => {
  iam.destroy();
  await system.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const place = () => ({ endpoint: system.installation.gatewayUrl, region: "us-east-1", maxAttempts: 1 });
const documentOf = (statement: object): string =>
  JSON.stringify({ Version: "2012-10-17", Statement: [{ Effect: "Allow", Resource: "*", ...statement }] });

const createPolicy = async (PolicyName: string, statement: object): Promise<string> => {
  const { Policy } = await iam.send(new CreatePolicyCommand({ PolicyName, PolicyDocument: documentOf(statement) }));
  return Policy?.Arn ?? "";
};

const keyOf = async (UserName: string) => {
  const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));
  return { accessKeyId: AccessKey?.AccessKeyId ?? "", secretAccessKey: AccessKey?.SecretAccessKey ?? "" };
};

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

const storageOf = (credentials: Credentials): S3Client => {
  const client = new S3Client({ ...place(), credentials, forcePathStyle: true });
  onTestFinished(() => client.destroy());
  return client;
};

/** `done`, or the name of the refusal. */
const outcomeOf = (sent: Promise<unknown>): Promise<string> =>
  sent.then(
    () => "done",
    (error: unknown) => (error as Error).name,
  );
const reading = (client: S3Client) => outcomeOf(client.send(new GetObjectCommand({ Bucket, Key: "a" })));
const writing = (client: S3Client) => outcomeOf(client.send(new PutObjectCommand({ Bucket, Key: "b", Body: "b" })));

test("whoever may hire only within a boundary gives nobody more, and a change of it acts at once", async () => {
  const limit = await createPolicy("team-limit", { Action: ["s3:GetObject", "sts:*"] });
  await iam.send(new CreateUserCommand({ UserName: "lead" }));
  const within = { StringEquals: { "iam:PermissionsBoundary": limit } };
  const hiring = { Action: ["iam:CreateUser", "iam:AttachUserPolicy", "iam:PutUserPermissionsBoundary"] };
  await iam.send(
    new PutUserPolicyCommand({
      UserName: "lead",
      PolicyName: "hiring",
      PolicyDocument: documentOf({ ...hiring, Condition: within }),
    }),
  );
  const lead = new IAMClient({ ...place(), credentials: await keyOf("lead") });
  onTestFinished(() => lead.destroy());
  const hire = (PermissionsBoundary?: string) =>
    lead.send(new CreateUserCommand({ UserName: "emma", PermissionsBoundary }));
  expect(await outcomeOf(hire())).toBe("AccessDenied");
  expect(await outcomeOf(hire(administrator))).toBe("AccessDenied");
  expect((await hire(limit)).User?.PermissionsBoundary).toEqual({
    PermissionsBoundaryType: "Policy",
    PermissionsBoundaryArn: limit,
  });
  await lead.send(new AttachUserPolicyCommand({ UserName: "emma", PolicyArn: administrator }));
  const wider = new PutUserPermissionsBoundaryCommand({ UserName: "emma", PermissionsBoundary: administrator });
  expect(await outcomeOf(lead.send(wider))).toBe("AccessDenied");

  const emma = storageOf(await keyOf("emma"));
  expect([await reading(emma), await writing(emma)]).toEqual(["done", "AccessDenied"]);
  const link = await getSignedUrl(emma, new PutObjectCommand({ Bucket, Key: "b" }));
  const byLink = async () => (await fetch(link, { method: "PUT", body: "b" })).status;
  expect(await byLink()).toBe(403);
  const PolicyDocument = documentOf({ Action: "s3:PutObject" });
  await iam.send(new CreatePolicyVersionCommand({ PolicyArn: limit, PolicyDocument, SetAsDefault: true }));
  expect([await reading(emma), await writing(emma), await byLink()]).toEqual(["AccessDenied", "done", 200]);

  const simulated = await iam.send(
    new SimulatePrincipalPolicyCommand({
      PolicySourceArn: `arn:aws:iam::${account}:user/emma`,
      ActionNames: ["s3:GetObject", "s3:PutObject"],
    }),
  );
  expect(
    simulated.EvaluationResults?.map(({ EvalDecision, PermissionsBoundaryDecisionDetail: detail }) => [
      EvalDecision,
      detail?.AllowedByPermissionsBoundary,
    ]),
  ).toEqual([
    ["implicitDeny", false],
    ["allowed", true],
  ]);
  const { Policy } = await iam.send(new GetPolicyCommand({ PolicyArn: limit }));
  expect([Policy?.AttachmentCount, Policy?.PermissionsBoundaryUsageCount]).toEqual([0, 1]);
  const used = await iam.send(
    new ListEntitiesForPolicyCommand({ PolicyArn: limit, PolicyUsageFilter: "PermissionsBoundary" }),
  );
  expect(used.PolicyUsers?.map(({ UserName }) => UserName)).toEqual(["emma"]);
  expect(await outcomeOf(iam.send(new DeletePolicyCommand({ PolicyArn: limit })))).toBe("DeleteConflictException");

  await iam.send(new DeleteUserPermissionsBoundaryCommand({ UserName: "emma" }));
  expect([await reading(emma), await writing(emma)]).toEqual(["done", "done"]);
  expect((await iam.send(new GetUserCommand({ UserName: "emma" }))).User?.PermissionsBoundary).toBeUndefined();
});

test("a bucket's policy goes beyond the boundary of a user that it names, and of a session, but not of its role", async () => {
  const limit = await createPolicy("no-objects", { Action: "sts:*" });
  await iam.send(new CreateUserCommand({ UserName: "olga", PermissionsBoundary: limit }));
  await iam.send(new AttachUserPolicyCommand({ UserName: "olga", PolicyArn: administrator }));
  const olga = await keyOf("olga");
  const trust = documentOf({ Principal: { AWS: `arn:aws:iam::${account}:user/olga` }, Action: "sts:AssumeRole" });
  const AssumeRolePolicyDocument = trust.replace('"Resource":"*",', "");
  await iam.send(new CreateRoleCommand({ RoleName: "archivist", AssumeRolePolicyDocument }));
  const PolicyDocument = documentOf({ Action: "s3:*" });
  await iam.send(new PutRolePolicyCommand({ RoleName: "archivist", PolicyName: "all", PolicyDocument }));
  const RoleArn = `arn:aws:iam::${account}:role/archivist`;
  const sts = new STSClient({ ...place(), credentials: olga });
  onTestFinished(() => sts.destroy());
  const { Credentials: issued } = await sts.send(new AssumeRoleCommand({ RoleArn, RoleSessionName: "monday" }));
  const session = storageOf({
    accessKeyId: issued?.AccessKeyId ?? "",
    secretAccessKey: issued?.SecretAccessKey ?? "",
    sessionToken: issued?.SessionToken ?? "",
  });
  expect(await reading(session)).toBe("done");
  await iam.send(new PutRolePermissionsBoundaryCommand({ RoleName: "archivist", PermissionsBoundary: limit }));
  const { Role } = await iam.send(new GetRoleCommand({ RoleName: "archivist" }));
  expect(Role?.PermissionsBoundary?.PermissionsBoundaryArn).toBe(limit);

  const user = storageOf(olga);
  const named = async (principal: string): Promise<readonly string[]> => {
    const Policy = documentOf({
      Principal: { AWS: principal },
      Action: "s3:GetObject",
      Resource: `arn:aws:s3:::${Bucket}/*`,
    });
    await system.clients.objectStorage.send(new PutBucketPolicyCommand({ Bucket, Policy }));
    return [await reading(user), await reading(session)];
  };
  expect([await reading(user), await reading(session)]).toEqual(["AccessDenied", "AccessDenied"]);
  expect(await named(`arn:aws:iam::${account}:user/olga`)).toEqual(["done", "AccessDenied"]);
  expect(await named(RoleArn)).toEqual(["AccessDenied", "AccessDenied"]);
  expect(await named(`arn:aws:sts::${account}:assumed-role/archivist/monday`)).toEqual(["AccessDenied", "done"]);
  expect(await named(account)).toEqual(["AccessDenied", "AccessDenied"]);
});
