/**
 * One trace through four processes: an object is put through the gateway, its notification travels by the service's
 * outbox to the event bus, which delivers it to an endpoint. All of it carries the trace id of the client.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { amzDialect } from "../../gateway/dialects/amz.ts";
import type { TestResponse } from "../gateway/support/signing-client.ts";
import { send, signHeaders, testKey } from "../gateway/support/signing-client.ts";
import { createDeliveryRole } from "../support/delivery-role.ts";
import { eventually } from "../support/eventually.ts";
import type { HttpReceiver } from "../support/http-receiver.ts";
import { startHttpReceiver } from "../support/http-receiver.ts";
import type { LoggedSystem } from "../support/logged-system.ts";
import { startLoggedSystem } from "../support/logged-system.ts";

let dataDir: string;
let system: LoggedSystem;
let endpoint: HttpReceiver;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-trace-"));
  endpoint = await startHttpReceiver();
  system = await startLoggedSystem(dataDir, "debug", {
    env: {
      QUARTET_ACCESS_KEY_ID: testKey.accessKeyId,
      QUARTET_SECRET_ACCESS_KEY: testKey.secretAccessKey,
    },
  });
}, 90_000);

afterAll(async () => {
  await system?.stop();
  await endpoint?.close();
  await rm(dataDir, { recursive: true, force: true });
});

const call = async (service: string, request: Parameters<typeof signHeaders>[0]): Promise<TestResponse> => {
  const headers = signHeaders(request, new URL(system.gatewayUrl).host, {
    brand: amzDialect.signature,
    service,
    nowMs: Date.now(),
    tellsHash: service === "s3",
  });
  const answer = await send(system.gatewayUrl, request, headers);
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 200 });
  return answer;
};

const onBus = async (operation: string, body: object): Promise<Record<string, string>> => {
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": `AWSEvents.${operation}` };
  const answer = await call("events", { method: "POST", target: "/", headers, body: JSON.stringify(body) });
  return JSON.parse(answer.body) as Record<string, string>;
};

test("an object's notification reaches its endpoint in the trace of the client who put the object", async () => {
  const connection = await onBus("CreateConnection", {
    Name: "endpoint",
    AuthorizationType: "API_KEY",
    AuthParameters: { ApiKeyAuthParameters: { ApiKeyName: "x-key", ApiKeyValue: "key" } },
  });
  const destination = await onBus("CreateApiDestination", {
    Name: "endpoint",
    ConnectionArn: connection["ConnectionArn"],
    HttpMethod: "POST",
    InvocationEndpoint: `${endpoint.url}/objects`,
  });
  await onBus("PutRule", { Name: "created", EventPattern: '{"source":["aws.s3"]}' });
  const RoleArn = await createDeliveryRole({ endpoint: system.gatewayUrl, credentials: testKey });
  await onBus("PutTargets", {
    Rule: "created",
    Targets: [{ Id: "1", Arn: destination["ApiDestinationArn"], RoleArn }],
  });
  await call("s3", { method: "PUT", target: "/documents" });
  const configuration = "<NotificationConfiguration><EventBridgeConfiguration/></NotificationConfiguration>";
  await call("s3", { method: "PUT", target: "/documents?notification", body: configuration });

  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, tracestate: "congo=t61" };
  await call("s3", { method: "PUT", target: "/documents/one", headers, body: "text" });
  const [delivered] = await eventually(() => endpoint.received.length > 0 && endpoint.received, "the event arrives");
  expect(delivered?.headers).toMatchObject({
    traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
    tracestate: "congo=t61",
    "x-key": "key",
  });

  const inTrace = await eventually(() => {
    const lines = system.lines().filter((line) => line["trace_id"] === traceId);
    return lines.length >= 3 && lines;
  }, "three processes have logged");
  const told = inTrace.toSorted((one, other) => one.name.localeCompare(other.name));
  expect(told.map((line) => [line.name, line["operation"] ?? line["method"]])).toEqual([
    ["event-bus", "/quartet.eventbus.v1.EventBusService/PutEvents"],
    ["gateway", "PutObject"],
    ["object-storage", "/quartet.objectstorage.v1.ObjectStorageService/PutObject"],
  ]);
});
