import { cp } from "node:fs/promises";

import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { RouteCheckPayloadSchema } from "../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { ErrorCode } from "../../gen/quartet/refactoringworkspace/v1/resource_error_pb.ts";
import { RouteActivationState, RouteState, RouteType } from "../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { applications, routes } from "../../services/refactoring-workspace/store/layout.ts";
import { listRoutes } from "../../services/refactoring-workspace/store/route.ts";
import { capturingLogger } from "../support/capturing-logger.ts";
import { damageStoredRecord } from "../support/damaged-record.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { startBackend } from "./backend.ts";
import type { Place } from "./harness.ts";
import {
  makeApplication,
  makeDefaultRoute,
  makeService,
  pathRoute,
  proxyUrlOf,
  refusalOf,
  startHarness,
} from "./harness.ts";

const textOf = async (url: string) => (await fetch(url)).text();

/** A backend that delays its answers until the gate opens. */
const startHesitant = async () => {
  const gate = { isOpen: false, isAsked: false };
  const backend = await startBackend("hesitant", (_request, response) => {
    gate.isAsked = true;
    if (gate.isOpen) response.end("here");
  });
  return { gate, backend };
};

describe("after a restart", () => {
  test("every route takes its traffic again, at the same path of the proxy", async () => {
    const first = await startHarness();
    const [monolith, users] = [await startBackend("monolith"), await startBackend("users")];
    const place = await makeApplication(first.client);
    await makeDefaultRoute(first.client, place, await makeService(first.client, place, monolith.url));
    const usersService = await makeService(first.client, place, users.url);
    await first.client.createRoute(pathRoute(place, usersService, "/users", { includeChildPaths: true }));
    const { pathname } = new URL(await proxyUrlOf(first.client, place));
    await first.stop();

    const second = await startHarness({ directory: first.directory });
    const url = await proxyUrlOf(second.client, place);
    expect(new URL(url).pathname).toBe(pathname);
    expect(await textOf(`${url}/cart`)).toBe("monolith GET /cart");
    expect(await textOf(`${url}/users/7`)).toBe("users GET /7");
  });
});

test("a start with a damaged record serves the other applications, and routes no request by half of a plan", async () => {
  const first = await startHarness();
  const [monolith, users] = [await startBackend("monolith"), await startBackend("users")];
  const places = [
    await makeApplication(first.client),
    await makeApplication(first.client),
    await makeApplication(first.client),
  ];
  for (const place of places)
    await makeDefaultRoute(first.client, place, await makeService(first.client, place, monolith.url));
  const [routed, lost, whole] = places as [Place, Place, Place];
  const usersService = await makeService(first.client, routed, users.url);
  const { routeId } = await first.client.createRoute(pathRoute(routed, usersService, "/users"));
  const urls = await Promise.all(places.map((place) => proxyUrlOf(first.client, place)));
  await first.stop();
  const keyOf = (place: Place) => [place.environmentIdentifier, place.applicationIdentifier] as const;
  await damageStoredRecord(first.directory, routes, [...keyOf(routed), routeId]);
  await damageStoredRecord(first.directory, applications, keyOf(lost));

  const { log, lines } = capturingLogger();
  const second = await startHarness({ directory: first.directory, log });
  const answers = await Promise.all(
    urls.map((url) => fetch(`${second.workspace.proxy.url}${new URL(url).pathname}/users`)),
  );
  expect(answers.map(({ status }) => status)).toEqual([500, 404, 200]);
  expect(await answers[2]?.text()).toBe("monolith GET /users");
  const text = "an application is not served: a record of it is damaged";
  const named = lines.filter(({ msg }) => msg === text).map(({ applicationId }) => applicationId);
  expect(new Set(named)).toEqual(new Set([routed.applicationIdentifier, lost.applicationIdentifier]));
  expect((await second.client.listRoutes({ ...whole })).routeSummaryList).toHaveLength(1);
});

describe("a route whose health check goes on", () => {
  test("is answered as CREATING when the call can wait no longer, takes no traffic and no change, and settles later", async () => {
    const { client, clock } = await startHarness();
    const { gate, backend } = await startHesitant();
    const place = await makeApplication(client);
    const serviceIdentifier = await makeService(client, place, backend.url);
    const call = client.createRoute({ ...place, serviceIdentifier, routeType: RouteType.DEFAULT });
    await eventually(
      () => gate.isAsked && clock.pending().includes(clock.now() + 20_000),
      "the call waits for the check",
    );
    clock.advance(20_000);
    const { routeId, state } = await call;
    expect(state).toBe(RouteState.CREATING);
    const route = { ...place, routeIdentifier: routeId };
    expect((await fetch(await proxyUrlOf(client, place))).status).toBe(404);
    expect(await refusalOf(client.updateRoute({ ...route, activationState: RouteActivationState.INACTIVE }))).toBe(
      `ROUTE_CHANGING: The route ${routeId} is in the state CREATING; wait until its health check has ended.`,
    );
    expect(await refusalOf(client.deleteRoute(route))).toBe(
      `RESOURCE_BUSY: The ROUTE ${routeId} is in the state CREATING; wait until it has settled.`,
    );
    await backend.close();
    const settled = await eventually(async () => {
      const told = await client.getRoute(route);
      return told.state === RouteState.CREATING ? undefined : told;
    }, "the route settles");
    expect(settled.state).toBe(RouteState.FAILED);
    expect(settled.error?.code).toBe(ErrorCode.SERVICE_ENDPOINT_HEALTH_CHECK_FAILURE);
  });

  test("is answered before the call's deadline passes", async () => {
    const { client, clock } = await startHarness();
    const { gate, backend } = await startHesitant();
    const place = await makeApplication(client);
    const serviceIdentifier = await makeService(client, place, backend.url);
    const wish = { ...place, serviceIdentifier, routeType: RouteType.DEFAULT };
    const call = client.createRoute(wish, { timeoutMs: 20_000 });
    // Half a second before the end of the time that the caller still waits; some of it has passed on the way.
    const isDue = (atMs: number): boolean => atMs > clock.now() + 1_000 && atMs <= clock.now() + 19_500;
    await eventually(() => gate.isAsked && clock.pending().some(isDue), "the call waits for the check");
    clock.advance(19_500);
    expect((await call).state).toBe(RouteState.CREATING);
  });

  test("is checked again after a crash, and settles", async () => {
    const first = await startHarness();
    const { gate, backend } = await startHesitant();
    const place = await makeApplication(first.client);
    const serviceIdentifier = await makeService(first.client, place, backend.url);
    const call = first.client.createRoute({ ...place, serviceIdentifier, routeType: RouteType.DEFAULT });
    call.catch(() => {});
    await eventually(() => gate.isAsked, "the check asks");
    // The files as a killed process leaves them.
    const directory = await temporaryDirectory();
    await cp(first.directory, directory, { recursive: true });

    gate.isOpen = true;
    const second = await startHarness({ directory });
    const [route] = (await second.client.listRoutes(place)).routeSummaryList;
    const routeIdentifier = route?.routeId ?? "";
    await eventually(
      async () => (await second.client.getRoute({ ...place, routeIdentifier })).state === RouteState.ACTIVE,
      "the route settles",
    );
    expect(await textOf(`${await proxyUrlOf(second.client, place)}/`)).toBe("here");
    first.clock.advance(20_000);
  });

  test("is checked again after a stop, and settles", async () => {
    const first = await startHarness();
    const { gate, backend } = await startHesitant();
    const place = await makeApplication(first.client);
    const serviceIdentifier = await makeService(first.client, place, backend.url);
    const call = refusalOf(first.client.createRoute({ ...place, serviceIdentifier, routeType: RouteType.DEFAULT }));
    await eventually(() => gate.isAsked, "the check asks");
    await first.stop();
    await call;

    gate.isOpen = true;
    const second = await startHarness({ directory: first.directory, clock: first.clock });
    await second.workspace.jobs.idle();
    const [route] = (await second.client.listRoutes(place)).routeSummaryList;
    expect(route?.state).toBe(RouteState.ACTIVE);
  });

  test("becomes FAILED when the check itself could not be run", async () => {
    const { client, clock, store, workspace } = await startHarness();
    const { gate, backend } = await startHesitant();
    const place = await makeApplication(client);
    const serviceIdentifier = await makeService(client, place, backend.url);
    const call = client.createRoute({ ...place, serviceIdentifier, routeType: RouteType.DEFAULT });
    await eventually(() => gate.isAsked, "the check asks");
    const { environmentIdentifier: environmentId, applicationIdentifier: applicationId } = place;
    await store.transact(async (transaction) => {
      const [route] = await listRoutes(transaction, environmentId, applicationId, undefined, 1);
      const { routeId = "", checkJobId = "" } = route ?? {};
      const payload = toBinary(
        RouteCheckPayloadSchema,
        create(RouteCheckPayloadSchema, { environmentId, applicationId, routeId }),
      );
      const job = {
        id: checkJobId,
        kind: "route-check",
        owner: applicationId,
        payload,
        sinceMs: clock.now(),
        lastReason: "",
      };
      await workspace.app.routeChecks.policy.onExhausted?.(transaction, job, "the disk is full", 1);
    });
    const { state, routeId } = await call;
    expect(state).toBe(RouteState.FAILED);
    expect((await client.getRoute({ ...place, routeIdentifier: routeId })).error).toMatchObject({
      code: ErrorCode.STATE_TRANSITION_FAILURE,
      message: "The health check could not be run.",
    });
  });
});
