import { describe, expect, test } from "vitest";

import type { Accounts } from "../../../services/kit/accounts/accounts.ts";
import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import type { AssumeRoleOutcome, ServicePrincipal } from "../../../services/kit/accounts/assume-role.ts";
import { assumeRole } from "../../../services/kit/accounts/assume-role.ts";
import { principalConditions } from "../../../services/kit/accounts/principal-conditions.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, roleCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { parsePolicy } from "../../../services/kit/policy/document.ts";
import { allowing } from "./installations.ts";

const shop = "111122223333";
const bank = "444455556666";
const teller = `arn:aws:iam::${bank}:role/teller`;
const tellersPolicy = JSON.stringify(allowing("s3:GetObject"));

const statement = (principal: unknown, parts: object = {}): object => ({
  Effect: "Allow",
  Principal: principal,
  Action: "sts:AssumeRole",
  ...parts,
});
const accountsTrusting = (...statements: object[]): Accounts =>
  accountsOf({
    accounts: [],
    users: [],
    roles: [
      {
        accountId: bank,
        name: "teller",
        arn: teller,
        trustPolicy: parsePolicy(JSON.stringify({ Version: "2012-10-17", Statement: statements }), {
          principals: "required",
          bytesMax: 8_192,
        }),
        policies: [tellersPolicy],
      },
    ],
    organizations: new Map([["o-exampleorg00", [shop]]]),
    accessKeys: [],
  });

const text = (policy: object): string => JSON.stringify(policy);
const mayAssume = text(allowing("sts:AssumeRole", teller));
const mayNotAssume = text({ Statement: { Effect: "Deny", Action: "sts:*", Resource: "*" } });
const alice = (...policies: string[]): Caller => userCaller(shop, "alice", policies);
const bob = (...policies: string[]): Caller => userCaller(bank, "bob", policies);
const clerk = (...policies: string[]): Caller => roleCaller(bank, "clerk", "monday", policies);
const bus: ServicePrincipal = { serviceNames: ["event-bus.quartet", "events.amazonaws.com"] };

const readsOnly = text(allowing("s3:GetObject"));
const bounded = (caller: Caller, permissionsBoundary: string): Caller => ({ ...caller, permissionsBoundary });

const aws = (value: string | readonly string[]) => ({ AWS: value });
const aliceArn = `arn:aws:iam::${shop}:user/alice`;
const bobArn = `arn:aws:iam::${bank}:user/bob`;
const byBus = statement({ Service: "events.amazonaws.com" });
const inOrganization = { Condition: { StringEquals: { "aws:PrincipalOrgID": "o-exampleorg00" } } };
const fromShop = { Condition: { StringEquals: { "aws:SourceAccount": shop } } };
const ofSessions = { Condition: { StringLike: { "sts:RoleSessionName": "nightly-*" } } };
const everybodyButAlice = { Effect: "Allow", NotPrincipal: aws(aliceArn), Action: "sts:AssumeRole" };

const outcomeOf = (outcome: AssumeRoleOutcome): string => ("refusal" in outcome ? outcome.refusal : "assumed");

// why, who, the statements of the trust, the outcome
const rows: ReadonlyArray<readonly [string, Caller | ServicePrincipal, readonly object[], string]> = [
  ["no statement speaks about anybody else", rootCaller(shop), [byBus], "not-trusted"],
  ["the root of another account, whose account is trusted", rootCaller(shop), [statement(aws(shop))], "assumed"],
  [
    "the root of the role's own account is not trusted by nature",
    rootCaller(bank),
    [statement(aws(shop))],
    "not-trusted",
  ],
  ["the root of the role's own account, whose account is trusted", rootCaller(bank), [statement(aws(bank))], "assumed"],
  ["a user of a trusted account needs a policy", alice(), [statement(aws(shop))], "not-allowed"],
  ["a user of a trusted account has one", alice(mayAssume), [statement(aws(shop))], "assumed"],
  [
    "a user of another account who is trusted by name needs one too",
    alice(),
    [statement(aws(aliceArn))],
    "not-allowed",
  ],
  ["and has it", alice(mayAssume), [statement(aws(aliceArn))], "assumed"],
  ["a policy alone is not trust", alice(mayAssume), [statement(aws(bobArn))], "not-trusted"],
  [
    "a policy for another role does not count",
    alice(text(allowing("sts:AssumeRole", `${teller}s`))),
    [statement(aws(shop))],
    "not-allowed",
  ],
  ["a user of the same account who is trusted by name needs no policy", bob(), [statement(aws(bobArn))], "assumed"],
  ["a user of the same account who is trusted as a part of it needs one", bob(), [statement(aws(bank))], "not-allowed"],
  ["and has it, as one of several policies", bob(text(allowing("s3:*")), mayAssume), [statement(aws(bank))], "assumed"],
  ["trust in everybody names nobody", bob(), [statement("*")], "not-allowed"],
  ["trust in all but one names nobody", bob(), [everybodyButAlice], "not-allowed"],
  ["trust in all but one with a policy", bob(mayAssume), [everybodyButAlice], "assumed"],
  ["a session is trusted by its role's name", clerk(), [statement(aws(`arn:aws:iam::${bank}:role/clerk`))], "assumed"],
  ["a session is not trusted by another role's name", clerk(), [statement(aws(teller))], "not-trusted"],
  ["an identity policy denies", bob(mayAssume, mayNotAssume), [statement(aws(bobArn))], "denied"],
  ["the trust denies", bob(), [statement(aws(bobArn)), statement(aws(bobArn), { Effect: "Deny" })], "denied"],
  [
    "the trust denies also a root",
    rootCaller(shop),
    [statement("*"), statement(aws(shop), { Effect: "Deny" })],
    "denied",
  ],
  ["an anonymous caller takes nothing on", anonymousCaller, [statement("*")], "not-trusted"],
  ["a boundary allows it as well", bounded(bob(mayAssume), mayAssume), [statement(aws(bank))], "assumed"],
  ["a boundary does not", bounded(bob(mayAssume), readsOnly), [statement(aws(bank))], "not-allowed"],
  ["a boundary alone allows it", bounded(bob(), mayAssume), [statement(aws(bank))], "not-allowed"],
  ["a boundary denies", bounded(bob(mayAssume), mayNotAssume), [statement(aws(bobArn))], "denied"],
  ["a user is trusted by name beyond its boundary", bounded(bob(), readsOnly), [statement(aws(bobArn))], "assumed"],
  [
    "a session is trusted by name beyond its boundary",
    bounded(clerk(), readsOnly),
    [statement(aws(`arn:svc:sts::${bank}:assumed-role/clerk/monday`))],
    "assumed",
  ],
  [
    "a session is trusted by its role's name within its boundary only",
    bounded(clerk(), readsOnly),
    [statement(aws(`arn:aws:iam::${bank}:role/clerk`))],
    "not-allowed",
  ],
  [
    "a user of another account is trusted by name within its boundary only",
    bounded(alice(mayAssume), readsOnly),
    [statement(aws(aliceArn))],
    "not-allowed",
  ],
  ["trust for another action", bob(), [statement(aws(bobArn), { Action: "sts:TagSession" })], "not-trusted"],
  ["both partitions are one", bob(), [statement(aws(bobArn.replace("arn:aws:", "arn:svc:")))], "assumed"],
  ["an organization that holds the account", rootCaller(shop), [statement("*", inOrganization)], "assumed"],
  ["an organization that does not", rootCaller(bank), [statement("*", inOrganization)], "not-trusted"],
  ["a service by one of its names", bus, [byBus], "assumed"],
  ["a service by no name of its", { serviceNames: ["s3.amazonaws.com"] }, [byBus], "not-trusted"],
  ["a service without names", { serviceNames: [] }, [byBus], "not-trusted"],
  [
    "a service that works for the right account",
    bus,
    [statement({ Service: "events.amazonaws.com" }, fromShop)],
    "assumed",
  ],
  [
    "a service whose other name is denied",
    bus,
    [byBus, statement({ Service: "event-bus.quartet" }, { Effect: "Deny" })],
    "denied",
  ],
  ["a session of a wanted name", bob(), [statement(aws(bobArn), ofSessions)], "assumed"],
];

describe("a role is taken on", () => {
  test.each(rows)("%s", (_why, principal, trust, expected) => {
    const outcome = assumeRole(accountsTrusting(...trust), principal, {
      roleArn: teller,
      sessionName: "nightly-7",
      context: new Map([["aws:sourceaccount", [shop]]]),
    });
    expect(outcomeOf(outcome)).toBe(expected);
  });

  test("and acts with its policies in its account, in either partition's spelling of its ARN", () => {
    const accounts = accountsTrusting(byBus);
    const roleArn = teller.replace("arn:aws:", "arn:svc:");
    expect(assumeRole(accounts, bus, { roleArn, sessionName: "nightly-7" })).toMatchObject({
      role: { arn: teller },
      caller: {
        accountId: bank,
        principalArn: `arn:aws:sts::${bank}:assumed-role/teller/nightly-7`,
        isRoot: false,
        isAnonymous: false,
        policies: [tellersPolicy],
        issuer: "",
        canonicalUserId: "d3153d0256fa0b37bb017b5f6bd2cd7dda747afa0c348fbbb61896d98387ee6d",
      },
    });
  });

  test("only where it is declared", () => {
    const unknown = { roleArn: `arn:aws:iam::${shop}:role/teller`, sessionName: "nightly-7" };
    expect(assumeRole(accountsTrusting(byBus), bus, unknown)).toEqual({ refusal: "unknown-role" });
  });

  test("under a name that is valid in an ARN", () => {
    const request = { roleArn: teller, sessionName: "nightly/7" };
    expect(() => assumeRole(accountsTrusting(byBus), bus, request)).toThrow("the session name is not valid");
  });
});

describe("conditions about a caller", () => {
  const accounts = accountsTrusting(byBus);
  const ofNoService = { "aws:principalisawsservice": ["false"], "aws:viaawsservice": ["false"] };

  // who, the keys
  test.each<[string, Caller, Record<string, string[]>]>([
    [
      "nobody",
      { ...anonymousCaller, sourceIp: "127.0.0.1" },
      { "aws:principaltype": ["Anonymous"], "aws:sourceip": ["127.0.0.1"], ...ofNoService },
    ],
    [
      "a root",
      rootCaller(bank),
      {
        ...ofNoService,
        "aws:principaltype": ["Account"],
        "aws:principalarn": [`arn:aws:iam::${bank}:root`],
        "aws:principalaccount": [bank],
      },
    ],
    [
      "a user with a path in an organization",
      userCaller(shop, "team/alice", []),
      {
        ...ofNoService,
        "aws:principaltype": ["User"],
        "aws:principalarn": [`arn:aws:iam::${shop}:user/team/alice`],
        "aws:principalaccount": [shop],
        "aws:principalorgid": ["o-exampleorg00"],
        "aws:username": ["alice"],
      },
    ],
    [
      "a session, by its role",
      clerk(),
      {
        ...ofNoService,
        "aws:principaltype": ["AssumedRole"],
        "aws:principalarn": [`arn:aws:iam::${bank}:role/clerk`],
        "aws:principalaccount": [bank],
      },
    ],
    [
      "a session with tags, and its request",
      {
        ...clerk(),
        principalTags: { Team: "sea" },
        tokenIssueTimeMs: 1_767_323_045_000,
        sourceIdentity: "alice@example.com",
        isSecureTransport: false,
        userAgent: "curl/8",
        referer: "https://example.com/",
      },
      {
        ...ofNoService,
        "aws:principaltype": ["AssumedRole"],
        "aws:securetransport": ["false"],
        "aws:useragent": ["curl/8"],
        "aws:referer": ["https://example.com/"],
        "aws:principalarn": [`arn:aws:iam::${bank}:role/clerk`],
        "aws:principalaccount": [bank],
        "aws:principaltag/team": ["sea"],
        "aws:sourceidentity": ["alice@example.com"],
        "aws:tokenissuetime": ["2026-01-02T03:04:05.000Z"],
        "aws:multifactorauthpresent": ["false"],
      },
    ],
  ])("may ask of %s", (_who, caller, expected) => {
    expect(Object.fromEntries(principalConditions(accounts, caller))).toEqual(expected);
  });

  test("are spelled with the service's prefix", () => {
    expect([...principalConditions(accounts, rootCaller(bank), "svc").keys()]).toEqual([
      "svc:principaltype",
      "svc:principalisawsservice",
      "svc:viaawsservice",
      "svc:principalarn",
      "svc:principalaccount",
    ]);
  });
});

test("a session is decided with the work of one decision, however many actions it needs", () => {
  const path = "p".repeat(500);
  const roleArn = `arn:aws:iam::${bank}:role/${path}/${"a".repeat(64)}`;
  const actions = ["sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity"] as const;
  const accounts = accountsOf({
    accounts: [],
    users: [],
    roles: [
      {
        accountId: bank,
        name: "a".repeat(64),
        arn: roleArn,
        trustPolicy: parsePolicy(JSON.stringify({ Statement: [statement(aws(bobArn), { Action: actions })] }), {
          principals: "required",
          bytesMax: 8_192,
        }),
        policies: [],
      },
    ],
    organizations: new Map(),
    accessKeys: [],
  });
  const denying = Array.from({ length: 60 }, (_none, policy) => {
    const Resource = Array.from({ length: 110 }, (_all, part) => `arn:aws:iam::*:role/*p?p*p${policy}x${part}*`);
    return text({ Statement: { Effect: "Deny", Action: "sts:*", Resource } });
  });
  const request = { roleArn, sessionName: "session" };
  const [, ...furtherActions] = actions;
  expect(outcomeOf(assumeRole(accounts, bob(...denying), request))).toBe("assumed");
  expect(outcomeOf(assumeRole(accounts, bob(...denying), { ...request, furtherActions }))).toBe("denied");
  expect(outcomeOf(assumeRole(accounts, bob(), { ...request, furtherActions }))).toBe("assumed");
});
