import { describe, expect, onTestFinished, test } from "vitest";

import { anonymousCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { parseTrustPolicy } from "../../../services/kit/accounts/trust-policy.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { allowing, bytesUnder, openIdentity, root, shop } from "./identity.ts";

type Opened = Awaited<ReturnType<typeof openIdentity>>;

const trust = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Principal: { AWS: shop }, Action: "sts:AssumeRole" }],
});
const declared = {
  users: [{ accountId: shop, name: "team/carol", policies: [] }],
  roles: [
    {
      accountId: shop,
      name: "clerk",
      arn: `arn:aws:iam::${shop}:role/clerk`,
      trustPolicy: parseTrustPolicy(trust),
      policies: [],
    },
  ],
};
const policyArn = `arn:aws:iam::${shop}:policy/read`;

const open = async (directory?: string): Promise<Opened> => {
  const opened = await openIdentity(declared, directory);
  onTestFinished(opened.close);
  return opened;
};

/** A user alice with a key, a group, an inline and an attached policy; a role; a group without users. */
const furnished = async (): Promise<Opened> => {
  const opened = await open();
  const { call } = opened;
  await call("createUser", { userName: "alice" });
  await call("createAccessKey", { userName: "alice" });
  await call("createGroup", { groupName: "readers" });
  await call("createGroup", { groupName: "empty" });
  await call("addUserToGroup", { groupName: "readers", userName: "alice" });
  await call("createPolicy", { policyName: "read", policyDocument: allowing("s3:GetObject") });
  await call("attachUserPolicy", { userName: "alice", policyArn });
  await call("putUserPolicy", { userName: "alice", policyName: "own", policyDocument: allowing("s3:PutObject") });
  await call("createRole", { roleName: "reader", assumeRolePolicyDocument: trust });
  return opened;
};

describe("a user that is created at run time", () => {
  test("acts with its key and with the policies of the moment", async () => {
    const { call, stored } = await furnished();
    const { accessKey } = (await call("createAccessKey", { userName: "alice" })) as {
      accessKey: { accessKeyId: string; secretAccessKey: string };
    };
    const find = () => stored.findAccessKey(accessKey.accessKeyId);
    expect(find()).toEqual({
      accessKeyId: accessKey.accessKeyId,
      secretAccessKey: accessKey.secretAccessKey,
      accountId: shop,
      user: "alice",
      canonicalUserId: "canonical",
      policies: [allowing("s3:PutObject"), allowing("s3:GetObject")],
    });
    await call("putGroupPolicy", { groupName: "readers", policyName: "p", policyDocument: allowing("s3:ListBucket") });
    expect(find()?.policies).toHaveLength(3);
    await call("removeUserFromGroup", { groupName: "readers", userName: "alice" });
    await call("detachUserPolicy", { userName: "alice", policyArn });
    expect(find()?.policies).toEqual([allowing("s3:PutObject")]);
    await call("updateUser", { userName: "alice", newUserName: "alicia", newPath: "/team/" });
    expect(find()?.user).toBe("team/alicia");
    await call("updateAccessKey", { userName: "alicia", accessKeyId: accessKey.accessKeyId, status: "Inactive" });
    expect(find()).toBeUndefined();
  });

  test("is there after a restart, and its secret is nowhere on disk", async () => {
    const directory = await temporaryDirectory();
    const first = await openIdentity(declared, directory);
    await first.call("createUser", { userName: "alice" });
    const { accessKey } = (await first.call("createAccessKey", { userName: "alice" })) as {
      accessKey: { accessKeyId: string; secretAccessKey: string };
    };
    await first.close();
    const onDisk = await bytesUnder(directory);
    expect([onDisk.includes("alice"), onDisk.includes(accessKey.secretAccessKey)]).toEqual([true, false]);
    const second = await open(directory);
    expect(second.stored.findAccessKey(accessKey.accessKeyId)).toMatchObject({
      secretAccessKey: accessKey.secretAccessKey,
      user: "alice",
    });
  });

  test("gets another key in place of one", async () => {
    const { call, stored } = await open();
    await call("createUser", { userName: "alice" });
    const first = (await call("createAccessKey", { userName: "alice" }))["accessKey"] as { accessKeyId: string };
    const rotated = await call("rotateAccessKey", { userName: "alice", accessKeyId: first.accessKeyId });
    const next = rotated["accessKey"] as { accessKeyId: string };
    expect([stored.findAccessKey(first.accessKeyId), stored.findAccessKey(next.accessKeyId)?.user]).toEqual([
      undefined,
      "alice",
    ]);
    expect(await call("listAccessKeys", { userName: "alice" })).toMatchObject({
      accessKeyMetadata: [{ status: "Inactive" }, { status: "Active" }],
      isTruncated: false,
    });
  });

  test("has one key more than it may have at most, however often they are replaced", async () => {
    const { call } = await open();
    await call("createUser", { userName: "alice" });
    const { accessKey } = (await call("createAccessKey", { userName: "alice" })) as {
      accessKey: { accessKeyId: string };
    };
    const replace = () => call("rotateAccessKey", { userName: "alice", accessKeyId: accessKey.accessKeyId });
    await replace();
    await replace();
    await expect(replace()).rejects.toMatchObject({ facts: { reason: "LIMIT_EXCEEDED" } });
    await call("deleteAccessKey", { userName: "alice", accessKeyId: accessKey.accessKeyId });
    const { accessKeyMetadata } = await call("listAccessKeys", { userName: "alice" });
    expect(accessKeyMetadata).toHaveLength(2);
  });

  test("is listed with the declared ones, page by page", async () => {
    const { call } = await open();
    for (const userName of ["bob", "Alice", "dave"]) await call("createUser", { userName });
    const first = await call("listUsers", { maxItems: 3 });
    const names = (page: Record<string, unknown>) =>
      (page["users"] as { userName: string }[]).map((user) => user.userName);
    expect([names(first), first["isTruncated"]]).toEqual([["Alice", "bob", "carol"], true]);
    const second = await call("listUsers", { marker: first["marker"], maxItems: 3 });
    expect([names(second), second["isTruncated"], "marker" in second]).toEqual([["dave"], false, false]);
    expect(names(await call("listUsers", { pathPrefix: "/team/" }))).toEqual(["carol"]);
  });

  test("remembers the last use of a key", async () => {
    const { call, clock, keyUses } = await open();
    await call("createUser", { userName: "alice" });
    const { accessKeyId } = (await call("createAccessKey", { userName: "alice" }))["accessKey"] as {
      accessKeyId: string;
    };
    expect(await call("getAccessKeyLastUsed", { accessKeyId })).toEqual({
      userName: "alice",
      accessKeyLastUsed: { serviceName: "N/A", region: "N/A" },
    });
    clock.advance(5_000);
    keyUses.note({ accountId: shop, accessKeyId, service: "s3", region: "us-east-1" });
    expect(await call("getAccessKeyLastUsed", { accessKeyId })).toMatchObject({
      accessKeyLastUsed: { serviceName: "s3", region: "us-east-1", lastUsedDate: { seconds: 1_767_323_050n } },
    });
  });
});

describe("a role that is created at run time", () => {
  test("can be assumed, and changes at once", async () => {
    const { call, stored } = await furnished();
    await call("putRolePolicy", { roleName: "reader", policyName: "p", policyDocument: allowing("s3:GetObject") });
    await call("updateRole", { roleName: "reader", maxSessionDuration: 7_200 });
    expect(stored.findRoleByName(shop, "reader")).toMatchObject({
      policies: [allowing("s3:GetObject")],
      sessionSecondsMax: 7_200,
    });
    await call("deleteRolePolicy", { roleName: "reader", policyName: "p" });
    await call("deleteRole", { roleName: "reader" });
    expect(stored.findRoleByName(shop, "reader")).toBeUndefined();
  });
});

describe("a role with a path", () => {
  const create = (opened: Opened, roleName: string, path: string) =>
    opened.call("createRole", { roleName, path, assumeRolePolicyDocument: trust });

  test("has it in its ARN and is found by its name", async () => {
    const opened = await open();
    const { role: created } = await create(opened, "pipe", "/service-role/");
    expect(created).toMatchObject({ path: "/service-role/", arn: `arn:aws:iam::${shop}:role/service-role/pipe` });
    expect((await opened.call("getRole", { roleName: "PIPE" }))["role"]).toEqual(created);
    expect(opened.stored.findRoleByName(shop, "pipe")?.arn).toBe(`arn:aws:iam::${shop}:role/service-role/pipe`);
  });

  test("is listed by prefixes of its path, in order of the names", async () => {
    const opened = await open();
    await create(opened, "c", "/team/a/");
    await create(opened, "b", "/team/");
    await create(opened, "a", "/");
    const names = async (pathPrefix: string) =>
      ((await opened.call("listRoles", { pathPrefix }))["roles"] as { roleName: string }[]).map(
        (each) => each.roleName,
      );
    expect(await Promise.all(["/", "/team/", "/team/a/", "/tea/"].map(names))).toEqual([
      ["a", "b", "c", "clerk"],
      ["b", "c"],
      ["c"],
      [],
    ]);
  });

  test("takes its name for all paths and all spellings", async () => {
    const opened = await open();
    await create(opened, "pipe", "/service-role/");
    await expect(create(opened, "Pipe", "/other/")).rejects.toMatchObject({ facts: { reason: "ENTITY_EXISTS" } });
  });

  test("is created by whoever may on its path", async () => {
    const opened = await open();
    const cdk = userCaller(shop, "cdk", [allowing("iam:CreateRole", `arn:aws:iam::${shop}:role/cdk/*`)]);
    const asked = (roleName: string, path: string) =>
      opened.call("createRole", { roleName, path, assumeRolePolicyDocument: trust }, cdk);
    expect((await asked("deploy", "/cdk/"))["role"]).toMatchObject({ path: "/cdk/" });
    await expect(asked("other", "/")).rejects.toMatchObject({ facts: { reason: "ACCESS_DENIED" } });
    await expect(asked("other", "/cd/")).rejects.toMatchObject({ facts: { reason: "ACCESS_DENIED" } });
    // The name that is taken says nothing to whoever may not create it at this path.
    await expect(asked("deploy", "/other/")).rejects.toMatchObject({ facts: { reason: "ACCESS_DENIED" } });
  });
});

type Name = Parameters<Opened["call"]>[0];
const document = allowing("s3:GetObject");
const long = allowing("s3:GetObject", `arn:aws:s3:::${"b".repeat(7_000)}`);

describe("the identity service refuses", () => {
  // the operation, its request, the reason
  test.for<[Name, object, string]>([
    ["createUser", { userName: "ALICE" }, "ENTITY_EXISTS"],
    ["createUser", { userName: "carol" }, "ENTITY_EXISTS"],
    ["getUser", { userName: "nobody" }, "NO_SUCH_ENTITY"],
    ["updateUser", { userName: "carol", newPath: "/x/" }, "DECLARED_ENTITY"],
    ["updateUser", { userName: "alice", newUserName: "carol" }, "ENTITY_EXISTS"],
    ["deleteUser", { userName: "carol" }, "DECLARED_ENTITY"],
    ["deleteUser", { userName: "nobody" }, "NO_SUCH_ENTITY"],
    ["deleteUser", { userName: "alice" }, "DELETE_CONFLICT"],
    [
      "tagUser",
      { userName: "alice", tags: Array.from({ length: 51 }, (_, at) => ({ key: `k${at}`, value: "" })) },
      "LIMIT_EXCEEDED",
    ],
    ["createAccessKey", { userName: "carol" }, "DECLARED_ENTITY"],
    ["createAccessKey", { userName: "nobody" }, "NO_SUCH_ENTITY"],
    ["updateAccessKey", { userName: "alice", accessKeyId: "AKIANOBODY", status: "Active" }, "NO_SUCH_ENTITY"],
    ["deleteAccessKey", { userName: "alice", accessKeyId: "AKIANOBODY" }, "NO_SUCH_ENTITY"],
    ["getAccessKeyLastUsed", { accessKeyId: "AKIANOBODY" }, "NO_SUCH_ENTITY"],
    ["createGroup", { groupName: "Readers" }, "ENTITY_EXISTS"],
    ["deleteGroup", { groupName: "readers" }, "DELETE_CONFLICT"],
    ["addUserToGroup", { groupName: "nobodies", userName: "alice" }, "NO_SUCH_ENTITY"],
    ["addUserToGroup", { groupName: "readers", userName: "carol" }, "DECLARED_ENTITY"],
    ["createPolicy", { policyName: "p", policyDocument: "{}" }, "MALFORMED_POLICY"],
    ["createPolicy", { policyName: "p", policyDocument: long }, "LIMIT_EXCEEDED"],
    ["createPolicy", { policyName: "read", policyDocument: document }, "ENTITY_EXISTS"],
    ["deletePolicy", { policyArn }, "DELETE_CONFLICT"],
    ["getPolicy", { policyArn: `arn:aws:iam::999988887777:policy/read` }, "ACCESS_DENIED"],
    ["getPolicy", { policyArn: `${policyArn}er` }, "NO_SUCH_ENTITY"],
    ["getPolicyVersion", { policyArn, versionId: "v2" }, "NO_SUCH_ENTITY"],
    ["attachUserPolicy", { userName: "alice", policyArn: `${policyArn}er` }, "NO_SUCH_ENTITY"],
    ["detachGroupPolicy", { groupName: "readers", policyArn }, "NO_SUCH_ENTITY"],
    ["putUserPolicy", { userName: "alice", policyName: "p", policyDocument: "{" }, "MALFORMED_POLICY"],
    ["putUserPolicy", { userName: "carol", policyName: "p", policyDocument: document }, "DECLARED_ENTITY"],
    ["putUserPolicy", { userName: "alice", policyName: "p", policyDocument: long }, "LIMIT_EXCEEDED"],
    [
      "putRolePolicy",
      { roleName: "reader", policyName: "p", policyDocument: allowing("s3:*", `arn:aws:s3:::${"b".repeat(10_240)}`) },
      "LIMIT_EXCEEDED",
    ],
    ["getUserPolicy", { userName: "alice", policyName: "constructor" }, "NO_SUCH_ENTITY"],
    ["deleteUserPolicy", { userName: "alice", policyName: "p" }, "NO_SUCH_ENTITY"],
    ["createRole", { roleName: "READER", path: "/x/", assumeRolePolicyDocument: trust }, "ENTITY_EXISTS"],
    ["createRole", { roleName: "r", assumeRolePolicyDocument: document }, "MALFORMED_POLICY"],
    ["createRole", { roleName: "clerk", assumeRolePolicyDocument: trust }, "ENTITY_EXISTS"],
    ["updateAssumeRolePolicy", { roleName: "clerk", policyDocument: trust }, "DECLARED_ENTITY"],
    ["deleteRole", { roleName: "clerk" }, "DECLARED_ENTITY"],
    ["listUsers", { marker: "x" }, "INVALID_PAGE_TOKEN"],
    ["createAccount", { accountName: "bank" }, "ACCESS_DENIED"],
  ])("%s %j", async ([name, request, reason]) => {
    const { call } = await furnished();
    await expect(call(name, request)).rejects.toMatchObject({ facts: { reason } });
  });

  test("to delete a group until it has no members and no policies", async () => {
    const { call } = await furnished();
    const groupName = "writers";
    await call("createGroup", { groupName });
    await call("addUserToGroup", { groupName, userName: "alice" });
    await call("putGroupPolicy", { groupName, policyName: "own", policyDocument: document });
    await call("attachGroupPolicy", { groupName, policyArn });
    const conflict = { facts: { reason: "DELETE_CONFLICT" } };
    await expect(call("deleteGroup", { groupName })).rejects.toMatchObject(conflict);
    await call("removeUserFromGroup", { groupName, userName: "alice" });
    await expect(call("deleteGroup", { groupName })).rejects.toMatchObject(conflict);
    await call("deleteGroupPolicy", { groupName, policyName: "own" });
    await expect(call("deleteGroup", { groupName })).rejects.toMatchObject(conflict);
    await call("detachGroupPolicy", { groupName, policyArn });
    await call("deleteGroup", { groupName });
    await expect(call("getGroup", { groupName })).rejects.toMatchObject({ facts: { reason: "NO_SUCH_ENTITY" } });
  });

  test("to delete a user until it has no keys, policies and groups", async () => {
    const { call } = await furnished();
    const userName = "dora";
    const isRefused = () =>
      expect(call("deleteUser", { userName })).rejects.toMatchObject({ facts: { reason: "DELETE_CONFLICT" } });
    await call("createUser", { userName });
    await call("addUserToGroup", { groupName: "readers", userName });
    await isRefused();
    await call("removeUserFromGroup", { groupName: "readers", userName });
    await call("putUserPolicy", { userName, policyName: "own", policyDocument: document });
    await isRefused();
    await call("deleteUserPolicy", { userName, policyName: "own" });
    await call("attachUserPolicy", { userName, policyArn });
    await isRefused();
    await call("detachUserPolicy", { userName, policyArn });
    const { accessKey } = (await call("createAccessKey", { userName })) as { accessKey: { accessKeyId: string } };
    await isRefused();
    await call("deleteAccessKey", { userName, accessKeyId: accessKey.accessKeyId });
    await call("deleteUser", { userName });
    await expect(call("getUser", { userName })).rejects.toMatchObject({ facts: { reason: "NO_SUCH_ENTITY" } });
  });

  test("to delete a role until it has no policies", async () => {
    const { call } = await furnished();
    const roleName = "teller";
    await call("createRole", { roleName, assumeRolePolicyDocument: trust });
    await call("putRolePolicy", { roleName, policyName: "own", policyDocument: document });
    const conflict = { facts: { reason: "DELETE_CONFLICT" } };
    await expect(call("deleteRole", { roleName })).rejects.toMatchObject(conflict);
    await call("deleteRolePolicy", { roleName, policyName: "own" });
    await call("attachRolePolicy", { roleName, policyArn });
    await expect(call("deleteRole", { roleName })).rejects.toMatchObject(conflict);
    await call("detachRolePolicy", { roleName, policyArn });
    await call("deleteRole", { roleName });
    await expect(call("getRole", { roleName })).rejects.toMatchObject({ facts: { reason: "NO_SUCH_ENTITY" } });
  });

  test("to delete an account that is not there, or until it has nothing but keys", async () => {
    const { call } = await furnished();
    const operator = rootCaller("000000000000");
    const { account } = (await call("createAccount", { accountName: "bank" }, operator)) as { account: { id: string } };
    const accountId = account.id;
    const bank = rootCaller(accountId);
    const arn = `arn:aws:iam::${accountId}:policy/own`;
    const isRefused = (facts: object) =>
      expect(call("deleteAccount", { accountId }, operator)).rejects.toMatchObject({ facts });
    // what is in the way, how it is removed
    for (const [create, createRequest, remove, removeRequest] of [
      ["createUser", { userName: "dora" }, "deleteUser", { userName: "dora" }],
      ["createGroup", { groupName: "all" }, "deleteGroup", { groupName: "all" }],
      ["createRole", { roleName: "r", assumeRolePolicyDocument: trust }, "deleteRole", { roleName: "r" }],
      ["createPolicy", { policyName: "own", policyDocument: document }, "deletePolicy", { policyArn: arn }],
      [
        "createInstanceProfile",
        { instanceProfileName: "web" },
        "deleteInstanceProfile",
        { instanceProfileName: "web" },
      ],
      [
        "createOpenIDConnectProvider",
        { url: "https://a.example" },
        "deleteOpenIDConnectProvider",
        { openIdConnectProviderArn: `arn:aws:iam::${accountId}:oidc-provider/a.example` },
      ],
    ] as const) {
      await call(create, createRequest, bank);
      await isRefused({ reason: "DELETE_CONFLICT" });
      await call(remove, removeRequest, bank);
    }
    await call("deleteAccount", { accountId }, operator);
    await isRefused({ reason: "NO_SUCH_ENTITY" });
  });

  test("an e-mail address that another account has, declared or created", async () => {
    const shops = { id: shop, name: "shop", email: "shop@example.com", canonicalUserId: "0".repeat(64) };
    const { call, close } = await openIdentity({ accounts: [shops] });
    onTestFinished(close);
    const create = (email: string) => call("createAccount", { accountName: "bank", email }, rootCaller("000000000000"));
    await create("bank@example.com");
    for (const email of ["Bank@Example.com", "shop@example.com"])
      await expect(create(email)).rejects.toMatchObject({ facts: { reason: "ENTITY_EXISTS" } });
  });

  test("an account whose number is taken, whatever is random", async () => {
    const { call, app, close } = await openIdentity();
    onTestFinished(close);
    Object.assign(app.ids, { token: (length: number) => "7".repeat(length) });
    const create = (accountName: string) => call("createAccount", { accountName }, rootCaller("000000000000"));
    await create("bank");
    await expect(create("shop")).rejects.toThrow("the number of the account is taken");
  });

  test("a third key, and an eleventh attached policy", async () => {
    const { call } = await furnished();
    await call("createAccessKey", { userName: "alice" });
    await expect(call("createAccessKey", { userName: "alice" })).rejects.toMatchObject({
      facts: { reason: "LIMIT_EXCEEDED" },
    });
    const policyDocument = allowing("s3:GetObject", `arn:aws:s3:::${"b".repeat(6_000)}`);
    const attach = async (policyName: string): Promise<unknown> => {
      await call("createPolicy", { policyName, policyDocument });
      return call("attachGroupPolicy", {
        groupName: "readers",
        policyArn: `arn:aws:iam::${shop}:policy/${policyName}`,
      });
    };
    for (let index = 1; index <= 10; index += 1) await attach(`large-${index}`);
    await expect(attach("large-11")).rejects.toMatchObject({ facts: { reason: "LIMIT_EXCEEDED" } });
  });
});

describe("who may use the identity service", () => {
  const limited = userCaller(shop, "alice", [
    allowing("iam:*AccessKey*", `arn:aws:iam::${shop}:user/\${aws:username}`),
  ]);

  // who, the operation, its request, the outcome
  test.for<[string, Parameters<Opened["call"]>[2], Name, object, string]>([
    ["nobody", anonymousCaller, "listUsers", {}, "UNAUTHENTICATED"],
    ["a user without policies", userCaller(shop, "bob", []), "getUser", { userName: "alice" }, "ACCESS_DENIED"],
    ["a user, another's key", limited, "createAccessKey", { userName: "bob" }, "ACCESS_DENIED"],
    ["a user, its own key", limited, "createAccessKey", { userName: "alice" }, "done"],
    ["a user, its own key unnamed", limited, "listAccessKeys", {}, "done"],
    ["a root of another account", rootCaller("999988887777"), "getUser", { userName: "alice" }, "NO_SUCH_ENTITY"],
    ["the root of the first account", rootCaller("000000000000"), "createAccount", { accountName: "bank" }, "done"],
    ["the root of the account", root, "getUser", {}, "done"],
  ])("%s", async ([, caller, name, request, outcome]) => {
    const { call } = await furnished();
    const result = await call(name, request, caller).then(
      () => "done",
      (error: { facts?: { reason: string } }) => error.facts?.reason ?? "another error",
    );
    expect(result).toBe(outcome);
  });
});
