import { describe, expect, onTestFinished, test } from "vitest";

import { EndpointState, ReplicationState } from "../../../gen/quartet/eventbus/v1/global_endpoint_pb.ts";
import { eventually } from "../../support/eventually.ts";
import type { HttpReceiver } from "../../support/http-receiver.ts";
import { startHttpReceiver } from "../../support/http-receiver.ts";
import { openShop } from "../delivery/shop.ts";
import type { Harness } from "../harness.ts";
import { ownerAccount, refusalOf, startHarness } from "../harness.ts";
import { startRegion } from "../region-address.ts";

const busArn = (region: string, name = "orders"): string =>
  `arn:aws:events:${region}:${ownerAccount}:event-bus/${name}`;
const roleArn = `arn:aws:iam::${ownerAccount}:role/copy`;
const eventBuses = ["us-east-1", "us-west-2"].map((region) => ({ eventBusArn: busArn(region) }));

/** Two regions that reach each other, and a health check of the first. */
const startRegions = async () => {
  let isUp = true;
  const health = await startHttpReceiver(() => ({ status: isUp ? 200 : 503 }));
  onTestFinished(() => health.close());
  const limits = { healthCheckMs: 1_000 };
  const [east, west] = [await startRegion(), await startRegion()];
  const healthChecks = new Map([["shop", `${health.url}/health`]]);
  const first = await startHarness({ regions: { "us-west-2": west.endpoint }, healthChecks, limits });
  const second = await startHarness({
    region: "us-west-2",
    regions: { "us-east-1": east.endpoint },
    healthChecks,
    limits,
  });
  east.serve(first.client);
  west.serve(second.client);
  const check = async (up: boolean): Promise<void> => {
    isUp = up;
    const wanted = health.received.length + 6;
    await eventually(() => {
      for (const { clock } of [first, second]) clock.advance(1_000);
      return health.received.length >= wanted;
    }, "both regions have requested the health check several times");
  };
  const tills: HttpReceiver[] = [];
  for (const { client } of [first, second]) {
    const { till, destinationArn } = await openShop(client);
    await client.createEventBus({ name: "orders" });
    await client.putRule({ name: "all", eventBusName: "orders", eventPattern: '{"source":["shop"]}' });
    await client.putTargets({ rule: "all", eventBusName: "orders", targets: [{ id: "t", arn: destinationArn }] });
    tills.push(till);
  }
  const idle = async (): Promise<void> => {
    for (const { app } of [first, second, first]) await app.jobs.idle();
  };
  const arrived = (): number[] => tills.map(({ received }) => received.length);
  return { first, second, tills, check, idle, arrived };
};

const settings = (replication: ReplicationState, healthCheck = "arn:aws:route53:::healthcheck/shop") => ({
  name: "shop",
  routingConfig: { failoverConfig: { primary: { healthCheck }, secondary: { route: "us-west-2" } } },
  replicationConfig: { state: replication },
  eventBuses,
  roleArn,
});

const put = async ({ client }: Harness, endpointId: string): Promise<number | undefined> => {
  const { failedEntryCount } = await client.putEvents({
    endpointId,
    entries: [{ source: "shop", detailType: "Sale", detail: "{}", eventBusName: "orders" }],
  });
  return failedEntryCount;
};

describe("a global endpoint", () => {
  test("puts events in the first region while it is healthy, then in the second, and in the first again", async () => {
    const { first, second, check, idle, arrived } = await startRegions();
    for (const { client } of [first, second]) await client.createEndpoint(settings(ReplicationState.DISABLED));
    const { endpointId } = await first.client.describeEndpoint({ name: "shop" });
    expect((await second.client.describeEndpoint({ name: "shop" })).endpointId).toBe(endpointId);
    await check(true);
    for (const region of [first, second]) await put(region, endpointId);
    await idle();
    expect(arrived()).toEqual([2, 0]);
    await check(false);
    for (const region of [first, second]) await put(region, endpointId);
    await idle();
    expect(arrived()).toEqual([2, 2]);
    await check(true);
    for (const region of [first, second]) await put(region, endpointId);
    await idle();
    expect(arrived()).toEqual([4, 2]);
  }, 60_000);

  test("with replication copies each event to the other region once, with the endpoint among its resources", async () => {
    const { first, second, tills, idle, arrived } = await startRegions();
    for (const { client } of [first, second]) await client.createEndpoint(settings(ReplicationState.ENABLED));
    const { endpointId, arn } = await first.client.describeEndpoint({ name: "shop" });
    await put(first, endpointId);
    await idle();
    expect(arrived()).toEqual([1, 1]);
    const events = tills.map(
      ({ received }) => JSON.parse(received[0]?.body.toString() ?? "") as { resources: string[]; region: string },
    );
    expect(events.map(({ resources }) => resources)).toEqual([[], [arn]]);
    expect(events.map(({ region }) => region)).toEqual(["us-east-1", "us-east-1"]);
    await first.client.updateEndpoint({ name: "shop", replicationConfig: { state: ReplicationState.DISABLED } });
    await put(first, endpointId);
    await idle();
    expect(arrived()).toEqual([2, 1]);
  });

  test("with replication copies events that are put in the region that does not serve them, too", async () => {
    const { first, second, tills, check, idle, arrived } = await startRegions();
    for (const { client } of [first, second]) await client.createEndpoint(settings(ReplicationState.ENABLED));
    const { endpointId, arn } = await second.client.describeEndpoint({ name: "shop" });
    await check(true);
    await put(second, endpointId);
    await idle();
    expect(arrived()).toEqual([1, 1]);
    const copy = JSON.parse(tills[1]?.received[0]?.body.toString() ?? "") as { resources: string[]; region: string };
    expect([copy.resources, copy.region]).toEqual([[arn], "us-east-1"]);
    await check(false);
    await put(first, endpointId);
    await idle();
    expect(arrived()).toEqual([2, 2]);
  });

  test("puts events where it is called when the other region cannot be reached", async () => {
    const gone = { url: "http://127.0.0.1:9", region: "", accessKeyId: "", secretAccessKey: "" };
    const healthChecks = new Map([["shop", "http://127.0.0.1:9/"]]);
    const { client, app } = await startHarness({ region: "us-west-2", regions: { "us-east-1": gone }, healthChecks });
    const { till, destinationArn } = await openShop(client);
    await client.createEventBus({ name: "orders" });
    await client.putRule({ name: "all", eventBusName: "orders", eventPattern: '{"source":["shop"]}' });
    await client.putTargets({ rule: "all", eventBusName: "orders", targets: [{ id: "t", arn: destinationArn }] });
    await client.createEndpoint(settings(ReplicationState.DISABLED));
    const { endpointId } = await client.describeEndpoint({ name: "shop" });
    const entries = ["orders", "other"].map((eventBusName) => ({
      source: "shop",
      detailType: "d",
      detail: "{}",
      eventBusName,
    }));
    const answer = await client.putEvents({ endpointId, entries });
    expect(answer.entries.map(({ errorMessage }) => errorMessage)).toEqual([
      undefined,
      "The endpoint has no event bus other.",
    ]);
    await app.jobs.idle();
    expect(till.received).toHaveLength(1);
  });
});

describe("createEndpoint, describeEndpoint, listEndpoints, updateEndpoint and deleteEndpoint", () => {
  test("keep the settings, and list them page by page", async () => {
    const { first } = await startRegions();
    const { client } = first;
    const created = await client.createEndpoint({ ...settings(ReplicationState.ENABLED), description: "sales" });
    expect(created).toMatchObject({ name: "shop", roleArn, state: EndpointState.ACTIVE });
    const described = await client.describeEndpoint({ name: "shop", homeRegion: "us-east-1" });
    expect(described).toMatchObject({
      arn: `arn:aws:events:us-east-1:${ownerAccount}:endpoint/shop`,
      description: "sales",
      routingConfig: {
        failoverConfig: {
          primary: { healthCheck: "arn:aws:route53:::healthcheck/shop" },
          secondary: { route: "us-west-2" },
        },
      },
      replicationConfig: { state: ReplicationState.ENABLED },
      eventBuses,
      roleArn,
    });
    expect(await refusalOf(client.describeEndpoint({ name: "shop", homeRegion: "us-west-2" }))).toBe(
      "ENDPOINT_NOT_FOUND: Endpoint shop does not exist.",
    );
    await client.updateEndpoint({ name: "shop", description: "all sales" });
    expect(await client.describeEndpoint({ name: "shop" })).toMatchObject({ description: "all sales", roleArn });
    for (const name of ["a", "b"]) await client.createEndpoint({ ...settings(ReplicationState.DISABLED), name });
    const page = await client.listEndpoints({ maxResults: 2 });
    const rest = await client.listEndpoints({ maxResults: 2, nextToken: page.nextToken ?? "" });
    expect([page, rest].map(({ endpoints }) => endpoints.map(({ name }) => name))).toEqual([["a", "b"], ["shop"]]);
    await client.deleteEndpoint({ name: "shop" });
    expect(await refusalOf(client.deleteEndpoint({ name: "shop" }))).toBe(
      "ENDPOINT_NOT_FOUND: Endpoint shop does not exist.",
    );
  });

  test("are refused, in this order", async () => {
    const { first } = await startRegions();
    const { client } = first;
    const base = settings(ReplicationState.ENABLED);
    const buses = (...arns: string[]) => ({ eventBuses: arns.map((eventBusArn) => ({ eventBusArn })) });
    const route = (name: string, healthCheck = "arn:aws:route53:::healthcheck/shop") => ({
      routingConfig: { failoverConfig: { primary: { healthCheck }, secondary: { route: name } } },
    });
    const { roleArn: _role, ...roleless } = base;
    const refusals = [];
    for (const request of [
      { ...base, ...buses("a", busArn("us-west-2")) },
      { ...base, ...buses(busArn("us-east-1"), busArn("us-west-2", "other")) },
      { ...base, ...buses(busArn("us-east-1"), busArn("us-east-1")) },
      { ...base, ...route("eu-central-1") },
      { ...base, ...buses(busArn("us-east-1"), busArn("eu-central-1")), ...route("eu-central-1") },
      { ...base, ...route("us-west-2", "arn:aws:route53:::healthcheck/none") },
      roleless,
    ])
      refusals.push((await refusalOf(client.createEndpoint(request))).replace(/^.*Reason: /, ""));
    await client.createEndpoint(base);
    refusals.push(await refusalOf(client.createEndpoint(base)));
    expect(refusals).toEqual([
      "Must contain the ARNs of two event buses of the account.",
      "Event buses must have the same name.",
      "Event buses must be in different regions.",
      "The regions must be those of the event buses, and us-east-1 one of them.",
      "Region eu-central-1 is not reached from here.",
      "Health check arn:aws:route53:::healthcheck/none does not exist.",
      "RoleArn is required when replication is enabled.",
      "ENDPOINT_ALREADY_EXISTS: Endpoint shop already exists.",
    ]);
  });
});

describe("a bus of another region as a target", () => {
  test("receives the events, and does not send them back", async () => {
    const { first, second, tills, idle, arrived } = await startRegions();
    for (const [harness, region] of [
      [first, "us-west-2"],
      [second, "us-east-1"],
    ] as const)
      await harness.client.putTargets({
        rule: "all",
        eventBusName: "orders",
        targets: [{ id: "far", arn: busArn(region), roleArn }],
      });
    await first.client.putEvents({
      entries: [{ source: "shop", detailType: "Sale", detail: "{}", eventBusName: "orders" }],
    });
    await idle();
    expect(arrived()).toEqual([1, 1]);
    const sent = JSON.parse(tills[1]?.received[0]?.body.toString() ?? "") as { region: string };
    expect(sent.region).toBe("us-east-1");
    expect((await second.deadLetters()).map(({ letter }) => letter.errorCode)).toEqual(["THIRD_REGION_HOP_DETECTED"]);
  });
});
