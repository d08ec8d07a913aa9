/** What a neighbour makes in a shared environment belongs to the environment's owner. */
import { expect, test } from "vitest";

import { ProxyType } from "../../../gen/quartet/refactoringworkspace/v1/application_pb.ts";
import { RouteActivationState } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import type { WorkspaceClient } from "../harness.ts";
import { makeDefaultRoute, makeEnvironment, makeService, pathRoute, refusalOf, startHarness } from "../harness.ts";

const owner = "000000000000";
const neighbour = "111111111111";
const proxy = { name: "shop", proxyType: ProxyType.API_GATEWAY, vpcId: "vpc-0a1b2c3d" };

/** An environment of the owner that a policy of these members shares with the neighbour. */
const share = async (members: object) => {
  const { client, clientOf } = await startHarness();
  const environmentIdentifier = await makeEnvironment(client);
  const resourceArn = `arn:aws:refactor-spaces:us-east-1:${owner}:environment/${environmentIdentifier}`;
  const statement = { Effect: "Allow", Principal: { AWS: neighbour }, Action: "refactor-spaces:*", ...members };
  await client.putResourcePolicy({ resourceArn, policy: JSON.stringify({ Statement: [statement] }) });
  return { client, neighbours: clientOf(neighbour), environmentIdentifier };
};

/** An application, a service and two routes of the neighbour in the owner's environment. */
const shareFull = async () => {
  const { client, neighbours, environmentIdentifier } = await share({});
  const { applicationId } = await neighbours.createApplication({ environmentIdentifier, ...proxy });
  const place = { environmentIdentifier, applicationIdentifier: applicationId };
  const serviceIdentifier = await makeService(neighbours, place, "http://127.0.0.1:9");
  await makeDefaultRoute(neighbours, place, serviceIdentifier, RouteActivationState.INACTIVE);
  return { client, neighbours, place, serviceIdentifier };
};

const listed = async (client: WorkspaceClient, place: Awaited<ReturnType<typeof shareFull>>["place"]) => {
  const { applicationSummaryList } = await client.listApplications(place);
  const { serviceSummaryList } = await client.listServices(place);
  const { routeSummaryList } = await client.listRoutes(place);
  return [...applicationSummaryList, ...serviceSummaryList, ...routeSummaryList].map(
    ({ ownerAccountId, createdByAccountId }) => [ownerAccountId, createdByAccountId],
  );
};

test("an application, a service and a route belong to the environment's owner and name who made them", async () => {
  const { client, neighbours, place } = await shareFull();
  const all = [
    [owner, neighbour],
    [owner, neighbour],
    [owner, neighbour],
  ];
  expect(await listed(client, place)).toEqual(all);
  expect(await listed(neighbours, place)).toEqual(all);
});

test("the owner sees and removes what the neighbour made, and the neighbour only while it is shared", async () => {
  const { client, neighbours, place, serviceIdentifier } = await shareFull();
  expect((await client.getService({ ...place, serviceIdentifier })).createdByAccountId).toBe(neighbour);
  const { routeSummaryList } = await client.listRoutes(place);
  await client.deleteRoute({ ...place, routeIdentifier: routeSummaryList[0]?.routeId ?? "" });
  const identifier = `arn:aws:refactor-spaces:us-east-1:${owner}:environment/${place.environmentIdentifier}`;
  await client.deleteResourcePolicy({ identifier });
  expect(await refusalOf(neighbours.getService({ ...place, serviceIdentifier }))).toMatch(/^ACCESS_DENIED/);
  expect(await refusalOf(client.deleteService({ ...place, serviceIdentifier }))).toBe("answered");
});

test.each([
  // condition key of the policy, its value, what the neighbour may make
  ["ApplicationCreatedByAccount", neighbour, ["application"]],
  ["ServiceCreatedByAccount", neighbour, ["service"]],
  ["RouteCreatedByAccount", neighbour, ["route"]],
  ["CreatedByAccountIds", neighbour, ["application", "service", "route"]],
  ["SourcePath", "/cart", ["route"]],
])("a policy on %s %s lets the neighbour make %j", async (key, value, made) => {
  const { client, neighbours, environmentIdentifier } = await share({
    Condition: { StringEquals: { [`refactor-spaces:${key}`]: value } },
  });
  const { applicationId } = await client.createApplication({ environmentIdentifier, ...proxy });
  const place = { environmentIdentifier, applicationIdentifier: applicationId };
  const service = await makeService(client, place, "http://127.0.0.1:9");
  await makeDefaultRoute(client, place, service, RouteActivationState.INACTIVE);
  const outcomes = {
    application: await refusalOf(neighbours.createApplication({ environmentIdentifier, ...proxy, name: "other" })),
    service: await refusalOf(makeService(neighbours, place, "http://127.0.0.1:9")),
    route: await refusalOf(
      neighbours.createRoute(pathRoute(place, service, "/cart", { activationState: RouteActivationState.INACTIVE })),
    ),
  };
  expect(Object.entries(outcomes).flatMap(([name, outcome]) => (outcome === "answered" ? [name] : []))).toEqual(made);
});
