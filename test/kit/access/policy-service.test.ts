import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";

import type { SimulatePolicyResponse } from "../../../gen/quartet/kit/policy/v1/policy_service_pb.ts";
import {
  PolicySide,
  ReasonSchema,
  SimulatePolicyRequestSchema,
} from "../../../gen/quartet/kit/policy/v1/policy_service_pb.ts";
import type { KnownResource } from "../../../services/kit/access/policy-service.ts";
import { simulatePolicy } from "../../../services/kit/access/policy-service.ts";
import { parseResourcePolicy } from "../../../services/kit/access/simulation.ts";
import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, roleCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { spellingOf } from "../../../services/kit/policy/spelling.ts";
import { ProtocolError } from "../../../services/kit/wire/protocol-error.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const owner = "111122223333";
const stranger = "444455556666";
const photos = "arn:aws:s3:::photos/a.jpg";
const alice = `arn:aws:iam::${owner}:user/alice`;
const statement = (more: object = {}): object => ({ Effect: "Allow", Action: "s3:GetObject", Resource: "*", ...more });
const document = (...statements: object[]): string => JSON.stringify({ Version: "2012-10-17", Statement: statements });
const reading = document(statement({ Sid: "Read" }));
const fromOffice = document(statement({ Condition: { IpAddress: { "aws:SourceIp": "192.0.2.0/24" } } }));

const resources: Readonly<Record<string, KnownResource>> = {
  [photos]: { ownerAccountId: owner, policies: [], conditions: new Map([["aws:resourcetag/team", ["sales"]]]) },
  "arn:aws:s3:::closed/a.jpg": {
    ownerAccountId: owner,
    policies: [parseResourcePolicy(document(statement({ Effect: "Deny", Principal: "*" })))],
  },
  "arn:aws:s3:::theirs/a.jpg": {
    ownerAccountId: stranger,
    policies: [parseResourcePolicy(document(statement({ Principal: "*" })))],
  },
};
const app = {
  rules: { spelling: spellingOf({ public: "s3", documented: "object-storage" }), everything: "arn:aws:s3:::*" },
  clock: new FakeClock(),
  accounts: accountsOf({
    accounts: [],
    users: [{ accountId: owner, name: "alice", policies: [reading] }],
    roles: [
      {
        accountId: owner,
        name: "clerk",
        arn: `arn:aws:iam::${owner}:role/team/clerk`,
        trustPolicy: { version: "2012-10-17", id: undefined, statements: [] },
        policies: [
          document(
            statement({ Condition: { ArnEquals: { "aws:PrincipalArn": `arn:aws:iam::${owner}:role/team/clerk` } } }),
          ),
        ],
      },
    ],
    organizations: new Map([["o-exampleorg00", [owner]]]),
    accessKeys: [],
  }),
  findResource: async ({ arn }: { readonly arn: string }) => resources[arn],
};

type Request = MessageInitShape<typeof SimulatePolicyRequestSchema>;

const simulate = (request: Request, caller: Caller = rootCaller(owner)): Promise<SimulatePolicyResponse> =>
  simulatePolicy(create(SimulatePolicyRequestSchema, { action: "s3:GetObject", resourceArn: photos, ...request }), {
    app,
    caller,
  });

const outcomeOf = async (request: Request, caller?: Caller): Promise<string> => {
  try {
    return ReasonSchema.value[(await simulate(request, caller)).reason]?.localName ?? "";
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return Code[error.code];
  }
};

describe("simulatePolicy", () => {
  // what | the request | outcome
  test.each<[string, Request, string]>([
    ["the caller itself", {}, "OWNER"],
    ["a declared user", { principalArn: alice }, "IDENTITY_POLICY"],
    ["a declared user, narrowed to nothing", { principalArn: alice, sessionPolicies: {} }, "NO_SESSION_ALLOW"],
    [
      "a declared user with a boundary",
      { principalArn: alice, permissionsBoundary: document(statement({ Action: "s3:PutObject" })) },
      "NO_BOUNDARY_ALLOW",
    ],
    [
      "a declared user with a boundary that cannot be read",
      { principalArn: alice, permissionsBoundary: "{" },
      "UNREADABLE_POLICY",
    ],
    ["a declared user with other policies", { principalArn: alice, identityPolicies: {} }, "NO_ALLOW"],
    [
      "an action in the documented dialect",
      { principalArn: alice, action: "object-storage:GetObject" },
      "IDENTITY_POLICY",
    ],
    ["another action", { principalArn: alice, action: "s3:PutObject" }, "NO_ALLOW"],
    [
      "a user with a policy that cannot be read",
      { principalArn: alice, identityPolicies: { documents: ["{"] } },
      "UNREADABLE_POLICY",
    ],
    [
      "a resource whose policy denies",
      { principalArn: alice, resourceArn: "arn:aws:s3:::closed/a.jpg" },
      "EXPLICIT_DENY",
    ],
    [
      "a resource that does not exist",
      { principalArn: alice, resourceArn: "arn:aws:s3:::none/a.jpg" },
      "IDENTITY_POLICY",
    ],
    [
      "a resource with the policies of the request",
      { principalArn: "*", resourcePolicies: { documents: [document(statement({ Principal: "*" }))] } },
      "RESOURCE_POLICY",
    ],
    ["an anonymous caller", { principalArn: "*" }, "NO_ALLOW"],
    [
      "a role's session across accounts",
      {
        principalArn: `arn:aws:sts::${owner}:assumed-role/reader/nightly`,
        identityPolicies: { documents: [reading] },
        resourcePolicies: {
          documents: [document(statement({ Principal: { AWS: `arn:aws:iam::${owner}:role/reader` } }))],
        },
        ownerAccountId: stranger,
      },
      "BOTH_SIDES",
    ],
    ["a role with a path", { principalArn: `arn:aws:iam::${owner}:role/team/clerk` }, "IDENTITY_POLICY"],
    ["its session", { principalArn: `arn:aws:sts::${owner}:assumed-role/clerk/monday` }, "IDENTITY_POLICY"],
    ["a role without its path", { principalArn: `arn:aws:iam::${owner}:role/clerk` }, "NotFound"],
    ["a role with another path", { principalArn: `arn:aws:iam::${owner}:role/other/clerk` }, "NotFound"],
    [
      "an action without a resource",
      {
        action: "s3:ListAllMyBuckets",
        resourceArn: "*",
        principalArn: alice,
        identityPolicies: {
          documents: [document(statement({ Action: "s3:ListAllMyBuckets", Resource: "arn:aws:s3:::*" }))],
        },
      },
      "IDENTITY_POLICY",
    ],
    [
      "a key of the request",
      {
        principalArn: alice,
        identityPolicies: { documents: [fromOffice] },
        context: { "aws:SourceIp": { values: ["192.0.2.7"] } },
      },
      "IDENTITY_POLICY",
    ],
    [
      "a key of the resource",
      {
        principalArn: alice,
        identityPolicies: {
          documents: [document(statement({ Condition: { StringEquals: { "aws:ResourceTag/team": "sales" } } }))],
        },
      },
      "IDENTITY_POLICY",
    ],
    [
      "a key of the principal",
      {
        principalArn: alice,
        identityPolicies: {
          documents: [document(statement({ Condition: { StringEquals: { "aws:PrincipalOrgID": "o-exampleorg00" } } }))],
        },
      },
      "IDENTITY_POLICY",
    ],
    ["an action without a prefix", { action: "GetObject" }, "InvalidArgument"],
    ["a resource that is no ARN", { resourceArn: "photos" }, "InvalidArgument"],
    ["a principal that is none", { principalArn: "alice" }, "InvalidArgument"],
    ["a very long text that is none", { principalArn: `${alice}${"a".repeat(200_000)}\n` }, "InvalidArgument"],
    ["a principal of another account", { principalArn: `arn:aws:iam::${stranger}:user/bob` }, "PermissionDenied"],
    ["a user that is not declared", { principalArn: `arn:aws:iam::${owner}:user/bob` }, "NotFound"],
    [
      "a resource of another account",
      { principalArn: alice, resourceArn: "arn:aws:s3:::theirs/a.jpg" },
      "PermissionDenied",
    ],
    ["a resource policy that cannot be read", { resourcePolicies: { documents: ["{"] } }, "InvalidArgument"],
    [
      "too many policies",
      { identityPolicies: { documents: Array.from({ length: 501 }, () => reading) } },
      "InvalidArgument",
    ],
  ])("of %s", async (_what, request, expected) => {
    expect(await outcomeOf(request)).toBe(expected);
  });

  const maySimulate = (action: string, resource = "*"): string =>
    document({ Effect: "Allow", Action: action, Resource: resource });
  const narrowed = {
    ...roleCaller(owner, "auditor", "monday", [maySimulate("*")]),
    sessionPolicies: [maySimulate("s3:*")],
  };
  // who | the request | outcome
  test.each<[string, Caller, Request, string]>([
    ["an anonymous caller", anonymousCaller, { principalArn: alice }, "PermissionDenied"],
    ["a user without policies", userCaller(owner, "bob", []), { principalArn: alice }, "PermissionDenied"],
    ["a user about itself", userCaller(owner, "bob", [reading]), {}, "PermissionDenied"],
    [
      "a user who may",
      userCaller(owner, "bob", [maySimulate("iam:SimulatePrincipalPolicy", alice)]),
      { principalArn: alice },
      "IDENTITY_POLICY",
    ],
    [
      "a user who may for others",
      userCaller(owner, "bob", [maySimulate("iam:SimulatePrincipalPolicy", `${alice}2`)]),
      { principalArn: alice },
      "PermissionDenied",
    ],
    [
      "a user who may only with policies",
      userCaller(owner, "bob", [maySimulate("iam:SimulateCustomPolicy")]),
      { principalArn: alice },
      "PermissionDenied",
    ],
    [
      "a user who may with policies",
      userCaller(owner, "bob", [maySimulate("iam:SimulateCustomPolicy")]),
      { principalArn: alice, identityPolicies: {} },
      "NO_ALLOW",
    ],
    ["a session narrowed to other actions", narrowed, { principalArn: alice }, "PermissionDenied"],
    ["the root of another account", rootCaller(stranger), { principalArn: alice }, "PermissionDenied"],
  ])("by %s", async (_who, caller, request, expected) => {
    expect(await outcomeOf(request, caller)).toBe(expected);
  });

  test("names the statement that decided and those that nearly matched with the key that failed", async () => {
    const decided = await simulate({ principalArn: alice });
    expect(decided).toMatchObject({
      isAllowed: true,
      statement: { side: PolicySide.IDENTITY, policyIndex: 0, statementIndex: 0, sid: "Read" },
    });
    const refused = await simulate({
      principalArn: alice,
      identityPolicies: { documents: [reading, fromOffice] },
      action: "s3:PutObject",
    });
    expect([refused.isAllowed, refused.statement, refused.nearMisses]).toMatchObject([
      false,
      undefined,
      [
        {
          statement: { side: PolicySide.IDENTITY, policyIndex: 0, sid: "Read" },
          effect: "Allow",
          failedElement: "action",
          failedKey: "",
        },
      ],
    ]);
    const elsewhere = await simulate({ principalArn: alice, identityPolicies: { documents: [fromOffice] } });
    expect(elsewhere.nearMisses).toMatchObject([{ failedElement: "condition", failedKey: "aws:SourceIp" }]);
  });
});
