import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { CreateDomainCommand, GetDomainCommand, ListDomainsCommand } from "@aws-sdk/client-customer-profiles";
import {
  CreateApiDestinationCommand,
  CreateConnectionCommand,
  CreateEventBusCommand,
  DescribeEventBusCommand,
  ListEventBusesCommand,
  PutRuleCommand,
  PutTargetsCommand,
} from "@aws-sdk/client-eventbridge";
import {
  CreateEnvironmentCommand,
  GetEnvironmentCommand,
  ListEnvironmentsCommand,
} from "@aws-sdk/client-migration-hub-refactor-spaces";
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  PutBucketNotificationConfigurationCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { createDeliveryRole } from "../support/delivery-role.ts";
import { eventually } from "../support/eventually.ts";
import { startHttpReceiver } from "../support/http-receiver.ts";
import type { SdkClients } from "../support/sdk-clients.ts";
import type { System } from "../support/system.ts";
import { configurationFile, startSystem } from "../support/system.ts";

const shopAccount = "111122223333";
const bankAccount = "444455556666";
const banksCanonicalId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const everything = { Version: "2012-10-17", Statement: [{ Effect: "Allow", Action: "*", Resource: "*" }] };
const objects = { Version: "2012-10-17", Statement: [{ Effect: "Allow", Action: "s3:*", Resource: "*" }] };
/** More than fits into a token. */
const longWay = {
  Version: "2012-10-17",
  Statement: [
    ...everything.Statement,
    { Effect: "Allow", Action: "s3:GetObject", Resource: `arn:aws:s3:::${"b".repeat(9_000)}` },
  ],
};
/** One operation of each of three services. */
const reading = {
  Version: "2012-10-17",
  Statement: [
    { Effect: "Allow", Action: ["profile:ListDomains", "event-bus:ListEventBuses"], Resource: "*" },
    { Effect: "Allow", Action: "refactor-spaces:List*", Resource: "*" },
    { Effect: "Deny", Action: "refactor-spaces:ListEnvironments", Resource: "*" },
  ],
};
const user = (name: string, ...policies: object[]) => ({
  name,
  policies,
  accessKeys: [{ id: `QKIA${name.toUpperCase()}`, secret: `${name}'s own secret` }],
});
const configuration = (...users: object[]) => ({
  accounts: {
    [shopAccount]: {
      accessKeys: [{ id: "QKIASHOP", secret: { environment: "SHOP_SECRET" } }],
      users: [
        user("alice", everything),
        user("bob", objects),
        user("carol", longWay),
        user("dave"),
        user("gina", reading),
        ...users,
      ],
    },
    [bankAccount]: { canonicalId: banksCanonicalId, accessKeys: [{ id: "QKIABANK", secret: "the bank's secret" }] },
  },
});

let dataDir: string;
let system: System;
let shop: SdkClients;
let bank: SdkClients;
const of = (name: string): SdkClients => system.clientsFor(`QKIA${name.toUpperCase()}`, `${name}'s own secret`);

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-accounts-"));
  const env = { SHOP_SECRET: "the shop's secret" };
  system = await startSystem(dataDir, "silent", { configuration: configuration(), env });
  shop = system.clientsFor("QKIASHOP", "the shop's secret");
  bank = system.clientsFor("QKIABANK", "the bank's secret");
});

afterAll(async () => {
  await system.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/** The name and status of a refusal; the answer's own words do not matter here. */
const refusalOf = async (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    () => "no refusal",
    (error: { name: string; $metadata?: { httpStatusCode?: number } }) =>
      `${error.name} ${error.$metadata?.httpStatusCode}`,
  );

describe("two accounts of one installation", () => {
  test("each see their own buckets, and a name that the other has is taken", async () => {
    await shop.objectStorage.send(new CreateBucketCommand({ Bucket: "shop-files" }));
    await shop.objectStorage.send(new PutObjectCommand({ Bucket: "shop-files", Key: "a", Body: "one" }));
    await bank.objectStorage.send(new CreateBucketCommand({ Bucket: "bank-files" }));
    const listed = await Promise.all(
      [shop, bank].map(({ objectStorage }) => objectStorage.send(new ListBucketsCommand({}))),
    );
    expect(listed.map(({ Buckets }) => Buckets?.map(({ Name }) => Name))).toEqual([["shop-files"], ["bank-files"]]);
    expect(listed.map(({ Owner }) => Owner?.ID)).toEqual([
      "5a66f007e1f9872251ce32d3e5e7018d7789f6c8853422ce79afd16164d7a7f7",
      banksCanonicalId,
    ]);
    expect(await refusalOf(bank.objectStorage.send(new CreateBucketCommand({ Bucket: "shop-files" })))).toBe(
      "BucketAlreadyExists 409",
    );
  });

  // what the other account tries on shop-files, its refusal
  test.each([
    ["list", () => bank.objectStorage.send(new ListObjectsV2Command({ Bucket: "shop-files" })), "AccessDenied 403"],
    [
      "get",
      () => bank.objectStorage.send(new GetObjectCommand({ Bucket: "shop-files", Key: "a" })),
      "AccessDenied 403",
    ],
    [
      "get what is not there",
      () => bank.objectStorage.send(new GetObjectCommand({ Bucket: "shop-files", Key: "b" })),
      "AccessDenied 403",
    ],
    [
      "put",
      () => bank.objectStorage.send(new PutObjectCommand({ Bucket: "shop-files", Key: "a", Body: "two" })),
      "AccessDenied 403",
    ],
    ["delete", () => bank.objectStorage.send(new DeleteBucketCommand({ Bucket: "shop-files" })), "AccessDenied 403"],
    ["head", () => bank.objectStorage.send(new HeadBucketCommand({ Bucket: "shop-files" })), "Unknown 403"],
  ])("have no access to each other's buckets: %s", async (_what, attempt, refusal) => {
    expect(await refusalOf(attempt())).toBe(refusal);
  });

  test("each have their own buses and rules, under the same names", async () => {
    const [one, two] = await Promise.all(
      [shop, bank].map(({ eventBus }) => eventBus.send(new CreateEventBusCommand({ Name: "orders" }))),
    );
    expect([one?.EventBusArn, two?.EventBusArn]).toEqual([
      `arn:aws:events:us-east-1:${shopAccount}:event-bus/orders`,
      `arn:aws:events:us-east-1:${bankAccount}:event-bus/orders`,
    ]);
    await shop.eventBus.send(new CreateEventBusCommand({ Name: "returns" }));
    const listed = await Promise.all([shop, bank].map(({ eventBus }) => eventBus.send(new ListEventBusesCommand({}))));
    expect(listed.map(({ EventBuses }) => EventBuses?.map(({ Name }) => Name))).toEqual([
      ["default", "orders", "returns"],
      ["default", "orders"],
    ]);
    const foreign = one?.EventBusArn;
    const pattern = { EventPattern: '{"source":["x"]}', EventBusName: foreign };
    expect(await refusalOf(bank.eventBus.send(new PutRuleCommand({ Name: "spy", ...pattern })))).toBe(
      "AccessDeniedException 400",
    );
    expect(await refusalOf(bank.eventBus.send(new DescribeEventBusCommand({ Name: foreign })))).toBe(
      "AccessDeniedException 400",
    );
  });

  test("each have their own domains, under the same names", async () => {
    for (const [clients, days] of [
      [shop, 10],
      [bank, 20],
    ] as const)
      await clients.customerProfile.send(
        new CreateDomainCommand({ DomainName: "customers", DefaultExpirationDays: days }),
      );
    await shop.customerProfile.send(new CreateDomainCommand({ DomainName: "guests", DefaultExpirationDays: 30 }));
    const own = await Promise.all(
      [shop, bank].map(({ customerProfile }) =>
        customerProfile.send(new GetDomainCommand({ DomainName: "customers" })),
      ),
    );
    expect(own.map(({ DefaultExpirationDays }) => DefaultExpirationDays)).toEqual([10, 20]);
    const listed = await Promise.all(
      [shop, bank].map(({ customerProfile }) => customerProfile.send(new ListDomainsCommand({}))),
    );
    expect(listed.map(({ Items }) => Items?.map(({ DomainName }) => DomainName))).toEqual([
      ["customers", "guests"],
      ["customers"],
    ]);
  });

  test("each have their own environments", async () => {
    const made = await Promise.all(
      [shop, bank].map(({ workspace }, index) =>
        workspace.send(new CreateEnvironmentCommand({ Name: `environment-${index}`, NetworkFabricType: "NONE" })),
      ),
    );
    const listed = await Promise.all(
      [shop, bank].map(({ workspace }) => workspace.send(new ListEnvironmentsCommand({}))),
    );
    expect(listed.map(({ EnvironmentSummaryList }) => EnvironmentSummaryList?.map(({ Name }) => Name))).toEqual([
      ["environment-0"],
      ["environment-1"],
    ]);
    expect(made.map(({ OwnerAccountId }) => OwnerAccountId)).toEqual([shopAccount, bankAccount]);
    const foreign = new GetEnvironmentCommand({ EnvironmentIdentifier: made[0]?.EnvironmentId });
    expect(await refusalOf(bank.workspace.send(foreign))).toBe("AccessDeniedException 403");
  });
});

describe("a user of an account", () => {
  const listing = ({ objectStorage }: SdkClients): Promise<unknown> =>
    objectStorage.send(new ListObjectsV2Command({ Bucket: "shop-files" }));
  // service, call, refusal where users may not do everything
  const calls: ReadonlyArray<readonly [string, (clients: SdkClients) => Promise<unknown>, string]> = [
    ["object storage", listing, "AccessDenied 403"],
    ["event bus", ({ eventBus }) => eventBus.send(new ListEventBusesCommand({})), "AccessDeniedException 400"],
    [
      "customer profile",
      ({ customerProfile }) => customerProfile.send(new ListDomainsCommand({})),
      "AccessDeniedException 403",
    ],
    ["workspace", ({ workspace }) => workspace.send(new ListEnvironmentsCommand({})), "AccessDeniedException 403"],
  ];

  test.each(calls)(
    "who may do everything may use %s, also when the policies are too long for a token",
    async (_service, call) => {
      expect(await refusalOf(call(of("alice")))).toBe("no refusal");
      expect(await refusalOf(call(of("carol")))).toBe("no refusal");
    },
  );

  test.each(calls)("who may do less may not use %s", async (service, call, refusal) => {
    expect(await refusalOf(call(of("dave")))).toBe(refusal);
    expect(await refusalOf(call(of("bob")))).toBe(service === "object storage" ? "no refusal" : refusal);
  });

  test("may do what the policies allow, operation by operation", async () => {
    const { customerProfile, eventBus, workspace } = of("gina");
    expect(await refusalOf(customerProfile.send(new ListDomainsCommand({})))).toBe("no refusal");
    expect(await refusalOf(customerProfile.send(new GetDomainCommand({ DomainName: "customers" })))).toBe(
      "AccessDeniedException 403",
    );
    expect(await refusalOf(eventBus.send(new ListEventBusesCommand({})))).toBe("no refusal");
    expect(await refusalOf(eventBus.send(new CreateEventBusCommand({ Name: "gina" })))).toBe(
      "AccessDeniedException 400",
    );
    expect(await refusalOf(workspace.send(new ListEnvironmentsCommand({})))).toBe("AccessDeniedException 403");
  });

  test("who may do everything and changes an object has the event bus told", async () => {
    const endpoint = await startHttpReceiver();
    onTestFinished(() => endpoint.close());
    const { eventBus, objectStorage } = shop;
    const connection = await eventBus.send(
      new CreateConnectionCommand({
        Name: "endpoint",
        AuthorizationType: "API_KEY",
        AuthParameters: { ApiKeyAuthParameters: { ApiKeyName: "x-key", ApiKeyValue: "a key" } },
      }),
    );
    const destination = await eventBus.send(
      new CreateApiDestinationCommand({
        Name: "endpoint",
        ConnectionArn: connection.ConnectionArn,
        HttpMethod: "POST",
        InvocationEndpoint: endpoint.url,
      }),
    );
    await eventBus.send(new PutRuleCommand({ Name: "told", EventPattern: '{"source":["aws.s3"]}' }));
    const target = {
      Id: "endpoint",
      Arn: destination.ApiDestinationArn,
      RoleArn: await createDeliveryRole({
        endpoint: system.installation.gatewayUrl,
        credentials: { accessKeyId: "QKIASHOP", secretAccessKey: "the shop's secret" },
      }),
    };
    await eventBus.send(new PutTargetsCommand({ Rule: "told", Targets: [target] }));
    const NotificationConfiguration = { EventBridgeConfiguration: {} };
    await objectStorage.send(
      new PutBucketNotificationConfigurationCommand({ Bucket: "shop-files", NotificationConfiguration }),
    );

    await of("alice").objectStorage.send(new PutObjectCommand({ Bucket: "shop-files", Key: "told", Body: "x" }));
    const told = await eventually(() => endpoint.received[0], "the endpoint is told");
    expect(JSON.parse(told.body.toString())).toMatchObject({
      account: shopAccount,
      detail: { object: { key: "told" } },
    });
  });

  test("who is added to quartet.json may call within seconds, and who is taken out may not", async () => {
    await writeFile(
      configurationFile(dataDir),
      JSON.stringify(configuration(user("erin", everything), user("frank", longWay))),
    );
    const reaches = async (name: string, outcome: string): Promise<boolean> =>
      (await refusalOf(listing(of(name)))) === outcome;
    await eventually(() => reaches("erin", "no refusal"), "erin may call");
    await eventually(() => reaches("frank", "no refusal"), "frank may call");
    await writeFile(configurationFile(dataDir), JSON.stringify(configuration()));
    await eventually(() => reaches("erin", "InvalidAccessKeyId 403"), "erin may not call");
    expect(await refusalOf(listing(of("frank")))).toBe("InvalidAccessKeyId 403");
  });
});
