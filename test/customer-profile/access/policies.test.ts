import { expect, test } from "vitest";

import { CustomerProfileService } from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { guard } from "../../../services/customer-profile/access/guard.ts";
import type { Application } from "../../../services/customer-profile/application.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, roleCaller, rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
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
import { ownerAccount, startHarness } from "../harness.ts";

const shop = `arn:aws:profile:us-east-1:${ownerAccount}:domains/shop`;
const importer = `arn:aws:iam::${ownerAccount}:role/importer`;
const members = {
  domainName: "shop",
  objectTypeName: "order",
  uri: "arn:aws:s3:::orders",
  roleArn: importer,
  resourceArn: shop,
  tags: { team: "sales" },
  tagKeys: ["team"],
};

const openGuarded = async (): Promise<GuardedService<Application>> => {
  const { app, client } = await startHarness({ works: false });
  const settings = { defaultExpirationDays: 10, defaultEncryptionKey: "key" };
  await client.createDomain({ domainName: "shop", ...settings, tags: { team: "sales" } });
  await client.createDomain({ domainName: "bank", ...settings, tags: { team: "finance" } });
  return { guard, app: { ...app, accounts: { ...app.accounts, ...organized } }, members };
};

test("no operation is reached without each of its permissions, and every one with them", async () => {
  const lines = await decisionsByPermission(CustomerProfileService, "profile", await openGuarded());
  // A user with nothing, with all that is declared, and without each of them in turn.
  const several = new Map([
    ["CreateDomain", "-+--"],
    ["UpdateDomain", "-+--"],
    ["PutProfileObjectType", "-+--"],
    ["PutIntegration", "-+---"],
  ]);
  expect(lines).toEqual(CustomerProfileService.methods.map(({ name }) => `${name} ${several.get(name) ?? "-+-"}`));
});

const { createDomain, deleteDomain, getDomain, listDomains, putIntegration, putProfileObject, tagResource } =
  CustomerProfileService.method;
const columns = [
  [getDomain, {}],
  [getDomain, { domainName: "bank" }],
  [deleteDomain, {}],
  [listDomains, {}],
  [createDomain, { domainName: "new" }],
  [putProfileObject, {}],
  [putIntegration, { tags: {} }],
  [tagResource, {}],
] as const;

const teamOf = (kind: string, team: string): object => ({
  Condition: { StringEquals: { [`aws:${kind}/team`]: team } },
});
const plainDenied = { ...deny("*"), ...when("Bool", "aws:SecureTransport", "false") };
const ofTag = shop.replace("shop", "${aws:PrincipalTag/domain}");
const session = roleCaller(ownerAccount, "reader", "nightly", [
  JSON.stringify({ Statement: [allow("profile:Get*", `${shop}*`)] }),
]);

// who | get shop, get bank, delete shop, list, create with tags, put an object, put an integration with a role,
// tag shop
test.each<[string, Caller, string]>([
  ["the root", rootCaller(ownerAccount), "++++++++"],
  ["a user without policies", userWith(), "--------"],
  ["a user who may do everything", userWith(allow("*")), "++++++++"],
  ["a user of this service", userWith(allow("profile:*")), "++++++-+"],
  [
    "a user of this service who may pass the role",
    userWith(allow("profile:*"), allow("iam:PassRole", importer)),
    "++++++++",
  ],
  ["a user who may pass another role", userWith(allow("profile:*"), allow("iam:PassRole", `${importer}2`)), "++++++-+"],
  [
    "a user of the documented names",
    userWith(allow("customer-profile:*", shop.replace("arn:aws:profile", "arn:svc:customer-profile"))),
    "+-+----+",
  ],
  ["a user of another service", userWith(allow("events:*")), "--------"],
  ["a user of one domain and what it holds", userWith(allow("profile:*", [shop, `${shop}/*`])), "+-+--+-+"],
  ["a user of object types", userWith(allow("profile:*", `${shop}/object-types/*`)), "-----+--"],
  ["a user who lists", userWith(allow("profile:List*")), "---+----"],
  ["a user with a denied action", userWith(allow("*"), deny("profile:DeleteDomain")), "++-+++++"],
  ["a user with a denied domain", userWith(allow("*"), deny("*", `${shop}*`)), "-+-++---"],
  ["a user of resources of a team", userWith({ ...allow("profile:*"), ...teamOf("ResourceTag", "sales") }), "+-+----+"],
  ["a user who sets one tag", userWith({ ...allow("profile:*"), ...teamOf("RequestTag", "sales") }), "----+--+"],
  ["a user who sets another tag", userWith({ ...allow("profile:*"), ...teamOf("RequestTag", "finance") }), "--------"],
  [
    "a user from an address that is not known",
    userWith({ ...allow("*"), Condition: { IpAddress: { "aws:SourceIp": "192.0.2.0/24" } } }),
    "--------",
  ],
  [
    "a user from an allowed address",
    {
      ...userWith({ ...allow("*"), Condition: { IpAddress: { "aws:SourceIp": "192.0.2.0/24" } } }),
      sourceIp: "192.0.2.7",
    },
    "++++++++",
  ],
  [
    "a user with a policy that cannot be read",
    userCaller(ownerAccount, "alice", [
      '{"Statement":',
      '{"Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}',
    ]),
    "--------",
  ],
  ["a session of a role", session, "+-------"],
  ["a session narrowed to reading", sessionWith([allow("*")], [allow(["profile:Get*", "profile:List*"])]), "++-+----"],
  ["a session narrowed to one domain", sessionWith([allow("*")], [allow("*", [shop, `${shop}/*`])]), "+-+--+-+"],
  [
    "a session narrowed to what its role may not",
    sessionWith([allow("profile:Get*")], [allow("profile:Delete*")]),
    "--------",
  ],
  [
    "a session whose session policy denies",
    sessionWith([allow("*")], [allow("*"), deny("profile:Delete*")]),
    "++-+++++",
  ],
  ["a session narrowed to nothing", sessionWith([allow("*")], []), "--------"],
  [
    "a session that may pass the role, narrowed to this service",
    sessionWith([allow("*")], [allow("profile:*")]),
    "++++++-+",
  ],
  [
    "a user by day",
    userWith({ ...allow("*"), ...when("DateLessThan", "aws:CurrentTime", "2026-01-02T03:04:06Z") }),
    "++++++++",
  ],
  [
    "a user too late",
    userWith({ ...allow("*"), ...when("DateLessThan", "aws:CurrentTime", "2026-01-02T03:04:05Z") }),
    "--------",
  ],
  [
    "a user of the organization",
    userWith({ ...allow("*"), ...when("StringEquals", "aws:PrincipalOrgID", "o-exampleorg00") }),
    "++++++++",
  ],
  [
    "a user of another organization",
    userWith({ ...allow("*"), ...when("StringEquals", "aws:PrincipalOrgID", "o-exampleorg01") }),
    "--------",
  ],
  [
    "a user whom plain HTTP denies, by TLS",
    { ...userWith(allow("*"), plainDenied), isSecureTransport: true },
    "++++++++",
  ],
  [
    "a user whom plain HTTP denies, without",
    { ...userWith(allow("*"), plainDenied), isSecureTransport: false },
    "--------",
  ],
  [
    "a user of the domain in its tag",
    { ...userWith(allow("profile:*", ofTag), allow("profile:*", `${ofTag}/*`)), principalTags: { domain: "shop" } },
    "+-+--+-+",
  ],
  ["a user of the domain in a tag it has not", userWith(allow("profile:*", ofTag)), "--------"],
  [
    "a user who deletes what is of another team",
    userWith(allow("*"), { ...deny("*"), ...when("StringNotEquals", "aws:ResourceTag/team", "sales") }),
    "+-+----+",
  ],
  [
    "a user who sets no tags but one",
    userWith(allow("*"), { ...deny("*"), ...when("ForAnyValue:StringNotEquals", "aws:TagKeys", "team") }),
    "++++++++",
  ],
  [
    "a user who may not name teams",
    userWith(allow("*"), { ...deny("*"), ...when("ForAnyValue:StringEquals", "aws:TagKeys", "team") }),
    "++++-++-",
  ],
  [
    "a user who must be signed in since the new year",
    {
      ...userWith({ ...allow("*"), ...when("DateGreaterThan", "aws:TokenIssueTime", "2026-01-01T00:00:00Z") }),
      tokenIssueTimeMs: Date.UTC(2026, 0, 2),
    },
    "++++++++",
  ],
  [
    "a user with a key that lasts, who must be",
    userWith({ ...allow("*"), ...when("DateGreaterThan", "aws:TokenIssueTime", "2026-01-01T00:00:00Z") }),
    "--------",
  ],
  [
    "a user who signs URLs, who must sign headers",
    {
      ...userWith({ ...allow("*"), ...when("StringEquals", "profile:authType", "REST-HEADER") }),
      authType: "REST-QUERY-STRING",
    },
    "--------",
  ],
  [
    "a user of every action but one",
    userWith({ Effect: "Allow", NotAction: "profile:GetDomain", Resource: "*" }),
    "--++++++",
  ],
  [
    "a user of every domain but one",
    userWith({ Effect: "Allow", Action: "*", NotResource: [shop, `${shop}/*`] }),
    "-+-++---",
  ],
  ["a user of a domain of another region", userWith(allow("*", shop.replace("us-east-1", "eu-west-1"))), "--------"],
  [
    "a user of a domain of another account",
    userWith(allow("*", shop.replace(ownerAccount, "111111111111"))),
    "--------",
  ],
  ["an anonymous caller", anonymousCaller, "--------"],
])("%s reaches what the policies allow, and nothing else", async (_who, caller, expected) => {
  const guarded = await openGuarded();
  const decisions = [];
  for (const [method, changes] of columns) decisions.push(await decisionOf(guarded, method, caller, changes));
  expect(decisions.join("")).toBe(expected);
});

test("the root of another account reaches its own domains, and no ARN of this account", async () => {
  const guarded = await openGuarded();
  const stranger = rootCaller("111111111111");
  const decisions = [];
  for (const [method, changes] of columns.slice(0, 6))
    decisions.push(await decisionOf(guarded, method, stranger, changes));
  expect([decisions.join(""), await decisionOf(guarded, tagResource, stranger)]).toEqual(["++++++", "-"]);
  expect(await decisionOf(guarded, putIntegration, stranger)).toBe("-");
});
