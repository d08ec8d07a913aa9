import { describe, expect, test } from "vitest";

import { ErrorCode, ErrorResourceType } from "../../../gen/quartet/refactoringworkspace/v1/resource_error_pb.ts";
import {
  HttpMethod,
  RouteActivationState,
  RouteState,
  RouteType,
} from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { ServiceEndpointType } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import { TrustedProxies } from "../../../services/kit/identity/trusted-proxies.ts";
import { startBackend } from "../backend.ts";
import type { Place, WorkspaceClient } from "../harness.ts";
import {
  makeApplication,
  makeDefaultRoute,
  makeService,
  ownerAccount,
  pathRoute,
  proxyUrlOf,
  refusalOf,
  startHarness,
} from "../harness.ts";

const { ACTIVE, INACTIVE } = RouteActivationState;

const startShop = async () => {
  const harness = await startHarness();
  const place = await makeApplication(harness.client);
  const monolith = await startBackend("monolith");
  const serviceIdentifier = await makeService(harness.client, place, monolith.url);
  return { ...harness, place, monolith, serviceIdentifier };
};

const textOf = async (url: string) => (await fetch(url)).text();

const named = (place: Place, routeIdentifier: string) => ({ ...place, routeIdentifier });

const stateOf = async (client: WorkspaceClient, place: Place, routeId: string) =>
  (await client.getRoute(named(place, routeId))).state;

const invalid = (problem: string) => `ROUTE_INVALID: The route is not valid: ${problem}.`;

describe("createRoute", () => {
  test("answers an active default route whose traffic reaches the service at once", async () => {
    const { client, place, serviceIdentifier } = await startShop();
    const made = await client.createRoute({
      ...place,
      serviceIdentifier,
      routeType: RouteType.DEFAULT,
      tags: { team: "move" },
    });
    expect(made).toMatchObject({
      applicationId: place.applicationIdentifier,
      serviceId: serviceIdentifier,
      routeType: RouteType.DEFAULT,
      state: RouteState.ACTIVE,
      ownerAccountId: ownerAccount,
      createdByAccountId: ownerAccount,
      tags: { team: "move" },
      createdTime: { seconds: 1_767_323_045n },
      lastUpdatedTime: { seconds: 1_767_323_045n },
    });
    expect(made.routeId).toMatch(/^rte-[0-9A-Za-z]{10}$/);
    expect(made.arn).toBe(
      `arn:aws:refactor-spaces:us-east-1:000000000000:environment/${place.environmentIdentifier}` +
        `/application/${place.applicationIdentifier}/route/${made.routeId}`,
    );
    expect(made.uriPathRoute).toBeUndefined();
    expect(await textOf(`${await proxyUrlOf(client, place)}/cart?item=1`)).toBe("monolith GET /cart?item=1");
  });

  test("answers a route by path as it was asked, and getRoute flattens it", async () => {
    const { client, place, serviceIdentifier } = await startShop();
    await makeDefaultRoute(client, place, serviceIdentifier);
    const wish = { methods: [HttpMethod.GET], includeChildPaths: true };
    const made = await client.createRoute(pathRoute(place, serviceIdentifier, "/users/{id}", wish));
    expect(made.uriPathRoute).toMatchObject({ sourcePath: "/users/{id}", activationState: ACTIVE, ...wish });
    expect(made.uriPathRoute?.appendSourcePath).toBeUndefined();
    const told = await client.getRoute(named(place, made.routeId));
    expect(told).toMatchObject({
      environmentId: place.environmentIdentifier,
      routeType: RouteType.URI_PATH,
      sourcePath: "/users/{id}",
      methods: [HttpMethod.GET],
      includeChildPaths: true,
      appendSourcePath: false,
      state: RouteState.ACTIVE,
    });
    expect(Object.keys(told.pathResourceToId)).toEqual(["/users", "/users/{id}", "/users/{id}/{proxy+}"]);
    expect(Object.values(told.pathResourceToId).every((id) => /^[a-z0-9]{10}$/.test(id))).toBe(true);
    expect(told.error).toBeUndefined();
  });

  test("answers FAILED with its error when the service does not pass its health check, and sends it no traffic", async () => {
    const { client, place, serviceIdentifier } = await startShop();
    await makeDefaultRoute(client, place, serviceIdentifier);
    const broken = await startBackend("broken", (_request, response) => response.writeHead(500).end());
    const brokenService = await makeService(client, place, broken.url);
    const made = await client.createRoute(pathRoute(place, brokenService, "/broken"));
    expect(made.state).toBe(RouteState.FAILED);
    const told = await client.getRoute(named(place, made.routeId));
    expect(told.error).toMatchObject({
      code: ErrorCode.SERVICE_ENDPOINT_HEALTH_CHECK_FAILURE,
      resourceType: ErrorResourceType.SERVICE,
      resourceIdentifier: brokenService,
      message: "The health check of the service failed: it answered 500.",
      accountId: ownerAccount,
      additionalDetails: { StatusCode: "500" },
    });
    expect(await textOf(`${await proxyUrlOf(client, place)}/broken`)).toBe("monolith GET /broken");
    expect(broken.asked).toEqual(["GET /", "GET /"]);
  });

  test("fails for a function in a failed state, with the error of its check", async () => {
    const functions = await startBackend("functions", (_request, response) =>
      response.end('{"Configuration":{"State":"Failed"}}'),
    );
    const { client } = await startHarness({ functionsUrl: functions.url });
    const place = await makeApplication(client);
    const { serviceId } = await client.createService({
      ...place,
      name: "orders",
      endpointType: ServiceEndpointType.FUNCTION,
      functionEndpoint: { arn: "arn:aws:lambda:us-east-1:000000000000:function:orders" },
    });
    const { routeId, state } = await client.createRoute({
      ...place,
      serviceIdentifier: serviceId,
      routeType: RouteType.DEFAULT,
    });
    expect(state).toBe(RouteState.FAILED);
    expect((await client.getRoute(named(place, routeId))).error).toMatchObject({
      code: ErrorCode.SERVICE_ENDPOINT_HEALTH_CHECK_FAILURE,
      message: "The health check of the service failed: the function is in the state Failed.",
    });
  });

  test("asks nobody for a route that is not to be active", async () => {
    const { client, place, monolith, serviceIdentifier } = await startShop();
    await makeDefaultRoute(client, place, serviceIdentifier, INACTIVE);
    expect(monolith.asked).toEqual([]);
    const answer = await fetch(`${await proxyUrlOf(client, place)}/cart`);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ message: "No active route of the application takes this request." });
  });

  test("refuses, in this order", async () => {
    const { client, clientOf, place, serviceIdentifier } = await startShop();
    const create = (more: object) =>
      refusalOf(client.createRoute({ ...pathRoute(place, serviceIdentifier, "/users"), ...more }));
    const uriPathRoute = { sourcePath: "/users", activationState: ACTIVE };
    const [missingService, missingApplication] = ["svc-0000000000", "app-0000000000"];
    const reserved = { "svc:a": "1" };

    expect(await create({ routeType: RouteType.DEFAULT, tags: reserved })).toBe(
      invalid("UriPathRoute is given for the type DEFAULT"),
    );
    expect(await create({ defaultRoute: {} })).toBe(invalid("DefaultRoute is given for the type URI_PATH"));
    expect(await create({ uriPathRoute: undefined })).toBe(invalid("UriPathRoute is missing for the type URI_PATH"));
    expect(await create({ uriPathRoute: { ...uriPathRoute, sourcePath: "/a/../b" } })).toBe(
      invalid("SourcePath has a dot segment"),
    );
    expect(await create({ uriPathRoute: { ...uriPathRoute, sourcePath: "/{a}/{a}" } })).toBe(
      invalid("SourcePath names a parameter twice"),
    );
    expect(await create({ tags: reserved, serviceIdentifier: missingService })).toBe(
      "TAG_KEY_RESERVED: Tag keys that begin with svc: are reserved.",
    );
    expect(await create({ applicationIdentifier: missingApplication })).toBe(
      "RESOURCE_NOT_FOUND: There is no APPLICATION app-0000000000.",
    );
    expect(await create({ serviceIdentifier: missingService })).toBe(
      "RESOURCE_NOT_FOUND: There is no SERVICE svc-0000000000.",
    );
    const stranger = clientOf("111111111111").createRoute(pathRoute(place, serviceIdentifier, "/users"));
    expect(await refusalOf(stranger)).toBe(
      `ACCESS_DENIED: Not authorized to perform refactoring-workspace:CreateRoute on ${place.environmentIdentifier}.`,
    );
    expect(await create({})).toBe(
      `FIRST_ROUTE_NOT_DEFAULT: The application ${place.applicationIdentifier} has no routes: the first one must be of type DEFAULT.`,
    );
    const defaultRoute = await makeDefaultRoute(client, place, serviceIdentifier, INACTIVE);
    expect(await create({ routeType: RouteType.DEFAULT, uriPathRoute: undefined })).toBe(
      `ROUTE_EXISTS: The ROUTE ${defaultRoute} already takes all requests that no other route takes.`,
    );
    expect(await create({})).toBe(
      `DEFAULT_ROUTE_NOT_ACTIVE: No route of the application ${place.applicationIdentifier} can be active unless its default route is active.`,
    );
    const first = await client.createRoute(
      pathRoute(place, serviceIdentifier, "/users/{id}", { activationState: INACTIVE }),
    );
    expect(await create({ uriPathRoute: { ...uriPathRoute, sourcePath: "/users/{name}" } })).toBe(
      `ROUTE_EXISTS: The ROUTE ${first.routeId} already takes all methods of /users/{id}.`,
    );
  });

  test("takes routes of one path whose methods differ, and one for all methods beside them", async () => {
    const { client, place, serviceIdentifier } = await startShop();
    await makeDefaultRoute(client, place, serviceIdentifier);
    const create = (methods: HttpMethod[]) =>
      refusalOf(client.createRoute(pathRoute(place, serviceIdentifier, "/users", { methods })));
    expect(await create([HttpMethod.GET, HttpMethod.HEAD])).toBe("answered");
    expect(await create([HttpMethod.POST])).toBe("answered");
    expect(await create([])).toBe("answered");
    expect(await create([HttpMethod.HEAD, HttpMethod.PUT])).toMatch(/^ROUTE_EXISTS: .* takes GET, HEAD of \/users\.$/);
    expect(await create([])).toMatch(/^ROUTE_EXISTS: .* takes all methods of \/users\.$/);
  });
});

describe("updateRoute", () => {
  test("moves traffic with its answer: to the route when active, back to the default route when inactive", async () => {
    const { client, place, serviceIdentifier } = await startShop();
    await makeDefaultRoute(client, place, serviceIdentifier);
    const users = await startBackend("users");
    const usersService = await makeService(client, place, users.url);
    const { routeId } = await client.createRoute(
      pathRoute(place, usersService, "/users", { activationState: INACTIVE }),
    );
    const url = `${await proxyUrlOf(client, place)}/users`;
    expect(await textOf(url)).toBe("monolith GET /users");
    for (let round = 0; round < 5; round++) {
      const activated = await client.updateRoute({ ...named(place, routeId), activationState: ACTIVE });
      expect(activated).toMatchObject({ routeId, serviceId: usersService, state: RouteState.ACTIVE });
      expect(await textOf(url)).toBe("users GET /");
      const paused = await client.updateRoute({ ...named(place, routeId), activationState: INACTIVE });
      expect(paused.state).toBe(RouteState.INACTIVE);
      expect(await textOf(url)).toBe("monolith GET /users");
    }
  });

  test("answers FAILED when the check fails at the move, and ACTIVE without error when it passes later", async () => {
    const { client, place, serviceIdentifier } = await startShop();
    await makeDefaultRoute(client, place, serviceIdentifier);
    let status = 404;
    const users = await startBackend("users", (_request, response) => response.writeHead(status).end());
    const usersService = await makeService(client, place, users.url);
    const { routeId } = await client.createRoute(
      pathRoute(place, usersService, "/users", { activationState: INACTIVE }),
    );
    const activate = () => client.updateRoute({ ...named(place, routeId), activationState: ACTIVE });
    expect((await activate()).state).toBe(RouteState.FAILED);
    status = 399;
    expect((await activate()).state).toBe(RouteState.ACTIVE);
    expect((await client.getRoute(named(place, routeId))).error).toBeUndefined();
    status = 500;
    // An active route stays active: its service is checked only at the move.
    expect((await activate()).state).toBe(RouteState.ACTIVE);
  });

  test("refuses, in this order", async () => {
    const { client, place, serviceIdentifier } = await startShop();
    const update = (routeId: string, activationState: RouteActivationState) =>
      refusalOf(client.updateRoute({ ...named(place, routeId), activationState }));
    expect(await update("rte-0000000000", ACTIVE)).toBe("RESOURCE_NOT_FOUND: There is no ROUTE rte-0000000000.");
    const defaultRoute = await makeDefaultRoute(client, place, serviceIdentifier, INACTIVE);
    const users = pathRoute(place, serviceIdentifier, "/users", { activationState: INACTIVE });
    const { routeId } = await client.createRoute(users);
    expect(await update(routeId, ACTIVE)).toBe(
      `DEFAULT_ROUTE_NOT_ACTIVE: No route of the application ${place.applicationIdentifier} can be active unless its default route is active.`,
    );
    expect(await update(defaultRoute, ACTIVE)).toBe("answered");
    expect(await update(routeId, ACTIVE)).toBe("answered");
    expect(await update(defaultRoute, INACTIVE)).toBe(
      `OTHER_ROUTES_ACTIVE: The default route can become inactive only when all other routes are inactive; ${routeId} is not.`,
    );
    expect(await update(routeId, INACTIVE)).toBe("answered");
    expect(await update(defaultRoute, INACTIVE)).toBe("answered");
  });

  test("never leaves an active route without an active default route, whoever wins", async () => {
    const { client, place, serviceIdentifier } = await startShop();
    const defaultRoute = await makeDefaultRoute(client, place, serviceIdentifier);
    const users = pathRoute(place, serviceIdentifier, "/users", { activationState: INACTIVE });
    const { routeId } = await client.createRoute(users);
    for (let round = 0; round < 10; round++) {
      await Promise.all([
        refusalOf(client.updateRoute({ ...named(place, routeId), activationState: ACTIVE })),
        refusalOf(client.updateRoute({ ...named(place, defaultRoute), activationState: INACTIVE })),
      ]);
      const states = [await stateOf(client, place, defaultRoute), await stateOf(client, place, routeId)];
      expect(states).not.toEqual([RouteState.INACTIVE, RouteState.ACTIVE]);
      await client.updateRoute({ ...named(place, routeId), activationState: INACTIVE });
      await client.updateRoute({ ...named(place, defaultRoute), activationState: ACTIVE });
    }
  });
});

describe("deleteRoute", () => {
  test("answers DELETING, and the traffic goes to the default route at once", async () => {
    const { client, place, serviceIdentifier } = await startShop();
    await makeDefaultRoute(client, place, serviceIdentifier);
    const users = await startBackend("users");
    const usersService = await makeService(client, place, users.url);
    const { routeId, arn } = await client.createRoute(pathRoute(place, usersService, "/users"));
    const url = `${await proxyUrlOf(client, place)}/users`;
    expect(await textOf(url)).toBe("users GET /");
    const gone = await client.deleteRoute(named(place, routeId));
    expect(gone).toMatchObject({ routeId, arn, serviceId: usersService, state: RouteState.DELETING });
    expect(await textOf(url)).toBe("monolith GET /users");
    expect(await refusalOf(client.deleteRoute(named(place, routeId)))).toBe(
      `RESOURCE_NOT_FOUND: There is no ROUTE ${routeId}.`,
    );
  });

  test("refuses the default route while another route is active", async () => {
    const { client, place, serviceIdentifier } = await startShop();
    const defaultRoute = await makeDefaultRoute(client, place, serviceIdentifier);
    const { routeId } = await client.createRoute(pathRoute(place, serviceIdentifier, "/users"));
    expect(await refusalOf(client.deleteRoute(named(place, defaultRoute)))).toBe(
      `RESOURCE_IN_USE: The ROUTE ${defaultRoute} cannot be deleted while there is the active route ${routeId}.`,
    );
    await client.deleteRoute(named(place, routeId));
    expect(await refusalOf(client.deleteRoute(named(place, defaultRoute)))).toBe("answered");
  });
});

describe("listRoutes", () => {
  test("lists an application's routes by id, page by page", async () => {
    const { client, place, serviceIdentifier } = await startShop();
    const made = [await makeDefaultRoute(client, place, serviceIdentifier, INACTIVE)];
    for (const path of ["/a", "/b", "/c", "/d"]) {
      const wish = pathRoute(place, serviceIdentifier, path, { activationState: INACTIVE });
      made.push((await client.createRoute(wish)).routeId);
    }
    const first = await client.listRoutes({ ...place, maxResults: 2 });
    const second = await client.listRoutes({ ...place, maxResults: 2, nextToken: first.nextToken });
    const third = await client.listRoutes({ ...place, maxResults: 2, nextToken: second.nextToken });
    const pages = [first, second, third].map((page) => page.routeSummaryList.map((route) => route.routeId));
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(pages.flat()).toEqual(made.toSorted());
    expect(third.nextToken).toBeUndefined();
  });
});

describe("setRouteTraffic", () => {
  const addressed = (number: number) => `203.0.${Math.floor(number / 250)}.${number % 250}`;

  const startShared = async () => {
    const harness = await startHarness({ trustedProxies: new TrustedProxies(["127.0.0.1"]) });
    const { client } = harness;
    const place = await makeApplication(client);
    const [monolith, carts] = [await startBackend("monolith"), await startBackend("carts")];
    const defaultRoute = await makeDefaultRoute(client, place, await makeService(client, place, monolith.url));
    const { routeId } = await client.createRoute(
      pathRoute(place, await makeService(client, place, carts.url), "/carts"),
    );
    const url = `${await proxyUrlOf(client, place)}/carts`;
    const share = (trafficPercentage: number, routeIdentifier = routeId) =>
      client.setRouteTraffic({ ...named(place, routeIdentifier), trafficPercentage });
    /** The clients, of 100, whose requests the route takes. */
    const taken = async () => {
      const answers = await Promise.all(
        Array.from({ length: 100 }, async (_none, number) => {
          const answer = await fetch(url, { headers: { "x-forwarded-for": addressed(number) } });
          return (await answer.text()).startsWith("carts");
        }),
      );
      return new Set(answers.flatMap((isTaken, number) => (isTaken ? [number] : [])));
    };
    return { ...harness, place, routeId, defaultRoute, share, taken };
  };

  test("sends a share of clients to a route's service from the next request on, each always to the same", async () => {
    const { client, place, routeId, share, taken } = await startShared();
    expect((await taken()).size).toBe(100);
    expect(await share(30)).toMatchObject({ routeId, trafficPercentage: 30, state: RouteState.ACTIVE });
    const some = await taken();
    expect(some.size).toBeGreaterThan(15);
    expect(some.size).toBeLessThan(45);
    expect(await taken()).toEqual(some);
    await share(60);
    const more = await taken();
    expect(more.isSupersetOf(some)).toBe(true);
    expect(more.size).toBeGreaterThan(45);
    await share(0);
    expect((await taken()).size).toBe(0);
    expect((await client.getRoute(named(place, routeId))).trafficPercentage).toBe(0);
    expect(await share(100)).toMatchObject({ trafficPercentage: 100 });
    expect((await taken()).size).toBe(100);
    expect((await client.getRoute(named(place, routeId))).trafficPercentage).toBeUndefined();
  });

  test("sends the same clients along all routes of an application", async () => {
    const { client, place, share, taken } = await startShared();
    const orders = await startBackend("orders");
    const serviceIdentifier = await makeService(client, place, orders.url);
    const { routeId } = await client.createRoute(pathRoute(place, serviceIdentifier, "/orders"));
    await share(50);
    await share(50, routeId);
    const some = await taken();
    const url = `${await proxyUrlOf(client, place)}/orders`;
    for (const number of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const answer = await fetch(url, { headers: { "x-forwarded-for": addressed(number) } });
      expect((await answer.text()).startsWith("orders")).toBe(some.has(number));
    }
  });

  test("is kept while a route is inactive, in listings and over a restart", async () => {
    const { client, place, routeId, share, directory, stop } = await startShared();
    await client.updateRoute({ ...named(place, routeId), activationState: INACTIVE });
    expect(await share(5)).toMatchObject({ trafficPercentage: 5, state: RouteState.INACTIVE });
    const { routeSummaryList } = await client.listRoutes(place);
    expect(new Set(routeSummaryList.map(({ trafficPercentage }) => trafficPercentage))).toEqual(
      new Set([5, undefined]),
    );
    await stop();
    const again = await startHarness({ directory });
    expect((await again.client.getRoute(named(place, routeId))).trafficPercentage).toBe(5);
  });

  test("refuses a share that is none, a route that does not exist, and the default route, which takes the rest", async () => {
    const { share, defaultRoute } = await startShared();
    expect(await refusalOf(share(101))).toBe(
      "INVALID_INPUT: 1 validation error detected: Value '101' at 'traffic_percentage' failed to satisfy constraint: " +
        "Member must have value less than or equal to 100",
    );
    expect(await refusalOf(share(10, "rte-0000000000"))).toMatch(/^RESOURCE_NOT_FOUND: .*rte-0000000000/);
    expect(await refusalOf(share(10, defaultRoute))).toBe(invalid("the default route takes all that others leave"));
  });
});
