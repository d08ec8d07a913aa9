/**
 * Two accounts share a bus and an environment, and a user works with one domain only; all with the official SDK
 * clients, through the gateway. Afterwards the services' records of it are whole.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  CreateDomainCommand,
  CreateProfileCommand,
  DeleteDomainCommand,
  GetDomainCommand,
  ListDomainsCommand,
  SearchProfilesCommand,
} from "@aws-sdk/client-customer-profiles";
import {
  CreateEventBusCommand,
  DescribeEventBusCommand,
  PutEventsCommand,
  PutPermissionCommand,
  RemovePermissionCommand,
} from "@aws-sdk/client-eventbridge";
import {
  CreateApplicationCommand,
  CreateEnvironmentCommand,
  DeleteEnvironmentCommand,
  DeleteResourcePolicyCommand,
  GetEnvironmentCommand,
  ListEnvironmentsCommand,
  PutResourcePolicyCommand,
} from "@aws-sdk/client-migration-hub-refactor-spaces";
import { afterAll, beforeAll, expect, test } from "vitest";

import { runProgram } from "../support/run-program.ts";
import type { SdkClients } from "../support/sdk-clients.ts";
import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";

const shopAccount = "111122223333";
const bankAccount = "444455556666";
const clerksPolicy = {
  Version: "2012-10-17",
  Statement: [
    {
      Effect: "Allow",
      Action: ["profile:GetDomain", "profile:CreateProfile", "profile:SearchProfiles"],
      Resource: `arn:aws:profile:us-east-1:${shopAccount}:domains/customers`,
    },
  ],
};
const tellersPolicy = {
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: ["events:PutEvents", "refactor-spaces:Get*"], Resource: "*" }],
};
const configuration = {
  accounts: {
    [shopAccount]: {
      accessKeys: [{ id: "QKIASHOP", secret: "the shop's secret" }],
      users: [
        { name: "clerk", policies: [clerksPolicy], accessKeys: [{ id: "QKIACLERK", secret: "the clerk's secret" }] },
      ],
    },
    [bankAccount]: {
      accessKeys: [{ id: "QKIABANK", secret: "the bank's secret" }],
      users: [
        {
          name: "teller",
          policies: [tellersPolicy],
          accessKeys: [{ id: "QKIATELLER", secret: "the teller's secret" }],
        },
      ],
    },
  },
};

let dataDir: string;
let system: System;
let shop: SdkClients;
let bank: SdkClients;
let teller: SdkClients;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-sharing-"));
  system = await startSystem(dataDir, "silent", { configuration });
  shop = system.clientsFor("QKIASHOP", "the shop's secret");
  bank = system.clientsFor("QKIABANK", "the bank's secret");
  teller = system.clientsFor("QKIATELLER", "the teller's secret");
});

afterAll(async () => {
  await system.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/** The name and status of a refusal. */
const outcomeOf = async (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    () => "done",
    (error: { name: string; $metadata?: { httpStatusCode?: number } }) =>
      `${error.name} ${error.$metadata?.httpStatusCode}`,
  );

test("a bus takes events of the account that it is shared with, of the granted kind, for as long as it is", async () => {
  const { EventBusArn: orders } = await shop.eventBus.send(new CreateEventBusCommand({ Name: "orders" }));
  const put = async ({ eventBus }: SdkClients, source: string): Promise<string> => {
    const entry = { Source: source, DetailType: "Paid", Detail: "{}", EventBusName: orders };
    const { Entries } = await eventBus.send(new PutEventsCommand({ Entries: [entry] }));
    return Entries?.[0]?.ErrorCode ?? "put";
  };
  const refused = "AccessDeniedException";
  expect([await put(bank, "bank"), await put(teller, "bank")]).toEqual([refused, refused]);

  const statement = {
    Sid: "bank",
    Effect: "Allow",
    Principal: { AWS: `arn:aws:iam::${bankAccount}:root` },
    Action: "events:PutEvents",
    Resource: orders,
    Condition: { StringEquals: { "events:source": "bank" } },
  };
  const Policy = JSON.stringify({ Version: "2012-10-17", Statement: [statement] });
  await shop.eventBus.send(new PutPermissionCommand({ EventBusName: "orders", Policy }));
  expect([await put(bank, "bank"), await put(teller, "bank"), await put(teller, "shop")]).toEqual([
    "put",
    "put",
    refused,
  ]);
  expect(await outcomeOf(bank.eventBus.send(new DescribeEventBusCommand({ Name: orders })))).toBe(
    "AccessDeniedException 400",
  );

  await shop.eventBus.send(new RemovePermissionCommand({ EventBusName: "orders", StatementId: "bank" }));
  expect([await put(bank, "bank"), await put(teller, "bank")]).toEqual([refused, refused]);
});

test("an environment is listed and used by the account that it is shared with, for as long as it is", async () => {
  const { workspace } = shop;
  const { EnvironmentId: id, Arn: arn } = await workspace.send(
    new CreateEnvironmentCommand({ Name: "shop move", NetworkFabricType: "NONE" }),
  );
  const get = new GetEnvironmentCommand({ EnvironmentIdentifier: id });
  const createApplication = new CreateApplicationCommand({
    EnvironmentIdentifier: id,
    Name: "payments",
    ProxyType: "API_GATEWAY",
    VpcId: "vpc-0a1b2c3d",
  });
  const listedBy = async (clients: SdkClients): Promise<unknown> =>
    (await clients.workspace.send(new ListEnvironmentsCommand({}))).EnvironmentSummaryList?.map(
      ({ EnvironmentId }) => EnvironmentId,
    );
  const refused = "AccessDeniedException 403";
  expect([await listedBy(bank), await outcomeOf(bank.workspace.send(get))]).toEqual([[], refused]);

  const statement = {
    Effect: "Allow",
    Principal: { AWS: bankAccount },
    Action: ["refactor-spaces:GetEnvironment", "refactor-spaces:CreateApplication"],
    Resource: `${arn}*`,
  };
  const Policy = JSON.stringify({ Version: "2012-10-17", Statement: [statement] });
  await workspace.send(new PutResourcePolicyCommand({ ResourceArn: arn, Policy }));
  expect(await listedBy(bank)).toEqual([id]);
  expect((await bank.workspace.send(get)).OwnerAccountId).toBe(shopAccount);
  expect(await outcomeOf(teller.workspace.send(get))).toBe("done");
  expect(await outcomeOf(teller.workspace.send(createApplication))).toBe(refused);
  expect(await bank.workspace.send(createApplication)).toMatchObject({
    OwnerAccountId: shopAccount,
    CreatedByAccountId: bankAccount,
  });
  expect(await outcomeOf(bank.workspace.send(new DeleteEnvironmentCommand({ EnvironmentIdentifier: id })))).toBe(
    refused,
  );

  await workspace.send(new DeleteResourcePolicyCommand({ Identifier: arn }));
  expect([await listedBy(bank), await outcomeOf(bank.workspace.send(get))]).toEqual([[], refused]);
});

test("a user with the least privilege works with one domain and reaches no other", async () => {
  for (const DomainName of ["customers", "guests"])
    await shop.customerProfile.send(new CreateDomainCommand({ DomainName, DefaultExpirationDays: 10 }));
  const { customerProfile } = system.clientsFor("QKIACLERK", "the clerk's secret");
  const refused = "AccessDeniedException 403";
  // what the clerk does in the domain customers, and in the domain guests
  const attempts: ReadonlyArray<readonly [(DomainName: string) => Promise<unknown>, string, string]> = [
    [(DomainName) => customerProfile.send(new GetDomainCommand({ DomainName })), "done", refused],
    [(DomainName) => customerProfile.send(new CreateProfileCommand({ DomainName, LastName: "Roe" })), "done", refused],
    [
      (DomainName) =>
        customerProfile.send(new SearchProfilesCommand({ DomainName, KeyName: "_fullName", Values: ["Roe"] })),
      "done",
      refused,
    ],
    [(DomainName) => customerProfile.send(new DeleteDomainCommand({ DomainName })), refused, refused],
    [() => customerProfile.send(new ListDomainsCommand({})), refused, refused],
  ];
  for (const [attempt, own, other] of attempts)
    expect([await outcomeOf(attempt("customers")), await outcomeOf(attempt("guests"))]).toEqual([own, other]);
});

test("the services' audit logs name who was refused what, and their chains are unbroken", async () => {
  await system.stop();
  for (const [service, principal, action] of [
    ["event-bus", `arn:aws:iam::${bankAccount}:user/teller`, "events:PutEvents"],
    ["refactoring-workspace", `arn:aws:iam::${bankAccount}:root`, "refactor-spaces:DeleteEnvironment"],
    ["customer-profile", `arn:aws:iam::${shopAccount}:user/clerk`, "profile:DeleteDomain"],
  ] as const) {
    const directory = join(dataDir, service, "audit");
    const files = (await readdir(directory)).map((name) => join(directory, name));
    const lines = (await Promise.all(files.map((file) => readFile(file, "utf8")))).join("").trimEnd().split("\n");
    const recorded = lines.map((line) => JSON.parse(line) as object);
    expect(recorded).toContainEqual(expect.objectContaining({ principal, action, decision: "refused" }));
    expect((await runProgram("services/launcher/audit.ts", ["verify", ...files])).status).toBe(0);
  }
});
