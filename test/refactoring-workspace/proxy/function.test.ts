import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";

import { describe, expect, test } from "vitest";

import { RouteActivationState, RouteState, RouteType } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { ServiceEndpointType } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import { eventually } from "../../support/eventually.ts";
import { sendRaw } from "../../support/raw-request.ts";
import { startBackend } from "../backend.ts";
import type { HarnessOptions } from "../harness.ts";
import { makeApplication, makeDefaultRoute, makeService, proxyUrlOf, startHarness } from "../harness.ts";

interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body: string;
}

const invocation = "POST /2015-03-31/functions/orders%3Alive/invocations";

/** An application whose path `/orders/{id}` leads to a function that answers what the test says. */
const startFunction = async (
  answerOf: (event: Record<string, unknown>) => Answer | "nothing" | "a beginning" | "the end",
  limits: Pick<HarnessOptions, "upstreamLimits" | "proxyLimits"> = {},
) => {
  const events: Record<string, unknown>[] = [];
  const functions = await startBackend("functions", async (request, response) => {
    if (request.method === "GET") return response.end('{"Configuration":{"State":"Active"}}');
    if (request.url?.includes("/policy") === true) return response.writeHead(201).end("{}");
    const event = JSON.parse(await text(request)) as Record<string, unknown>;
    events.push(event);
    const answer = answerOf(event);
    if (answer === "nothing") return undefined;
    if (answer === "a beginning") return response.writeHead(200).write("{");
    if (answer === "the end") return request.socket.destroy();
    const { status = 200, headers = {}, body } = answer;
    return response.writeHead(status, headers).end(body);
  });
  const monolith = await startBackend("monolith");
  const { client } = await startHarness({ functionsUrl: functions.url, ...limits });
  const place = await makeApplication(client);
  const defaultRoute = await makeDefaultRoute(client, place, await makeService(client, place, monolith.url));
  const { serviceId } = await client.createService({
    ...place,
    name: "orders",
    endpointType: ServiceEndpointType.FUNCTION,
    functionEndpoint: { arn: "arn:aws:lambda:us-east-1:000000000000:function:orders:live" },
  });
  const { routeId, state } = await client.createRoute({
    ...place,
    serviceIdentifier: serviceId,
    routeType: RouteType.URI_PATH,
    uriPathRoute: {
      sourcePath: "/orders/{id}",
      activationState: RouteActivationState.ACTIVE,
      includeChildPaths: true,
    },
  });
  expect(state).toBe(RouteState.ACTIVE);
  return { url: await proxyUrlOf(client, place), events, functions, routeId, defaultRoute };
};

const json = (answer: object): Answer => ({ body: JSON.stringify(answer) });

describe("a function behind a route", () => {
  test("gets the proxy event and answers the client", async () => {
    const { url, events, functions, routeId } = await startFunction(() =>
      json({ statusCode: 201, headers: { "content-type": "text/plain", "X-One": 1 }, body: "made" }),
    );
    const answer = await fetch(`${url}/orders/7/lines/a%20b?x=1&x=2&y=`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-trace": "t", "user-agent": "anna" },
      body: '{"sum":1}',
    });
    expect([answer.status, await answer.text()]).toEqual([201, "made"]);
    expect(answer.headers.get("x-one")).toBe("1");
    expect(functions.asked.at(-1)).toBe(invocation);
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      version: "1.0",
      resource: "/orders/{id}/{proxy+}",
      path: "/orders/7/lines/a b",
      httpMethod: "POST",
      headers: { "x-trace": "t", "user-agent": "anna" },
      multiValueHeaders: { "x-trace": ["t"] },
      queryStringParameters: { x: "2", y: "" },
      multiValueQueryStringParameters: { x: ["1", "2"], y: [""] },
      pathParameters: { id: "7", proxy: "lines/a b" },
      stageVariables: null,
      requestContext: {
        accountId: "000000000000",
        apiId: new URL(url).pathname.split("/")[1],
        resourceId: routeId,
        resourcePath: "/orders/{id}/{proxy+}",
        httpMethod: "POST",
        path: "/prod/orders/7/lines/a b",
        stage: "prod",
        requestTime: "02/Jan/2026:03:04:05 +0000",
        requestTimeEpoch: 1_767_323_045_000,
        protocol: "HTTP/1.1",
        identity: { sourceIp: "127.0.0.1", userAgent: "anna" },
      },
      body: '{"sum":1}',
      isBase64Encoded: false,
    });
  });

  test("reads the path as UTF-8", async () => {
    const { url, events } = await startFunction(() => json({ statusCode: 200, body: "" }));
    await fetch(`${url}/orders/caf%C3%A9/%E6%97%A5/%FF`);
    expect(events[0]).toMatchObject({
      path: "/orders/café/日/\ufffd",
      pathParameters: { id: "café", proxy: "日/\ufffd" },
      requestContext: { path: "/prod/orders/café/日/\ufffd" },
    });
  });

  test("gets no body, query and rest as null, and bytes as base64", async () => {
    const { url, events } = await startFunction(() => json({ statusCode: 200 }));
    expect((await fetch(`${url}/orders/7`)).status).toBe(200);
    const headers = { "content-type": "image/png" };
    await fetch(`${url}/orders/7`, { method: "PUT", body: Buffer.of(0, 255), headers });
    expect(events[0]).toMatchObject({
      resource: "/orders/{id}",
      path: "/orders/7",
      pathParameters: { id: "7" },
      queryStringParameters: null,
      multiValueQueryStringParameters: null,
      body: null,
      isBase64Encoded: false,
    });
    expect(events[1]).toMatchObject({ body: "AP8=", isBase64Encoded: true });
  });

  test("answers with repeated fields and bytes", async () => {
    const { url } = await startFunction(() =>
      json({
        statusCode: "200",
        headers: { "set-cookie": "ignored", "content-length": "999" },
        multiValueHeaders: { "Set-Cookie": ["a=1", "b=2"] },
        body: "AP8=",
        isBase64Encoded: true,
      }),
    );
    const answer = await fetch(`${url}/orders/7`);
    expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(Buffer.of(0, 255));
  });

  test.each([
    // status, method, the end of the answer's header, body
    [204, "GET", "", ""],
    [304, "GET", "", ""],
    [304, "HEAD", "", ""],
    [200, "HEAD", "content-length: 5\r\n", ""],
    [200, "GET", "content-length: 5\r\n", "hello"],
  ])(
    "that answers %i to %s: the length and the body that such an answer may have",
    async (status, method, length, body) => {
      const { url } = await startFunction(() => json({ statusCode: status, headers: { "x-a": "b" }, body: "hello" }));
      const { port, pathname } = new URL(url);
      const head = `${method} ${pathname}/orders/7 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
      const answer = await sendRaw(Number(port), head);
      const own = `x-a: b\r\n${length}`;
      expect(answer).toMatch(
        new RegExp(`^HTTP/1\\.1 ${status} [^]+\r\n${own}Date: [^\r]+\r\nConnection: close\r\n\r\n${body}$`),
      );
    },
  );

  const malformed = "The function's answer is malformed.";

  test.each<[string, Answer, string]>([
    // what it answers, answer, message of the 502
    ["no JSON", { body: "hello" }, malformed],
    ["a text", { body: '"hello"' }, malformed],
    ["no status", json({ body: "a" }), malformed],
    ["a status of its own", json({ statusCode: 99 }), malformed],
    ["an object as body", json({ statusCode: 200, body: {} }), malformed],
    ["a text where a list is meant", json({ statusCode: 200, multiValueHeaders: { a: "b" } }), malformed],
    ["a header with a line break", json({ statusCode: 200, headers: { a: "b\r\nc: d" } }), malformed],
    ["a failure", { headers: { "x-amz-function-error": "Unhandled" }, body: "{}" }, "The function failed."],
    [
      "more values than headers can be",
      json({ statusCode: 200, multiValueHeaders: { a: Array.from({ length: 10_001 }, () => "x") } }),
      "The function's answer is malformed.",
    ],
    [
      "a header over 64 KiB",
      json({ statusCode: 200, headers: { a: "x".repeat(65_536) } }),
      "The function's answer is malformed.",
    ],
    ["nothing useful", { status: 429, body: "{}" }, "The function failed."],
  ])("that answers %s is told as 502", async (_what, answer, message) => {
    const { url } = await startFunction(() => answer);
    const told = await fetch(`${url}/orders/7`);
    expect([told.status, ((await told.json()) as { message: string }).message]).toEqual([502, message]);
  });

  test("takes no body over 6 MiB", async () => {
    const { url, events } = await startFunction(() => json({ statusCode: 200 }));
    const put = (bytes: number) => fetch(`${url}/orders/7`, { method: "PUT", body: Buffer.alloc(bytes, 97) });
    expect((await put(6 * 1024 * 1024)).status).toBe(200);
    expect((await put(6 * 1024 * 1024 + 1)).status).toBe(413);
    expect(events).toHaveLength(1);
  });

  test("gets no further body while those in memory fill their room, which ends with their requests", async () => {
    const proxyLimits = { functionBytesMax: 8 * 1024 * 1024 };
    const { url, events } = await startFunction(
      ({ body }) => (body === "wait".repeat(1024 * 1024) ? "nothing" : json({ statusCode: 200 })),
      { proxyLimits },
    );
    const put = (body: string, signal?: AbortSignal) =>
      fetch(`${url}/orders/7`, { method: "PUT", body, headers: { "content-type": "text/plain" }, signal });
    const gone = new AbortController();
    const first = put("wait".repeat(1024 * 1024), gone.signal).catch(() => "gone");
    await eventually(() => events.length === 1, "the function has the first body");
    expect((await put("a".repeat(5 * 1024 * 1024))).status).toBe(503);
    expect((await put("a".repeat(1024 * 1024))).status).toBe(200);
    gone.abort();
    expect(await first).toBe("gone");
    await eventually(async () => (await put("a".repeat(5 * 1024 * 1024))).status === 200, "there is room again");
  });

  test("takes no text that is over 8 MiB in its event, where a control character has six bytes", async () => {
    const { url, events } = await startFunction(() => json({ statusCode: 200 }));
    const put = (bytes: number) =>
      fetch(`${url}/orders/7`, {
        method: "PUT",
        body: Buffer.alloc(bytes, 1),
        headers: { "content-type": "text/plain" },
      });
    expect((await put(1024 * 1024)).status).toBe(200);
    expect((await put(2 * 1024 * 1024)).status).toBe(413);
    expect(events).toHaveLength(1);
  });

  test("has so many calls of one application at a time, and further ones when those have ended", async () => {
    const { url, events } = await startFunction(({ path }) => (path === "/orders/1" ? "nothing" : json({})), {
      proxyLimits: { functionCallsMax: 1 },
    });
    const gone = new AbortController();
    const first = fetch(`${url}/orders/1`, { signal: gone.signal }).catch(() => "gone");
    await eventually(() => events.length === 1, "the function has the first call");
    expect((await fetch(`${url}/orders/2`)).status).toBe(503);
    gone.abort();
    expect(await first).toBe("gone");
    await eventually(async () => (await fetch(`${url}/orders/2`)).status === 502, "the next call is made");
  });

  test("whose client sends no more of a body loses its place", async () => {
    const { url } = await startFunction(() => json({ statusCode: 200 }), { proxyLimits: { clientStallMs: 100 } });
    const request = httpRequest(`${url}/orders/7`, { method: "PUT", headers: { "content-length": 10 }, agent: false });
    request.on("error", () => {}).write("half");
    const [answer] = (await once(request, "response")) as [IncomingMessage];
    expect([answer.statusCode, JSON.parse(await text(answer)).message]).toEqual([
      408,
      "The rest of the request did not arrive in time.",
    ]);
    request.destroy();
  });

  test("whose client does not read an answer loses its place", async () => {
    const { url } = await startFunction(
      ({ path }) => json({ statusCode: 200, body: path === "/orders/1" ? "x".repeat(5 * 1024 * 1024) : "" }),
      { proxyLimits: { clientStallMs: 100, functionCallsMax: 1 } },
    );
    const request = httpRequest(`${url}/orders/1`, { agent: false });
    request.on("error", () => {}).end();
    const [answer] = (await once(request, "response")) as [IncomingMessage];
    answer.on("error", () => {});
    const isMade = eventually(async () => (await fetch(`${url}/orders/2`)).status === 200, "the next call is made");
    expect(await isMade).toBe(true);
    request.destroy();
  });

  // what it answers, limits, status
  test.each([
    ["nothing", { firstByteTimeoutMs: 100 }, 504],
    ["the end", {}, 502],
  ] as const)("that answers %s of a connection is told with %j as %i", async (answer, upstreamLimits, status) => {
    const { url } = await startFunction(() => answer, { upstreamLimits });
    expect((await fetch(`${url}/orders/7`)).status).toBe(status);
  });

  test("that never ends its answer is told as 504", async () => {
    const { url } = await startFunction(() => "a beginning", { proxyLimits: { functionCallMs: 200 } });
    expect((await fetch(`${url}/orders/7`)).status).toBe(504);
  });

  test("that is away is told as 502", async () => {
    const { url, functions } = await startFunction(() => json({ statusCode: 200 }));
    await functions.close();
    expect((await fetch(`${url}/orders/7`)).status).toBe(502);
  });
});
