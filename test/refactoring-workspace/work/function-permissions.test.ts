import { describe, expect, test } from "vitest";

import { ErrorCode, ErrorResourceType } from "../../../gen/quartet/refactoringworkspace/v1/resource_error_pb.ts";
import { RouteActivationState, RouteState } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { ServiceEndpointType } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import { eventually } from "../../support/eventually.ts";
import { startBackend } from "../backend.ts";
import { startFunctions } from "../functions.ts";
import type { HarnessOptions } from "../harness.ts";
import { makeApplication, makeDefaultRoute, makeService, pathRoute, proxyUrlOf, startHarness } from "../harness.ts";

const { ACTIVE, INACTIVE } = RouteActivationState;

/** An application with a default route, and a service that is the function `orders`. */
const startShop = async (qualifier = ":live", options: HarnessOptions = {}) => {
  const functions = await startFunctions();
  const harness = await startHarness({ functionsUrl: functions.url, ...options });
  const { client } = harness;
  const place = await makeApplication(client);
  const monolith = await startBackend("monolith");
  await makeDefaultRoute(client, place, await makeService(client, place, monolith.url));
  const { serviceId } = await client.createService({
    ...place,
    name: "orders",
    endpointType: ServiceEndpointType.FUNCTION,
    functionEndpoint: { arn: `arn:aws:lambda:us-east-1:000000000000:function:orders${qualifier}` },
  });
  const url = await proxyUrlOf(client, place);
  const makeRoute = async (sourcePath: string, activationState: RouteActivationState = ACTIVE) => {
    const { routeId } = await client.createRoute(pathRoute(place, serviceId, sourcePath, { activationState }));
    return { ...place, routeIdentifier: routeId };
  };
  return { ...harness, functions, place, serviceId, url, makeRoute, apiId: new URL(url).pathname.split("/")[1] ?? "" };
};

const path = "/2015-03-31/functions/orders/policy";

describe("the policy of a function", () => {
  test("lets the application's gateway invoke it before a route to it is active, and no longer after its deletion", async () => {
    const { client, functions, makeRoute, apiId, url } = await startShop();
    const route = await makeRoute("/orders");
    const id = `workspace-${route.routeIdentifier}`;
    expect((await client.getRoute(route)).state).toBe(RouteState.ACTIVE);
    expect(functions.asked).toEqual(["GET /2015-03-31/functions/orders%3Alive", `POST ${path}?Qualifier=live`]);
    expect(Object.fromEntries(functions.statements)).toEqual({
      [`orders:live ${id}`]: {
        StatementId: id,
        Action: "lambda:InvokeFunction",
        Principal: "apigateway.amazonaws.com",
        SourceArn: `arn:aws:execute-api:us-east-1:000000000000:${apiId}/prod/*`,
      },
    });
    expect(await (await fetch(`${url}/orders`)).text()).toBe("f");

    await client.deleteRoute(route);
    await eventually(() => functions.statements.size === 0, "the statement is removed");
    expect(functions.asked.at(-1)).toBe(`DELETE ${path}/${id}?Qualifier=live`);
  });

  test.each([
    // qualifier in the ARN, query
    ["", ""],
    [":$LATEST", ""],
    [":7", "?Qualifier=7"],
  ])("is that of the function's version or alias: orders%s", async (qualifier, query) => {
    const { functions, makeRoute } = await startShop(qualifier);
    await makeRoute("/orders");
    expect(functions.asked.at(-1)).toBe(`POST ${path}${query}`);
  });

  test("has a statement for each route, which a deletion of another route leaves", async () => {
    const { client, functions, makeRoute } = await startShop();
    const first = await makeRoute("/orders");
    const second = await makeRoute("/bills");
    expect(functions.statements.size).toBe(2);
    await client.deleteRoute(first);
    await eventually(() => functions.statements.size === 1, "a statement is removed");
    expect([...functions.statements.keys()]).toEqual([`orders:live workspace-${second.routeIdentifier}`]);
  });

  test("is set when an inactive route is activated, and may have its statement already", async () => {
    const { client, functions, makeRoute } = await startShop();
    const route = await makeRoute("/orders", INACTIVE);
    expect(functions.statements.size).toBe(0);
    for (const activationState of [ACTIVE, INACTIVE, ACTIVE]) await client.updateRoute({ ...route, activationState });
    expect((await client.getRoute(route)).state).toBe(RouteState.ACTIVE);
    expect(functions.statements.size).toBe(1);
  });

  test("is not asked about for a route to a URL", async () => {
    const { client, functions, place } = await startShop();
    const backend = await startBackend("shop");
    const { routeId } = await client.createRoute(
      pathRoute(place, await makeService(client, place, backend.url), "/shop"),
    );
    await client.deleteRoute({ ...place, routeIdentifier: routeId });
    expect(functions.asked).toEqual([]);
  });

  test("that cannot be changed leaves the route FAILED, without traffic", async () => {
    const { client, functions, makeRoute, serviceId, url } = await startShop();
    functions.failures.push(403);
    const route = await makeRoute("/orders");
    const { state, error } = await client.getRoute(route);
    expect(state).toBe(RouteState.FAILED);
    expect(error).toMatchObject({
      code: ErrorCode.RESOURCE_UPDATE_FAILURE,
      resourceType: ErrorResourceType.FUNCTION,
      resourceIdentifier: serviceId,
      message: "The policy of the function could not be changed: the functions' address answers 403.",
    });
    expect(await (await fetch(`${url}/orders`)).text()).toBe("monolith GET /orders");
    expect(functions.asked.at(-1)).toBe(`POST ${path}?Qualifier=live`);

    await client.updateRoute({ ...route, activationState: ACTIVE });
    expect((await client.getRoute(route)).state).toBe(RouteState.ACTIVE);
  });

  test.each([
    // what the first attempt is answered
    ["a failure of the address", [503]],
    ["a limit", [429]],
    ["a conflict with another change", [409]],
  ])("is set by a later attempt after %s", async (_what, failures) => {
    const { client, clock, functions, makeRoute } = await startShop();
    functions.failures.push(...failures);
    const creating = makeRoute("/orders");
    await eventually(() => {
      clock.advance(500);
      return functions.statements.size === 1;
    }, "the statement is added");
    const route = await creating;
    const stateOf = async () => (await client.getRoute(route)).state;
    await eventually(async () => (await stateOf()) !== RouteState.CREATING, "the route is settled");
    expect(await stateOf()).toBe(RouteState.ACTIVE);
  });

  test("loses the statement of a deleted route after a failure of the address, and a missing statement is enough", async () => {
    const { client, clock, functions, makeRoute, workspace } = await startShop();
    const route = await makeRoute("/orders");
    functions.failures.push(503, 403, 404);
    const asked = functions.asked.length;
    await client.deleteRoute(route);
    await eventually(() => {
      clock.advance(5_000);
      return functions.asked.length === asked + 3;
    }, "the third request to remove the statement");
    await workspace.jobs.idle();
    clock.advance(60 * 60 * 1000);
    await workspace.jobs.idle();
    expect(functions.asked.length).toBe(asked + 3);
  });
});

describe("calls of the functions' address", () => {
  test("are signed with the configured key, invocations too", async () => {
    const functionsKey = { accessKeyId: "AKIAFUNCTIONS", secretAccessKey: "secret of functions" };
    const { functions, makeRoute, url } = await startShop(":live", { functionsKey });
    await makeRoute("/orders");
    await fetch(`${url}/orders`);
    expect(functions.asked).toEqual([
      "GET /2015-03-31/functions/orders%3Alive",
      `POST ${path}?Qualifier=live`,
      "POST /2015-03-31/functions/orders%3Alive/invocations",
    ]);
    const credential = "AWS4-HMAC-SHA256 Credential=AKIAFUNCTIONS/20260102/us-east-1/lambda/aws4_request";
    expect(functions.headers.map(({ authorization }) => authorization?.split(",")[0])).toEqual([
      credential,
      credential,
      credential,
    ]);
  });

  test("go to a private address where services may have none, because the operator named it", async () => {
    const functions = await startFunctions();
    const { client } = await startHarness({ functionsUrl: functions.url, allowsPrivateTargets: false });
    const place = await makeApplication(client);
    const { serviceId } = await client.createService({
      ...place,
      name: "orders",
      endpointType: ServiceEndpointType.FUNCTION,
      functionEndpoint: { arn: "arn:aws:lambda:us-east-1:000000000000:function:orders" },
    });
    await makeDefaultRoute(client, place, serviceId);
    expect(await (await fetch(await proxyUrlOf(client, place))).text()).toBe("f");
  });
});
