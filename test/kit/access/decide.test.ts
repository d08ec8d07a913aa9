import type { DescMethod, Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { ErrorReasonSchema } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import {
  DeleteObjectsRequestSchema,
  ObjectStorageService,
  PutObjectRequestSchema,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Resource } from "../../../services/kit/access/decide.ts";
import { accessRules, decideCall } from "../../../services/kit/access/decide.ts";
import type { Question } from "../../../services/kit/access/questions.ts";
import { ServiceError } from "../../../services/kit/faults/service-error.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, roleCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import type { Policy } from "../../../services/kit/policy/document.ts";
import { parsePolicy } from "../../../services/kit/policy/document.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const owner = "111122223333";
const rules = accessRules({
  names: { public: "s3", documented: "object-storage" },
  refusalPrefix: "s3",
  principal: "s3.amazonaws.com",
  errors: ErrorReasonSchema,
});
const { deleteObjects, putObject } = ObjectStorageService.method;
const clock = new FakeClock(Date.parse("2026-01-02T03:04:05.000Z"));

const allow = (actions: string | string[], more: object = {}): object => ({
  Effect: "Allow",
  Action: actions,
  Resource: "arn:aws:s3:::photos/*",
  ...more,
});
const when = (operator: string, key: string, value: string): object => ({
  Condition: { [operator]: { [key]: value } },
});
const user = (...statements: object[]): Caller =>
  userCaller(owner, "alice", [JSON.stringify({ Version: "2012-10-17", Statement: statements })]);
const bucketPolicy = (...statements: object[]): Policy[] => [
  parsePolicy(JSON.stringify({ Version: "2012-10-17", Statement: statements }), {
    principals: "required",
    bytesMax: 20_480,
  }),
];

const organizations: Readonly<Record<string, string>> = { [owner]: "o-photos" };

interface Decided {
  readonly outcome: string;
  readonly lines: readonly Readonly<Record<string, unknown>>[];
}

/** Decides a call on a bucket of the owner, and returns the refused elements, or the refusal. */
const decide = async (
  method: DescMethod,
  request: Message,
  caller: Caller,
  resource: Partial<Resource> = {},
): Promise<Decided> => {
  const { log, lines } = capturingLogger();
  const app = { clock, accounts: { findOrganizationId: (account: string) => organizations[account] } };
  const find = (question: Question): Resource => ({
    arn: `arn:aws:s3:::${question.resource}`,
    ownerAccountId: owner,
    ...resource,
  });
  try {
    const { refusedElements } = await decideCall(rules, { app, method, caller, log }, request, find);
    return { outcome: `refused elements: ${[...refusedElements].join(" ") || "none"}`, lines };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { outcome: `${error.facts.reason} ${error.metadata["action"]} ${error.metadata["resource"]}`, lines };
  }
};

const put = (members: object = {}): Message =>
  create(PutObjectRequestSchema, { bucket: "photos", key: "a.jpg", ...members });
const done = "refused elements: none";
const denied = "ACCESS_DENIED s3:PutObject arn:aws:s3:::photos/a.jpg";

describe("a call", () => {
  test("needs every permission that its request needs, and is refused for the first that is missing", async () => {
    const writer = user(allow("s3:PutObject"));
    expect((await decide(putObject, put(), writer)).outcome).toBe(done);
    expect((await decide(putObject, put({ acl: "private" }), writer)).outcome).toBe(
      "ACCESS_DENIED s3:PutObjectAcl arn:aws:s3:::photos/a.jpg",
    );
    expect((await decide(putObject, put({ acl: "private" }), user(allow("s3:PutObject*")))).outcome).toBe(done);
  });

  test("goes on without the elements of a list that are refused", async () => {
    const objects = [{ key: "a" }, { key: "b", versionId: "v1" }, { key: "c" }];
    const request = create(DeleteObjectsRequestSchema, { bucket: "photos", delete: { objects } });
    const { outcome, lines } = await decide(deleteObjects, request, user(allow("s3:DeleteObject")));
    expect([outcome, lines.length]).toEqual(["refused elements: 1", 1]);
  });

  // who | what the owner of the bucket grants | outcome
  test.each<[string, Caller, Partial<Resource>, string]>([
    ["the owner's root", rootCaller(owner), {}, done],
    ["another root", rootCaller("444455556666"), {}, denied],
    ["another root with an owner's grant", rootCaller("444455556666"), { isGrantedByOwner: true }, done],
    [
      "another root with a policy",
      rootCaller("444455556666"),
      { policies: bucketPolicy(allow("s3:*", { Principal: "*" })) },
      done,
    ],
    ["an anonymous caller", anonymousCaller, {}, denied],
    ["an anonymous caller with an owner's grant", anonymousCaller, { isGrantedByOwner: true }, done],
    [
      "an anonymous caller with a policy",
      anonymousCaller,
      { policies: bucketPolicy(allow("s3:*", { Principal: "*" })) },
      done,
    ],
    ["an anonymous caller who claims to be preauthorized", { ...anonymousCaller, isPreauthorized: true }, {}, denied],
    [
      "a user about whom another service has decided",
      { ...userCaller(owner, "alice", []), isPreauthorized: true },
      {},
      done,
    ],
    [
      "a user with an unreadable policy next to a grant",
      userCaller(owner, "alice", ["{"]),
      { isGrantedByOwner: true },
      denied,
    ],
    [
      "the owner's root whom the policy denies",
      rootCaller(owner),
      { policies: bucketPolicy({ ...allow("*"), Effect: "Deny", Principal: "*" }) },
      denied,
    ],
  ])("of %s", async (_who, caller, resource, expected) => {
    expect((await decide(putObject, put(), caller, resource)).outcome).toBe(expected);
  });

  test("is refused by the resource's own words where it has some", async () => {
    const resource = { refusal: () => new Error("there is no such thing") };
    await expect(decide(putObject, put(), user(), resource)).rejects.toThrow("there is no such thing");
    expect((await decide(putObject, put(), userCaller(owner, "bob", []), { shownAs: "photos" })).outcome).toBe(
      "ACCESS_DENIED s3:PutObject photos",
    );
  });
});

describe("a condition", () => {
  const request = put({
    storageClass: "GLACIER",
    serverSideEncryption: ServerSideEncryption.KMS,
    websiteRedirectLocation: "/b",
  });
  // operator | key | value | holds
  test.each([
    ["StringEquals", "s3:x-amz-storage-class", "GLACIER", true],
    ["StringEquals", "object-storage:x-svc-storage-class", "GLACIER", true],
    ["StringEquals", "s3:x-amz-storage-class", "STANDARD", false],
    ["StringEquals", "s3:x-amz-server-side-encryption", "aws:kms", true],
    ["StringEquals", "object-storage:x-svc-server-side-encryption", "svc:kms", true],
    ["StringNotEquals", "s3:x-amz-server-side-encryption", "aws:kms", false],
    ["Null", "s3:x-amz-server-side-encryption-aws-kms-key-id", "true", true],
    ["Null", "s3:x-amz-acl", "false", false],
    ["StringEquals", "aws:PrincipalArn", `arn:aws:iam::${owner}:user/alice`, true],
    ["ArnLike", "svc:PrincipalArn", `arn:svc:iam::${owner}:user/*`, true],
    ["StringEquals", "aws:PrincipalAccount", owner, true],
    ["StringEquals", "aws:PrincipalOrgID", "o-photos", true],
    ["StringEquals", "svc:username", "alice", true],
    ["DateLessThan", "aws:CurrentTime", "2026-01-02T03:04:06Z", true],
    ["DateLessThan", "aws:CurrentTime", "2026-01-02T03:04:05Z", false],
    ["NumericEquals", "aws:EpochTime", "1767323045", true],
    ["IpAddress", "aws:SourceIp", "192.0.2.0/24", true],
    ["IpAddress", "aws:SourceIp", "198.51.100.0/24", false],
    ["StringEquals", "aws:ResourceTag/Team", "sales", true],
    ["Null", "aws:SecureTransport", "true", true],
    ["StringEquals", "s3:signatureversion", "AWS4-HMAC-SHA256", true],
    ["StringEquals", "object-storage:signatureversion", "AWS4-HMAC-SHA256", true],
    ["StringNotEquals", "s3:authType", "REST-QUERY-STRING", true],
    ["StringEquals", "s3:authType", "POST", false],
    ["NumericLessThan", "s3:signatureAge", "60000", true],
    ["NumericGreaterThan", "s3:signatureAge", "60000", false],
  ])("%s %s %s holds: %s", async (operator, key, value, holds) => {
    const caller = {
      ...user(allow("s3:*", when(operator, key, value))),
      sourceIp: "192.0.2.7",
      signatureVersion: "AWS4-HMAC-SHA256",
      authType: "REST-HEADER",
      signatureAgeMs: 1_500,
    } as const;
    const conditions = new Map([["aws:resourcetag/team", ["sales"]]]);
    const { outcome } = await decide(putObject, request, caller, { conditions });
    expect(outcome).toBe(holds ? done : denied);
  });
});

describe("a session", () => {
  const statements = (...given: object[]): string => JSON.stringify({ Version: "2012-10-17", Statement: given });
  const reader = (...session: string[]): Caller => ({
    ...roleCaller(owner, "reader", "nightly", [statements(allow("s3:*"))]),
    sessionPolicies: session,
  });
  const fromOffice = statements(allow("s3:Put*", when("IpAddress", "aws:SourceIp", "192.0.2.0/24")));

  // who | outcome
  test.each<[string, Caller, string]>([
    ["of a role that was not narrowed", roleCaller(owner, "reader", "nightly", [statements(allow("s3:*"))]), done],
    ["narrowed to the action", reader(statements(allow("s3:PutObject"))), done],
    ["narrowed to another action", reader(statements(allow("s3:GetObject"))), denied],
    ["narrowed by two policies, of which one allows it", reader(statements(allow("s3:Get*")), fromOffice), denied],
    ["narrowed to the address it calls from", { ...reader(fromOffice), sourceIp: "192.0.2.7" }, done],
    ["narrowed to nothing", reader(), denied],
    ["narrowed by what cannot be read", reader("{"), denied],
    ["about which another service has decided", { ...reader(), isPreauthorized: true }, done],
    ["of the root, narrowed to another action", { ...reader(statements(allow("s3:Get*"))), isRoot: true }, denied],
  ])("%s", async (_who, caller, expected) => {
    expect((await decide(putObject, put(), caller)).outcome).toBe(expected);
  });
});

test("a refusal's log line names who, what, why and the statements that nearly matched, and no policy text", async () => {
  const caller = user(
    allow("s3:PutObject", { Sid: "FromOffice", ...when("IpAddress", "aws:SourceIp", "10.0.0.0/8") }),
    allow("s3:GetObject", { Sid: "Read" }),
  );
  const { lines } = await decide(putObject, put(), caller);
  expect(lines).toEqual([
    {
      level: 30,
      time: expect.any(Number) as number,
      msg: "access denied",
      principal: `arn:aws:iam::${owner}:user/alice`,
      action: "s3:PutObject",
      resource: "arn:aws:s3:::photos/a.jpg",
      reason: "no-allow",
      nearMisses: [
        {
          side: "identity",
          policy: 0,
          statement: 0,
          sid: "FromOffice",
          effect: "Allow",
          failed: "condition",
          key: "aws:SourceIp",
        },
        { side: "identity", policy: 0, statement: 1, sid: "Read", effect: "Allow", failed: "action" },
      ],
    },
  ]);
  const deny = { ...allow("s3:*"), Sid: "Closed", Effect: "Deny", Principal: "*" };
  const byPolicy = await decide(putObject, put(), rootCaller(owner), { policies: bucketPolicy(deny) });
  expect(byPolicy.lines[0]).toMatchObject({
    reason: "explicit-deny",
    statement: { side: "resource", policy: 0, statement: 0, sid: "Closed" },
  });
});
