import { describe, expect, onTestFinished, test } from "vitest";

import { parseTrustPolicy } from "../../../services/kit/accounts/trust-policy.ts";
import { userCaller } from "../../../services/kit/identity/caller.ts";
import { allowing, openIdentity, shop } from "./identity.ts";

const trust = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Principal: { AWS: shop }, Action: "sts:AssumeRole" }],
});
const policy = (...statements: object[]): string => JSON.stringify({ Version: "2012-10-17", Statement: statements });
const deny = { Effect: "Deny", Action: "s3:DeleteObject", Resource: "arn:aws:s3:::photos/*" };
const photo = "arn:aws:s3:::photos/cat.jpg";
const arnOf = (entity: string): string => `arn:aws:iam::${shop}:${entity}`;

/**
 * alice (team=shop): inline "objects" allows s3:* on photos; group all denies s3:DeleteObject there
 * role nightly: AmazonS3ReadOnlyAccess
 * bob (declared): may put events; clerk (declared): may put events
 */
const open = async () => {
  const opened = await openIdentity({
    users: [{ accountId: shop, name: "team/bob", policies: [allowing("events:PutEvents")] }],
    roles: [
      {
        accountId: shop,
        name: "clerk",
        arn: arnOf("role/desk/clerk"),
        trustPolicy: parseTrustPolicy(trust),
        policies: [allowing("events:PutEvents")],
      },
    ],
  });
  onTestFinished(opened.close);
  const { call } = opened;
  await call("createUser", { userName: "alice", tags: [{ key: "team", value: "shop" }] });
  const objects = allowing("s3:*", "arn:aws:s3:::photos/*");
  await call("putUserPolicy", { userName: "alice", policyName: "objects", policyDocument: objects });
  await call("createGroup", { groupName: "all" });
  await call("putGroupPolicy", { groupName: "all", policyName: "keep", policyDocument: policy(deny) });
  await call("addUserToGroup", { groupName: "all", userName: "alice" });
  await call("createRole", { roleName: "nightly", assumeRolePolicyDocument: trust });
  const policyArn = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess";
  await call("attachRolePolicy", { roleName: "nightly", policyArn });
  return opened;
};

interface Result {
  readonly evalActionName: string;
  readonly evalResourceName: string;
  readonly evalDecision: string;
  readonly matchedStatements: readonly { readonly sourcePolicyId: string; readonly sourcePolicyType: string }[];
  readonly missingContextValues: readonly string[];
  readonly resourceSpecificResults: readonly {
    readonly evalResourceName: string;
    readonly evalResourceDecision: string;
  }[];
}

interface Bounded {
  readonly permissionsBoundaryDecisionDetail?: { readonly allowedByPermissionsBoundary: boolean };
}

type Name = Parameters<Awaited<ReturnType<typeof open>>["call"]>[0];

const resultsOf = async (name: Name, request: object): Promise<readonly Result[]> => {
  const { call } = await open();
  const { evaluationResults } = await call(name, request);
  return evaluationResults as readonly Result[];
};

const shown = (results: readonly Result[]): string[] =>
  results.map(({ evalActionName, evalDecision, matchedStatements }) =>
    [evalActionName, evalDecision, ...matchedStatements.map(({ sourcePolicyId }) => sourcePolicyId)].join(" "),
  );

describe("SimulatePrincipalPolicy", () => {
  // the entity, the action, the resource, the decision and what matched
  test.for<[string, string, string, string]>([
    ["user/alice", "s3:GetObject", photo, "allowed user_alice_objects"],
    ["user/alice", "s3:DeleteObject", photo, "explicitDeny group_all_keep"],
    ["user/alice", "s3:GetObject", "arn:aws:s3:::letters/a", "implicitDeny"],
    ["user/alice", "object-storage:GetObject", "arn:svc:object-storage:::photos/cat.jpg", "allowed user_alice_objects"],
    ["group/all", "s3:DeleteObject", photo, "explicitDeny group_all_keep"],
    ["group/all", "s3:GetObject", photo, "implicitDeny"],
    ["role/nightly", "s3:GetObject", photo, "allowed AmazonS3ReadOnlyAccess"],
    ["role/nightly", "s3:ListAllMyBuckets", "*", "allowed AmazonS3ReadOnlyAccess"],
    ["role/nightly", "s3:PutObject", photo, "implicitDeny"],
    ["user/team/bob", "events:PutEvents", "*", "allowed user_bob_1"],
    ["role/desk/clerk", "events:PutEvents", "*", "allowed role_clerk_1"],
    ["user/alice", "ec2:RunInstances", "*", "implicitDeny"],
  ])("%s %s on %s: %s", async ([entity, action, resource, expected]) => {
    const request = { policySourceArn: arnOf(entity), actionNames: [action], resourceArns: [resource] };
    expect(shown(await resultsOf("simulatePrincipalPolicy", request))).toEqual([`${action} ${expected}`]);
  });

  test("given policies count as well, and each statement that decides is named with its place", async () => {
    const [result] = await resultsOf("simulatePrincipalPolicy", {
      policySourceArn: arnOf("user/alice"),
      policyInputList: [allowing("s3:GetObject")],
      actionNames: ["s3:GetObject"],
      resourceArns: [photo],
    });
    const matchedStatements = [
      {
        sourcePolicyId: "user_alice_objects",
        sourcePolicyType: "IAM Policy",
        startPosition: { line: 1, column: 38 },
        endPosition: { line: 1, column: 107 },
      },
      {
        sourcePolicyId: "PolicyInputList.1",
        sourcePolicyType: "IAM Policy",
        startPosition: { line: 1, column: 38 },
        endPosition: { line: 1, column: 95 },
      },
    ];
    expect(result).toEqual({
      evalActionName: "s3:GetObject",
      evalResourceName: photo,
      evalDecision: "allowed",
      matchedStatements,
      missingContextValues: [],
      resourceSpecificResults: [
        { evalResourceName: photo, evalResourceDecision: "allowed", matchedStatements, missingContextValues: [] },
      ],
    });
  });

  test("a resource is asked about for each action, and the worst decision stands for all", async () => {
    const results = await resultsOf("simulatePrincipalPolicy", {
      policySourceArn: arnOf("user/alice"),
      actionNames: ["s3:GetObject", "s3:DeleteObject"],
      resourceArns: [photo, "arn:aws:s3:::letters/a"],
    });
    expect(shown(results)).toEqual(["s3:GetObject implicitDeny", "s3:DeleteObject explicitDeny group_all_keep"]);
    expect(results.map(({ evalResourceName }) => evalResourceName)).toEqual(["*", "*"]);
    expect(results.map((result) => result.resourceSpecificResults.map((each) => each.evalResourceDecision))).toEqual([
      ["allowed", "implicitDeny"],
      ["explicitDeny", "implicitDeny"],
    ]);
  });

  test("the tags and the name of the entity are known, what only a request has is missing", async () => {
    const conditioned = policy({
      Effect: "Allow",
      Action: "events:PutEvents",
      Resource: "*",
      Condition: {
        StringEquals: { "aws:PrincipalTag/team": "shop", "aws:username": "alice", "events:source": "${aws:UserAgent}" },
        IpAddress: { "aws:SourceIp": "10.0.0.0/8" },
      },
    });
    const request = {
      policySourceArn: arnOf("user/alice"),
      policyInputList: [conditioned],
      actionNames: ["events:PutEvents"],
    };
    const [unknown] = await resultsOf("simulatePrincipalPolicy", request);
    expect(unknown).toMatchObject({
      evalResourceName: "*",
      evalDecision: "implicitDeny",
      missingContextValues: ["aws:SourceIp", "aws:UserAgent", "events:source"],
      resourceSpecificResults: [],
    });
    const contextEntries = [
      { contextKeyName: "aws:sourceip", contextKeyType: "ip", contextKeyValues: ["10.1.2.3"] },
      { contextKeyName: "events:source", contextKeyType: "stringList", contextKeyValues: ["web"] },
      { contextKeyName: "aws:UserAgent", contextKeyType: "string", contextKeyValues: ["web"] },
    ];
    const [known] = await resultsOf("simulatePrincipalPolicy", { ...request, contextEntries });
    expect(known).toMatchObject({ evalDecision: "allowed", missingContextValues: [] });
  });

  // whose, the boundary that she has, the one that is given; the decision, what the boundary says, and what matched
  test.for<[string, string | undefined, string | undefined, unknown[]]>([
    ["user/alice", undefined, undefined, ["allowed", undefined, "user_alice_objects"]],
    ["user/alice", "s3:GetObject", undefined, ["allowed", true, "user_alice_objects limit"]],
    ["user/alice", "s3:PutObject", undefined, ["implicitDeny", false, ""]],
    [
      "user/alice",
      "s3:PutObject",
      allowing("s3:*"),
      ["allowed", true, "user_alice_objects PermissionsBoundaryPolicyInputList.1"],
    ],
    ["user/alice", "s3:GetObject", allowing("s3:PutObject"), ["implicitDeny", false, ""]],
    [
      "user/alice",
      undefined,
      policy(deny, { ...deny, Action: "s3:GetObject" }),
      ["explicitDeny", false, "PermissionsBoundaryPolicyInputList.1"],
    ],
    ["role/nightly", "s3:GetObject", undefined, ["allowed", true, "AmazonS3ReadOnlyAccess limit"]],
    ["role/nightly", "s3:PutObject", undefined, ["implicitDeny", false, ""]],
  ])("s3:GetObject by %s with the boundary %s and, given, %s", async ([entity, own, given, expected]) => {
    const { call } = await open();
    if (own !== undefined) {
      await call("createPolicy", { policyName: "limit", policyDocument: allowing(own) });
      const permissionsBoundary = arnOf("policy/limit");
      await call("putUserPermissionsBoundary", { userName: "alice", permissionsBoundary });
      await call("putRolePermissionsBoundary", { roleName: "nightly", permissionsBoundary });
    }
    const { evaluationResults } = await call("simulatePrincipalPolicy", {
      policySourceArn: arnOf(entity),
      actionNames: ["s3:GetObject"],
      resourceArns: [photo],
      permissionsBoundaryPolicyInputList: given === undefined ? [] : [given],
    });
    const [result] = evaluationResults as (Result & Bounded & { resourceSpecificResults: Bounded[] })[];
    const matched = result?.matchedStatements.map(({ sourcePolicyId }) => sourcePolicyId).join(" ");
    const detail = result?.permissionsBoundaryDecisionDetail;
    expect([result?.evalDecision, detail?.allowedByPermissionsBoundary, matched]).toEqual(expected);
    expect(result?.resourceSpecificResults[0]?.permissionsBoundaryDecisionDetail).toEqual(detail);
  });

  // what is asked, its refusal
  test.for<[string, object, string]>([
    ["a boundary that cannot be read", { permissionsBoundaryPolicyInputList: ["{}"] }, "INVALID_VALUE"],
    ["an action without a prefix", { actionNames: ["GetObject"] }, "INVALID_VALUE"],
    ["an action with a star", { actionNames: ["s3:Get*"] }, "INVALID_VALUE"],
    ["a resource that is no ARN", { resourceArns: ["photos"] }, "INVALID_VALUE"],
    ["a policy that cannot be read", { policyInputList: ["{}"] }, "INVALID_VALUE"],
    ["a resource's policy without a principal", { resourcePolicy: allowing("s3:*") }, "INVALID_VALUE"],
    ["an owner that is no account", { resourceOwner: "shop" }, "INVALID_VALUE"],
    ["a caller that is a role", { callerArn: arnOf("role/nightly") }, "INVALID_VALUE"],
    [
      "two values of a key that has one",
      { contextEntries: [{ contextKeyName: "aws:SourceIp", contextKeyType: "ip", contextKeyValues: ["1", "2"] }] },
      "INVALID_VALUE",
    ],
    ["a policy as the source", { policySourceArn: arnOf("policy/own") }, "INVALID_VALUE"],
    ["a root as the source", { policySourceArn: arnOf("root") }, "INVALID_VALUE"],
    ["an unknown user", { policySourceArn: arnOf("user/nobody") }, "NO_SUCH_ENTITY"],
    ["a user on another path", { policySourceArn: arnOf("user/team/alice") }, "NO_SUCH_ENTITY"],
    ["an unknown group", { policySourceArn: arnOf("group/none") }, "NO_SUCH_ENTITY"],
    ["a user of another account", { policySourceArn: "arn:aws:iam::444455556666:user/alice" }, "ACCESS_DENIED"],
    ["a marker of another simulation", { marker: "bm8" }, "INVALID_PAGE_TOKEN"],
  ])("%s is refused", async ([, request, reason]) => {
    const asked = { policySourceArn: arnOf("user/alice"), actionNames: ["s3:GetObject"], ...request };
    await expect(resultsOf("simulatePrincipalPolicy", asked)).rejects.toMatchObject({ facts: { reason } });
  });

  test("only who may simulate a user may, by its ARN", async () => {
    const { call } = await open();
    const carol = userCaller(shop, "carol", [allowing("iam:SimulatePrincipalPolicy", arnOf("user/alice"))]);
    const actionNames = ["s3:GetObject"];
    const ofAlice = await call("simulatePrincipalPolicy", { policySourceArn: arnOf("user/alice"), actionNames }, carol);
    expect(ofAlice["evaluationResults"]).toHaveLength(1);
    const ofBob = call("simulatePrincipalPolicy", { policySourceArn: arnOf("user/team/bob"), actionNames }, carol);
    await expect(ofBob).rejects.toMatchObject({ facts: { reason: "ACCESS_DENIED" } });
    const custom = call("simulateCustomPolicy", { policyInputList: [allowing("*")], actionNames }, carol);
    await expect(custom).rejects.toMatchObject({ facts: { reason: "ACCESS_DENIED" } });
  });
});

describe("SimulateCustomPolicy", () => {
  const readers = policy({
    Effect: "Allow",
    Principal: { AWS: arnOf("user/dora") },
    Action: "s3:GetObject",
    Resource: "arn:aws:s3:::photos/*",
  });

  // what is asked beside s3:GetObject on the photo, the decision and what matched
  test.for<[string, object, string]>([
    ["an allow", { policyInputList: [allowing("s3:GetObject")] }, "allowed PolicyInputList.1"],
    [
      "an allow and a deny",
      { policyInputList: [allowing("*"), policy({ ...deny, Action: "*" })] },
      "explicitDeny PolicyInputList.2",
    ],
    ["nothing that speaks of it", { policyInputList: [allowing("events:*")] }, "implicitDeny"],
    [
      "a resource's policy that names the caller",
      { policyInputList: [allowing("events:*")], resourcePolicy: readers, callerArn: arnOf("user/dora") },
      "allowed ResourcePolicy",
    ],
    [
      "a resource's policy that names another user",
      { policyInputList: [allowing("events:*")], resourcePolicy: readers, callerArn: arnOf("user/eve") },
      "implicitDeny",
    ],
    [
      "an allow in another account without its policy",
      { policyInputList: [allowing("s3:*")], resourceOwner: "arn:aws:iam::444455556666:root" },
      "implicitDeny",
    ],
    [
      "both sides across accounts",
      {
        policyInputList: [allowing("s3:*")],
        resourceOwner: "444455556666",
        resourcePolicy: readers,
        callerArn: arnOf("user/dora"),
      },
      "allowed PolicyInputList.1 ResourcePolicy",
    ],
    [
      "a condition on a name that nobody in particular has",
      {
        policyInputList: [
          policy({ Effect: "Allow", Action: "*", Resource: "*", Condition: { StringLike: { "aws:username": "*" } } }),
        ],
      },
      "implicitDeny",
    ],
  ])("%s", async ([, request, expected]) => {
    const results = await resultsOf("simulateCustomPolicy", {
      actionNames: ["s3:GetObject"],
      resourceArns: [photo],
      ...request,
    });
    expect(shown(results)).toEqual([`s3:GetObject ${expected}`]);
  });

  test("pages have whole actions, and go on with the next one", async () => {
    const { call } = await open();
    const request = {
      policyInputList: [allowing("s3:GetObject")],
      actionNames: ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"],
      resourceArns: [photo, "arn:aws:s3:::letters/a"],
      maxItems: 5,
    };
    const first = await call("simulateCustomPolicy", request);
    const second = await call("simulateCustomPolicy", { ...request, marker: first["marker"] });
    expect(shown(first["evaluationResults"] as Result[])).toEqual([
      "s3:GetObject allowed PolicyInputList.1",
      "s3:PutObject implicitDeny",
    ]);
    expect([first["isTruncated"], second["isTruncated"], second["marker"]]).toEqual([true, false, undefined]);
    expect(shown(second["evaluationResults"] as Result[])).toEqual(["s3:DeleteObject implicitDeny"]);
  });
});

test("the condition keys that policies ask for are listed once each", async () => {
  const { call } = await open();
  const document = policy({
    Effect: "Allow",
    Action: "s3:*",
    Resource: "arn:aws:s3:::home/${aws:username}/*",
    Condition: {
      StringEquals: { "aws:PrincipalTag/team": "${aws:PrincipalTag/unit}", "s3:prefix": "a" },
      Bool: { "AWS:SecureTransport": "true" },
      Null: { "aws:securetransport": "false" },
    },
  });
  const keys = ["AWS:SecureTransport", "aws:PrincipalTag/team", "aws:PrincipalTag/unit", "aws:username", "s3:prefix"];
  expect(await call("getContextKeysForCustomPolicy", { policyInputList: [document] })).toEqual({
    contextKeyNames: keys,
  });
  await call("putUserPolicy", { userName: "alice", policyName: "home", policyDocument: document });
  const ofAlice = { policySourceArn: arnOf("user/alice") };
  expect(await call("getContextKeysForPrincipalPolicy", ofAlice)).toEqual({ contextKeyNames: keys });
});
