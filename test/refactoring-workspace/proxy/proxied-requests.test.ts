import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";

import { expect, test } from "vitest";

import { RouteActivationState } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { createMetrics } from "../../../services/kit/metrics/metrics.ts";
import { ProxiedRequests } from "../../../services/refactoring-workspace/proxy/proxied-requests.ts";
import type { Routed } from "../../../services/refactoring-workspace/proxy/routing.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { eventually } from "../../support/eventually.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import type { Answering } from "../backend.ts";
import { startBackend } from "../backend.ts";
import { makeService, pathRoute } from "../harness.ts";
import { startProxied } from "./proxied.ts";

/** An application whose requests are logged and counted. */
const startNoted = async (listener?: Answering) => {
  const { log, lines } = capturingLogger("info");
  const metrics = createMetrics();
  const proxied = await startProxied(listener, { log, metrics });
  const noted = () => lines.filter(({ msg }) => msg === "proxied request");
  /** The next line that is logged. */
  const line = async (count: number) => {
    await eventually(() => noted().length >= count, "the request is noted");
    return noted()[count - 1];
  };
  const series = async (name: string): Promise<string[]> =>
    (await metrics.page()).body.split("\n").filter((each) => each.startsWith(name));
  return { ...proxied, line, noted, series };
};

test("a request is logged and counted with its route, the path of its route and its client", async () => {
  const { client, place, url, line, series } = await startNoted();
  const orders = await startBackend("orders");
  const serviceId = await makeService(client, place, orders.url);
  const { routeId } = await client.createRoute(pathRoute(place, serviceId, "/orders"));
  await (await fetch(`${url}/orders?token=secret`)).text();
  await (await fetch(`${url}/orders`, { method: "POST", body: "a" })).text();
  const { pathname } = new URL(url);
  expect(await line(1)).toEqual({
    level: 30,
    time: expect.anything() as unknown,
    method: "GET",
    path: `${pathname}/orders`,
    application: place.applicationIdentifier,
    route: routeId,
    service: serviceId,
    status: 200,
    ms: expect.any(Number) as unknown,
    client: "127.0.0.1",
    requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
    msg: "proxied request",
  });
  expect(await line(2)).toMatchObject({ method: "POST", route: routeId });
  const labels = `application="${place.applicationIdentifier}",route="${routeId}",service="${serviceId}",path="/orders"`;
  expect(await series("proxied_requests_total")).toEqual([`proxied_requests_total{${labels},status="200"} 2`]);
  expect(await series("proxied_request_duration_seconds_count")).toEqual([
    `proxied_request_duration_seconds_count{${labels}} 2`,
  ]);
  expect(await series("proxied_in_flight")).toEqual(["proxied_in_flight 0"]);
});

test("a refused request has the id of its refusal, and no route where none was found", async () => {
  const { url, line, series } = await startNoted();
  const { origin } = new URL(url);
  const { requestId } = (await (await fetch(`${origin}/nobody/prod/a`)).json()) as { readonly requestId: string };
  expect(await line(1)).toMatchObject({ path: "/nobody/prod/a", status: 404, requestId });
  expect(await line(1)).not.toHaveProperty("route");
  expect(await series("proxied_requests_total")).toEqual([
    'proxied_requests_total{application="",route="",service="",path="",status="404"} 1',
  ]);
});

test("a request that no route takes is counted for its application", async () => {
  const { client, place, url, line, series } = await startNoted();
  for (const { routeId } of (await client.listRoutes(place)).routeSummaryList)
    await client.updateRoute({ ...place, routeIdentifier: routeId, activationState: RouteActivationState.INACTIVE });
  expect((await fetch(`${url}/a`)).status).toBe(404);
  expect(await line(1)).toMatchObject({ application: place.applicationIdentifier, status: 404 });
  expect(await series("proxied_requests_total")).toEqual([
    `proxied_requests_total{application="${place.applicationIdentifier}",route="",service="",path="",status="404"} 1`,
  ]);
});

test("a request whose client goes away before its answer has the status 499", async () => {
  const { url, line, noted, backend, series } = await startNoted(() => {});
  const gone = httpRequest(`${url}/a`, { agent: false });
  gone.on("error", () => {}).end();
  await eventually(() => backend.asked.includes("GET /a"), "the service has it");
  expect([noted(), await series("proxied_in_flight")]).toEqual([[], ["proxied_in_flight 1"]]);
  gone.destroy();
  expect(await line(1)).toMatchObject({ path: `${new URL(url).pathname}/a`, status: 499 });
});

test("an answer that its service does not end is logged as cut", async () => {
  const { url, line } = await startNoted((request, response) => {
    response.writeHead(200, { "content-length": 10 }).write("half", () => request.socket.destroy());
  });
  const sent = httpRequest(`${url}/a`, { agent: false }).end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  await expect(text(answer)).rejects.toThrow("aborted");
  expect(await line(1)).toMatchObject({ status: 200, isCut: true });
});

test("a tunnel is logged when it ends, and its time counts for no request", async () => {
  const { url, line, noted, series, backend } = await startNoted();
  backend.server.on("upgrade", (_request, socket) => {
    socket.on("error", () => {});
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  });
  const sent = httpRequest(url, { headers: { connection: "Upgrade", upgrade: "websocket" } }).end();
  const [, socket] = (await once(sent, "upgrade")) as [IncomingMessage, IncomingMessage["socket"]];
  expect([noted(), await series("proxied_tunnels")]).toEqual([[], ["proxied_tunnels 1"]]);
  socket.destroy();
  expect(await line(1)).toMatchObject({ status: 101, service: expect.any(String) as unknown });
  expect(await series("proxied_tunnels")).toEqual(["proxied_tunnels 0"]);
  expect((await series("proxied_request_duration_seconds_count")).map((each) => each.split("} ")[1])).toEqual(["0"]);
});

test("an upgrade that is refused has the status of its refusal", async () => {
  const { url, line } = await startNoted();
  const headers = { connection: "Upgrade", upgrade: "websocket" };
  const sent = httpRequest(`${new URL(url).origin}/nobody`, { headers }).end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  answer.resume();
  expect(await line(1)).toMatchObject({ status: 404 });
});

test("the routes that were asked last have counts of their own, 1,000 of them, and their labels are short", async () => {
  const metrics = createMetrics();
  const requests = new ProxiedRequests(silentLogger, metrics);
  const client = { address: "", peerAddress: "", host: "", port: 0, protocol: "http" } as const;
  for (let each = 0; each <= 1_000; each += 1) {
    const target = { routeId: `rte-${each}`, serviceId: "svc-1", sourcePath: `/${"a".repeat(500)}` };
    const routed = { target, application: { applicationId: "app-1" } } as unknown as Routed;
    const ended = { requestId: "", method: "GET", target: "/", client, routed, status: 200, ms: 1 };
    requests.note({ ...ended, isCut: false, isTunnel: false });
  }
  const counts = (await metrics.page()).body.match(/^proxied_requests_total\{.*$/gm) ?? [];
  expect(counts).toHaveLength(1_000);
  expect(counts[0]).toBe(
    `proxied_requests_total{application="app-1",route="rte-1000",service="svc-1",path="/${"a".repeat(199)}",status="200"} 1`,
  );
});
