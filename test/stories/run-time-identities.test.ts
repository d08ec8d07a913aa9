/** Services act on what is created at run time: roles of deliveries, accounts by e-mail address, many policies. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  CreateApiDestinationCommand,
  CreateConnectionCommand,
  PutEventsCommand,
  PutRuleCommand,
  PutTargetsCommand,
} from "@aws-sdk/client-eventbridge";
import {
  AttachUserPolicyCommand,
  CreateAccessKeyCommand,
  CreatePolicyCommand,
  CreateUserCommand,
  DeleteRolePolicyCommand,
  DeleteUserPolicyCommand,
  DetachUserPolicyCommand,
  IAMClient,
  PutRolePolicyCommand,
  PutUserPolicyCommand,
} from "@aws-sdk/client-iam";
import {
  CreateBucketCommand,
  GetObjectCommand,
  GetObjectAclCommand,
  PutObjectAclCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { IdentityService } from "../../gen/quartet/identity/v1/identity_service_pb.ts";
import { createDeliveryRole } from "../support/delivery-role.ts";
import { aSecondAfter, eventually } from "../support/eventually.ts";
import { startHttpReceiver } from "../support/http-receiver.ts";
import { openRpcClient } from "../support/rpc-client.ts";
import type { SdkClients } from "../support/sdk-clients.ts";
import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";

let dataDir: string;
let system: System;
let iam: IAMClient;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-run-time-"));
  system = await startSystem(dataDir, "error");
  iam = new IAMClient({ endpoint: system.installation.gatewayUrl, region: "us-east-1", credentials: system });
});
afterAll(async () => {
  iam.destroy();
  await system.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const documentOf = (...statements: object[]): string =>
  JSON.stringify({ Version: "2012-10-17", Statement: statements.map((each) => ({ Effect: "Allow", ...each })) });

/** A user with a key. */
const createUser = async (UserName: string): Promise<SdkClients> => {
  await iam.send(new CreateUserCommand({ UserName }));
  const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));
  return system.clientsFor(AccessKey?.AccessKeyId ?? "", AccessKey?.SecretAccessKey ?? "");
};

const nameOf = (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    () => "allowed",
    (error: Error) => error.name,
  );

describe("a role that is created at run time", () => {
  test("delivers events while its policies allow it, and may be passed by whoever iam:PassRole allows", async () => {
    const endpoint = await startHttpReceiver();
    onTestFinished(() => endpoint.close());
    const { eventBus } = system.clients;
    const ApiKeyAuthParameters = { ApiKeyName: "x-key", ApiKeyValue: "a key" };
    const { ConnectionArn } = await eventBus.send(
      new CreateConnectionCommand({
        Name: "endpoint",
        AuthorizationType: "API_KEY",
        AuthParameters: { ApiKeyAuthParameters },
      }),
    );
    const { ApiDestinationArn } = await eventBus.send(
      new CreateApiDestinationCommand({
        Name: "endpoint",
        ConnectionArn,
        HttpMethod: "POST",
        InvocationEndpoint: endpoint.url,
      }),
    );
    await eventBus.send(new PutRuleCommand({ Name: "sales", EventPattern: '{"source":["shop"]}' }));
    const RoleArn = await createDeliveryRole({ endpoint: system.installation.gatewayUrl, credentials: system });
    const dora = await createUser("dora");
    const put = new PutTargetsCommand({ Rule: "sales", Targets: [{ Id: "1", Arn: ApiDestinationArn, RoleArn }] });
    const policy = (...statements: object[]) =>
      iam.send(
        new PutUserPolicyCommand({ UserName: "dora", PolicyName: "own", PolicyDocument: documentOf(...statements) }),
      );
    const putTargets = { Action: "events:PutTargets", Resource: "*" };
    await policy(putTargets, { Action: "iam:PassRole", Resource: `${RoleArn}-other` });
    expect(await nameOf(dora.eventBus.send(put))).toBe("AccessDeniedException");
    await policy(putTargets, {
      Action: "iam:PassRole",
      Resource: RoleArn,
      Condition: { StringEquals: { "iam:PassedToService": "events.amazonaws.com" } },
    });
    expect(await nameOf(dora.eventBus.send(put))).toBe("allowed");

    const sell = (n: number) =>
      eventBus.send(
        new PutEventsCommand({ Entries: [{ Source: "shop", DetailType: "sale", Detail: JSON.stringify({ n }) }] }),
      );
    await sell(1);
    await eventually(() => endpoint.received.length === 1, "the first sale arrives");
    await iam.send(new DeleteRolePolicyCommand({ RoleName: "invoke", PolicyName: "invoke" }));
    await aSecondAfter(Date.now());
    await sell(2);
    const { client, close } = await openRpcClient({
      service: EventBusService,
      address: system.installation.urls("event-bus")["rpc"] ?? "",
      audience: "event-bus",
      dataDir,
    });
    onTestFinished(close);
    const [letter] = await eventually(async () => {
      const { deadLetters } = await client.listDeadLetters({});
      return deadLetters.length > 0 && deadLetters;
    }, "the second sale is given up");
    expect(letter?.errorCode).toBe("NO_PERMISSIONS");
    await iam.send(
      new PutRolePolicyCommand({
        RoleName: "invoke",
        PolicyName: "invoke",
        PolicyDocument: documentOf({ Action: "events:InvokeApiDestination", Resource: "*" }),
      }),
    );
    await aSecondAfter(Date.now());
    await sell(3);
    await eventually(() => endpoint.received.length === 2, "the third sale arrives");
    expect(endpoint.received.map(({ body }) => (JSON.parse(body.toString()) as { detail: object }).detail)).toEqual([
      { n: 1 },
      { n: 3 },
    ]);
  });
});

test("an account that is created at run time is granted access by its e-mail address", async () => {
  const { objectStorage } = system.clients;
  const { client, close } = await openRpcClient({
    service: IdentityService,
    address: system.installation.urls("gateway")["rpc"] ?? "",
    audience: "identity",
    dataDir,
  });
  onTestFinished(close);
  const { account, accessKey } = await client.createAccount({ accountName: "Bank", email: "bank@example.com" });
  const bank = system.clientsFor(accessKey?.accessKeyId ?? "", accessKey?.secretAccessKey ?? "");
  await objectStorage.send(new CreateBucketCommand({ Bucket: "shared", ObjectOwnership: "ObjectWriter" }));
  await objectStorage.send(new PutObjectCommand({ Bucket: "shared", Key: "letter", Body: "dear bank" }));
  const letter = { Bucket: "shared", Key: "letter" };
  await aSecondAfter(Date.now());
  expect(await nameOf(bank.objectStorage.send(new GetObjectCommand(letter)))).toBe("AccessDenied");
  await objectStorage.send(new PutObjectAclCommand({ ...letter, GrantRead: 'emailAddress="Bank@Example.com"' }));
  expect(await nameOf(bank.objectStorage.send(new GetObjectCommand(letter)))).toBe("allowed");
  const { Grants } = await objectStorage.send(new GetObjectAclCommand(letter));
  expect(Grants?.map(({ Grantee, Permission }) => [Grantee?.DisplayName, Permission])).toContainEqual(["Bank", "READ"]);

  await client.deleteAccount({ accountId: account?.id ?? "" });
  await aSecondAfter(Date.now());
  const again = new PutObjectAclCommand({ ...letter, GrantRead: 'emailAddress="bank@example.com"' });
  expect(await nameOf(objectStorage.send(again))).toBe("UnresolvableGrantByEmailAddress");
});

test("a user may have ten managed policies of the largest size, and loses what is detached", async () => {
  const { objectStorage } = system.clients;
  await objectStorage.send(new CreateBucketCommand({ Bucket: "wide" }));
  await objectStorage.send(new PutObjectCommand({ Bucket: "wide", Key: "one", Body: "1" }));
  const frank = await createUser("frank");
  const read = new GetObjectCommand({ Bucket: "wide", Key: "one" });
  expect(await nameOf(frank.objectStorage.send(read))).toBe("AccessDenied");
  const arns: string[] = [];
  for (let index = 0; index < 10; index += 1) {
    const document = (resource: string) => documentOf({ Action: "s3:GetObject", Resource: resource });
    const front = index === 9 ? "arn:aws:s3:::wide/*" : `arn:aws:s3:::${index}/`;
    const resource = index === 9 ? front : front + "b".repeat(6_144 - document(front).length);
    const { Policy } = await iam.send(
      new CreatePolicyCommand({ PolicyName: `wide-${index}`, PolicyDocument: document(resource) }),
    );
    arns.push(Policy?.Arn ?? "");
    await iam.send(new AttachUserPolicyCommand({ UserName: "frank", PolicyArn: arns[index] }));
  }
  expect(await nameOf(frank.objectStorage.send(read))).toBe("allowed");
  expect(await nameOf(frank.objectStorage.send(new PutObjectCommand({ Bucket: "wide", Key: "two", Body: "2" })))).toBe(
    "AccessDenied",
  );
  await iam.send(new DetachUserPolicyCommand({ UserName: "frank", PolicyArn: arns[9] }));
  expect(await nameOf(frank.objectStorage.send(read))).toBe("AccessDenied");
});

test("a presigned URL is refused as soon as its user may not do it any more", async () => {
  const { objectStorage } = system.clients;
  await objectStorage.send(new CreateBucketCommand({ Bucket: "signed" }));
  await objectStorage.send(new PutObjectCommand({ Bucket: "signed", Key: "one", Body: "1" }));
  const gwen = await createUser("gwen");
  const PolicyDocument = documentOf({ Action: "s3:GetObject", Resource: "arn:aws:s3:::signed/*" });
  await iam.send(new PutUserPolicyCommand({ UserName: "gwen", PolicyName: "own", PolicyDocument }));
  const url = await getSignedUrl(gwen.objectStorage, new GetObjectCommand({ Bucket: "signed", Key: "one" }));
  expect((await fetch(url)).status).toBe(200);
  await iam.send(new DeleteUserPolicyCommand({ UserName: "gwen", PolicyName: "own" }));
  const refused = await fetch(url);
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining("<Code>AccessDenied</Code>")]);
});
