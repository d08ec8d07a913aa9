import { expect, test } from "vitest";

import {
  accountCounts,
  apiDestinations,
  buses,
  busRevisions,
  connections,
  deadLetterEpochs,
  destinationsByConnection,
  ruleChanges,
  rules,
  targets,
} from "../../services/event-bus/store/layout.ts";
import type { KeyTuple, Table } from "../../services/kit/store/table.ts";
import { capturingLogger } from "../support/capturing-logger.ts";
import { damageStoredRecord } from "../support/damaged-record.ts";
import type { Shop } from "./delivery/shop.ts";
import { openShop } from "./delivery/shop.ts";
import type { Harness, HarnessOptions } from "./harness.ts";
import { ownerAccount, refusalOf, startHarness } from "./harness.ts";

const owner = ownerAccount;
const bus = [owner, "default"] as const;

type Damage = readonly [table: unknown, key: KeyTuple];

/** Stops a service, damages records of it and starts it again. */
const restartDamaged = async (
  first: Harness,
  damages: readonly Damage[],
  options: HarnessOptions = {},
): Promise<Harness> => {
  await first.stop();
  for (const [table, key] of damages) await damageStoredRecord(first.directory, table as Table, key);
  return startHarness({ ...options, directory: first.directory, clock: first.clock });
};

/** A shop whose rule `sales` delivers to one target, and the rule `wholesale` to two. */
const startShop = async (): Promise<{ readonly first: Harness; readonly shop: Shop }> => {
  const first = await startHarness();
  const shop = await openShop(first.client);
  const arn = shop.destinationArn;
  await first.client.putRule({ name: "wholesale", eventPattern: '{"detail":{"n":[7]}}' });
  await first.client.putTargets({
    rule: "wholesale",
    targets: [
      { id: "one", arn },
      { id: "two", arn },
    ],
  });
  return { first, shop };
};

/** The deliveries of an event that both rules of the shop match. */
const deliveriesOf = async (harness: Harness, shop: Shop): Promise<number> => {
  const before = shop.till.received.length;
  const entry = { source: "shop", detailType: "Sale", detail: '{"n":7}' };
  expect((await harness.client.putEvents({ entries: [entry] })).failedEntryCount).toBe(0);
  await harness.app.jobs.idle();
  return shop.till.received.length - before;
};

test("a damaged rule matches nothing, which is logged, and the others of its bus go on", async () => {
  const { first, shop } = await startShop();
  const { log, lines } = capturingLogger("error");
  const harness = await restartDamaged(first, [[rules, [...bus, "sales"]]], { log });
  expect(await deliveriesOf(harness, shop)).toBe(2);
  expect(await deliveriesOf(harness, shop)).toBe(2);
  expect(lines.filter(({ msg }) => msg === "a damaged rule matches no event")).toMatchObject([
    { account: owner, bus: "default", rule: "sales" },
  ]);
});

test("a damaged rule is listed by its name, and is not described", async () => {
  const { first } = await startShop();
  const { client } = await restartDamaged(first, [[rules, [...bus, "sales"]]]);
  const listed = await client.listRules({});
  expect(listed.rules.map(({ name, arn, description }) => [name, arn, description])).toEqual([
    [
      "sales",
      `arn:aws:events:us-east-1:${owner}:rule/sales`,
      "The stored record of this rule is damaged. Put the rule again, or delete it.",
    ],
    ["wholesale", `arn:aws:events:us-east-1:${owner}:rule/wholesale`, undefined],
  ]);
  expect(await refusalOf(client.describeRule({ name: "sales" }))).toBe("DATA_LOSS");
});

test("a damaged rule that is put again has its targets, and counts as one rule", async () => {
  const { first, shop } = await startShop();
  const harness = await restartDamaged(first, [[rules, [...bus, "wholesale"]]], { limits: { rulesPerBusMax: 2 } });
  const { client } = harness;
  await client.putRule({ name: "wholesale", eventPattern: '{"detail":{"n":[7]}}' });
  expect(await deliveriesOf(harness, shop)).toBe(3);
  expect(await refusalOf(client.putRule({ name: "third", eventPattern: '{"source":["x"]}' }))).toContain("LIMIT");
  expect(await refusalOf(client.deleteRule({ name: "wholesale" }))).toBe("RULE_HAS_TARGETS");
  await client.removeTargets({ rule: "wholesale", ids: ["one", "two"] });
  await client.deleteRule({ name: "wholesale" });
  expect((await client.listRules({})).rules.map(({ name }) => name)).toEqual(["sales"]);
});

test("a damaged rule without targets is deleted, and one with targets is not", async () => {
  const { first } = await startShop();
  await first.client.putRule({ name: "idle", eventPattern: '{"source":["x"]}' });
  const damages: Damage[] = [
    [rules, [...bus, "idle"]],
    [rules, [...bus, "sales"]],
  ];
  const { client } = await restartDamaged(first, damages);
  expect(await refusalOf(client.deleteRule({ name: "sales" }))).toBe("RULE_HAS_TARGETS");
  await client.deleteRule({ name: "idle" });
  expect((await client.listRules({})).rules.map(({ name }) => name)).toEqual(["sales", "wholesale"]);
});

test("the damaged rule of an archive is only changed with the archive", async () => {
  const first = await startHarness();
  const eventSourceArn = `arn:aws:events:us-east-1:${owner}:event-bus/default`;
  await first.client.createArchive({ archiveName: "all", eventSourceArn });
  const name = "Events-Archive-all";
  const { client } = await restartDamaged(first, [[rules, [...bus, name]]]);
  expect(await refusalOf(client.putRule({ name, eventPattern: '{"source":["x"]}' }))).toContain("RULE_MANAGED");
  expect(await refusalOf(client.deleteRule({ name }))).toContain("RULE_MANAGED");
  await client.updateArchive({ archiveName: "all", description: "whole again" });
  expect((await client.describeRule({ name })).managedBy).toBe("prod.vhs.events.aws.internal");
});

test("a damaged target is not invoked, which is logged, and the others of its rule are", async () => {
  const { first, shop } = await startShop();
  const { log, lines } = capturingLogger("error");
  const harness = await restartDamaged(first, [[targets, [...bus, "wholesale", "one"]]], { log });
  expect(await deliveriesOf(harness, shop)).toBe(2);
  expect(lines.filter(({ msg }) => msg === "a damaged target is not invoked")).toMatchObject([
    { rule: "wholesale", targetId: "one" },
  ]);
  const { client } = harness;
  await client.removeTargets({ rule: "wholesale", ids: ["one", "two"] });
  await client.deleteRule({ name: "wholesale" });
  const named = await client.listRuleNamesByTarget({ targetArn: shop.destinationArn });
  expect(named.ruleNames).toEqual(["sales"]);
});

test("the schedule of a damaged rule ends instead of being tried again for ever, and putting the rule begins it", async () => {
  const { first, shop } = await startShop();
  const rule = { name: "tick", scheduleExpression: "rate(5 minutes)" };
  await first.client.putRule(rule);
  await first.client.putTargets({ rule: "tick", targets: [{ id: "till", arn: shop.destinationArn }] });
  const { log, lines } = capturingLogger("error");
  const harness = await restartDamaged(first, [[rules, [...bus, "tick"]]], { log });
  const passFiveMinutes = async (): Promise<number> => {
    harness.clock.advance(300_000);
    await harness.app.jobs.idle();
    return shop.till.received.length;
  };
  expect([await passFiveMinutes(), await passFiveMinutes()]).toEqual([0, 0]);
  const ended = lines.filter(({ msg }) => msg === "the schedule of a damaged rule ends until the rule is put again");
  expect(ended).toHaveLength(1);
  await harness.client.putRule(rule);
  expect(await passFiveMinutes()).toBe(1);
});

test("a damaged revision or change of a bus keeps neither its events nor its rules from working", async () => {
  const { first, shop } = await startShop();
  const revisions = await first.store.read((reader) => reader.list(ruleChanges, { limit: 10 }));
  const damages: Damage[] = [[busRevisions, [...bus]], ...revisions.map(({ key }): Damage => [ruleChanges, key])];
  const harness = await restartDamaged(first, damages, { limits: { rulesPerBusMax: 2 } });
  const { client } = harness;
  expect(await deliveriesOf(harness, shop)).toBe(3);
  await client.disableRule({ name: "sales" });
  expect(await deliveriesOf(harness, shop)).toBe(2);
  expect(await refusalOf(client.putRule({ name: "third", eventPattern: '{"source":["x"]}' }))).toContain("LIMIT");
  await client.enableRule({ name: "sales" });
  expect(await deliveriesOf(harness, shop)).toBe(3);
});

test("a bus with damaged changes of its rules is deleted", async () => {
  const first = await startHarness();
  await first.client.createEventBus({ name: "orders" });
  await first.client.putRule({ name: "all", eventBusName: "orders", eventPattern: '{"source":["x"]}' });
  await first.client.deleteRule({ name: "all", eventBusName: "orders" });
  const { client, store } = await restartDamaged(first, [[ruleChanges, [owner, "orders", 1]]]);
  await client.deleteEventBus({ name: "orders" });
  expect(await store.read((reader) => reader.list(ruleChanges, { prefix: [owner, "orders"], limit: 9 }))).toEqual([]);
});

test("a damaged count of an account's buses is made again, and still bounds them", async () => {
  const first = await startHarness();
  for (const name of ["a", "b"]) await first.client.createEventBus({ name });
  const counted = await first.store.read((reader) => reader.list(accountCounts, { limit: 9 }));
  const damages = counted.map(({ key }): Damage => [accountCounts, key]);
  expect(damages.map(([, key]) => key)).toEqual([[owner, "buses"]]);
  const { client } = await restartDamaged(first, [...damages, [buses, [owner, "a"]]], { limits: { busesMax: 4 } });
  await client.createEventBus({ name: "c" });
  expect(await refusalOf(client.createEventBus({ name: "d" }))).toContain("LIMIT");
});

test("a damaged number of redrives lets dead letters be kept, and redriven by the next redrive", async () => {
  const first = await startHarness();
  const statuses = [404, 404, 404];
  const { sell } = await openShop(first.client, { answer: () => ({ status: statuses.shift() ?? 200 }) });
  await sell({ n: 1 });
  await first.app.jobs.idle();
  await first.client.startDeadLetterRedrive({ redriveName: "one" });
  await first.app.jobs.idle();
  const { client, app, clock, deadLetters } = await restartDamaged(first, [[deadLetterEpochs, [owner]]]);
  await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: '{"n":2}' }] });
  await app.jobs.idle();
  expect(await deadLetters()).toHaveLength(2);
  clock.advance(1_000);
  await client.startDeadLetterRedrive({ redriveName: "two" });
  await app.jobs.idle();
  const { redrive } = await client.describeDeadLetterRedrive({ redriveName: "two" });
  expect(redrive).toMatchObject({ redrivenCount: 2n, failedCount: 0n });
  expect(await deadLetters()).toEqual([]);
});

test("a damaged bus is made whole by an update, or deleted", async () => {
  const first = await startHarness();
  for (const name of ["a", "b"]) {
    await first.client.createEventBus({ name });
    await first.client.putRule({ name: "all", eventBusName: name, eventPattern: '{"source":["x"]}' });
  }
  await first.client.deleteRule({ name: "all", eventBusName: "b" });
  const damages: Damage[] = ["a", "b", "default"].map((name): Damage => [buses, [owner, name]]);
  const { client, clientOf } = await restartDamaged(first, damages);
  expect(await refusalOf(client.describeEventBus({ name: "a" }))).toBe("DATA_LOSS");
  await client.updateEventBus({ name: "a", description: "again" });
  await client.updateEventBus({ name: "default" });
  await client.deleteEventBus({ name: "b" });
  expect((await client.describeEventBus({ name: "a" })).description).toBe("again");
  expect((await client.listRules({ eventBusName: "a" })).rules.map(({ name }) => name)).toEqual(["all"]);
  expect((await client.listEventBuses({})).eventBuses.map(({ name }) => name)).toEqual(["a", "default"]);
  expect(await refusalOf(clientOf("111111111111").listEventBuses({}))).toBe("answered");
});

test("a damaged connection or API destination is deleted", async () => {
  const first = await startHarness();
  await openShop(first.client);
  const damages: Damage[] = [
    [connections, [owner, "shop"]],
    [apiDestinations, [owner, "till"]],
  ];
  const { client, store } = await restartDamaged(first, damages);
  await client.deleteApiDestination({ name: "till" });
  await client.deleteConnection({ name: "shop" });
  expect((await client.listConnections({})).connections).toEqual([]);
  expect((await client.listApiDestinations({})).apiDestinations).toEqual([]);
  expect(await store.read((reader) => reader.list(destinationsByConnection, { limit: 9 }))).toEqual([]);
});
