import { describe, expect, onTestFinished, test } from "vitest";

import { parseTrustPolicy } from "../../../services/kit/accounts/trust-policy.ts";
import { userCaller } from "../../../services/kit/identity/caller.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { allowing, openIdentity, shop } from "./identity.ts";

const trust = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Principal: { AWS: shop }, Action: "sts:AssumeRole" }],
});
const arnOf = (entity: string): string => `arn:aws:iam::${shop}:${entity}`;
const limitArn = arnOf("policy/team/limit");
const otherArn = arnOf("policy/other");
const commonArn = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess";
const attached = (permissionsBoundaryArn: string) => ({ permissionsBoundaryType: "Policy", permissionsBoundaryArn });

const declared = {
  users: [{ accountId: shop, name: "carol", policies: [] }],
  roles: [
    { accountId: shop, name: "clerk", arn: arnOf("role/clerk"), trustPolicy: parseTrustPolicy(trust), policies: [] },
  ],
};

/** The policies `/team/limit` and `other`, a user alice with a key and a policy of her own, a role reader. */
const open = async (directory?: string) => {
  const opened = await openIdentity(declared, directory);
  onTestFinished(opened.close);
  return opened;
};

const furnished = async () => {
  const opened = await open();
  const { call } = opened;
  await call("createPolicy", { policyName: "limit", path: "/team/", policyDocument: allowing("s3:GetObject") });
  await call("createPolicy", { policyName: "other", policyDocument: allowing("s3:PutObject") });
  await call("createUser", { userName: "alice" });
  await call("putUserPolicy", { userName: "alice", policyName: "own", policyDocument: allowing("s3:*") });
  await call("createRole", { roleName: "reader", assumeRolePolicyDocument: trust });
  return opened;
};

/** The boundary of a user or role, as it is shown. */
const shownOf = async ({ call }: Awaited<ReturnType<typeof open>>, kind: "user" | "role", name: string) => {
  const found = await (kind === "user" ? call("getUser", { userName: name }) : call("getRole", { roleName: name }));
  return (found[kind] as { permissionsBoundary?: unknown }).permissionsBoundary;
};

// the kind, the entity, the operations and the member that names it
const kinds = [
  ["user", "alice", "putUserPermissionsBoundary", "deleteUserPermissionsBoundary", "userName"],
  ["role", "reader", "putRolePermissionsBoundary", "deleteRolePermissionsBoundary", "roleName"],
] as const;

describe.each(kinds)("the boundary of a %s", (kind, name, put, remove, member) => {
  test("is put, replaced, shown and removed, and each can be repeated", async () => {
    const opened = await furnished();
    const { call, stored } = opened;
    const documentNow = () =>
      (kind === "user" ? stored.findUser(shop, name) : stored.findRoleByName(shop, name))?.permissionsBoundary;
    expect([await shownOf(opened, kind, name), documentNow()]).toEqual([undefined, undefined]);
    for (const permissionsBoundary of [limitArn, otherArn, commonArn, limitArn, limitArn]) {
      expect(await call(put, { [member]: name.toUpperCase(), permissionsBoundary })).toEqual({});
      expect(await shownOf(opened, kind, name)).toEqual(attached(permissionsBoundary));
    }
    expect(documentNow()).toBe(allowing("s3:GetObject"));
    for (const _repeated of [1, 2]) {
      expect(await call(remove, { [member]: name })).toEqual({});
      expect([await shownOf(opened, kind, name), documentNow()]).toEqual([undefined, undefined]);
    }
  });

  test("follows the default version of its policy at once", async () => {
    const { call, stored } = await furnished();
    await call(put, { [member]: name, permissionsBoundary: limitArn });
    await call("createPolicyVersion", { policyArn: limitArn, policyDocument: allowing("s3:Two"), setAsDefault: true });
    const found = kind === "user" ? stored.findUser(shop, name) : stored.findRoleByName(shop, name);
    expect(found?.permissionsBoundary).toBe(allowing("s3:Two"));
  });

  // what is asked, the reason; in the order of the checks
  test.for<[string, object, object, string]>([
    ["a declared one", { [member]: kind === "user" ? "carol" : "clerk" }, {}, "DECLARED_ENTITY"],
    ["an unknown one", { [member]: "nobody" }, { permissionsBoundary: arnOf("policy/none") }, "NO_SUCH_ENTITY"],
  ])("%s is refused", async ([, named, boundary, reason]) => {
    const { call } = await furnished();
    const asked = { permissionsBoundary: limitArn, ...named, ...boundary };
    await expect(call(put, asked)).rejects.toMatchObject({ facts: { reason } });
    await expect(call(remove, named)).rejects.toMatchObject({ facts: { reason } });
  });

  // a boundary that there is not
  test.for([
    arnOf("policy/none"),
    arnOf("policy/limit"),
    arnOf("user/alice"),
    "arn:aws:iam::444455556666:policy/limit",
  ])("%s cannot be one", async (permissionsBoundary) => {
    const opened = await furnished();
    const refused = opened.call(put, { [member]: name, permissionsBoundary });
    await expect(refused).rejects.toMatchObject({ facts: { reason: "NO_SUCH_ENTITY" } });
    expect(await shownOf(opened, kind, name)).toBeUndefined();
  });
});

describe("a user and a role that are created with a boundary", () => {
  test("have it from their first request on, and after a restart", async () => {
    const directory = await temporaryDirectory();
    const first = await openIdentity(declared, directory);
    await first.call("createPolicy", { policyName: "other", policyDocument: allowing("s3:PutObject") });
    const user = await first.call("createUser", { userName: "bob", permissionsBoundary: otherArn });
    const asRole = { roleName: "guide", assumeRolePolicyDocument: trust, permissionsBoundary: commonArn };
    const role = await first.call("createRole", asRole);
    expect([user["user"], role["role"]]).toMatchObject([
      { permissionsBoundary: attached(otherArn) },
      { permissionsBoundary: attached(commonArn) },
    ]);
    await first.close();
    const second = await open(directory);
    expect([await shownOf(second, "user", "bob"), await shownOf(second, "role", "guide")]).toEqual([
      attached(otherArn),
      attached(commonArn),
    ]);
    expect(second.stored.findUser(shop, "bob")?.permissionsBoundary).toBe(allowing("s3:PutObject"));
  });

  test("are not created where there is no such policy", async () => {
    const { call } = await furnished();
    const permissionsBoundary = arnOf("policy/none");
    for (const refused of [
      call("createUser", { userName: "bob", permissionsBoundary }),
      call("createRole", { roleName: "guide", assumeRolePolicyDocument: trust, permissionsBoundary }),
    ])
      await expect(refused).rejects.toMatchObject({ facts: { reason: "NO_SUCH_ENTITY" } });
    await expect(call("getUser", { userName: "bob" })).rejects.toMatchObject({ facts: { reason: "NO_SUCH_ENTITY" } });
  });

  test("keep it when they are renamed, tagged or changed otherwise, and show it in no listing", async () => {
    const opened = await furnished();
    const { call } = opened;
    await call("putUserPermissionsBoundary", { userName: "alice", permissionsBoundary: limitArn });
    await call("putRolePermissionsBoundary", { roleName: "reader", permissionsBoundary: limitArn });
    await call("updateUser", { userName: "alice", newUserName: "alicia" });
    await call("tagUser", { userName: "alicia", tags: [{ key: "team", value: "sea" }] });
    const { role } = await call("updateRoleDescription", { roleName: "reader", description: "reads" });
    expect(role).toMatchObject({ permissionsBoundary: attached(limitArn) });
    expect(await shownOf(opened, "user", "alicia")).toEqual(attached(limitArn));
    const { users } = await call("listUsers", {});
    const { roles } = await call("listRoles", {});
    const listed = [...(users as object[]), ...(roles as object[])];
    expect(listed).toHaveLength(4);
    expect(listed.filter((each) => "permissionsBoundary" in each)).toEqual([]);
  });
});

describe("the policy that is a boundary", () => {
  const bounded = async () => {
    const opened = await furnished();
    await opened.call("putUserPermissionsBoundary", { userName: "alice", permissionsBoundary: limitArn });
    await opened.call("putRolePermissionsBoundary", { roleName: "reader", permissionsBoundary: limitArn });
    await opened.call("attachUserPolicy", { userName: "alice", policyArn: limitArn });
    await opened.call("attachUserPolicy", { userName: "alice", policyArn: otherArn });
    return opened;
  };

  test("counts those whose boundary it is, apart from those to which it is attached", async () => {
    const { call } = await bounded();
    const { policy } = await call("getPolicy", { policyArn: limitArn });
    expect(policy).toMatchObject({ attachmentCount: 1, permissionsBoundaryUsageCount: 2 });
    const { policies } = await call("listPolicies", { scope: "Local" });
    const counts = policies as { policyName: string; attachmentCount: number; permissionsBoundaryUsageCount: number }[];
    expect(counts.map((each) => [each.policyName, each.attachmentCount, each.permissionsBoundaryUsageCount])).toEqual([
      ["limit", 1, 2],
      ["other", 1, 0],
    ]);
  });

  // the filter, the policies
  test.for<[object, string[]]>([
    [{}, ["limit", "other"]],
    [{ policyUsageFilter: "PermissionsBoundary" }, ["limit"]],
    [{ policyUsageFilter: "PermissionsPolicy" }, ["limit", "other"]],
    [{ policyUsageFilter: "PermissionsBoundary", onlyAttached: true }, ["limit"]],
  ])("is listed by %j among %j", async ([filter, names]) => {
    const { call } = await bounded();
    const { policies } = await call("listPolicies", { scope: "Local", ...filter });
    expect((policies as { policyName: string }[]).map(({ policyName }) => policyName)).toEqual(names);
  });

  // the filters, the users and roles
  test.for<[object, string[]]>([
    [{}, ["alice", "reader"]],
    [{ policyUsageFilter: "PermissionsPolicy" }, ["alice"]],
    [{ policyUsageFilter: "PermissionsBoundary" }, ["alice", "reader"]],
    [{ policyUsageFilter: "PermissionsBoundary", entityFilter: "Role" }, ["reader"]],
    [{ policyUsageFilter: "PermissionsBoundary", entityFilter: "Group" }, []],
  ])("of %j belongs to %j", async ([filters, names]) => {
    const { call } = await bounded();
    const page = await call("listEntitiesForPolicy", { policyArn: limitArn, ...filters });
    const { policyUsers = [], policyRoles = [], policyGroups } = page as Record<string, Record<string, string>[]>;
    expect(policyGroups).toEqual([]);
    expect([...policyUsers.map((user) => user["userName"]), ...policyRoles.map((role) => role["roleName"])]).toEqual(
      names,
    );
  });

  test("is not deleted while it is one", async () => {
    const { call } = await bounded();
    const isRefused = () =>
      expect(call("deletePolicy", { policyArn: limitArn })).rejects.toMatchObject({
        facts: { reason: "DELETE_CONFLICT" },
      });
    await call("detachUserPolicy", { userName: "alice", policyArn: limitArn });
    await isRefused();
    await call("deleteUserPermissionsBoundary", { userName: "alice" });
    await isRefused();
    await call("deleteRolePermissionsBoundary", { roleName: "reader" });
    await call("deletePolicy", { policyArn: limitArn });
  });

  test("is in the authorization details of all that have it", async () => {
    const { call } = await bounded();
    await call("createUser", { userName: "dora", permissionsBoundary: commonArn });
    const details = (await call("getAccountAuthorizationDetails", {})) as Record<string, Record<string, unknown>[]>;
    const boundaries = [...details["userDetailList"]!, ...details["roleDetailList"]!].map((each) => [
      each["userName"] ?? each["roleName"],
      each["permissionsBoundary"],
    ]);
    expect(boundaries).toEqual([
      ["alice", attached(limitArn)],
      ["carol", undefined],
      ["dora", attached(commonArn)],
      ["clerk", undefined],
      ["reader", attached(limitArn)],
    ]);
    const counts = details["policies"]!.map((each) => [each["policyName"], each["permissionsBoundaryUsageCount"]]);
    expect(counts).toEqual([
      ["limit", 2],
      ["other", 0],
      ["AmazonS3ReadOnlyAccess", 1],
    ]);
  });
});

describe("a policy that asks for iam:PermissionsBoundary", () => {
  const admin = userCaller(shop, "admin", [
    JSON.stringify({
      Version: "2012-10-17",
      Statement: [
        {
          Effect: "Allow",
          Action: "iam:*",
          Resource: "*",
          Condition: { StringEquals: { "iam:PermissionsBoundary": limitArn } },
        },
      ],
    }),
  ]);
  const policyName = "new";
  const policyDocument = allowing("s3:*");

  // the operation, the request, whether it is allowed where alice and reader have another boundary, and the wanted one
  test.for<[Parameters<Awaited<ReturnType<typeof open>>["call"]>[0], object, string, string]>([
    ["createUser", { userName: "bob" }, "refused", "refused"],
    ["createUser", { userName: "bob", permissionsBoundary: otherArn }, "refused", "refused"],
    ["createUser", { userName: "bob", permissionsBoundary: limitArn }, "done", "done"],
    ["createRole", { roleName: "guide", assumeRolePolicyDocument: trust }, "refused", "refused"],
    [
      "createRole",
      { roleName: "guide", assumeRolePolicyDocument: trust, permissionsBoundary: limitArn },
      "done",
      "done",
    ],
    ["putUserPermissionsBoundary", { userName: "alice", permissionsBoundary: limitArn }, "done", "done"],
    ["putUserPermissionsBoundary", { userName: "alice", permissionsBoundary: otherArn }, "refused", "refused"],
    ["putRolePermissionsBoundary", { roleName: "reader", permissionsBoundary: limitArn }, "done", "done"],
    ["deleteUserPermissionsBoundary", { userName: "alice" }, "refused", "done"],
    ["deleteRolePermissionsBoundary", { roleName: "reader" }, "refused", "done"],
    ["putUserPolicy", { userName: "alice", policyName, policyDocument }, "refused", "done"],
    ["putRolePolicy", { roleName: "reader", policyName, policyDocument }, "refused", "done"],
    ["attachUserPolicy", { userName: "alice", policyArn: otherArn }, "refused", "done"],
    ["attachRolePolicy", { roleName: "reader", policyArn: otherArn }, "refused", "done"],
    ["deleteUserPolicy", { userName: "alice", policyName: "own" }, "refused", "done"],
    ["tagUser", { userName: "alice", tags: [{ key: "a", value: "b" }] }, "refused", "refused"],
  ])("decides %s %j", async ([operation, request, withOther, withWanted]) => {
    const outcomes: string[] = [];
    for (const permissionsBoundary of [otherArn, limitArn]) {
      const { call } = await furnished();
      await call("putUserPermissionsBoundary", { userName: "alice", permissionsBoundary });
      await call("putRolePermissionsBoundary", { roleName: "reader", permissionsBoundary });
      const outcome = await call(operation, request, admin).then(
        () => "done",
        (error: unknown) => (error as { facts: { reason: string } }).facts.reason,
      );
      outcomes.push(outcome.replace("ACCESS_DENIED", "refused"));
    }
    expect(outcomes).toEqual([withOther, withWanted]);
  });
});

test("a boundary may ask for what a resource has, even if no other policy of the caller does", async () => {
  const { call } = await furnished();
  await call("tagUser", { userName: "alice", tags: [{ key: "team", value: "sea" }] });
  const ofTeam = (team: string) => ({
    ...userCaller(shop, "admin", [allowing("iam:GetUser")]),
    permissionsBoundary: JSON.stringify({
      Version: "2012-10-17",
      Statement: [
        {
          Effect: "Allow",
          Action: "iam:*",
          Resource: "*",
          Condition: { StringEquals: { "iam:ResourceTag/team": team } },
        },
      ],
    }),
  });
  expect(await call("getUser", { userName: "alice" }, ofTeam("sea"))).toMatchObject({ user: { userName: "alice" } });
  await expect(call("getUser", { userName: "alice" }, ofTeam("air"))).rejects.toMatchObject({
    facts: { reason: "ACCESS_DENIED" },
  });
});
