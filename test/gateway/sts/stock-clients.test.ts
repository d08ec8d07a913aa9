/** Stock clients and credential providers against an installation, and a second gateway that shares its identities. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  AttachUserPolicyCommand,
  CreateAccessKeyCommand,
  CreatePolicyCommand,
  CreateRoleCommand,
  CreateUserCommand,
  DeleteRoleCommand,
  DeleteRolePolicyCommand,
  DeleteUserCommand,
  GetRoleCommand,
  IAMClient,
  ListUsersCommand,
  PutRolePolicyCommand,
  UpdateAccessKeyCommand,
} from "@aws-sdk/client-iam";
import {
  CreateBucketCommand,
  GetObjectCommand,
  HeadBucketCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { AssumeRoleCommand, GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { fromTemporaryCredentials, fromTokenFile } from "@aws-sdk/credential-providers";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { addressSetting, serviceNames } from "../../../services/launcher/processes.ts";
import { flagName } from "../../../services/kit/config/config.ts";
import { eventually } from "../../support/eventually.ts";
import { readyUrls } from "../../support/ready-urls.ts";
import type { System } from "../../support/system.ts";
import { configurationFile, startSystem } from "../../support/system.ts";
import { allowing, issuer, providerKey, trusting, webToken } from "./sts.ts";

const account = "000000000000";
const reader = `arn:aws:iam::${account}:role/reader`;
const deployer = `arn:aws:iam::${account}:role/deployer`;
const providerArn = `arn:aws:iam::${account}:oidc-provider/login.example.com/shop`;
const documentOf = (text: string): object => JSON.parse(text) as object;
const everything = documentOf(allowing("*"));

let dataDir: string;
let system: System;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-sts-"));
  const trust = (principal: object, action?: string) => documentOf(trusting(principal, action));
  const configuration = {
    accounts: {
      [account]: {
        users: [
          { name: "alice", policies: [everything], accessKeys: [{ id: "QKIAALICE", secret: "alice's own secret" }] },
        ],
      },
    },
    roles: [
      { account, name: "reader", trustPolicy: trust({ AWS: account }), policies: [everything] },
      {
        account,
        name: "deployer",
        trustPolicy: trust({ Federated: providerArn }, "sts:AssumeRoleWithWebIdentity"),
        policies: [everything],
      },
    ],
    identityProviders: [{ account, issuer, audiences: ["quartet"], keys: { keys: [providerKey] } }],
  };
  system = await startSystem(dataDir, "error", { configuration });
  await system.clients.objectStorage.send(new CreateBucketCommand({ Bucket: "photos" }));
  await system.clients.objectStorage.send(new PutObjectCommand({ Bucket: "photos", Key: "cat", Body: "cat" }));
});
afterAll(async () => {
  await system.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const configOf = (endpoint = system.installation.gatewayUrl) => ({ endpoint, region: "us-east-1", maxAttempts: 1 });
const aliceKey = { accessKeyId: "QKIAALICE", secretAccessKey: "alice's own secret" };
type Credentials = NonNullable<ConstructorParameters<typeof S3Client>[0]>["credentials"];

/** A client that is closed with the test. */
const closing = <C extends { destroy(): void }>(client: C): C => {
  onTestFinished(() => client.destroy());
  return client;
};
const storage = (credentials: Credentials, endpoint?: string) =>
  closing(new S3Client({ ...configOf(endpoint), forcePathStyle: true, ...(credentials && { credentials }) }));
const tokens = (credentials: Credentials) =>
  closing(new STSClient({ ...configOf(), ...(credentials && { credentials }) }));
const identity = (endpoint?: string) => closing(new IAMClient({ ...configOf(endpoint), credentials: system }));

const nameOf = (outcome: Promise<unknown>): Promise<string> =>
  outcome.then(
    () => "done",
    (error: Error) => error.name,
  );
const sees = (client: S3Client) => nameOf(client.send(new GetObjectCommand({ Bucket: "photos", Key: "cat" })));

const session = async (roleArn: string) => {
  const { Credentials: issued } = await tokens(aliceKey).send(
    new AssumeRoleCommand({ RoleArn: roleArn, RoleSessionName: "nightly" }),
  );
  return {
    accessKeyId: issued?.AccessKeyId ?? "",
    secretAccessKey: issued?.SecretAccessKey ?? "",
    sessionToken: issued?.SessionToken ?? "",
  };
};

describe("stock credential providers", () => {
  test("take on a role", async () => {
    const credentials = fromTemporaryCredentials({
      masterCredentials: aliceKey,
      params: { RoleArn: reader, RoleSessionName: "nightly" },
      clientConfig: configOf(),
    });
    expect(await sees(storage(credentials))).toBe("done");
    expect(await tokens(credentials).send(new GetCallerIdentityCommand({}))).toMatchObject({
      Account: account,
      Arn: `arn:aws:sts::${account}:assumed-role/reader/nightly`,
    });
  });

  test("take on a role with a web identity's token file", async () => {
    const webIdentityTokenFile = join(dataDir, "web-token");
    const exp = Math.floor(Date.now() / 1000) + 600;
    await writeFile(webIdentityTokenFile, await webToken({ exp }));
    const credentials = fromTokenFile({
      webIdentityTokenFile,
      roleArn: deployer,
      roleSessionName: "deploy",
      clientConfig: configOf(),
    });
    expect(await sees(storage(credentials))).toBe("done");
  });
});

describe("a temporary key", () => {
  test("signs URLs, and is refused without its token or with another's", async () => {
    const credentials = await session(reader);
    const command = new GetObjectCommand({ Bucket: "photos", Key: "cat" });
    const url = await getSignedUrl(storage(credentials), command, { expiresIn: 60 });
    expect(await (await fetch(url)).text()).toBe("cat");
    const { sessionToken, ...bare } = credentials;
    const other = await session(reader);
    expect(await sees(storage(bare))).toBe("InvalidAccessKeyId");
    expect(await sees(storage({ ...other, sessionToken }))).toBe("InvalidToken");
    expect(await sees(storage({ ...aliceKey, sessionToken }))).toBe("InvalidToken");
  });

  test("has the rights that its role has at the moment, and ends with it", async () => {
    const iam = identity();
    const RoleName = "visitor";
    const [PolicyName, PolicyDocument] = ["see", allowing("s3:GetObject")];
    await iam.send(new CreateRoleCommand({ RoleName, AssumeRolePolicyDocument: trusting({ AWS: account }) }));
    const { Role: role } = await iam.send(new GetRoleCommand({ RoleName }));
    expect(decodeURIComponent(role?.AssumeRolePolicyDocument ?? "")).toBe(trusting({ AWS: account }));
    const client = storage(await session(role?.Arn ?? ""));
    expect(await sees(client)).toBe("AccessDenied");
    await iam.send(new PutRolePolicyCommand({ RoleName, PolicyName, PolicyDocument }));
    expect(await sees(client)).toBe("done");
    await iam.send(new DeleteRolePolicyCommand({ RoleName, PolicyName }));
    expect(await sees(client)).toBe("AccessDenied");
    await iam.send(new DeleteRoleCommand({ RoleName }));
    expect(await sees(client)).toBe("InvalidToken");
  });
});

describe("two gateways", () => {
  /** Another gateway that follows the identities of the first one; its URL. */
  const startSecond = async (): Promise<string> => {
    const { installation } = system;
    const addressOf = (name: (typeof serviceNames)[number]) => installation.urls(name)["socket"] ?? "";
    const child = fork(
      join(import.meta.dirname, "../../../gateway/main.ts"),
      [
        `--data-dir=${dataDir}`,
        `--config=${configurationFile(dataDir)}`,
        "--log-level=silent",
        "--listen=127.0.0.1:0",
        "--admin-listen=127.0.0.1:0",
        `--identity-address=${installation.urls("gateway")["rpc"]}`,
        ...serviceNames.map((name) => `--${flagName(addressSetting(name))}=${addressOf(name)}`),
      ],
      { stdio: ["ignore", "inherit", "inherit", "ipc"] },
    );
    const exited = once(child, "exit");
    onTestFinished(async () => {
      child.kill("SIGTERM");
      await exited;
    });
    return (await readyUrls(child))["http"] ?? "";
  };

  test("share who there is, and temporary keys", async () => {
    const second = await startSecond();
    const iam = identity();
    await iam.send(new CreateUserCommand({ UserName: "bob" }));
    const { AccessKey: key } = await iam.send(new CreateAccessKeyCommand({ UserName: "bob" }));
    const { AccessKeyId = "", SecretAccessKey = "" } = key ?? {};
    const bob = storage({ accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey }, second);
    await eventually(async () => (await sees(bob)) === "AccessDenied", "AccessDenied at the second gateway");
    const document = { PolicyName: "see", PolicyDocument: allowing("s3:GetObject") };
    const { Policy: policy } = await identity(second).send(new CreatePolicyCommand(document));
    await iam.send(new AttachUserPolicyCommand({ UserName: "bob", PolicyArn: policy?.Arn }));
    await eventually(async () => (await sees(bob)) === "done", "done at the second gateway");
    const names = async (endpoint: string) =>
      (await identity(endpoint).send(new ListUsersCommand({}))).Users?.map(({ UserName }) => UserName);
    expect(await names(second)).toEqual(["alice", "bob"]);
    expect(await sees(storage(await session(reader), second))).toBe("done");
    const status = { UserName: "bob", AccessKeyId, Status: "Inactive" } as const;
    await identity(second).send(new UpdateAccessKeyCommand(status));
    expect(await sees(storage({ accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey }))).toBe(
      "InvalidAccessKeyId",
    );
    await eventually(
      async () => (await sees(bob)) === "InvalidAccessKeyId",
      "InvalidAccessKeyId at the second gateway",
    );
    expect(await nameOf(iam.send(new DeleteUserCommand({ UserName: "bob" })))).toBe("DeleteConflictException");
    expect(await nameOf(storage(aliceKey, second).send(new HeadBucketCommand({ Bucket: "photos" })))).toBe("done");
  });
});
