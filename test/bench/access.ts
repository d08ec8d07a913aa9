import {
  AttachUserPolicyCommand,
  CreateAccessKeyCommand,
  CreatePolicyCommand,
  CreateRoleCommand,
  CreateUserCommand,
  IAMClient,
  PutRolePolicyCommand,
  PutUserPolicyCommand,
} from "@aws-sdk/client-iam";
import { CreateBucketCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { AssumeRoleCommand, STSClient } from "@aws-sdk/client-sts";

import type { BenchGroup, BenchRow } from "./bench.ts";
import type { InstallationPeer } from "./peers/installation.ts";
import { bucket, smallBytes } from "./peers/object-sizes.ts";
import type { Peer } from "./peers/peer.ts";
import { startPeer } from "./peers/peer.ts";
import { costOf, startInstallation } from "./requests.ts";

/** After one that warms up. */
const rounds = 21;
const clients = 16;

interface Key {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** As many statements as are wanted, of which the last one allows the reads; each has a condition. */
const policyOf = (statements: number): string =>
  JSON.stringify({
    Version: "2012-10-17",
    Statement: Array.from({ length: statements }, (_none, index) => ({
      Effect: index % 5 === 4 && index < statements - 1 ? "Deny" : "Allow",
      Action: ["s3:GetObject"],
      Resource: `arn:aws:s3:::${index === statements - 1 ? bucket : `b${index}`}/*`,
      ...(index % 2 === 0 && { Condition: { StringNotLike: { "aws:username": "g*" } } }),
    })),
  });

/** Users with a policy of 20 statements, and with ten managed policies of the largest size. */
const createUsers = async (iam: IAMClient): Promise<readonly (readonly [string, Key])[]> => {
  const create = async (UserName: string): Promise<Key> => {
    await iam.send(new CreateUserCommand({ UserName }));
    const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));
    return { accessKeyId: AccessKey?.AccessKeyId ?? "", secretAccessKey: AccessKey?.SecretAccessKey ?? "" };
  };
  const attach = async (UserName: string, PolicyName: string, PolicyDocument: string): Promise<void> => {
    const { Policy } = await iam.send(new CreatePolicyCommand({ PolicyName, PolicyDocument }));
    await iam.send(new AttachUserPolicyCommand({ UserName, PolicyArn: Policy?.Arn }));
  };
  const one = await create("one");
  await iam.send(new PutUserPolicyCommand({ UserName: "one", PolicyName: "own", PolicyDocument: policyOf(1) }));
  const twenty = await create("twenty");
  await attach("twenty", "twenty", policyOf(20));
  const many = await create("many");
  for (let index = 0; index < 10; index += 1) await attach("many", `many-${index}`, policyOf(48));
  return [
    ["a user with 1 statement", one],
    ["a user with 20 statements", twenty],
    ["a user with 480 statements in 10 managed policies", many],
  ];
};

/** A session of a role with a policy of 20 statements, which a session policy of 5 narrows. */
const assumeRole = async (iam: IAMClient, sts: STSClient): Promise<Key> => {
  const trust = { Effect: "Allow", Principal: { AWS: "000000000000" }, Action: "sts:AssumeRole" };
  const AssumeRolePolicyDocument = JSON.stringify({ Version: "2012-10-17", Statement: trust });
  const { Role } = await iam.send(new CreateRoleCommand({ RoleName: "reader", AssumeRolePolicyDocument }));
  const policy = { RoleName: "reader", PolicyName: "own", PolicyDocument: policyOf(20) };
  await iam.send(new PutRolePolicyCommand(policy));
  const { Credentials } = await sts.send(
    new AssumeRoleCommand({ RoleArn: Role?.Arn, RoleSessionName: "bench", Policy: policyOf(5) }),
  );
  return {
    accessKeyId: Credentials?.AccessKeyId ?? "",
    secretAccessKey: Credentials?.SecretAccessKey ?? "",
    sessionToken: Credentials?.SessionToken,
  };
};

const prepare = async (installation: InstallationPeer): Promise<readonly (readonly [string, Key])[]> => {
  const common = { endpoint: installation.gatewayUrl, region: "us-east-1", credentials: installation };
  const objectStorage = new S3Client({ ...common, forcePathStyle: true });
  await objectStorage.send(new CreateBucketCommand({ Bucket: bucket }));
  const Body = Buffer.alloc(smallBytes, "a");
  await objectStorage.send(new PutObjectCommand({ Bucket: bucket, Key: "small-0", Body }));
  objectStorage.destroy();
  const iam = new IAMClient(common);
  const sts = new STSClient(common);
  const users = await createUsers(iam);
  const role = await assumeRole(iam, sts);
  iam.destroy();
  sts.destroy();
  return [["the root", installation], ...users, ["a session of a role with 20 statements, narrowed by 5", role]];
};

const median = (costs: readonly number[]): number => costs.toSorted((a, b) => a - b)[costs.length >> 1] ?? 0;

/**
 * What policies cost end to end: GETs of 4 KiB by users against the same by the root, who needs no policy. The callers
 * take turns, and the median of each caller's rounds counts.
 */
export const group: BenchGroup = {
  name: "access",
  run: async () => {
    const { installation, stop } = await startInstallation();
    const started: Peer[] = [];
    try {
      const callers = (await prepare(installation)).map(([who, { accessKeyId, secretAccessKey, sessionToken }]) => {
        const role = { kind: "get", clients, accessKeyId, secretAccessKey, sessionToken };
        const client = startPeer("request-clients", JSON.stringify(role));
        started.push(client);
        return { who, client, costs: new Array<number>() };
      });
      for (let round = 0; round <= rounds; round += 1)
        for (const caller of callers) {
          const { both } = await costOf(installation, { kind: "get" }, caller.client);
          if (round > 0) caller.costs.push(both);
        }
      const [root, ...users] = callers;
      const bare = median(root?.costs ?? []);
      return users.map(({ who, costs }): BenchRow => ({
        what: `GET 4 KiB by ${who}: CPU of both`,
        value: median(costs),
        unit: "µs",
        baseline: { what: "µs by the root", value: bare },
        ratio: bare / median(costs),
        target: 0.95,
      }));
    } finally {
      for (const client of started) client.stop();
      await stop();
    }
  },
};
