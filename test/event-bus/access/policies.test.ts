import { describe, expect, test } from "vitest";

import { EventBusService } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { guard } from "../../../services/event-bus/access/guard.ts";
import type { Application } from "../../../services/event-bus/application.ts";
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
} from "../../support/guarded-service.ts";
import { ownerAccount, startHarness } from "../harness.ts";

const neighbour = "111111111111";
const prefix = `arn:aws:events:us-east-1:${ownerAccount}`;
const orders = `${prefix}:event-bus/orders`;
const role = `arn:aws:iam::${ownerAccount}:role/deliverer`;
const entry = { source: "shop", detailType: "Sale", detail: "{}", resources: [], eventBusName: orders };
const members = {
  eventBusName: orders,
  name: "late",
  rule: "late",
  entries: [entry],
  resourceArn: orders,
  roleArn: role,
  targets: [{ id: "1", arn: `${prefix}:event-bus/default`, roleArn: role }],
  tags: [{ key: "team", value: "sales" }],
  tagKeys: ["team"],
};

const openGuarded = async (...policy: readonly object[]): Promise<GuardedService<Application>> => {
  const { app, client } = await startHarness({ works: false });
  await client.createEventBus({ name: "orders", tags: [{ key: "team", value: "sales" }] });
  await client.putRule({ name: "late", eventBusName: "orders", eventPattern: '{"source":["shop"]}' });
  if (policy.length > 0)
    await client.putPermission({
      eventBusName: "orders",
      policy: JSON.stringify({ Version: "2012-10-17", Statement: policy }),
    });
  return { guard, app: { ...app, accounts: { ...app.accounts, ...organized } }, members };
};

test("no operation is reached without each of its permissions, and every one with them", async () => {
  const lines = await decisionsByPermission(EventBusService, "events", await openGuarded());
  // A user with nothing, with all that is declared, and without each of them in turn.
  const several = new Map([
    ["CreateEndpoint", "-+--"],
    ["CreateEventBus", "-+--"],
    ["PutEvents", "e+e"],
    ["PutRule", "-+---"],
    ["PutTargets", "-+--"],
    ["StartDeadLetterRedrive", "-+--"],
    ["TestEventPatternOnArchive", "-+---"],
    ["UpdateEndpoint", "-+--"],
  ]);
  expect(lines).toEqual(EventBusService.methods.map(({ name }) => `${name} ${several.get(name) ?? "-+-"}`));
});

const {
  deleteEventBus,
  describeEventBus,
  listEventBuses,
  listTagsForResource,
  putEvents,
  putPermission,
  putRule,
  putTargets,
  removePermission,
} = EventBusService.method;
const columns = [
  [putEvents, {}],
  [describeEventBus, { name: orders }],
  [deleteEventBus, { name: orders }],
  [putRule, { tags: [], roleArn: undefined }],
  [putTargets, {}],
  [listEventBuses, {}],
  [putPermission, {}],
  [removePermission, {}],
  [listTagsForResource, {}],
] as const;

const bob = userCaller(neighbour, "bob", [JSON.stringify({ Statement: [allow("events:*")] })]);
const everybody = { Principal: "*" };
const shared = (actions: string | string[], resource: string, more: object = {}): object => ({
  ...allow(actions, resource),
  Principal: { AWS: neighbour },
  ...more,
});
const when = (key: string, value: string): object => ({ Condition: { StringEquals: { [key]: value } } });
const unknown = "TAGGED_RESOURCE_NOT_FOUND";

describe("on the bus orders", () => {
  // who | the policy of the bus | put an event, describe, delete, put a rule, put a target with a role, list buses, put
  // a permission, remove one, list tags
  test.each<[string, Caller, readonly object[], string]>([
    ["the owner's root", rootCaller(ownerAccount), [], "+++++++++"],
    [
      "the owner's root whom the policy denies",
      rootCaller(ownerAccount),
      [{ ...deny("*"), ...everybody }],
      "e----++++",
    ],
    ["a user without policies", userWith(), [], "e--------"],
    ["a user who puts events", userWith(allow("events:PutEvents", orders)), [], "+--------"],
    [
      "a user who puts events on another bus",
      userWith(allow("events:PutEvents", `${prefix}:event-bus/d*`)),
      [],
      "e--------",
    ],
    [
      "a user who puts events of one source",
      userWith({ ...allow("events:*"), ...when("events:source", "shop") }),
      [],
      "+--+-----",
    ],
    [
      "a user who puts events of another source",
      userWith({ ...allow("events:*"), ...when("event-bus:source", "bank") }),
      [],
      "e--------",
    ],
    ["a user of this service", userWith(allow("events:*")), [], "++++-++++"],
    [
      "a user of this service who may pass the role",
      userWith(allow("events:*"), allow("iam:PassRole", role)),
      [],
      "+++++++++",
    ],
    [
      "a user who may pass roles to another service",
      userWith(allow("events:*"), { ...allow("iam:PassRole"), ...when("iam:PassedToService", "lambda.amazonaws.com") }),
      [],
      "++++-++++",
    ],
    [
      "a user of the documented names",
      userWith(allow("event-bus:*", `arn:svc:event-bus:us-east-1:${ownerAccount}:*`)),
      [],
      "++++--+++",
    ],
    ["a user of rules of the bus", userWith(allow("events:*", `${prefix}:rule/orders/*`)), [], "e--+-----"],
    [
      "a user of resources of a team",
      userWith({ ...allow("*"), ...when("aws:ResourceTag/team", "sales") }),
      [],
      "+++---+++",
    ],
    ["a user who may not delete", userWith(allow("*"), deny("events:Delete*")), [], "++-++++++"],
    [
      "a user whom the policy allows",
      userWith(),
      [{ ...allow("events:PutEvents", orders), Principal: { AWS: userWith().principalArn } }],
      "+--------",
    ],
    [
      "a user whose account the policy names",
      userWith(),
      [{ ...allow("events:PutEvents", orders), Principal: { AWS: ownerAccount } }],
      "e--------",
    ],
    ["a user whom the policy denies", userWith(allow("*")), [{ ...deny("events:Put*"), ...everybody }], "e++--+-++"],
    [
      "a session of a role",
      roleCaller(ownerAccount, "putter", "nightly", [JSON.stringify({ Statement: [allow("events:PutEvents")] })]),
      [],
      "+--------",
    ],
    ["a session narrowed to events", sessionWith([allow("*")], [allow("events:PutEvents")]), [], "+--------"],
    ["a session narrowed to nothing", sessionWith([allow("*")], []), [], "e--------"],
    [
      "a session narrowed to one source",
      sessionWith([allow("*")], [{ ...allow("*"), ...when("events:source", "bank") }]),
      [],
      "e--------",
    ],
    [
      "a session of a role that the policy names, narrowed to describing",
      sessionWith([allow("events:Describe*")], [allow("events:Describe*")]),
      [{ ...allow("events:PutEvents", orders), Principal: { AWS: `arn:aws:iam::${ownerAccount}:role/reader` } }],
      "e+-------",
    ],
    [
      "a session that the policy names itself, narrowed to describing",
      sessionWith([allow("events:Describe*")], [allow("events:Describe*")]),
      [{ ...allow("events:PutEvents", orders), Principal: { AWS: sessionWith([allow("*")]).principalArn } }],
      "++-------",
    ],
    [
      "a user over plain HTTP, which the policy denies",
      { ...userWith(allow("*")), isSecureTransport: false },
      [{ ...deny("*"), ...everybody, Condition: { Bool: { "aws:SecureTransport": "false" } } }],
      "e----+--+",
    ],
    [
      "a user of the organization for which the policy is",
      userWith(),
      [{ ...allow("events:*", orders), ...everybody, ...when("aws:PrincipalOrgID", "o-exampleorg00") }],
      "+++---++-",
    ],
    [
      "the neighbour's root, not of the organization for which the policy is",
      rootCaller(neighbour),
      [{ ...allow("events:*", orders), ...everybody, ...when("aws:PrincipalOrgID", "o-exampleorg00") }],
      `e----+--${unknown}`,
    ],
    [
      "the neighbour's root at an address for which the policy is",
      { ...rootCaller(neighbour), sourceIp: "192.0.2.7" },
      [shared("events:PutEvents", orders, { Condition: { IpAddress: { "aws:SourceIp": "192.0.2.0/24" } } })],
      `+----+--${unknown}`,
    ],
    [
      "the neighbour's root at another address",
      { ...rootCaller(neighbour), sourceIp: "198.51.100.7" },
      [shared("events:PutEvents", orders, { Condition: { IpAddress: { "aws:SourceIp": "192.0.2.0/24" } } })],
      `e----+--${unknown}`,
    ],
    [
      "the neighbour's root with a grant of one kind of event",
      rootCaller(neighbour),
      [shared("events:PutEvents", orders, when("events:detail-type", "Sale"))],
      `+----+--${unknown}`,
    ],
    [
      "the neighbour's root with a grant of another kind of event",
      rootCaller(neighbour),
      [shared("events:PutEvents", orders, when("events:detail-type", "Refund"))],
      `e----+--${unknown}`,
    ],
    [
      "the neighbour's root with a grant of rules that the owner created",
      rootCaller(neighbour),
      [shared("events:*", `${prefix}:rule/*`, when("events:creatorAccount", ownerAccount))],
      `e--+-+--${unknown}`,
    ],
    [
      "the neighbour's root with a grant that has ended",
      rootCaller(neighbour),
      [shared("events:*", orders, { Condition: { DateLessThan: { "aws:CurrentTime": "2026-01-02T03:04:05Z" } } })],
      `e----+--${unknown}`,
    ],
    [
      "the neighbour's user with a grant for another user",
      bob,
      [{ ...allow("events:*", orders), Principal: { AWS: `arn:aws:iam::${neighbour}:user/carol` } }],
      `e----+--${unknown}`,
    ],
    [
      "the neighbour's session, narrowed to events",
      {
        ...roleCaller(neighbour, "putter", "monday", bob.policies),
        sessionPolicies: [JSON.stringify({ Statement: [allow("events:PutEvents")] })],
      },
      [shared("events:*", `${prefix}:*`)],
      `+-------${unknown}`,
    ],
    ["the neighbour's root", rootCaller(neighbour), [], `e----+--${unknown}`],
    [
      "the neighbour's root with a grant",
      rootCaller(neighbour),
      [shared("events:PutEvents", orders)],
      `+----+--${unknown}`,
    ],
    [
      "the neighbour's root with a grant for another source",
      rootCaller(neighbour),
      [shared("events:PutEvents", orders, when("events:source", "bank"))],
      `e----+--${unknown}`,
    ],
    [
      "the neighbour's root with a grant of everything",
      rootCaller(neighbour),
      [shared("events:*", `${prefix}:*`)],
      `++-+-+--${unknown}`,
    ],
    [
      "the neighbour's root with a grant of rules of one source",
      rootCaller(neighbour),
      [
        shared("events:PutRule", `${prefix}:rule/*`, {
          Condition: { "ForAllValues:StringEquals": { "events:source": "shop" }, Null: { "events:source": "false" } },
        }),
      ],
      `e--+-+--${unknown}`,
    ],
    [
      "the neighbour's root with a grant of rules of its own",
      rootCaller(neighbour),
      [shared("events:*", `${prefix}:rule/*`, when("events:creatorAccount", "${aws:PrincipalAccount}"))],
      `e----+--${unknown}`,
    ],
    [
      "the neighbour's root with a grant and a denial",
      rootCaller(neighbour),
      [shared("events:*", orders), { ...deny("events:PutEvents"), ...everybody }],
      `e+---+--${unknown}`,
    ],
    ["the neighbour's user with both sides", bob, [shared("events:PutEvents", orders)], `+----+--${unknown}`],
    ["the neighbour's user without a grant", bob, [], `e----+--${unknown}`],
    [
      "the neighbour's user without an own side",
      userCaller(neighbour, "carol", []),
      [shared("events:*", `${prefix}:*`)],
      `e-------${unknown}`,
    ],
    [
      "the root of a third account",
      rootCaller("222222222222"),
      [shared("events:*", `${prefix}:*`)],
      `e----+--${unknown}`,
    ],
    ["an anonymous caller whom the policy allows", anonymousCaller, [{ ...allow("*"), ...everybody }], "---------"],
    ["what another service has decided on", { ...userWith(), isPreauthorized: true }, [], "+++++++++"],
  ])("%s reaches what the policies allow, and nothing else", async (_who, caller, policy, expected) => {
    const guarded = await openGuarded(...policy);
    const decisions = [];
    for (const [method, changes] of columns)
      decisions.push(await decisionOf(guarded, method, caller, { eventPattern: '{"source":["shop"]}', ...changes }));
    expect(decisions.join("")).toBe(expected);
  });
});

test("the entries of a call are decided on one by one", async () => {
  const guarded = await openGuarded(shared("events:PutEvents", orders, when("events:detail-type", "Sale")));
  const entries = [
    { ...entry, detailType: "Refund" },
    entry,
    { ...entry, eventBusName: `${orders}2` },
    { ...entry, eventBusName: undefined },
  ];
  const method = putEvents;
  const request = Object.assign({ $typeName: method.input.typeName }, { entries });
  const context = {
    app: guarded.app,
    method,
    caller: rootCaller(neighbour),
    log: guarded.app.log,
    requestHeader: new Headers(),
  };
  const { refusedEntries } = await guard(request, context as unknown as Parameters<typeof guard>[1]);
  expect([...refusedEntries]).toEqual([0, 2]);
});

test("a grant of rules of one's own covers new rules, and none that the owner created", async () => {
  const own = when("events:creatorAccount", "${aws:PrincipalAccount}");
  const guarded = await openGuarded(shared("events:*Rule", `${prefix}:rule/*`, own));
  const decide = (name: string) =>
    decisionOf(guarded, putRule, rootCaller(neighbour), { name, tags: [], roleArn: undefined });
  expect([await decide("late"), await decide("early")]).toEqual(["-", "+"]);
});

test("a role of another account cannot be passed", async () => {
  const guarded = await openGuarded();
  const foreign = { roleArn: `arn:aws:iam::${neighbour}:role/deliverer` };
  expect(await decisionOf(guarded, putRule, rootCaller(ownerAccount), foreign)).toBe("-");
});

describe("a role that is given", () => {
  const guardedWith = async (roles: object): Promise<GuardedService<Application>> => {
    const guarded = await openGuarded();
    return { ...guarded, app: { ...guarded.app, accounts: { ...organized, ...roles } } };
  };
  const tagged = { findRole: (arn: string) => (arn === role ? ({ tags: { Team: "sales" } } as never) : undefined) };

  // the policy's condition on the role, decision
  test.each([
    [when("iam:ResourceTag/Team", "sales"), "+"],
    [when("aws:resourcetag/team", "sales"), "+"],
    [when("iam:ResourceTag/Team", "support"), "-"],
    [{ Condition: { Null: { "iam:ResourceTag/Owner": "true" } } }, "+"],
  ])("is decided on by its tags: %j", async (condition, expected) => {
    const passer = userWith(allow("events:*"), { ...allow("iam:PassRole"), ...condition });
    expect(await decisionOf(await guardedWith(tagged), putTargets, passer)).toBe(expected);
  });

  test("has no tags where it does not exist, and is not decided on while that is unknown", async () => {
    const denied = { ...deny("iam:PassRole"), ...when("iam:ResourceTag/Team", "support") };
    const passer = userWith(allow("*"), denied);
    const roles = (isKnown: boolean) => ({ findRole: () => undefined, knowsAllRoles: () => isKnown });
    expect(await decisionOf(await guardedWith(roles(true)), putTargets, passer)).toBe("+");
    await expect(decisionOf(await guardedWith(roles(false)), putTargets, passer)).rejects.toThrow(
      "The role cannot be found now.",
    );
    expect(await decisionOf(await guardedWith(roles(false)), putTargets, userWith(allow("*")))).toBe("+");
  });
});

describe("a target at an API destination", () => {
  const destination = `${prefix}:api-destination/shop/11111111-2222-3333-4444-555555555555`;
  const invoking = allow("events:InvokeApiDestination", `${prefix}:api-destination/shop/*`);

  // who | its policies | without a role, with one
  test.each<[string, Caller, string]>([
    ["a user who may put targets", userWith(allow("events:PutTargets")), "--"],
    ["a user who may invoke it, too", userWith(allow("events:PutTargets"), invoking), "+-"],
    ["a user who may pass the role", userWith(allow(["events:PutTargets", "iam:PassRole"])), "-+"],
    ["a user who may invoke another one", userWith(allow("events:PutTargets"), allow("events:Invoke*", orders)), "--"],
    ["a user of this service", userWith(allow("events:*")), "+-"],
    ["the owner's root", rootCaller(ownerAccount), "++"],
  ])("needs a role or the right to invoke it: %s", async (_who, caller, expected) => {
    const guarded = await openGuarded();
    const decide = (roleArn: string | undefined) =>
      decisionOf(guarded, putTargets, caller, { targets: [{ id: "1", arn: destination, roleArn }] });
    expect((await decide(undefined)) + (await decide(role))).toBe(expected);
  });

  test("is like one at a broker, whose action is its own", async () => {
    const guarded = await openGuarded();
    const targets = [{ id: "1", arn: `${prefix}:broker/main/queue/sales` }];
    const publishing = allow("events:PublishToBroker", `${prefix}:broker/main/*`);
    const decide = (...others: readonly ReturnType<typeof allow>[]) =>
      decisionOf(guarded, putTargets, userWith(allow("events:PutTargets"), ...others), { targets });
    expect((await decide(invoking)) + (await decide(publishing))).toBe("-+");
  });

  test("of another account needs a role", async () => {
    const arn = destination.replace(ownerAccount, neighbour);
    const targets = [{ id: "1", arn }];
    expect(await decisionOf(await openGuarded(), putTargets, rootCaller(ownerAccount), { targets })).toBe("-");
  });
});
