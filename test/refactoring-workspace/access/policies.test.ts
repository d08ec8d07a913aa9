import { expect, test } from "vitest";

import { RefactoringWorkspaceService } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, roleCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { guard } from "../../../services/refactoring-workspace/access/guard.ts";
import type { Application } from "../../../services/refactoring-workspace/application.ts";
import { putPolicy } from "../../../services/refactoring-workspace/store/resource-policy.ts";
import type { GuardedService } from "../../support/guarded-service.ts";
import {
  allow,
  decisionOf,
  decisionsByPermission,
  deny,
  organized,
  sessionWith,
  userWith,
  when,
} from "../../support/guarded-service.ts";
import { makeApplication, ownerAccount, startHarness } from "../harness.ts";

const neighbour = "111111111111";

const openGuarded = async (policy?: object | readonly object[]): Promise<GuardedService<Application>> => {
  const { workspace, client, store } = await startHarness();
  const { environmentIdentifier, applicationIdentifier } = await makeApplication(client);
  const resourceArn = `arn:aws:refactor-spaces:us-east-1:${ownerAccount}:environment/${environmentIdentifier}`;
  await client.tagResource({ resourceArn, tags: { team: "sales" } });
  if (policy !== undefined)
    await store.transact(async (transaction) =>
      putPolicy(transaction, environmentIdentifier, JSON.stringify({ Statement: [policy].flat() }), [], 0),
    );
  const members = {
    environmentIdentifier,
    applicationIdentifier,
    serviceIdentifier: "svc-0000000000",
    routeIdentifier: "rte-0000000000",
    identifier: resourceArn,
    resourceArn,
    tags: { team: "sales" },
    tagKeys: ["team"],
  };
  const { app } = workspace;
  return { guard, app: { ...app, accounts: { ...app.accounts, ...organized } }, members };
};

test("no operation is reached without each of its permissions, and every one with them", async () => {
  const lines = await decisionsByPermission(RefactoringWorkspaceService, "refactor-spaces", await openGuarded());
  // A user with nothing, with all that is declared, and without each of them in turn.
  const creating = new Set(["CreateApplication", "CreateEnvironment", "CreateRoute", "CreateService"]);
  expect(lines).toEqual(
    RefactoringWorkspaceService.methods.map(({ name }) => `${name} ${creating.has(name) ? "-+--" : "-+-"}`),
  );
});

const {
  createEnvironment,
  createService,
  deleteEnvironment,
  getApplication,
  getEnvironment,
  getResourcePolicy,
  listApplications,
  listEnvironments,
  listTagsForResource,
} = RefactoringWorkspaceService.method;
const columns = [
  [getEnvironment, {}],
  [deleteEnvironment, {}],
  [createEnvironment, { tags: {} }],
  [listEnvironments, {}],
  [listApplications, {}],
  [getApplication, {}],
  [createService, { tags: {} }],
  [getResourcePolicy, {}],
  [listTagsForResource, {}],
] as const;

const everything = [JSON.stringify({ Statement: [allow("refactor-spaces:*")] })];
const bob = userCaller(neighbour, "bob", everything);
const shared = (actions: string | string[], resource: string, more: object = {}): object => ({
  ...allow(actions, resource),
  Principal: { AWS: neighbour },
  ...more,
});
const anyEnvironment = `arn:aws:refactor-spaces:us-east-1:${ownerAccount}:environment/*`;
const applications = `${anyEnvironment}/application/*`;
const createdBy = (account: string): object => ({
  Condition: { StringEquals: { "refactor-spaces:ApplicationCreatedByAccount": account } },
});
const hidden = "RESOURCE_NOT_FOUND";

// who | the environment's policy | get, delete, create, list environments, list and get applications, create a service,
// get the policy, list tags
test.each<[string, Caller, object | readonly object[] | undefined, string]>([
  ["the owner's root", rootCaller(ownerAccount), undefined, "+++++++++"],
  ["the owner's root whom the policy denies", rootCaller(ownerAccount), { ...deny("*"), Principal: "*" }, "--++---++"],
  ["a user without policies", userWith(), undefined, "---------"],
  ["a user who reads", userWith(allow(["refactor-spaces:Get*", "refactor-spaces:List*"])), undefined, "+--+++-++"],
  [
    "a user of the documented names",
    userWith(
      allow(
        "refactoring-workspace:*",
        anyEnvironment.replace("arn:aws:refactor-spaces", "arn:svc:refactoring-workspace"),
      ),
    ),
    undefined,
    "++--+++++",
  ],
  ["a user of what is in applications", userWith(allow("refactor-spaces:*", applications)), undefined, "-----++--"],
  [
    "a user of resources of a team",
    userWith({ ...allow("*"), Condition: { StringEquals: { "aws:ResourceTag/team": "sales" } } }),
    undefined,
    "++--+--++",
  ],
  [
    "a user of applications of an account",
    userWith({ ...allow("*"), ...createdBy(ownerAccount) }),
    undefined,
    "-----++--",
  ],
  ["a user who may not delete", userWith(allow("*"), deny("refactor-spaces:Delete*")), undefined, "+-+++++++"],
  [
    "a user whom the policy names",
    userWith(),
    { ...allow("refactor-spaces:GetEnvironment"), Principal: { AWS: userWith().principalArn } },
    "+--------",
  ],
  [
    "a user whose account the policy names",
    userWith(),
    { ...allow("refactor-spaces:GetEnvironment"), Principal: { AWS: ownerAccount } },
    "---------",
  ],
  [
    "a user whom the policy denies",
    userWith(allow("*")),
    { ...deny("refactor-spaces:Get*"), Principal: "*" },
    "-++++-+++",
  ],
  ["the neighbour's root", rootCaller(neighbour), undefined, `--++----${hidden}`],
  [
    "the neighbour's root with a share",
    rootCaller(neighbour),
    shared("refactor-spaces:*", anyEnvironment),
    `+++++++-${hidden}`,
  ],
  [
    "the neighbour's root with a share of reading",
    rootCaller(neighbour),
    shared("refactor-spaces:Get*", anyEnvironment),
    `+-++-+--${hidden}`,
  ],
  [
    "the neighbour's root with a share of applications",
    rootCaller(neighbour),
    shared("refactor-spaces:*", applications),
    `--++-++-${hidden}`,
  ],
  [
    "the neighbour's root with a share of own applications",
    rootCaller(neighbour),
    shared("refactor-spaces:*", applications, createdBy(neighbour)),
    `--++----${hidden}`,
  ],
  [
    "the neighbour's root with a share of the owner's applications",
    rootCaller(neighbour),
    shared("refactor-spaces:*", applications, createdBy(ownerAccount)),
    `--++-++-${hidden}`,
  ],
  ["the neighbour's user with both sides", bob, shared("refactor-spaces:*", anyEnvironment), `+++++++-${hidden}`],
  ["the neighbour's user without a share", bob, undefined, `--++----${hidden}`],
  [
    "the neighbour's user without an own side",
    userCaller(neighbour, "carol", []),
    shared("refactor-spaces:*", anyEnvironment),
    `--------${hidden}`,
  ],
  [
    "the root of a third account",
    rootCaller("222222222222"),
    shared("refactor-spaces:*", anyEnvironment),
    `--++----${hidden}`,
  ],
  [
    "a session narrowed to reading",
    sessionWith([allow("*")], [allow(["refactor-spaces:Get*", "refactor-spaces:List*"])]),
    undefined,
    "+--+++-++",
  ],
  ["a session narrowed to nothing", sessionWith([allow("*")], []), undefined, "---------"],
  [
    "a session whose role the policy names, narrowed to deleting",
    sessionWith([allow("refactor-spaces:List*")], [allow("refactor-spaces:Delete*")]),
    { ...allow("refactor-spaces:Get*"), Principal: { AWS: `arn:aws:iam::${ownerAccount}:role/reader` } },
    "---------",
  ],
  [
    "a session that the policy names itself, narrowed to deleting",
    sessionWith([allow("refactor-spaces:List*")], [allow("refactor-spaces:Delete*")]),
    { ...allow("refactor-spaces:Get*"), Principal: { AWS: sessionWith([allow("*")]).principalArn } },
    "+----+---",
  ],
  [
    "a user of the organization, for which the policy is",
    userWith(),
    [{ ...allow("*"), Principal: "*", ...when("StringEquals", "aws:PrincipalOrgID", "o-exampleorg00") }],
    "++--+++--",
  ],
  [
    "the neighbour's root, not of the organization for which the policy is",
    rootCaller(neighbour),
    [{ ...allow("*"), Principal: "*", ...when("StringEquals", "aws:PrincipalOrgID", "o-exampleorg00") }],
    `--++----${hidden}`,
  ],
  [
    "the neighbour's root at an address that the policy allows",
    { ...rootCaller(neighbour), sourceIp: "192.0.2.7" },
    shared("refactor-spaces:*", anyEnvironment, when("IpAddress", "aws:SourceIp", "192.0.2.0/24")),
    `+++++++-${hidden}`,
  ],
  [
    "the neighbour's root at another address",
    { ...rootCaller(neighbour), sourceIp: "198.51.100.7" },
    shared("refactor-spaces:*", anyEnvironment, when("IpAddress", "aws:SourceIp", "192.0.2.0/24")),
    `--++----${hidden}`,
  ],
  [
    "the neighbour's root before a share ends",
    rootCaller(neighbour),
    shared("refactor-spaces:*", anyEnvironment, when("DateLessThan", "aws:CurrentTime", "2026-01-02T03:04:06Z")),
    `+++++++-${hidden}`,
  ],
  [
    "the neighbour's root after a share ended",
    rootCaller(neighbour),
    shared("refactor-spaces:*", anyEnvironment, when("DateLessThan", "aws:CurrentTime", "2026-01-02T03:04:05Z")),
    `--++----${hidden}`,
  ],
  [
    "the neighbour's root with a share that a denial narrows",
    rootCaller(neighbour),
    [shared("refactor-spaces:*", anyEnvironment), { ...deny("refactor-spaces:Create*"), Principal: "*" }],
    `++++++--${hidden}`,
  ],
  [
    "the neighbour's user whose own side denies",
    userCaller(neighbour, "dora", [JSON.stringify({ Statement: [allow("*"), deny("refactor-spaces:Delete*")] })]),
    shared("refactor-spaces:*", anyEnvironment),
    `+-+++++-${hidden}`,
  ],
  [
    "the neighbour's user with a share for another user",
    bob,
    { ...allow("*"), Principal: { AWS: `arn:aws:iam::${neighbour}:user/carol` } },
    `--++----${hidden}`,
  ],
  [
    "the neighbour's session, narrowed to getting",
    {
      ...roleCaller(neighbour, "mover", "monday", everything),
      sessionPolicies: [JSON.stringify({ Statement: [allow("refactor-spaces:Get*")] })],
    },
    shared("refactor-spaces:*", anyEnvironment),
    `+----+--${hidden}`,
  ],
  [
    "the neighbour's root over plain HTTP, which the policy denies",
    { ...rootCaller(neighbour), isSecureTransport: false },
    [
      shared("refactor-spaces:*", anyEnvironment),
      { ...deny("*"), Principal: "*", ...when("Bool", "aws:SecureTransport", "false") },
    ],
    `--++----${hidden}`,
  ],
  [
    "a user who must set the tag of the team, without it",
    userWith({ ...allow("*"), ...when("StringEquals", "aws:RequestTag/team", "sales") }),
    undefined,
    "---------",
  ],
  ["a user with a policy that cannot be read", userCaller(ownerAccount, "alice", ["{"]), undefined, "---------"],
  ["what another service has decided on", { ...userWith(), isPreauthorized: true }, undefined, "+++++++++"],
  ["an anonymous caller whom the policy allows", anonymousCaller, { ...allow("*"), Principal: "*" }, "---------"],
])("%s reaches what the policies allow, and nothing else", async (_who, caller, policy, expected) => {
  const guarded = await openGuarded(policy);
  const decisions = [];
  for (const [method, changes] of columns) decisions.push(await decisionOf(guarded, method, caller, changes));
  expect(decisions.join("")).toBe(expected);
});
