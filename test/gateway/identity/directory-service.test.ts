/** Services that follow the accounts and roles of a gateway, over real servers. */
import { generateKeyPairSync } from "node:crypto";

import { createClient } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";

import { DirectoryService } from "../../../gen/quartet/kit/directory/v1/directory_service_pb.ts";
import { directoryService } from "../../../gateway/identity/directory-service.ts";
import { openPolicyLists } from "../../../gateway/identity/policy-lists.ts";
import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import type { Declared } from "../../../services/kit/accounts/accounts.ts";
import { followAccounts, joinAccounts } from "../../../services/kit/accounts/followed-accounts.ts";
import { parseTrustPolicy } from "../../../services/kit/accounts/trust-policy.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { bearerAuthenticate } from "../../../services/kit/identity/authenticate.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import {
  areTooLargeToCarry,
  carriedPoliciesOf,
  policiesDigest,
} from "../../../services/kit/identity/identity-policies.ts";
import { createMinter, createVerifier } from "../../../services/kit/identity/tokens.ts";
import { startServer } from "../../../services/kit/server/server.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { allowing, openIdentity, root, shop } from "./identity.ts";

const trust = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Principal: { Service: "events.amazonaws.com" }, Action: "sts:AssumeRole" }],
});
const alice = `arn:aws:iam::${shop}:user/alice`;
const teller = `arn:aws:iam::${shop}:role/Teller`;

/** The root that may create accounts. */
const firstRoot = rootCaller("000000000000");

/** A gateway that keeps identities; a service and a stranger can call it. */
const start = async () => {
  const keeper = await openIdentity();
  onTestFinished(keeper.close);
  const keysOf = { "event-bus": generateKeyPairSync("ed25519"), stranger: generateKeyPairSync("ed25519") };
  const clock = new FakeClock();
  const publicKeys = new Map(Object.entries(keysOf).map(([name, { publicKey }]) => [name, publicKey]));
  const verifier = createVerifier({ publicKeys, clock, audience: "identity" });
  const policyLists = openPolicyLists(keeper.identities, keeper.clock);
  onTestFinished(() => policyLists.stop());
  const server = await startServer({
    name: "gateway",
    listen: { host: "127.0.0.1", port: 0 },
    services: [directoryService({ identities: keeper.identities, policyLists, clock: new FakeClock() })],
    authenticate: bearerAuthenticate(verifier, {
      "event-bus": { preauthorizedFor: ["WatchDirectory", "GetPolicies"] },
      stranger: { anyCaller: true },
    }),
    log: silentLogger,
  });
  onTestFinished(() => server.stop(0));
  const transport = createTransport({ address: server.url, engine: "connect", retry: { attemptsMax: 1 } });
  onTestFinished(() => transport.close());
  const minterOf = (name: keyof typeof keysOf) => createMinter({ keyPair: { name, ...keysOf[name] }, clock });
  return { keeper, server, transport, minterOf, clock };
};

/** The same with a service that has received everything. */
const startFollowed = async (declared: Partial<Declared> = {}, prepare?: (keeper: Keeper) => Promise<unknown>) => {
  const started = await start();
  await prepare?.(started.keeper);
  const { transport, clock, minterOf } = started;
  const followed = followAccounts({ transport, minter: minterOf("event-bus"), clock, log: silentLogger });
  onTestFinished(() => followed.stop());
  const own = { accounts: [], users: [], roles: [], organizations: new Map(), accessKeys: [], ...declared };
  const accounts = joinAccounts(accountsOf(own), followed);
  await eventually(() => followed.isCurrent(), "everything is received");
  return { ...started, followed, accounts };
};

type Keeper = Awaited<ReturnType<typeof openIdentity>>;

/** Eleven managed policies would be refused; ten of the largest size are attached. */
const attachLargest = async (keeper: Keeper, userName: string): Promise<void> => {
  for (let index = 0; index < 10; index += 1) {
    const policyName = `large-${index}`;
    const front = allowing("s3:GetObject", `arn:aws:s3:::${index}/`).length;
    const policyDocument = allowing("s3:GetObject", `arn:aws:s3:::${index}/${"b".repeat(6_144 - front)}`);
    await keeper.call("createPolicy", { policyName, policyDocument });
    await keeper.call("attachUserPolicy", { userName, policyArn: `arn:aws:iam::${shop}:policy/${policyName}` });
  }
};

const policiesOf = ({ stored }: Keeper, userName: string): readonly string[] =>
  stored.findUser(shop, userName)?.policies ?? [];

describe("a service that follows", () => {
  test("knows roles and accounts that were created before and after it began, and their changes", async () => {
    const { keeper, accounts } = await startFollowed({}, async (before) => {
      await before.call("createRole", { roleName: "Teller", assumeRolePolicyDocument: trust });
      await before.call("putRolePolicy", {
        roleName: "Teller",
        policyName: "own",
        policyDocument: allowing("events:PutEvents"),
      });
    });
    expect(accounts.knowsAllRoles?.()).toBe(true);
    expect(accounts.findRole(teller)).toEqual({
      accountId: shop,
      name: "Teller",
      arn: teller,
      id: expect.stringMatching(/^AROA/) as string,
      trustPolicy: parseTrustPolicy(trust),
      policies: [allowing("events:PutEvents")],
      tags: {},
    });
    expect(accounts.findRole(teller.replace("arn:aws:", "arn:svc:"))?.name).toBe("Teller");
    expect(accounts.findRole(teller.toLowerCase())).toBeUndefined();

    await keeper.call("deleteRolePolicy", { roleName: "Teller", policyName: "own" });
    await eventually(() => accounts.findRole(teller)?.policies.length === 0, "the policy is gone");
    await keeper.call("deleteRole", { roleName: "Teller" });
    await eventually(() => accounts.findRole(teller) === undefined, "the role is gone");

    await keeper.call("createRole", { roleName: "teller", path: "/till/", assumeRolePolicyDocument: trust });
    const ofTill = `arn:aws:iam::${shop}:role/till/teller`;
    await eventually(() => accounts.findRole(ofTill) !== undefined, "the role with a path is known");
    expect(accounts.findRole(`arn:aws:iam::${shop}:role/teller`)).toBeUndefined();
    await keeper.call("deleteRole", { roleName: "teller" });
    await eventually(() => accounts.findRoleByName(shop, "Teller") === undefined, "it is gone");

    const { account } = await keeper.call(
      "createAccount",
      { accountName: "bank", email: "bank@example.com" },
      firstRoot,
    );
    const { id } = account as { id: string };
    await eventually(() => accounts.list().length === 1, "the account is known");
    expect(accounts.list()).toEqual([
      {
        id,
        name: "bank",
        email: "bank@example.com",
        canonicalUserId: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      },
    ]);
    await keeper.call("deleteAccount", { accountId: id }, firstRoot);
    await eventually(() => accounts.list().length === 0, "the account is gone");
  });

  test("knows the managed policies of a role as they are now", async () => {
    const policyArn = `arn:aws:iam::${shop}:policy/own`;
    const { keeper, accounts } = await startFollowed({}, async (before) => {
      await before.call("createPolicy", { policyName: "own", policyDocument: allowing("events:*") });
      await before.call("createRole", { roleName: "Teller", assumeRolePolicyDocument: trust });
      await before.call("attachRolePolicy", { roleName: "Teller", policyArn });
    });
    expect(accounts.findRole(teller)?.policies).toEqual([allowing("events:*")]);
    const policyDocument = allowing("events:Two");
    await keeper.call("createPolicyVersion", { policyArn, policyDocument, setAsDefault: true });
    await eventually(() => accounts.findRole(teller)?.policies[0] === policyDocument, "the new version counts");
    await keeper.call("setDefaultPolicyVersion", { policyArn, versionId: "v1" });
    await eventually(() => accounts.findRole(teller)?.policies[0] === allowing("events:*"), "the old one counts");
  });

  test("knows the boundary of a role as it is now", async () => {
    const limit = `arn:aws:iam::${shop}:policy/limit`;
    const { keeper, accounts } = await startFollowed({}, async (before) => {
      await before.call("createPolicy", { policyName: "limit", policyDocument: allowing("events:PutEvents") });
      await before.call("createPolicy", { policyName: "own", policyDocument: allowing("events:*") });
      await before.call("createRole", {
        roleName: "Teller",
        assumeRolePolicyDocument: trust,
        permissionsBoundary: limit,
      });
      await before.call("attachRolePolicy", { roleName: "Teller", policyArn: `arn:aws:iam::${shop}:policy/own` });
    });
    const { policies, permissionsBoundary } = accounts.findRole(teller) ?? {};
    expect([policies, permissionsBoundary]).toEqual([[allowing("events:*")], allowing("events:PutEvents")]);
    const replace = (name: string, action: string) =>
      keeper.call("createPolicyVersion", {
        policyArn: `arn:aws:iam::${shop}:policy/${name}`,
        policyDocument: allowing(action),
        setAsDefault: true,
      });
    await replace("limit", "events:One");
    await eventually(
      () => accounts.findRole(teller)?.permissionsBoundary === allowing("events:One"),
      "the boundary follows its policy",
    );
    await replace("own", "events:Two");
    await eventually(
      () => accounts.findRole(teller)?.policies[0] === allowing("events:Two"),
      "the role follows its policy",
    );
    await keeper.call("deleteRolePermissionsBoundary", { roleName: "Teller" });
    await eventually(() => accounts.findRole(teller)?.permissionsBoundary === undefined, "the boundary is gone");
    expect(accounts.findRole(teller)?.policies).toEqual([allowing("events:Two")]);
  });

  test("is shown a role with a boundary so that a service which knows of none allows its sessions nothing", async () => {
    const { transport, minterOf } = await startFollowed({}, async (before) => {
      await before.call("createPolicy", { policyName: "limit", policyDocument: allowing("events:PutEvents") });
      const permissionsBoundary = `arn:aws:iam::${shop}:policy/limit`;
      await before.call("createRole", { roleName: "Teller", assumeRolePolicyDocument: trust, permissionsBoundary });
      await before.call("putRolePolicy", { roleName: "Teller", policyName: "own", policyDocument: allowing("s3:*") });
    });
    const caller = { ...firstRoot, isPreauthorized: true };
    const headers = { authorization: `Bearer ${await minterOf("event-bus").mint(caller, "identity")}` };
    for await (const { changes } of createClient(DirectoryService, transport).watchDirectory({}, { headers })) {
      const shown = changes.flatMap(({ change }) => (change.case === "role" ? [change.value] : []));
      expect(shown).toMatchObject([
        { name: "Teller", policies: [], boundedPolicies: [allowing("events:PutEvents"), allowing("s3:*")] },
      ]);
      break;
    }
  });

  test("prefers what is declared", async () => {
    const declaredRole = {
      accountId: shop,
      name: "Teller",
      arn: teller,
      trustPolicy: parseTrustPolicy(trust),
      policies: [allowing("events:DescribeRule")],
    };
    const bank = { id: shop, name: "declared", email: undefined, canonicalUserId: "0".repeat(64) };
    const { accounts } = await startFollowed({ roles: [declaredRole], accounts: [bank] }, async (before) => {
      await before.call("createRole", { roleName: "Teller", assumeRolePolicyDocument: trust });
    });
    expect(accounts.findRole(teller)).toBe(declaredRole);
    expect(accounts.list()).toEqual([bank]);
  });

  test("knows nothing that was created at run time when the gateway was silent for 30 seconds", async () => {
    const { server, clock, accounts } = await startFollowed({}, async (before) => {
      await before.call("createRole", { roleName: "Teller", assumeRolePolicyDocument: trust });
    });
    await server.stop(0);
    clock.advance(29_999);
    expect([accounts.knowsAllRoles?.(), accounts.findRole(teller)?.name]).toEqual([true, "Teller"]);
    clock.advance(1);
    expect([accounts.knowsAllRoles?.(), accounts.findRole(teller)]).toEqual([false, undefined]);
  });

  test("counts the silence from what was heard last, wherever the clock is set meanwhile", async () => {
    const { server, clock, accounts } = await startFollowed();
    await server.stop(0);
    clock.setBack(86_400_000);
    clock.advance(29_999);
    expect(accounts.knowsAllRoles?.()).toBe(true);
    clock.advance(1);
    expect(accounts.knowsAllRoles?.()).toBe(false);
  });

  test("does not hold up a gateway that stops", async () => {
    const { server, accounts } = await startFollowed();
    await server.stop(3_600_000);
    expect(accounts.knowsAllRoles?.()).toBe(true);
  });

  test("begins with what is declared where there is no gateway", async () => {
    const { server, transport, clock, minterOf } = await start();
    await server.stop(0);
    const followed = followAccounts({ transport, minter: minterOf("event-bus"), clock, log: silentLogger });
    onTestFinished(() => followed.stop());
    expect([followed.isCurrent(), followed.list(), followed.findRoleByName(shop, "Teller")]).toEqual([
      false,
      [],
      undefined,
    ]);
    await expect(followed.findPolicies("x".repeat(43), alice)).rejects.toThrow(
      "The caller's policies cannot be found now.",
    );
  });
});

describe("policies by digest", () => {
  test("of a user are found however many it has, and are asked for once", async () => {
    const { keeper, followed, server } = await startFollowed();
    await keeper.call("createUser", { userName: "alice" });
    await attachLargest(keeper, "alice");
    const policies = policiesOf(keeper, "alice");
    expect(policies.map((policy) => policy.length)).toEqual(Array.from({ length: 10 }, () => 6_144));
    const digest = policiesDigest(policies);
    const [first, second] = await Promise.all([
      followed.findPolicies(digest, alice),
      followed.findPolicies(digest, alice),
    ]);
    expect(first).toEqual(policies);
    await server.stop(0);
    expect([second, await followed.findPolicies(digest, alice)]).toEqual([first, first]);
  });

  test("that a user had are found for 15 minutes after a change", async () => {
    const { keeper, followed } = await startFollowed();
    await keeper.call("createUser", { userName: "alice" });
    await attachLargest(keeper, "alice");
    const former = policiesOf(keeper, "alice");
    await keeper.call("detachUserPolicy", { userName: "alice", policyArn: `arn:aws:iam::${shop}:policy/large-0` });
    const between = policiesOf(keeper, "alice");
    await keeper.call("detachUserPolicy", { userName: "alice", policyArn: `arn:aws:iam::${shop}:policy/large-1` });
    keeper.clock.advance(15 * 60_000 - 1);
    expect(await followed.findPolicies(policiesDigest(former), alice)).toHaveLength(10);
    keeper.clock.advance(1);
    expect(await followed.findPolicies(policiesDigest(between), alice)).toBeUndefined();
    expect(await followed.findPolicies(policiesDigest(policiesOf(keeper, "alice")), alice)).toHaveLength(8);
  });

  test("of the members of a group that loses a policy are found as they were", async () => {
    const { keeper, followed } = await startFollowed();
    await keeper.call("createUser", { userName: "alice" });
    await attachLargest(keeper, "alice");
    await keeper.call("createGroup", { groupName: "readers" });
    await keeper.call("addUserToGroup", { userName: "alice", groupName: "readers" });
    await keeper.call("putGroupPolicy", { groupName: "readers", policyName: "own", policyDocument: allowing("s3:*") });
    const former = policiesOf(keeper, "alice");
    expect(areTooLargeToCarry(former)).toBe(true);
    await keeper.call("deleteGroupPolicy", { groupName: "readers", policyName: "own" });
    expect(await followed.findPolicies(policiesDigest(former), alice)).toHaveLength(11);
  });

  test("of a user with a boundary are found after it, also those that it had before its boundary changed", async () => {
    const { keeper, followed } = await startFollowed();
    await keeper.call("createUser", { userName: "alice" });
    await attachLargest(keeper, "alice");
    await keeper.call("createPolicy", { policyName: "limit", policyDocument: allowing("s3:One") });
    const limit = `arn:aws:iam::${shop}:policy/limit`;
    await keeper.call("putUserPermissionsBoundary", { userName: "alice", permissionsBoundary: limit });
    const carried = () => carriedPoliciesOf(keeper.stored.findUser(shop, "alice") ?? { policies: [] });
    const first = carried();
    expect([first[0], areTooLargeToCarry(first)]).toEqual([allowing("s3:One"), true]);
    const policyDocument = allowing("s3:Two");
    await keeper.call("createPolicyVersion", { policyArn: limit, policyDocument, setAsDefault: true });
    expect(await followed.findPolicies(policiesDigest(first), alice)).toEqual(first);
    const second = carried();
    await keeper.call("deleteUserPermissionsBoundary", { userName: "alice" });
    expect(await followed.findPolicies(policiesDigest(second), alice)).toEqual(second);
    expect(second[0]).toBe(allowing("s3:Two"));
    expect(keeper.stored.findUser(shop, "alice")?.permissionsBoundary).toBeUndefined();
  });

  test("that nobody has are not found", async () => {
    const { followed } = await startFollowed();
    expect(await followed.findPolicies("x".repeat(43), alice)).toBeUndefined();
  });
});

test("nobody but a service may follow or find policies", async () => {
  const { transport, minterOf } = await start();
  const headers = { authorization: `Bearer ${await minterOf("stranger").mint(root, "identity")}` };
  const client = createClient(DirectoryService, transport);
  const messages = client.watchDirectory({}, { headers });
  await expect(messages[Symbol.asyncIterator]().next()).rejects.toThrow("not authorized to perform: WatchDirectory");
  await expect(client.getPolicies({ digest: "x" }, { headers })).rejects.toThrow(
    "not authorized to perform: GetPolicies",
  );
  await expect(client.getUserPolicies({ accountId: shop, userName: "alice" }, { headers })).rejects.toThrow(
    "not authorized to perform: GetUserPolicies",
  );
  const preauthorized = { ...root, isPreauthorized: true };
  const claimed = { authorization: `Bearer ${await minterOf("stranger").mint(preauthorized, "identity")}` };
  await expect(client.getPolicies({ digest: "x" }, { headers: claimed })).rejects.toThrow("unauthenticated");
});
