import { connect } from "node:net";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createMetrics } from "../../services/kit/metrics/metrics.ts";
import { eventually } from "../support/eventually.ts";
import type { Fixture } from "./support/fixture.ts";
import { startFixture } from "./support/fixture.ts";
import { send } from "./support/signing-client.ts";

describe("while a service is away", () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await startFixture();
    await fixture.stopServices();
  });
  afterAll(() => fixture.stop());

  test.each([
    // API, request, what the answer holds
    ["object-storage", { method: "GET", target: "/" }, "<Code>ServiceUnavailable</Code>"],
    ["object-storage", { method: "PUT", target: "/novels/emma", body: "Emma" }, "<Code>ServiceUnavailable</Code>"],
    ["object-storage", { method: "GET", target: "/novels/emma" }, "<Code>ServiceUnavailable</Code>"],
    ["customer-profile", { method: "GET", target: "/readers" }, '"__type":"ServiceUnavailable"'],
    [
      "event-bus",
      { method: "POST", target: "/", headers: { "x-amz-target": "AWSEvents.PutNotices" }, body: "{}" },
      '"__type":"ServiceUnavailable"',
    ],
  ] as const)("%s answers 503 in its own words and says when to come again: %o", async (api, request, content) => {
    const response = await fixture.call(api, "amz", request);
    expect(response.status).toBe(503);
    expect(response.headers["retry-after"]).toBe("1");
    expect(response.body).toContain(content);
  });

  test.each(["/livez", "/readyz", "/healthz"])("the gateway itself is healthy at %s", async (path) => {
    const response = await fetch(`${fixture.adminUrl}${path}`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: "SERVING" });
    expect((await fetch(`${fixture.adminUrl}/photos`)).status).toBe(404);
  });
});

test("metrics that cannot be read are told as such, and the gateway goes on", async () => {
  const metrics = createMetrics();
  metrics.add({ name: "broken", help: "Fails.", type: "gauge", read: () => Promise.reject(new Error("broken")) });
  const own = await startFixture({}, { metrics });
  expect((await fetch(`${own.adminUrl}/metrics`)).status).toBe(503);
  expect((await fetch(`${own.adminUrl}/healthz`)).status).toBe(200);
  await own.stop();
});

describe("limits", () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await startFixture({ bodyTimeoutMs: 200, stallTimeoutMs: 200, earlyStatusAfterMs: 20 });
  });
  afterAll(() => fixture.stop());

  const talk = async (text: string): Promise<string> => {
    const { hostname, port } = new URL(fixture.url);
    const socket = connect(Number(port), hostname);
    let answer = "";
    socket.on("data", (piece) => {
      answer += piece.toString("latin1");
    });
    socket.on("error", () => {});
    socket.write(text);
    await eventually(() => answer.includes("\r\n\r\n") || socket.closed, "something is answered");
    socket.destroy();
    return answer;
  };

  test("a head that is too large is refused", async () => {
    expect(await talk(`GET / HTTP/1.1\r\nhost: a\r\nx-long: ${"a".repeat(40_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    );
  });

  test("what is not HTTP is refused", async () => {
    expect(await talk("hello\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
  });

  test.each(["tea", ""])("the expectation %j, which nobody knows, is ignored", async (expectation) => {
    expect(await talk(`GET / HTTP/1.1\r\nhost: a\r\nexpect: ${expectation}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("a body that does not come is refused", async () => {
    const request = { method: "POST", target: "/readers/Ada" };
    const headers = { ...fixture.sign("customer-profile", "amz", request), "content-length": "10" };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    expect(await talk(`POST /readers/Ada HTTP/1.1\r\n${lines.join("")}\r\n{}`)).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("a method with an early status keeps its connection alive with white space", async () => {
    const held = Promise.withResolvers<void>();
    fixture.answer("CopyBook", async () => {
      await held.promise;
      return { copyBookResult: { eTag: "1" } };
    });
    const request = { method: "PUT", target: "/novels/emma", headers: { "x-svc-copy-source": "/drafts/emma" } };
    const { port, hostname } = new URL(fixture.url);
    const socket = connect(Number(port), hostname);
    let answer = "";
    socket.on("data", (piece) => {
      answer += piece.toString("latin1");
    });
    const headers = Object.entries(fixture.sign("object-storage", "svc", request));
    socket.write(
      `PUT /novels/emma HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}content-length: 0\r\n\r\n`,
    );
    await eventually(() => /<\?xml[^>]*>\n[\s\d]* /.test(answer), "white space comes");
    held.resolve();
    await eventually(() => answer.includes("</CopyBookResult>"), "the document comes");
    socket.destroy();
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer.match(/<\?xml/g)).toHaveLength(1);
  });

  test("stopping takes no new connections, says so to health checks, and lets a running request end", async () => {
    const own = await startFixture();
    const held = Promise.withResolvers<void>();
    own.answer("ListShelves", async () => {
      await held.promise;
      return { shelves: ["novels"] };
    });
    const running = own.call("object-storage", "amz", { method: "GET", target: "/" });
    await eventually(() => own.received.length === 1, "the request is with the service");
    const stopped = own.stop(10_000);
    await eventually(async () => (await fetch(`${own.adminUrl}/healthz`)).status === 503, "health checks are told");
    await expect(send(own.url, { method: "GET", target: "/" }, {})).rejects.toThrow("ECONNREFUSED");
    held.resolve();
    expect((await running).body).toContain("<Shelf>novels</Shelf>");
    await stopped;
  });
});
