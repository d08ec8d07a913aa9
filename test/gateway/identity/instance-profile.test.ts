import { describe, expect, onTestFinished, test } from "vitest";

import { parseTrustPolicy } from "../../../services/kit/accounts/trust-policy.ts";
import { userCaller } from "../../../services/kit/identity/caller.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { allowing, openIdentity, shop } from "./identity.ts";

type Opened = Awaited<ReturnType<typeof openIdentity>>;
type Name = Parameters<Opened["call"]>[0];

const trust = JSON.stringify({ Statement: [{ Effect: "Allow", Principal: { AWS: shop }, Action: "sts:AssumeRole" }] });
const declared = {
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
const web = { instanceProfileName: "web" };
const profileArn = `arn:aws:iam::${shop}:instance-profile/team/web`;
const pair = (key: string, value: string) => ({ key, value });

const open = async (directory?: string): Promise<Opened> => {
  const opened = await openIdentity(declared, directory);
  onTestFinished(opened.close);
  return opened;
};

/** A profile `web` with the role `reader`, and one of each that nothing has. */
const furnished = async (): Promise<Opened> => {
  const opened = await open();
  for (const roleName of ["reader", "writer"])
    await opened.call("createRole", { roleName, assumeRolePolicyDocument: trust });
  await opened.call("createInstanceProfile", { ...web, path: "/team/", tags: [pair("stage", "test")] });
  await opened.call("createInstanceProfile", { instanceProfileName: "spare" });
  await opened.call("addRoleToInstanceProfile", { ...web, roleName: "Reader" });
  return opened;
};

describe("an instance profile", () => {
  test("is created, given a role, shown, and deleted without one", async () => {
    const { call } = await open();
    await call("createRole", { roleName: "reader", assumeRolePolicyDocument: trust });
    expect(await call("createInstanceProfile", { ...web, path: "/team/", tags: [pair("a", "1")] })).toMatchObject({
      instanceProfile: {
        path: "/team/",
        instanceProfileName: "web",
        instanceProfileId: "AIPA00000000000000002",
        arn: profileArn,
        createDate: { seconds: 1_767_323_045n },
        roles: [],
        tags: [pair("a", "1")],
      },
    });
    expect(await call("addRoleToInstanceProfile", { ...web, roleName: "reader" })).toEqual({});
    expect(await call("getInstanceProfile", { instanceProfileName: "WEB" })).toMatchObject({
      instanceProfile: { arn: profileArn, roles: [{ roleName: "reader", arn: `arn:aws:iam::${shop}:role/reader` }] },
    });
    expect(await call("removeRoleFromInstanceProfile", { ...web, roleName: "reader" })).toEqual({});
    expect(await call("deleteInstanceProfile", web)).toEqual({});
    expect(await call("listInstanceProfiles", {})).toEqual({ instanceProfiles: [], isTruncated: false });
  });

  test("is listed by path and by role in pages, and is there after a start", async () => {
    const directory = await temporaryDirectory();
    const first = await openIdentity(declared, directory);
    for (const instanceProfileName of ["b", "a", "c"])
      await first.call("createInstanceProfile", {
        instanceProfileName,
        path: instanceProfileName === "c" ? "/" : "/team/",
      });
    for (const instanceProfileName of ["a", "c"])
      await first.call("addRoleToInstanceProfile", { instanceProfileName, roleName: "clerk" });
    await first.close();
    const { call } = await open(directory);
    const namesOf = (listed: Record<string, unknown>): string[] =>
      (listed["instanceProfiles"] as { instanceProfileName: string }[]).map((each) => each.instanceProfileName);
    const page = await call("listInstanceProfiles", { maxItems: 2 });
    expect(namesOf(page)).toEqual(["a", "b"]);
    expect(namesOf(await call("listInstanceProfiles", { maxItems: 2, marker: page["marker"] }))).toEqual(["c"]);
    expect(namesOf(await call("listInstanceProfiles", { pathPrefix: "/team/" }))).toEqual(["a", "b"]);
    expect(namesOf(await call("listInstanceProfilesForRole", { roleName: "Clerk" }))).toEqual(["a", "c"]);
  });

  test("keeps its role from being deleted", async () => {
    const { call } = await furnished();
    await expect(call("deleteRole", { roleName: "reader" })).rejects.toMatchObject({
      facts: { reason: "DELETE_CONFLICT" },
      message: "Cannot delete entity, must remove roles from instance profile first.",
    });
    await call("removeRoleFromInstanceProfile", { ...web, roleName: "reader" });
    expect(await call("deleteRole", { roleName: "reader" })).toEqual({});
  });

  test("has tags that are changed and listed, and that policies ask for", async () => {
    const { call } = await furnished();
    await call("tagInstanceProfile", { ...web, tags: [pair("team", "sea"), pair("Stage", "live")] });
    await call("untagInstanceProfile", { ...web, tagKeys: ["stage"] });
    expect(await call("listInstanceProfileTags", web)).toEqual({ tags: [pair("team", "sea")], isTruncated: false });
    const Condition = { StringEquals: { "iam:ResourceTag/team": "sea" } };
    const statement = { Effect: "Allow", Action: "iam:GetInstanceProfile", Resource: profileArn, Condition };
    const ofTeam = userCaller(shop, "bob", [JSON.stringify({ Version: "2012-10-17", Statement: [statement] })]);
    expect(await call("getInstanceProfile", web, ofTeam)).toMatchObject({ instanceProfile: { arn: profileArn } });
    await expect(call("getInstanceProfile", { instanceProfileName: "spare" }, ofTeam)).rejects.toMatchObject({
      facts: { reason: "ACCESS_DENIED" },
    });
  });

  test("is given only a role that the caller may pass to machines", async () => {
    const { call } = await furnished();
    const add = (passed: object) =>
      call(
        "addRoleToInstanceProfile",
        { instanceProfileName: "spare", roleName: "writer" },
        userCaller(shop, "ann", [
          allowing("iam:AddRoleToInstanceProfile"),
          JSON.stringify({
            Version: "2012-10-17",
            Statement: [{ Effect: "Allow", Action: "iam:PassRole", Resource: "*", ...passed }],
          }),
        ]),
      );
    const to = (service: string) => ({ Condition: { StringEquals: { "iam:PassedToService": service } } });
    const denied = { facts: { reason: "ACCESS_DENIED" } };
    await expect(add({ Resource: `arn:aws:iam::${shop}:role/reader` })).rejects.toMatchObject(denied);
    await expect(add(to("events.amazonaws.com"))).rejects.toMatchObject(denied);
    expect(await add(to("ec2.amazonaws.com"))).toEqual({});
  });

  // the operation, its request, the reason
  test.for<[Name, object, string]>([
    ["createInstanceProfile", { instanceProfileName: "WEB" }, "ENTITY_EXISTS"],
    ["createInstanceProfile", { instanceProfileName: "b", tags: [pair("a", "1"), pair("A", "2")] }, "INVALID_VALUE"],
    ["getInstanceProfile", { instanceProfileName: "none" }, "NO_SUCH_ENTITY"],
    ["listInstanceProfilesForRole", { roleName: "nobody" }, "NO_SUCH_ENTITY"],
    ["addRoleToInstanceProfile", { instanceProfileName: "none", roleName: "writer" }, "NO_SUCH_ENTITY"],
    ["addRoleToInstanceProfile", { ...web, roleName: "nobody" }, "NO_SUCH_ENTITY"],
    ["addRoleToInstanceProfile", { ...web, roleName: "writer" }, "LIMIT_EXCEEDED"],
    ["addRoleToInstanceProfile", { ...web, roleName: "reader" }, "LIMIT_EXCEEDED"],
    ["removeRoleFromInstanceProfile", { ...web, roleName: "writer" }, "NO_SUCH_ENTITY"],
    ["removeRoleFromInstanceProfile", { instanceProfileName: "spare", roleName: "reader" }, "NO_SUCH_ENTITY"],
    ["deleteInstanceProfile", web, "DELETE_CONFLICT"],
    ["deleteInstanceProfile", { instanceProfileName: "none" }, "NO_SUCH_ENTITY"],
    ["tagInstanceProfile", { instanceProfileName: "none", tags: [pair("a", "1")] }, "NO_SUCH_ENTITY"],
  ])("is refused: %s %j", async ([name, request, reason]) => {
    const { call } = await furnished();
    await expect(call(name, request)).rejects.toMatchObject({ facts: { reason } });
  });
});
