import { describe, expect, test } from "vitest";

import type { PolicyRequest } from "../../../services/kit/policy/compiled.ts";
import type { Policy } from "../../../services/kit/policy/document.ts";
import { parsePolicy } from "../../../services/kit/policy/document.ts";
import { explain } from "../../../services/kit/policy/evaluate.ts";

const identity = (...statements: object[]): Policy =>
  parsePolicy(JSON.stringify({ Statement: statements }), { principals: "forbidden", bytesMax: 4_096 });
const resource = (...statements: object[]): Policy =>
  parsePolicy(JSON.stringify({ Statement: statements }), { principals: "required", bytesMax: 4_096 });
const reading = { Effect: "Allow", Action: "s3:GetObject", Resource: "arn:aws:s3:::photos/*" };

const request: PolicyRequest = {
  requester: {
    accountId: "111122223333",
    principalArn: "arn:aws:iam::111122223333:user/alice",
    isRoot: false,
    isAnonymous: false,
  },
  action: "s3:GetObject",
  resource: "arn:aws:s3:::photos/a.jpg",
  ownerAccountId: "111122223333",
  context: new Map([["aws:sourceip", ["192.0.2.1"]]]),
};

describe("explain", () => {
  test("names the statement that decided by its side, policy and index", () => {
    const policies = {
      identity: [identity({ ...reading, Action: "s3:PutObject" }, { ...reading, Sid: "Read" })],
      resource: [],
    };
    const { because, statement } = explain(request, policies);
    expect([because, statement]).toEqual([
      "identity-policy",
      { side: "identity", policy: 0, statement: 1, sid: "Read" },
    ]);
  });

  // the statement | the element of it that failed
  test.each<[object, object]>([
    [
      { ...reading, Action: "s3:PutObject" },
      { effect: "Allow", failed: "action" },
    ],
    [
      { ...reading, Resource: "arn:aws:s3:::music/*" },
      { effect: "Allow", failed: "resource" },
    ],
    [
      { ...reading, Condition: { IpAddress: { "aws:SourceIp": "10.0.0.0/8" } } },
      { effect: "Allow", failed: "condition", key: "aws:SourceIp" },
    ],
    [
      { ...reading, Effect: "Deny", NotAction: "s3:GetObject", Action: undefined },
      { effect: "Deny", failed: "action" },
    ],
  ])("lists %j as a near miss", (statement, miss) => {
    const explained = explain(request, { identity: [identity(statement)], resource: [] });
    expect([explained.because, explained.statement, explained.nearMisses]).toEqual([
      "no-allow",
      undefined,
      [{ side: "identity", policy: 0, statement: 0, sid: undefined, ...miss }],
    ]);
  });

  test("names a principal that fails, lists wrong actions last, and leaves out what fails twice", () => {
    const bob = { AWS: "arn:aws:iam::111122223333:user/bob" };
    const policies = {
      identity: [identity({ ...reading, Sid: "Put", Action: "s3:PutObject" })],
      resource: [
        resource(
          { ...reading, Sid: "Bob", Principal: bob },
          { ...reading, Sid: "Music", Principal: bob, Resource: "arn:aws:s3:::music/*" },
        ),
      ],
    };
    expect(explain(request, policies).nearMisses.map(({ side, sid, failed }) => [side, sid, failed])).toEqual([
      ["resource", "Bob", "principal"],
      ["identity", "Put", "action"],
    ]);
  });

  test("names the denying statement", () => {
    const policies = {
      identity: [identity(reading)],
      resource: [resource({ ...reading, Effect: "Deny", Principal: "*" })],
    };
    const { because, statement } = explain(request, policies);
    expect([because, statement?.side, statement?.statement]).toEqual(["explicit-deny", "resource", 0]);
  });
});
