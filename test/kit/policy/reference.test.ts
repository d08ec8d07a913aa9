import { describe, expect, test } from "vitest";

import type { PolicyRequest, Requester } from "../../../services/kit/policy/compiled.ts";
import type { Policy } from "../../../services/kit/policy/document.ts";
import { parsePolicy } from "../../../services/kit/policy/document.ts";
import { evaluate, explain } from "../../../services/kit/policy/evaluate.ts";
import { spellingOf } from "../../../services/kit/policy/spelling.ts";
import { rounds } from "../../support/rounds.ts";
import type { SeededRandom } from "../store/seeded-random.ts";
import { seededRandom } from "../store/seeded-random.ts";
import type { Document, Documents, Rule } from "./reference.ts";
import { isAllowedByReference } from "./reference.ts";

const spelling = spellingOf({ public: "s3", documented: "object-storage" });
const owner = "111122223333";
const other = "444455556666";

const requesters: readonly Requester[] = [
  { accountId: owner, principalArn: `arn:aws:iam::${owner}:root`, isRoot: true, isAnonymous: false },
  { accountId: other, principalArn: `arn:aws:iam::${other}:root`, isRoot: true, isAnonymous: false },
  { accountId: owner, principalArn: `arn:aws:iam::${owner}:user/alice`, isRoot: false, isAnonymous: false },
  { accountId: other, principalArn: `arn:svc:iam::${other}:user/bob`, isRoot: false, isAnonymous: false },
  {
    accountId: owner,
    principalArn: `arn:aws:sts::${owner}:assumed-role/reader/nightly`,
    isRoot: false,
    isAnonymous: false,
  },
  { accountId: "", principalArn: "", isRoot: false, isAnonymous: true },
];

const actions = ["s3:GetObject", "s3:GetObjectVersion", "object-storage:PutObject", "s3:ListBucket"];
const actionPatterns = ["*", "s3:*", "s3:GetObject", "s3:Get*", "S3:getobject", "object-storage:Put?bject", "iam:*"];
const resources = ["arn:aws:s3:::b", "arn:aws:s3:::b/alice/k", "arn:aws:s3:::b/a:b*c", "arn:svc:object-storage:::c/k"];
const resourcePatterns = [
  "*",
  "arn:aws:s3:::b",
  "arn:aws:s3:::b/*",
  "arn:aws:s3:::b*",
  "arn:aws:s3:::c/*",
  "arn:aws:s3:::b/${aws:username}/*",
  "arn:aws:s3:::b/${aws:PrincipalTag/home}/*",
  "arn:aws:s3:::b/a:b${*}c",
  "arn:svc:object-storage:::?/k",
  "arn:*:s3:*",
  "arn:aws:s3",
];
const principals = [
  "*",
  owner,
  `arn:aws:iam::${other}:root`,
  `arn:aws:iam::${owner}:user/alice`,
  `arn:svc:iam::${owner}:role/reader`,
  `arn:svc:sts::${owner}:assumed-role/reader/nightly`,
  `arn:aws:iam::${other}:user/bob`,
];
const conditions: ReadonlyArray<readonly [operator: string, key: string, values: readonly string[]]> = [
  ["StringEquals", "aws:username", ["alice", "carol"]],
  ["StringNotEquals", "svc:username", ["alice"]],
  ["StringEqualsIfExists", "s3:prefix", ["a/"]],
  ["StringNotEqualsIfExists", "s3:prefix", ["a/"]],
  ["StringLike", "object-storage:prefix", ["${aws:username}/*", "a?"]],
  ["StringNotLike", "s3:prefix", ["a*"]],
  ["StringEqualsIgnoreCase", "aws:username", ["ALICE"]],
  ["ForAnyValue:StringEquals", "aws:TagKeys", ["team", "cost"]],
  ["ForAllValues:StringEquals", "aws:TagKeys", ["team", "cost"]],
  ["ForAllValues:StringLike", "aws:TagKeys", ["t*"]],
  ["ForAnyValue:StringNotEquals", "aws:TagKeys", ["team"]],
  ["ForAllValues:StringNotEquals", "aws:TagKeys", ["team"]],
  ["ForAnyValue:StringEqualsIfExists", "aws:TagKeys", ["team"]],
  ["Null", "aws:TagKeys", ["true"]],
  ["Null", "s3:prefix", ["false"]],
  ["NumericLessThan", "s3:max-keys", ["100"]],
  ["NumericEquals", "s3:max-keys", ["10", "1000"]],
  ["NumericNotEquals", "s3:max-keys", ["10"]],
  ["DateGreaterThanEquals", "aws:CurrentTime", ["2026-01-01T00:00:00Z"]],
  ["Bool", "aws:SecureTransport", ["true"]],
  ["IpAddress", "aws:SourceIp", ["10.1.0.0/16"]],
  ["NotIpAddress", "aws:SourceIp", ["10.1.2.0/24"]],
  ["ArnLike", "aws:PrincipalArn", [`arn:aws:iam::*:user/*`]],
  ["ArnNotEquals", "aws:PrincipalArn", [`arn:svc:iam::${owner}:user/alice`]],
  ["StringEquals", "aws:PrincipalTag/home", ["alice", "${aws:username}"]],
  ["StringNotLike", "svc:PrincipalTag/home", ["b*"]],
  ["DateGreaterThanEquals", "aws:TokenIssueTime", ["2026-01-01T00:00:00Z"]],
  ["Null", "svc:TokenIssueTime", ["true"]],
  ["StringLike", "aws:UserAgent", ["backup/*"]],
  ["StringNotEqualsIfExists", "aws:Referer", ["https://example.com/"]],
  ["StringEquals", "s3:authType", ["REST-HEADER", "POST"]],
  ["StringNotEquals", "object-storage:signatureversion", ["AWS4-HMAC-SHA256"]],
  ["NumericLessThan", "s3:signatureAge", ["600000"]],
];
const contextValues: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "aws:username": [["alice"], ["bob"], ["a*"]],
  "s3:prefix": [["a/"], ["alice/x"], ["b/"], [""]],
  "aws:tagkeys": [["team"], ["team", "cost"], ["other"], []],
  "s3:max-keys": [["10"], ["1000"]],
  "aws:currenttime": [["2025-12-31T23:59:59Z"], ["2026-01-01T00:00:00Z"]],
  "aws:securetransport": [["true"], ["false"]],
  "aws:sourceip": [["10.1.2.3"], ["10.1.20.3"], ["192.168.0.1"]],
  "aws:principaltag/home": [["alice"], ["bob"]],
  "aws:tokenissuetime": [["2025-12-31T23:59:59Z"], ["2026-01-01T00:00:00Z"]],
  "aws:useragent": [["backup/1.2"], ["browser"]],
  "aws:referer": [["https://example.com/"], ["https://example.org/"]],
  "s3:authtype": [["REST-HEADER"], ["REST-QUERY-STRING"]],
  "s3:signatureversion": [["AWS"], ["AWS4-HMAC-SHA256"]],
  "s3:signatureage": [["1000"], ["900000"]],
  "aws:principalarn": [[`arn:aws:iam::${owner}:user/alice`], [`arn:svc:iam::${other}:user/bob`]],
};

/** Draws policies and requests that meet often enough for every answer to occur. */
class Draw {
  readonly #random: SeededRandom;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  chance(share: number): boolean {
    return this.#random.chance(share);
  }

  one<T>(items: readonly T[]): T {
    return this.#random.pick(items);
  }

  some<T>(items: readonly T[], max: number): T[] {
    return [...new Set(Array.from({ length: 1 + this.#random.below(max) }, () => this.one(items)))];
  }

  rule(hasPrincipals: boolean): Rule {
    const names = this.some(principals, 2);
    const drawn = this.chance(0.5) ? this.some(conditions, 2) : [];
    const condition: Record<string, Record<string, readonly string[]>> = {};
    for (const [operator, key, values] of drawn) condition[operator] = { ...condition[operator], [key]: values };
    return {
      Effect: this.chance(0.25) ? "Deny" : "Allow",
      ...(hasPrincipals &&
        (this.chance(0.2) ? { NotPrincipal: { AWS: names } } : { Principal: this.chance(0.3) ? "*" : { AWS: names } })),
      ...(this.chance(0.2) ? { NotAction: this.some(actionPatterns, 2) } : { Action: this.some(actionPatterns, 3) }),
      ...(this.chance(0.2)
        ? { NotResource: this.some(resourcePatterns, 2) }
        : { Resource: this.some(resourcePatterns, 3) }),
      ...(drawn.length > 0 && { Condition: condition }),
    };
  }

  documents(hasPrincipals: boolean): Document[] {
    return Array.from({ length: this.one([0, 1, 1, 2]) }, () => ({
      Version: this.chance(0.8) ? "2012-10-17" : "2008-10-17",
      // Those about an action that are more than four are found by what they name.
      Statement: Array.from({ length: this.one([1, 1, 2, 2, 3, 3, 12]) }, () => this.rule(hasPrincipals)),
    }));
  }

  request(): PolicyRequest {
    const keys = Object.keys(contextValues).filter(() => this.chance(0.7));
    return {
      requester: this.one(requesters),
      action: this.one(actions),
      resource: this.one(resources),
      ownerAccountId: owner,
      context: new Map(keys.map((key) => [key, this.one(contextValues[key] ?? [])])),
    };
  }
}

const parsed = (documents: readonly Document[], rule: "required" | "forbidden"): Policy[] =>
  documents.map((document) => parsePolicy(JSON.stringify(document), { principals: rule, bytesMax: 64 * 1024 }));

/** Five with the other tests, a hundred in the long run; each decides 10,000 requests. */
const seeds = Array.from({ length: rounds(5, 100) }, (_, index) => 20_261_121 + index);

describe("the evaluator", () => {
  test.each(seeds)(
    "decides as the reference does, whatever is asked of whatever policies (seed %i)",
    (seed) => {
      const draw = new Draw(seed);
      const seen = new Map<string, number>();
      for (let round = 0; round < 5_000; round++) {
        const documents: Documents = {
          identity: draw.documents(false),
          resource: draw.documents(true),
          boundary: draw.chance(0.3) ? draw.documents(false) : undefined,
          session: draw.chance(0.3) ? draw.documents(false) : undefined,
          isGrantedByOwner: draw.chance(0.1),
        };
        const policies = {
          identity: parsed(documents.identity, "forbidden"),
          resource: parsed(documents.resource, "required"),
          boundary: documents.boundary && parsed(documents.boundary, "forbidden"),
          session: documents.session && parsed(documents.session, "forbidden"),
          isGrantedByOwner: documents.isGrantedByOwner,
        };
        // Compiled policies serve more than one request.
        for (const request of [draw.request(), draw.request()]) {
          const decision = evaluate(request, policies, spelling);
          const explained = explain(request, policies, spelling);
          const isSame = explained.because === decision.because && explained.sid === decision.sid;
          if (!isSame || decision.isAllowed !== isAllowedByReference(request, documents)) {
            const context = Object.fromEntries(request.context as ReadonlyMap<string, unknown>);
            throw new Error(`they differ: ${JSON.stringify({ decision, explained, ...request, context, documents })}`);
          }
          seen.set(decision.because, (seen.get(decision.because) ?? 0) + 1);
        }
      }
      // Each answer was met often enough to mean something.
      const all = [
        "both-sides",
        "explicit-deny",
        "identity-policy",
        "no-allow",
        "no-boundary-allow",
        "no-session-allow",
        "owner",
        "owner-grant",
        "resource-policy",
      ];
      expect(
        [...seen]
          .filter(([, count]) => count >= 40)
          .map(([because]) => because)
          .toSorted(),
      ).toEqual(all);
    },
    120_000,
  );
});
