import { describe, expect, test } from "vitest";

import {
  ApiGatewayEndpointType,
  ApplicationState,
  ProxyType,
} from "../../../gen/quartet/refactoringworkspace/v1/application_pb.ts";
import { RouteActivationState } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import {
  makeApplication,
  makeDefaultRoute,
  makeEnvironment,
  makeService,
  ownerAccount,
  proxyUrlOf,
  refusalOf,
  startHarness,
} from "../harness.ts";

const stranger = "111111111111";
const shop = { name: "shop", proxyType: ProxyType.API_GATEWAY, vpcId: "vpc-0a1b2c3d" };

describe("createApplication", () => {
  test("answers the settings of the proxy, and getApplication tells where it is reached", async () => {
    const { client, workspace } = await startHarness();
    const environmentIdentifier = await makeEnvironment(client);
    const made = await client.createApplication({ ...shop, environmentIdentifier, tags: { team: "move" } });
    expect(made.applicationId).toMatch(/^app-[0-9A-Za-z]{10}$/);
    const expected = {
      applicationId: made.applicationId,
      environmentId: environmentIdentifier,
      arn: `arn:aws:refactor-spaces:us-east-1:000000000000:environment/${environmentIdentifier}/application/${made.applicationId}`,
      name: "shop",
      proxyType: ProxyType.API_GATEWAY,
      vpcId: "vpc-0a1b2c3d",
      ownerAccountId: ownerAccount,
      createdByAccountId: ownerAccount,
      state: ApplicationState.ACTIVE,
      tags: { team: "move" },
      createdTime: { seconds: 1_767_323_045n },
    };
    const settings = { endpointType: ApiGatewayEndpointType.REGIONAL, stageName: "prod" };
    expect(made).toMatchObject({ ...expected, apiGatewayProxy: settings });
    const place = { environmentIdentifier, applicationIdentifier: made.applicationId };
    const told = await client.getApplication(place);
    expect(told).toMatchObject({ ...expected, apiGatewayProxy: settings });
    const proxy = told.apiGatewayProxy;
    expect(proxy?.apiGatewayId).toMatch(/^[a-z0-9]{10}$/);
    expect(proxy?.vpcLinkId).toMatch(/^[a-z0-9]{10}$/);
    expect(proxy?.nlbName).toBe(`workspace-nlb-${made.applicationId.slice(4)}`);
    expect(proxy?.nlbArn).toMatch(
      /^arn:aws:elasticloadbalancing:us-east-1:000000000000:loadbalancer\/net\/workspace-nlb-\w{10}\/[0-9a-f]{16}$/,
    );
    expect(proxy?.proxyUrl).toBe(`${workspace.proxy.url}/${proxy?.apiGatewayId}/prod`);
    expect((await fetch(proxy?.proxyUrl ?? "")).status).toBe(404);
  });

  test("takes a stage name and an endpoint type", async () => {
    const { client } = await startHarness();
    const apiGatewayProxy = { endpointType: ApiGatewayEndpointType.PRIVATE, stageName: "Stage-1_" };
    const made = await client.createApplication({
      ...shop,
      environmentIdentifier: await makeEnvironment(client),
      apiGatewayProxy,
    });
    expect(made.apiGatewayProxy).toMatchObject(apiGatewayProxy);
  });

  test("refuses, in this order", async () => {
    const { client, clientOf } = await startHarness();
    const environmentIdentifier = await makeEnvironment(client);
    const create = (more: object, by = client) =>
      refusalOf(by.createApplication({ ...shop, environmentIdentifier, ...more }));
    const missing = { environmentIdentifier: "env-0000000000" };
    expect(await create({ ...missing, name: "app-1", tags: { "svc:a": "" } })).toBe(
      "NAME_RESERVED: The name app-1 begins with app-, which is reserved for ids.",
    );
    expect(await create({ ...missing, tags: { "svc:a": "" } })).toBe(
      "TAG_KEY_RESERVED: Tag keys that begin with svc: are reserved.",
    );
    expect(await create(missing)).toBe("RESOURCE_NOT_FOUND: There is no ENVIRONMENT env-0000000000.");
    expect(await create({}, clientOf(stranger))).toBe(
      `ACCESS_DENIED: Not authorized to perform refactoring-workspace:CreateApplication on ${environmentIdentifier}.`,
    );
  });
});

describe("deleteApplication", () => {
  test("answers DELETING, and the proxy knows it no more", async () => {
    const { client } = await startHarness();
    const place = await makeApplication(client);
    const url = await proxyUrlOf(client, place);
    const messageOf = async () => ((await (await fetch(url)).json()) as { message: string }).message;
    expect(await messageOf()).toBe("No active route of the application takes this request.");
    expect(await client.deleteApplication(place)).toMatchObject({
      applicationId: place.applicationIdentifier,
      environmentId: place.environmentIdentifier,
      name: "shop",
      state: ApplicationState.DELETING,
    });
    expect(await messageOf()).toBe("No application has this address.");
    const gone = `RESOURCE_NOT_FOUND: There is no APPLICATION ${place.applicationIdentifier}.`;
    expect(await refusalOf(client.getApplication(place))).toBe(gone);
    expect(await refusalOf(client.deleteApplication(place))).toBe(gone);
  });

  test("refuses an application that holds routes, then one that holds services", async () => {
    const { client } = await startHarness();
    const place = await makeApplication(client);
    const serviceIdentifier = await makeService(client, place, "http://127.0.0.1");
    const routeIdentifier = await makeDefaultRoute(client, place, serviceIdentifier, RouteActivationState.INACTIVE);
    const refusal = `RESOURCE_IN_USE: The APPLICATION ${place.applicationIdentifier} cannot be deleted while there is`;
    expect(await refusalOf(client.deleteApplication(place))).toBe(`${refusal} the route ${routeIdentifier}.`);
    await client.deleteRoute({ ...place, routeIdentifier });
    expect(await refusalOf(client.deleteApplication(place))).toBe(`${refusal} the service ${serviceIdentifier}.`);
    await client.deleteService({ ...place, serviceIdentifier });
    expect(await refusalOf(client.deleteApplication(place))).toBe("answered");
    expect(await refusalOf(client.deleteEnvironment(place))).toBe("answered");
  });
});

describe("listApplications", () => {
  test("lists an environment's applications by id, page by page, and nothing of others", async () => {
    const { client } = await startHarness();
    const environmentIdentifier = await makeEnvironment(client);
    await makeApplication(client);
    const made: string[] = [];
    for (let count = 0; count < 3; count++)
      made.push((await client.createApplication({ ...shop, environmentIdentifier })).applicationId);
    const first = await client.listApplications({ environmentIdentifier, maxResults: 2 });
    const second = await client.listApplications({ environmentIdentifier, nextToken: first.nextToken });
    const ids = [first, second].flatMap((page) => page.applicationSummaryList.map((each) => each.applicationId));
    expect(ids).toEqual(made.toSorted());
    expect(first.applicationSummaryList[0]?.apiGatewayProxy?.proxyUrl).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+\/\w{10}\/prod$/,
    );
  });

  test("ends a page before its records are too large for one answer", async () => {
    const { client } = await startHarness();
    const environmentIdentifier = await makeEnvironment(client);
    const tags = Object.fromEntries(
      Array.from({ length: 50 }, (_each, index) => [`${index}-`.padEnd(128, "k"), "\u{10ffff}".repeat(256)]),
    );
    for (let count = 0; count < 60; count++) await client.createApplication({ ...shop, environmentIdentifier, tags });
    const pages: number[] = [];
    let nextToken: string | undefined;
    do {
      const page = await client.listApplications({ environmentIdentifier, nextToken });
      pages.push(page.applicationSummaryList.length);
      nextToken = page.nextToken;
    } while (nextToken !== undefined);
    expect(pages).toEqual([53, 7]);
  });
});
