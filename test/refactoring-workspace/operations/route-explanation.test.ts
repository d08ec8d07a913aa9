import { describe, expect, test } from "vitest";

import {
  HttpMethod,
  PassedRouteReason,
  RouteActivationState,
  RouteType,
} from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { ServiceEndpointType } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import { TrustedProxies } from "../../../services/kit/identity/trusted-proxies.ts";
import type { SeededRandom } from "../../kit/store/seeded-random.ts";
import { seededRandom } from "../../kit/store/seeded-random.ts";
import { rounds } from "../../support/rounds.ts";
import { startBackend } from "../backend.ts";
import type { Place, WorkspaceClient } from "../harness.ts";
import {
  makeApplication,
  makeDefaultRoute,
  makeService,
  pathRoute,
  proxyUrlOf,
  refusalOf,
  startHarness,
} from "../harness.ts";

const { INACTIVE } = RouteActivationState;
const { GET, HEAD, POST } = HttpMethod;

/** An application with a default route to a backend. */
const startShop = async () => {
  const harness = await startHarness({ trustedProxies: new TrustedProxies(["127.0.0.1"]) });
  const place = await makeApplication(harness.client);
  const backend = await startBackend("shop");
  const serviceIdentifier = await makeService(harness.client, place, `${backend.url}/app?from=proxy`);
  const defaultRoute = await makeDefaultRoute(harness.client, place, serviceIdentifier);
  const add = async (sourcePath: string, more: object = {}): Promise<string> =>
    (await harness.client.createRoute(pathRoute(place, serviceIdentifier, sourcePath, more))).routeId;
  return { ...harness, place, backend, serviceIdentifier, defaultRoute, add };
};

const reasonName = (reason: PassedRouteReason): string | undefined =>
  Object.entries(PassedRouteReason).find(([, number]) => number === reason)?.[0];

const reasonsOf = async (client: WorkspaceClient, place: Place, method: string, path: string) => {
  const { otherRoutes } = await client.explainRoute({ ...place, method, path });
  return otherRoutes.map(({ sourcePath, reason, message }) => [sourcePath ?? "default", reasonName(reason), message]);
};

describe("explainRoute", () => {
  test("names the route, its parameters, its service, and the URL that the service receives", async () => {
    const { client, place, backend, serviceIdentifier, add } = await startShop();
    const routeId = await add("/carts/{cart}/items/{item}", { includeChildPaths: true });
    const path = "/carts/a%2Fb/items/caf%C3%A9/stock/?page=2";
    const { route } = await client.explainRoute({ ...place, path });
    expect(route).toMatchObject({
      routeId,
      routeType: RouteType.URI_PATH,
      sourcePath: "/carts/{cart}/items/{item}",
      pathParameters: { cart: "a/b", item: "café" },
      serviceId: serviceIdentifier,
      url: `${backend.url}/app/stock/?from=proxy&page=2`,
    });
    expect(route?.functionArn).toBeUndefined();
    await fetch(`${await proxyUrlOf(client, place)}${path}`);
    expect(backend.asked.at(-1)).toBe("GET /app/stock/?from=proxy&page=2");
  });

  test("says why each other route does not take the request, the nearest first", async () => {
    const { client, place, add } = await startShop();
    await add("/carts/{cart}");
    const literal = await add("/carts/mine", { methods: [GET, POST] });
    await add("/carts", { includeChildPaths: true });
    await add("/carts/mine", { methods: [HEAD] });
    await add("/carts/{name}", { methods: [GET], activationState: INACTIVE });
    await add("/orders");
    await add("/carts/mine/items");
    await add("/{kind}/yours");
    const isSaid = (id: string) => `It matches, and the route ${id} is more specific.`;
    const rows = await reasonsOf(client, place, "GET", "/carts/mine");
    expect(rows.slice(0, 2)).toEqual([
      ["/carts/{name}", "NOT_ACTIVE", "It matches, and gets no requests in the state INACTIVE."],
      ["/carts/mine", "METHOD", "Its path matches, and it is for HEAD only."],
    ]);
    // Of these the number of common segments decides, then the ids, which are random.
    expect(rows.slice(2)).toEqual([
      ["/carts/{cart}", "LESS_SPECIFIC", isSaid(literal)],
      ["/carts", "LESS_SPECIFIC", isSaid(literal)],
      ["default", "LESS_SPECIFIC", isSaid(literal)],
      ["/carts/mine/items", "PATH", `The request's path ends before segment 3, "items".`],
      ["/{kind}/yours", "PATH", `Segment 2 of the request's path is "mine", and not "yours".`],
      ["/orders", "PATH", `Segment 1 of the request's path is "carts", and not "orders".`],
    ]);
  });

  test.each([
    // path, source path, message
    ["/carts/1/x", "/carts/{cart}", "The request's path goes on, and the route does not include child paths."],
    ["/carts//x", "/carts/{cart}/x", "Segment 2 of the request's path is empty, which {cart} does not match."],
    ["/carts", "/carts/{cart}", "The request's path ends before segment 2, {cart}."],
    ["/", "/carts", `The request's path ends before segment 1, "carts".`],
    ["/caf%C3%A9", "/cafe", `Segment 1 of the request's path is "café", and not "cafe".`],
    [`/${"a".repeat(101)}`, "/a", `Segment 1 of the request's path is "${"a".repeat(100)}…", and not "a".`],
  ])("says where %s and %s part", async (path, sourcePath, message) => {
    const { client, place, add, defaultRoute } = await startShop();
    await add(sourcePath);
    const { route, otherRoutes } = await client.explainRoute({ ...place, path });
    expect(route).toMatchObject({ routeId: defaultRoute, routeType: RouteType.DEFAULT, pathParameters: {} });
    expect(route?.sourcePath).toBeUndefined();
    expect(otherRoutes.map((each) => [reasonName(each.reason), each.message])).toEqual([["PATH", message]]);
  });

  test("names no route where none is active, and the function of one that leads to a function", async () => {
    const functions = await startBackend("functions", (request, response) =>
      request.method === "GET"
        ? response.end('{"Configuration":{"State":"Active"}}')
        : response.writeHead(201).end("{}"),
    );
    const { client } = await startHarness({ functionsUrl: functions.url });
    const place = await makeApplication(client);
    const arn = "arn:aws:lambda:us-east-1:000000000000:function:orders";
    const endpoint = { endpointType: ServiceEndpointType.FUNCTION, functionEndpoint: { arn } };
    const { serviceId } = await client.createService({ ...place, name: "orders", ...endpoint });
    expect(await client.explainRoute({ ...place, path: "/x" })).toMatchObject({ otherRoutes: [] });
    const routeIdentifier = await makeDefaultRoute(client, place, serviceId, INACTIVE);
    const before = await client.explainRoute({ ...place, path: "/x" });
    expect(before.route).toBeUndefined();
    expect(before.otherRoutes.map(({ reason }) => reason)).toEqual([PassedRouteReason.NOT_ACTIVE]);
    await client.updateRoute({ ...place, routeIdentifier, activationState: RouteActivationState.ACTIVE });
    const { route } = await client.explainRoute({ ...place, path: "/x" });
    expect(route).toMatchObject({ routeId: routeIdentifier, functionArn: arn });
    expect(route?.url).toBeUndefined();
  });

  test.each([
    ["TRACE", "/x", "the method TRACE is not served"],
    ["CONNECT", "/x", "the method CONNECT is not served"],
    ["BREW", "/x", "the method BREW is not served"],
    ["GET", "/a/../b", "the path has a dot segment"],
    ["GET", "/a%00", "the path has a NUL"],
    ["GET", "/a%", "the path has a broken percent-escape"],
    ["GET", "/a#b", "the request target has a fragment"],
    ["GET", "/a", "the client's address is none", "203.0.113"],
  ])("refuses %s %s as the proxy does: %s", async (method, path, problem, clientAddress = "192.0.2.1") => {
    const { client, place } = await startShop();
    expect(await refusalOf(client.explainRoute({ ...place, method, path, clientAddress }))).toBe(
      `REQUEST_NOT_FORWARDED: The proxy does not forward such a request: ${problem}.`,
    );
  });

  test("says of a route for a share of clients whether it takes one", async () => {
    const { client, place, add, defaultRoute } = await startShop();
    const routeIdentifier = await add("/carts");
    const share = (trafficPercentage: number) =>
      client.setRouteTraffic({ ...place, routeIdentifier, trafficPercentage });
    const explained = async (clientAddress?: string) => {
      const { route, otherRoutes } = await client.explainRoute({
        ...place,
        path: "/carts",
        ...(clientAddress && { clientAddress }),
      });
      const [other] = otherRoutes;
      return [route?.routeId, route?.trafficPercentage, other && reasonName(other.reason), other?.message];
    };
    await share(40);
    const left = [
      defaultRoute,
      undefined,
      "TRAFFIC",
      "It matches, and takes 40 % of clients, of which this one is none.",
    ];
    const lessSpecific = `It matches, and the route ${routeIdentifier} is more specific.`;
    const taken = [routeIdentifier, 40, "LESS_SPECIFIC", lessSpecific];
    const answers = await Promise.all(Array.from({ length: 60 }, (_none, index) => explained(`203.0.113.${index}`)));
    const isTaken = (answer: readonly unknown[]) => answer[0] === routeIdentifier;
    expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(
      new Set([JSON.stringify(left), JSON.stringify(taken)]),
    );
    expect(answers.filter(isTaken).length).toBeGreaterThan(5);
    expect(await explained()).toEqual(taken);
    // Addresses of one IPv6 network are one client.
    expect(await explained("2001:db8::1")).toEqual(await explained("2001:db8::ffff:2"));
    await share(0);
    expect((await explained()).slice(0, 3)).toEqual([defaultRoute, undefined, "TRAFFIC"]);
    await share(100);
    expect((await explained("203.0.113.1")).slice(0, 2)).toEqual([routeIdentifier, undefined]);
  });

  test("refuses an environment, then an application that does not exist, and what is another account's", async () => {
    const { client, clientOf, place } = await startShop();
    const gone = { environmentIdentifier: "env-0000000000", applicationIdentifier: "app-0000000000" };
    const refused = (more: Partial<Place>, by = client) => refusalOf(by.explainRoute({ ...place, ...more, path: "/" }));
    expect(await refused(gone)).toMatch(/^RESOURCE_NOT_FOUND: .*env-0000000000/);
    expect(await refused({ applicationIdentifier: gone.applicationIdentifier })).toMatch(
      /^RESOURCE_NOT_FOUND: .*app-0000000000/,
    );
    expect(await refused({}, clientOf("111122223333"))).toMatch(/^ACCESS_DENIED: /);
  });

  test("says of any request what the proxy does with it", async () => {
    for (let seed = 1; seed <= rounds(3, 60); seed += 1) {
      const { explained, received } = await explainAndSend(seededRandom(seed));
      expect(explained).toEqual(received);
    }
  });
});

const words = ["a", "b", "c"];

/** What is explained of requests by chance to routes by chance, and what the service then receives. */
const explainAndSend = async (random: SeededRandom) => {
  const { client, place, backend, defaultRoute, add } = await startShop();
  const explained: string[] = [];
  const received: string[] = [];
  const pick = <Item>(items: readonly Item[]): Item => items[random.below(items.length)] as Item;
  const path = (parts: readonly string[]): string =>
    Array.from({ length: 1 + random.below(3) }, (_none, index) => `/${pick(parts).replace("#", `${index}`)}`).join("");
  const taken = new Set<string>();
  for (let each = 0; each < 12; each += 1) {
    const methods = pick([[], [], [GET], [GET, POST]]);
    const sourcePath = path([...words, "{p#}"]);
    const shape = sourcePath.replaceAll(/\{.*?\}/g, "{}");
    // Routes that another one covers are refused, which is not what is looked at here.
    const covered = (methods.length === 0 ? ["all"] : ["GET", "POST"]).map((method) => `${method} ${shape}`);
    if (covered.some((key) => taken.has(key))) continue;
    for (const key of covered) taken.add(key);
    const activationState = pick([RouteActivationState.ACTIVE, RouteActivationState.ACTIVE, INACTIVE]);
    const more = { includeChildPaths: pick([true, false]), appendSourcePath: pick([true, false]) };
    const routeIdentifier = await add(sourcePath, { methods, activationState, ...more });
    const trafficPercentage = pick([100, 100, 50, 10, 0]);
    await client.setRouteTraffic({ ...place, routeIdentifier, trafficPercentage });
  }
  const url = await proxyUrlOf(client, place);
  for (let each = 0; each < 60; each += 1) {
    const method = pick(["GET", "POST", "DELETE"]);
    const target = path([...words, "%61", "d"]) + pick(["", "/", "?q=1"]);
    const clientAddress = `203.0.113.${random.below(256)}`;
    const { route, otherRoutes } = await client.explainRoute({ ...place, method, path: target, clientAddress });
    const others = otherRoutes.filter(({ reason }) => reason === PassedRouteReason.LESS_SPECIFIC);
    const isDefaultPassed = others.some(({ routeId }) => routeId === defaultRoute);
    explained.push(`${method} ${route?.url?.slice(backend.url.length)} ${isDefaultPassed}`);
    await fetch(`${url}${target}`, { method, headers: { "x-forwarded-for": clientAddress } });
    received.push(`${backend.asked.at(-1)} ${route?.routeId !== defaultRoute}`);
  }
  return { explained, received };
};
