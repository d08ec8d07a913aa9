import { Code, createClient } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { Failure, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import type { ClosableTransport } from "../../../services/kit/client/transport.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { callMetrics } from "../../../services/kit/metrics/call-metrics.ts";
import { measuredTransport } from "../../../services/kit/metrics/measured-transport.ts";
import type { Metrics } from "../../../services/kit/metrics/metrics.ts";
import { createMetrics } from "../../../services/kit/metrics/metrics.ts";
import type { RunningServer } from "../../../services/kit/server/server.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestServer } from "../server/test-service.ts";
import { collect } from "../server/transports.ts";
import { samplesOf } from "./samples.ts";

let server: RunningServer;
let transport: ClosableTransport;
let ownMetrics: Metrics;

beforeEach(async () => {
  ({ server } = await startTestServer({ metrics: createMetrics() }));
  ownMetrics = createMetrics();
  const plain = createTransport({ address: server.url, engine: "connect", token: async () => "alice" });
  transport = measuredTransport(plain, callMetrics(ownMetrics, "grpc_client"));
});

afterEach(async () => {
  await transport.close();
  await server.stop(0);
});

const serverSamples = async (): Promise<string[]> => samplesOf(await (await fetch(`${server.url}/metrics`)).text());
const client = () => createClient(TestService, transport);
const labels = (method: string, type = "unary", code?: string): string =>
  `grpc_service="quartet.test.v1.TestService",grpc_method="${method}",grpc_type="${type}"${code === undefined ? "" : `,grpc_code="${code}"`}`;

describe("calls", () => {
  test("are counted by method, type and code at both ends", async () => {
    await client().echo({ text: "a" });
    await client().echo({ text: "b" });
    await expect(client().refuse({ failure: Failure.DECLARED, thing: "lamp" })).rejects.toMatchObject({
      code: Code.NotFound,
    });
    await collect(client().count({ last: 3 }));
    const expected = (side: string): string[] =>
      [
        `${side}_started_total{${labels("Echo")}} 2`,
        `${side}_handled_total{${labels("Echo", "unary", "OK")}} 2`,
        `${side}_handling_seconds_count{${labels("Echo")}} 2`,
        `${side}_in_flight{${labels("Echo")}} 0`,
        `${side}_started_total{${labels("Refuse")}} 1`,
        `${side}_handled_total{${labels("Refuse", "unary", "NotFound")}} 1`,
        `${side}_handling_seconds_count{${labels("Refuse")}} 1`,
        `${side}_in_flight{${labels("Refuse")}} 0`,
        `${side}_started_total{${labels("Count", "server_stream")}} 1`,
        `${side}_handled_total{${labels("Count", "server_stream", "OK")}} 1`,
        `${side}_handling_seconds_count{${labels("Count", "server_stream")}} 1`,
        `${side}_in_flight{${labels("Count", "server_stream")}} 0`,
      ].toSorted();
    expect(await serverSamples()).toEqual(expected("grpc_server"));
    expect(samplesOf((await ownMetrics.page()).body)).toEqual(expected("grpc_client"));
  });

  test("are in flight until they end, by whichever way", async () => {
    const giveUp = new AbortController();
    const waiting = client().wait({}, { signal: giveUp.signal });
    const inFlight = (count: number) => async () =>
      (await serverSamples()).includes(`grpc_server_in_flight{${labels("Wait")}} ${count}`);
    await eventually(inFlight(1), "the call runs");
    giveUp.abort();
    await expect(waiting).rejects.toMatchObject({ code: Code.Canceled });
    await eventually(inFlight(0), "the call has ended");
    expect(await serverSamples()).toContain(`grpc_server_handled_total{${labels("Wait", "unary", "Canceled")}} 1`);
  });

  test("of callers without a token are counted as such, of methods that are not there not at all", async () => {
    const post = (path: string) =>
      fetch(`${server.url}${path}`, { method: "POST", headers: { "content-type": "application/proto" }, body: "" });
    expect((await post("/quartet.test.v1.TestService/Echo")).status).toBe(401);
    expect((await post(`/quartet.test.v1.TestService/${"x".repeat(30)}`)).status).toBe(404);
    expect(await serverSamples()).toEqual([
      `grpc_server_handled_total{${labels("Echo", "unary", "Unauthenticated")}} 1`,
      `grpc_server_handling_seconds_count{${labels("Echo")}} 1`,
      `grpc_server_in_flight{${labels("Echo")}} 0`,
      `grpc_server_started_total{${labels("Echo")}} 1`,
    ]);
  });
});

test("a server that counts nothing has no page of metrics", async () => {
  const other = await startTestServer();
  const answer = await fetch(`${other.server.url}/metrics`);
  expect(answer.status).toBe(404);
  await other.server.stop(0);
});
