import { expect, onTestFinished, test } from "vitest";

import { IdentityService } from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { guard } from "../../../gateway/identity/access/guard.ts";
import { parseTrustPolicy } from "../../../services/kit/accounts/trust-policy.ts";
import { userCaller } from "../../../services/kit/identity/caller.ts";
import { decisionsByPermission } from "../../support/guarded-service.ts";
import { openIdentity, shop } from "./identity.ts";

const members = {
  userName: "alice",
  groupName: "team",
  roleName: "reader",
  instanceProfileName: "web",
  policyName: "own",
  policyArn: "arn:aws:iam::000000000000:policy/reading",
  policySourceArn: "arn:aws:iam::000000000000:user/alice",
  accessKeyId: "AKIA0000000000000000",
  accountId: "111122223333",
  url: "https://login.example.com",
  openIdConnectProviderArn: "arn:aws:iam::000000000000:oidc-provider/login.example.com",
  clientId: "web",
  tags: [{ key: "team", value: "sales" }],
};

/** The operations that need two permissions. */
const withTwo = new Set(["UpdateUser", "RotateAccessKey", "UpdateGroup", "AddRoleToInstanceProfile"]);

test("no operation on identities is reached without each of its permissions, and every one with them", async () => {
  const identity = await openIdentity();
  onTestFinished(identity.close);
  const lines = await decisionsByPermission(IdentityService, "iam", { guard, app: identity.app, members });
  // A user with nothing, with all that is declared, and without each of them in turn.
  expect(lines).toEqual(IdentityService.methods.map(({ name }) => `${name} ${withTwo.has(name) ? "-+--" : "-+-"}`));
});

test("no federated user reaches any, whatever its policies", async () => {
  const identity = await openIdentity();
  onTestFinished(identity.close);
  const by = userCaller(shop, "alice", [document({ Action: "*" })]);
  const principalArn = `arn:aws:sts::${shop}:federated-user/build`;
  const caller = { ...by, principalArn, federatedBy: by.principalArn };
  for (const operation of ["listUsers", "getUser", "getAccountSummary"] as const)
    await expect(identity.call(operation, {}, caller)).rejects.toMatchObject({ facts: { reason: "ACCESS_DENIED" } });
});

test("policies ask for the tags of the user, role or policy that is meant, under both keys", async () => {
  const trustPolicy = parseTrustPolicy(trust);
  const arn = `arn:aws:iam::${shop}:role/clerk`;
  const identity = await openIdentity({
    users: [{ accountId: shop, name: "team/carol", policies: [], tags: { Team: "sea" } }],
    roles: [{ accountId: shop, name: "clerk", arn, trustPolicy, policies: [], tags: { Team: "sea" } }],
  });
  onTestFinished(identity.close);
  const tags = [{ key: "Team", value: "sea" }];
  await identity.call("createUser", { userName: "alice", tags });
  await identity.call("createUser", { userName: "bob" });
  await identity.call("createRole", { roleName: "reader", assumeRolePolicyDocument: trust, tags });
  await identity.call("createPolicy", { policyName: "own", policyDocument: document({}), tags });
  const outcomeOf = async (
    key: string,
    operation: "getUser" | "getRole" | "getPolicy" | "simulatePrincipalPolicy",
    request: object,
  ) => {
    const Condition = { StringEquals: { [key]: "sea" } };
    const caller = userCaller(shop, "bob", [document({ Action: "iam:*", Condition })]);
    return identity.call(operation, request, caller).then(
      () => "done",
      (error: unknown) => (error as { facts: { reason: string } }).facts.reason,
    );
  };
  const simulating = (entity: string, partition = "aws") => ({
    policySourceArn: `arn:${partition}:iam::${shop}:${entity}`,
    actionNames: ["s3:GetObject"],
  });
  const asked = [
    ["getUser", { userName: "alice" }, "done"],
    ["getUser", { userName: "carol" }, "done"],
    ["getUser", { userName: "bob" }, "ACCESS_DENIED"],
    ["getUser", {}, "ACCESS_DENIED"],
    ["getUser", { userName: "nobody" }, "ACCESS_DENIED"],
    ["getRole", { roleName: "reader" }, "done"],
    ["getRole", { roleName: "clerk" }, "done"],
    ["getPolicy", { policyArn: `arn:aws:iam::${shop}:policy/own` }, "done"],
    ["simulatePrincipalPolicy", simulating("user/alice"), "done"],
    ["simulatePrincipalPolicy", simulating("user/team/carol"), "done"],
    ["simulatePrincipalPolicy", simulating("role/reader"), "done"],
    ["simulatePrincipalPolicy", simulating("user/alice", "svc"), "done"],
    ["simulatePrincipalPolicy", simulating("user/bob"), "ACCESS_DENIED"],
    ["getPolicy", { policyArn: `arn:aws:iam::${shop}:policy/other` }, "ACCESS_DENIED"],
  ] as const;
  for (const key of ["iam:ResourceTag/team", "aws:ResourceTag/Team"])
    for (const [operation, request, outcome] of asked)
      expect([key, operation, request, await outcomeOf(key, operation, request)]).toEqual([
        key,
        operation,
        request,
        outcome,
      ]);
});

test("whoever moves or renames a user or a group needs the permission on both ARNs", async () => {
  const identity = await openIdentity();
  onTestFinished(identity.close);
  await identity.call("createUser", { userName: "alice", path: "/sea/" });
  await identity.call("createGroup", { groupName: "crew", path: "/sea/" });
  const mover = (...resources: string[]) =>
    userCaller(shop, "bob", [
      document({
        Action: ["iam:UpdateUser", "iam:UpdateGroup"],
        Resource: resources.map((resource) => `arn:aws:iam::${shop}:${resource}`),
      }),
    ]);
  const outcomeOf = (operation: "updateUser" | "updateGroup", request: object, resources: readonly string[]) =>
    identity.call(operation, request, mover(...resources)).then(
      () => "done",
      (error: unknown) => (error as { facts: { reason: string } }).facts.reason,
    );
  // the operation, its request, the resources on which the caller may, the outcome
  const asked = [
    ["updateUser", { userName: "alice", newPath: "/land/" }, ["user/sea/*"], "ACCESS_DENIED"],
    ["updateUser", { userName: "alice", newPath: "/land/" }, ["user/land/*"], "ACCESS_DENIED"],
    ["updateUser", { userName: "alice", newUserName: "ann" }, ["user/sea/alice"], "ACCESS_DENIED"],
    ["updateUser", { userName: "alice", newUserName: "ann" }, ["user/sea/alice", "user/ann"], "ACCESS_DENIED"],
    ["updateUser", { userName: "alice", newUserName: "ann" }, ["user/sea/*"], "done"],
    ["updateUser", { userName: "ann", newPath: "/land/" }, ["user/sea/ann", "user/land/ann"], "done"],
    ["updateGroup", { groupName: "crew", newPath: "/land/" }, ["group/sea/*"], "ACCESS_DENIED"],
    ["updateGroup", { groupName: "crew", newGroupName: "all" }, ["group/sea/crew"], "ACCESS_DENIED"],
    ["updateGroup", { groupName: "crew", newPath: "/", newGroupName: "all" }, ["group/sea/crew", "group/all"], "done"],
  ] as const;
  for (const [operation, request, resources, outcome] of asked)
    expect([operation, request, resources, await outcomeOf(operation, request, resources)]).toEqual([
      operation,
      request,
      resources,
      outcome,
    ]);
});

const document = (more: object): string =>
  JSON.stringify({
    Version: "2012-10-17",
    Statement: [{ Effect: "Allow", Action: "s3:GetObject", Resource: "*", ...more }],
  });
const trust = JSON.stringify({ Statement: [{ Effect: "Allow", Principal: { AWS: shop }, Action: "sts:AssumeRole" }] });
