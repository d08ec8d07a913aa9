import { describe, expect, test } from "vitest";

import { ProxyType } from "../../../gen/quartet/refactoringworkspace/v1/application_pb.ts";
import { NetworkFabricType } from "../../../gen/quartet/refactoringworkspace/v1/environment_pb.ts";
import { RouteState, RouteType } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { ServiceEndpointType } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import { clientTokens, clientTokensByExpiry } from "../../../services/refactoring-workspace/store/layout.ts";
import { eventually } from "../../support/eventually.ts";
import { startBackend } from "../backend.ts";
import { makeApplication, makeService, refusalOf, startHarness } from "../harness.ts";

const day = 24 * 60 * 60 * 1000;
const move = { name: "move", networkFabricType: NetworkFabricType.NONE };

describe("a client token", () => {
  test("gets the first answer again for the same request, word for word, whatever happened since", async () => {
    const { client, clock } = await startHarness();
    const request = { ...move, clientToken: "a b~", tags: { a: "1", b: "2" } };
    const first = await client.createEnvironment(request);
    clock.advance(day - 1);
    expect(await client.createEnvironment({ ...request, tags: { b: "2", a: "1" } })).toEqual(first);
    await client.deleteEnvironment({ environmentIdentifier: first.environmentId });
    expect(await client.createEnvironment(request)).toEqual(first);
    expect((await client.listEnvironments({})).environmentSummaryList).toEqual([]);
  });

  test("makes one resource of calls at the same time", async () => {
    const { client } = await startHarness();
    const calls = Array.from({ length: 8 }, () => client.createEnvironment({ ...move, clientToken: "once" }));
    const ids = (await Promise.all(calls)).map((answer) => answer.environmentId);
    expect(new Set(ids).size).toBe(1);
    expect((await client.listEnvironments({})).environmentSummaryList).toHaveLength(1);
  });

  test.each([
    // what differs, with the token of another call
    ["a name", { name: "other" }],
    ["a member that was not given", { description: "more" }],
    ["a fabric", { networkFabricType: NetworkFabricType.TRANSIT_GATEWAY }],
    ["a tag", { tags: { a: "1" } }],
  ])("with %s that differs is refused", async (_what, more) => {
    const { client } = await startHarness();
    const { environmentId } = await client.createEnvironment({ ...move, clientToken: "t" });
    expect(await refusalOf(client.createEnvironment({ ...move, ...more, clientToken: "t" }))).toBe(
      `CLIENT_TOKEN_REUSED: The client token was used with another request, which created the ENVIRONMENT ${environmentId}.`,
    );
  });

  test("is told apart by case, account and operation, and costs nothing when the call was refused", async () => {
    const { client, clientOf } = await startHarness();
    const ids = new Set<string>();
    for (const [by, clientToken] of [
      [client, "t"],
      [client, "T"],
      [clientOf("111111111111"), "t"],
    ] as const)
      ids.add((await by.createEnvironment({ ...move, clientToken })).environmentId);
    expect(ids.size).toBe(3);
    const [environmentIdentifier = ""] = ids;
    const application = { name: "shop", proxyType: ProxyType.API_GATEWAY, vpcId: "vpc-0a1b2c3d", clientToken: "t" };
    const missing = client.createApplication({ ...application, environmentIdentifier: "env-0000000000" });
    expect(await refusalOf(missing)).toMatch(/^RESOURCE_NOT_FOUND: /);
    expect(await refusalOf(client.createApplication({ ...application, environmentIdentifier }))).toBe("answered");
  });

  test("is forgotten after a day", async () => {
    const { client, clock, store } = await startHarness();
    const first = await client.createEnvironment({ ...move, clientToken: "t" });
    clock.advance(day);
    const second = await client.createEnvironment({ ...move, name: "other", clientToken: "t" });
    expect(second.environmentId).not.toBe(first.environmentId);
    clock.advance(2 * day);
    const left = () =>
      store.read(async (reader) => [
        ...(await reader.list(clientTokens, { limit: 10 })),
        ...(await reader.list(clientTokensByExpiry, { limit: 10 })),
      ]);
    await eventually(async () => (await left()).length === 0, "the token is swept");
    expect(await left()).toEqual([]);
  });

  test("holds for applications, services and routes as well", async () => {
    const { client } = await startHarness();
    const backend = await startBackend("monolith");
    const place = await makeApplication(client);
    const clientToken = "t";
    const application = {
      ...place,
      name: "shop",
      proxyType: ProxyType.API_GATEWAY,
      vpcId: "vpc-0a1b2c3d",
      clientToken,
    };
    expect(await client.createApplication(application)).toEqual(await client.createApplication(application));
    const urlEndpoint = { url: backend.url };
    const service = { ...place, name: "users", endpointType: ServiceEndpointType.URL, urlEndpoint, clientToken };
    expect(await client.createService(service)).toEqual(await client.createService(service));
    const serviceIdentifier = await makeService(client, place, backend.url);
    const route = { ...place, serviceIdentifier, routeType: RouteType.DEFAULT, clientToken };
    const made = await client.createRoute(route);
    expect(made.state).toBe(RouteState.ACTIVE);
    expect(await client.createRoute(route)).toEqual(made);
    expect((await client.listRoutes(place)).routeSummaryList).toHaveLength(1);
    const other = makeService(client, place, backend.url).then((id) =>
      client.createRoute({ ...route, serviceIdentifier: id }),
    );
    expect(await refusalOf(other)).toMatch(/^CLIENT_TOKEN_REUSED: .* ROUTE rte-/);
  });
});
