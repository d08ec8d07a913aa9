import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createMetrics } from "../../../services/kit/metrics/metrics.ts";
import { samplesOf } from "../../kit/metrics/samples.ts";
import { registerMemoryTracer } from "../../kit/trace/memory-tracer.ts";
import type { CapturingLogger } from "../../support/capturing-logger.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { eventually } from "../../support/eventually.ts";
import type { Fixture } from "../support/fixture.ts";
import { dialects, startFixture } from "../support/fixture.ts";
import { formBody, formHeaders, signedFields } from "../support/form.ts";
import { send } from "../support/signing-client.ts";

let fixture: Fixture;
let gatewayLog: CapturingLogger;
let serviceLog: CapturingLogger;

beforeEach(async () => {
  gatewayLog = capturingLogger("info");
  serviceLog = capturingLogger("info");
  fixture = await startFixture({}, { log: gatewayLog.log, serviceLog: serviceLog.log, metrics: createMetrics() });
});
afterEach(() => fixture.stop());

const requestLines = () => gatewayLog.lines.filter((line) => line["msg"] === "request");
const lineCount = (count: number) => eventually(() => requestLines().length === count, `${count} requests are logged`);
const samples = async (): Promise<string[]> => samplesOf(await (await fetch(`${fixture.adminUrl}/metrics`)).text());

const traceId = "0af7651916cd43dd8448eb211c80319c";
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

describe("a request", () => {
  test("is one line that says what it meant and how it was answered", async () => {
    await fixture.call("object-storage", "svc", { method: "GET", target: "/novels?marker=hush" });
    await lineCount(1);
    expect(requestLines()[0]).toEqual({
      level: 30,
      time: expect.any(Number),
      method: "GET",
      path: "/novels",
      api: "object-storage",
      operation: "ListBooks",
      dialect: "svc",
      status: 200,
      ms: expect.any(Number),
      account: "000000000000",
      client: "127.0.0.1",
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      msg: "request",
    });
    expect(JSON.stringify(gatewayLog.lines)).not.toContain("hush");
  });

  test("that is refused before its operation is known has a line without one", async () => {
    const answer = await fetch(`${fixture.url}/novels?X-Amz-Signature=hush`);
    await lineCount(1);
    expect(requestLines()[0]).toMatchObject({ status: answer.status, path: "/novels", api: "object-storage" });
    expect(JSON.stringify(gatewayLog.lines)).not.toContain("hush");
  });

  test("that is an upload by a form is logged with the account that signed it", async () => {
    const form = { method: "POST", target: "/novels", body: formBody(signedFields(dialects.amz), "Emma") };
    await send(fixture.url, form, formHeaders);
    await lineCount(1);
    expect(requestLines()[0]).toMatchObject({ status: 204, operation: "PutBook", account: "000000000000" });
  });

  test("whose client goes away before its answer is noted as such", async () => {
    const giveUp = new AbortController();
    let isCalled = false;
    fixture.answer("ListShelves", (context) => {
      isCalled = true;
      return new Promise((_resolve, reject) =>
        context.signal.addEventListener("abort", () => reject(new Error("gone"))),
      );
    });
    const headers = fixture.sign("object-storage", "amz", { method: "GET", target: "/" });
    const asking = fetch(`${fixture.url}/`, { headers, signal: giveUp.signal });
    await eventually(() => isCalled, "the service is called");
    giveUp.abort();
    await expect(asking).rejects.toThrow("aborted");
    await lineCount(1);
    expect(requestLines()[0]).toMatchObject({ status: 499, operation: "ListShelves" });
  });
});

describe("metrics of requests", () => {
  test("are counted by API, operation, dialect and status, and shown on the admin port", async () => {
    await fixture.call("object-storage", "amz", { method: "GET", target: "/" });
    await fixture.call("object-storage", "amz", { method: "GET", target: "/" });
    await fixture.call("object-storage", "svc", { method: "GET", target: "/" });
    await lineCount(3);
    expect(await samples()).toEqual([
      'http_request_duration_seconds_count{api="object-storage",operation="ListShelves",dialect="amz"} 2',
      'http_request_duration_seconds_count{api="object-storage",operation="ListShelves",dialect="svc"} 1',
      'http_requests_total{api="object-storage",operation="ListShelves",dialect="amz",status="200"} 2',
      'http_requests_total{api="object-storage",operation="ListShelves",dialect="svc",status="200"} 1',
    ]);
  });

  test("have one label for whatever strangers ask for", async () => {
    for (let index = 0; index < 20; index += 1)
      await fixture.call("event-bus", "amz", {
        method: "POST",
        target: "/",
        headers: { "x-amz-target": `AWSEvents.Made${index}Up`, "content-type": "application/x-amz-json-1.1" },
        body: "{}",
      });
    await lineCount(20);
    expect((await samples()).filter((line) => line.startsWith("http_requests_total"))).toEqual([
      'http_requests_total{api="event-bus",operation="unknown",dialect="amz",status="400"} 20',
    ]);
  });
});

describe("a trace", () => {
  test("goes from the client through the gateway to the service", async () => {
    let received: Pick<Headers, "get"> | undefined;
    fixture.answer("ListShelves", (context) => {
      received = context.requestHeader;
      context.log.info("handled");
      return {};
    });
    const headers = { traceparent, tracestate: "congo=t61" };
    await fixture.call("object-storage", "amz", { method: "GET", target: "/", headers });
    await lineCount(1);
    expect(received?.get("traceparent")).toBe(traceparent);
    expect(received?.get("tracestate")).toBe("congo=t61");
    expect(requestLines()[0]?.["trace_id"]).toBe(traceId);
    const access = serviceLog.lines.find((line) => line["msg"] === "call");
    expect(access).toMatchObject({ trace_id: traceId, code: "ok" });
  });

  test("is begun by the gateway when the client tells none, or none that is valid", async () => {
    const given: Record<string, string>[] = [{}, { traceparent: "00-nothing" }];
    for (const headers of given) await fixture.call("object-storage", "amz", { method: "GET", target: "/", headers });
    await lineCount(2);
    const ids = requestLines().map((line) => line["trace_id"]);
    expect(new Set(ids).size).toBe(2);
    expect(serviceLog.lines.filter((line) => line["msg"] === "call").map((line) => line["trace_id"])).toEqual(ids);
  });

  test("is a tree of spans to an SDK that is registered", async () => {
    const tracer = registerMemoryTracer();
    await fixture.call("object-storage", "amz", { method: "GET", target: "/", headers: { traceparent } });
    await lineCount(1);
    tracer.unregister();
    const [request, calling, handling] = tracer.spans;
    expect([request, calling, handling].map((span) => [span?.name, span?.kind, span?.parentSpanId])).toEqual([
      ["GET", 1, "b7ad6b7169203331"],
      ["quartet.test.gateway.v1.ShelfService/ListShelves", 2, request?.spanId],
      ["quartet.test.gateway.v1.ShelfService/ListShelves", 1, calling?.spanId],
    ]);
    expect(tracer.spans.every((span) => span.traceId === traceId && span.isEnded)).toBe(true);
    expect(request?.attributes).toMatchObject({ "http.response.status_code": 200, "quartet.operation": "ListShelves" });
  });
});
