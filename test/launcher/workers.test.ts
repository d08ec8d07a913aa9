import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  CreateAccessKeyCommand,
  CreateUserCommand,
  DeleteUserPolicyCommand,
  IAMClient,
  PutUserPolicyCommand,
} from "@aws-sdk/client-iam";
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { amzDialect } from "../../gateway/dialects/amz.ts";
import { defaultGatewayLimits, sharedGatewayLimits } from "../../gateway/http/limits.ts";
import { gatewayWorkers } from "../../services/launcher/workers.ts";
import { send, signHeaders } from "../gateway/support/signing-client.ts";
import { eventually } from "../support/eventually.ts";
import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";

let dataDir: string;
let system: System;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-workers-"));
  system = await startSystem(dataDir, "silent", { configuration: { gateway: { workers: 2 } } });
  await system.clients.objectStorage.send(new CreateBucketCommand({ Bucket: "photos" }));
});

afterAll(async () => {
  await system.stop();
  await rm(dataDir, { recursive: true, force: true });
});

interface Key {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

interface Answer {
  readonly status: number;
  /** Names the process that answered. */
  readonly hostId: string;
}

/** Asks for a bucket on a connection of its own. */
const head = async (key: Key = system): Promise<Answer> => {
  const { gatewayUrl } = system.installation;
  const request = { method: "HEAD", target: "/photos" };
  const signed = signHeaders(request, new URL(gatewayUrl).host, {
    brand: amzDialect.signature,
    service: "s3",
    nowMs: Date.now(),
    tellsHash: true,
    accessKeyId: key.accessKeyId,
    secret: key.secretAccessKey,
  });
  const { status, headers } = await send(gatewayUrl, request, signed);
  return { status, hostId: String(headers["x-amz-id-2"]) };
};

/** Sends a signed URL on a connection of its own. */
const getUrl = async (url: string): Promise<Answer> => {
  const { gatewayUrl } = system.installation;
  const { host, pathname, search } = new URL(url);
  const { status, headers } = await send(gatewayUrl, { method: "GET", target: pathname + search }, { host });
  return { status, hostId: String(headers["x-amz-id-2"]) };
};

/** Asks with so many requests at a time until both processes have answered; returns all their statuses. */
const askBoth = async (key?: Key, ask: () => Promise<Answer> = () => head(key)): Promise<ReadonlySet<number>> => {
  const hostIds = new Set<string>();
  const statuses = new Set<number>();
  await eventually(async () => {
    for (const { status, hostId } of await Promise.all(Array.from({ length: 8 }, ask))) {
      statuses.add(status);
      hostIds.add(hostId);
    }
    return hostIds.size === 2;
  }, "both processes have answered");
  return statuses;
};

const iamClient = (): IAMClient =>
  new IAMClient({ endpoint: system.installation.gatewayUrl, region: system.region, credentials: system });

describe("two processes of the gateway", () => {
  test("answer on the same port", async () => {
    expect(await askBoth()).toEqual(new Set([200]));
    expect(new Set(system.installation.gatewayPids()).size).toBe(2);
  });

  test("both refuse a signed URL within a second when its user has lost the right, and do not allow it again", async () => {
    const iam = iamClient();
    await iam.send(new CreateUserCommand({ UserName: "gwen" }));
    const PolicyDocument = JSON.stringify({ Statement: [{ Effect: "Allow", Action: "s3:GetObject", Resource: "*" }] });
    await iam.send(new PutUserPolicyCommand({ UserName: "gwen", PolicyName: "own", PolicyDocument }));
    const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName: "gwen" }));
    await system.clients.objectStorage.send(new PutObjectCommand({ Bucket: "photos", Key: "cat", Body: "meow" }));
    const gwen = system.clientsFor(AccessKey?.AccessKeyId ?? "", AccessKey?.SecretAccessKey ?? "");
    const url = await getSignedUrl(gwen.objectStorage, new GetObjectCommand({ Bucket: "photos", Key: "cat" }));
    const ask = () => askBoth(undefined, () => getUrl(url));
    await eventually(async () => !(await ask()).has(403), "both allow the URL");
    await iam.send(new DeleteUserPolicyCommand({ UserName: "gwen", PolicyName: "own" }));
    const lostMs = Date.now();
    let lastAllowedMs = lostMs;
    const timed = async (): Promise<Answer> => {
      const sentMs = Date.now();
      const answer = await getUrl(url);
      if (answer.status === 200) lastAllowedMs = Math.max(lastAllowedMs, sentMs);
      return answer;
    };
    await eventually(async () => !(await askBoth(undefined, timed)).has(200), "both refuse the URL");
    expect(lastAllowedMs - lostMs).toBeLessThan(1_000);
    expect(await ask()).toEqual(new Set([403]));
    iam.destroy();
  });

  test("both come to know a user that is created at run time", async () => {
    const iam = iamClient();
    await iam.send(new CreateUserCommand({ UserName: "ada" }));
    const policy = { Statement: [{ Effect: "Allow", Action: "s3:*", Resource: "*" }] };
    await iam.send(
      new PutUserPolicyCommand({ UserName: "ada", PolicyName: "own", PolicyDocument: JSON.stringify(policy) }),
    );
    const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName: "ada" }));
    iam.destroy();
    const key = { accessKeyId: AccessKey?.AccessKeyId ?? "", secretAccessKey: AccessKey?.SecretAccessKey ?? "" };
    await eventually(async () => {
      const statuses = await askBoth(key);
      return statuses.size === 1 && statuses.has(200);
    }, "both accept the user's key");
    expect(await askBoth(key)).toEqual(new Set([200]));
  });

  test("show their metrics on one page, each under its own name", async () => {
    const answer = await fetch(`${system.installation.urls("gateway")["admin"]}/metrics/all`);
    const lines = (await answer.text()).split("\n");
    expect(lines.filter((line) => line.startsWith('quartet_process_up{process="gateway'))).toEqual([
      'quartet_process_up{process="gateway"} 1',
      'quartet_process_up{process="gateway-2"} 1',
    ]);
  });

  test.each([
    ["the second", 1, "SIGKILL"],
    ["the first, which keeps the identities,", 0, "SIGKILL"],
    ["the second", 1, "SIGTERM"],
  ] as const)("%s (%i) ends by %s: no new connection is refused, and it is replaced", async (_who, index, signal) => {
    const pid = system.installation.gatewayPids()[index];
    process.kill(pid ?? 0, signal);
    const statuses = new Set<number>();
    await eventually(async () => {
      statuses.add((await head()).status);
      const now = system.installation.gatewayPids()[index];
      return now !== undefined && now !== pid;
    }, "it is started again");
    expect(statuses).toEqual(new Set([200]));
    expect(await askBoth()).toEqual(new Set([200]));
  });
});

test.each([
  // cores, configured, processes
  [1, undefined, 1],
  [2, undefined, 1],
  [3, undefined, 1],
  [4, undefined, 2],
  [7, undefined, 3],
  [8, undefined, 4],
  [64, undefined, 4],
  [2, "3", 3],
  [64, "1", 1],
])("on %i cores with the setting %s there are %i processes", (cores, configured, processes) => {
  const env = configured === undefined ? {} : { QUARTET_GATEWAY_WORKERS: configured };
  expect(gatewayWorkers({ argv: [], env, directory: "/" }, cores)).toBe(processes);
});

test("several processes together hold what one alone would", () => {
  const { bodiesBytesMax, connectionsMax, requestsMax, requestsWaitingMax, bodyBytesMax } = sharedGatewayLimits(
    defaultGatewayLimits,
    3,
  );
  expect({ bodiesBytesMax, connectionsMax, requestsMax, requestsWaitingMax, bodyBytesMax }).toEqual({
    bodiesBytesMax: 89_478_486,
    connectionsMax: 3_334,
    requestsMax: 667,
    requestsWaitingMax: 3_334,
    bodyBytesMax: 4_194_304,
  });
});
