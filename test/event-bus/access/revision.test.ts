import type { DescMethodUnary, JsonObject } from "@bufbuild/protobuf";
import { fromJson, toJson } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";

import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { svcDialect } from "../../../gateway/dialects/svc.ts";
import { createGateway } from "../../../gateway/gateway.ts";
import { startGateway } from "../../../gateway/server.ts";
import { ErrorReasonSchema } from "../../../gen/quartet/eventbus/v1/error_reason_pb.ts";
import { EventBusService } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { fixedAccessKeys } from "../../../services/kit/identity/access-keys.ts";
import { randomIds } from "../../../services/kit/ids/ids.ts";
import { send, signHeaders, testKey } from "../../gateway/support/signing-client.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { openShop } from "../delivery/shop.ts";
import type { Harness } from "../harness.ts";
import { ownerAccount, startHarness } from "../harness.ts";

/** Calls an operation with members in their wire spelling; answers what is answered, or how it was refused. */
type Call = (operation: string, members: JsonObject, headers: Record<string, string>) => Promise<JsonObject | string>;

/** Members named as RPC callers name them. */
const lowered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(lowered);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name.charAt(0).toLowerCase() + name.slice(1), lowered(inner)]),
  );
};

const openRpc = ({ url }: Harness, engine: "connect" | "grpc" = "connect"): Call => {
  const transport = createTransport({ address: url, engine, token: async () => `${ownerAccount}@gateway` });
  onTestFinished(() => transport.close());
  return async (operation, members, headers) => {
    const method = EventBusService.methods.find(({ name }) => name === operation) as DescMethodUnary | undefined;
    if (method === undefined) throw new Error(`no operation ${operation}`);
    const request = fromJson(method.input, lowered(members) as JsonObject);
    try {
      const answer = await transport.unary(method, undefined, undefined, headers, request);
      return toJson(method.output, answer.message) as JsonObject;
    } catch (error) {
      return ConnectError.from(error).rawMessage;
    }
  };
};

const openRest = async ({ url, clock }: Harness, dialect: "amz" | "svc"): Promise<Call> => {
  const transport = createTransport({ address: url, engine: "connect" });
  const gateway = createGateway({
    connections: [{ service: EventBusService, errors: ErrorReasonSchema, transport }],
    accessKeys: fixedAccessKeys([testKey]),
    minter: { mint: async ({ accountId }) => `${accountId}@gateway` },
    clock,
    ids: randomIds,
    log: silentLogger,
    hosts: ["localhost"],
    brandWord: "svc",
  });
  const anyPort = { host: "127.0.0.1", port: 0 };
  const running = await startGateway(gateway, { listen: anyPort, adminListen: anyPort });
  onTestFinished(async () => {
    await running.stop(0);
    await transport.close();
  });
  const { signature, signingNames } = dialect === "amz" ? amzDialect : svcDialect("svc");
  const target = dialect === "amz" ? "AWSEvents" : "EventBus";
  const contentType = dialect === "amz" ? "application/x-amz-json-1.1" : "application/x-svc-json-1.1";
  return async (operation, members, headers) => {
    const request = {
      method: "POST",
      target: "/",
      headers: {
        "content-type": contentType,
        [`${signature.headerPrefix}target`]: `${target}.${operation}`,
        ...headers,
      },
      body: JSON.stringify(members),
    };
    const signing = {
      brand: signature,
      service: signingNames["event-bus"]?.[0] ?? "",
      nowMs: clock.now(),
      tellsHash: false,
    };
    const { status, body } = await send(running.url, request, signHeaders(request, new URL(running.url).host, signing));
    const answer = (body === "" ? {} : lowered(JSON.parse(body))) as JsonObject;
    return status === 200 ? answer : `${status} ${text(answer["__type"])}: ${text(answer["message"])}`;
  };
};

/** A member that is a text. */
const text = (member: unknown): string => (typeof member === "string" ? member : "");

/** `answered`, the first entry's refusal, or the call's. */
const outcome = (answer: JsonObject | string): string => {
  if (typeof answer === "string") return answer;
  const [entry] = (answer["entries"] ?? []) as JsonObject[];
  return entry?.["errorCode"] === undefined ? "answered" : text(entry["errorCode"]);
};

const pattern = '{"source":["shop"]}';
const queue = "arn:aws:sqs:us-east-1:000000000000:q";
const targets = (count: number): JsonObject[] =>
  Array.from({ length: count }, (_, id) => ({ Id: `${id}`, Arn: queue }));
const levels = (count: number): JsonObject => ({
  Entries: [{ Source: "shop", DetailType: "Sale", Detail: `${'{"a":'.repeat(count - 1)}{}${"}".repeat(count - 1)}` }],
});
const grant = { Principal: "111111111111", StatementId: "bob" };
const policyOf = (characters: number): string => {
  const statement = { Effect: "Allow", Principal: "*", Action: "events:PutEvents", Resource: "*" };
  return JSON.stringify({ Version: "2012-10-17", Statement: [statement] }).padEnd(characters, " ");
};
const endpoint = {
  Name: "shop",
  RoutingConfig: {
    FailoverConfig: {
      Primary: { HealthCheck: "arn:aws:route53:::healthcheck/1" },
      Secondary: { Route: "us-west-2" },
    },
  },
  EventBuses: ["us-east-1", "us-west-2"].map((region) => ({
    EventBusArn: `arn:aws:events:${region}:000000000000:event-bus/orders`,
  })),
};

const noEndpoint = "400 ResourceNotFoundException: Endpoint e does not exist.";
const unknown = (operation: string): string =>
  `400 UnknownOperationException: ${operation} is not an operation of revision B.`;
const refused = (parameter: string, reason: string): string =>
  `400 ValidationException: Parameter ${parameter} is not valid. Reason: ${reason}`;
const policyTooLong = "400 PolicyLengthExceededException: The policy exceeds the limit of 10240 characters.";

describe("the revisions of the interface differ", () => {
  // what | operation | members | in revision A | in revision B
  test.each<[string, string, JsonObject, string, string]>([
    [
      "global endpoints",
      "CreateEndpoint",
      endpoint,
      refused("EventBuses", "Region us-west-2 is not reached from here."),
      unknown("CreateEndpoint"),
    ],
    ["global endpoints", "DeleteEndpoint", { Name: "e" }, noEndpoint, unknown("DeleteEndpoint")],
    ["global endpoints", "DescribeEndpoint", { Name: "e" }, noEndpoint, unknown("DescribeEndpoint")],
    ["global endpoints", "ListEndpoints", {}, "answered", unknown("ListEndpoints")],
    ["global endpoints", "UpdateEndpoint", { Name: "e" }, noEndpoint, unknown("UpdateEndpoint")],
    [
      "the id of a global endpoint",
      "PutEvents",
      { ...levels(1), EndpointId: "abcde.veo" },
      refused("EndpointId", "Endpoint abcde.veo does not exist."),
      refused("EndpointId", "Revision B has no global endpoints."),
    ],
    ["1100 levels", "PutEvents", levels(1_100), "answered", "answered"],
    ["1101 levels", "PutEvents", levels(1_101), "MalformedDetail", "answered"],
    ["2001 levels", "PutEvents", levels(2_001), "MalformedDetail", "MalformedDetail"],
    ["five targets", "PutTargets", { Rule: "all", Targets: targets(5) }, "answered", "answered"],
    [
      "six targets",
      "PutTargets",
      { Rule: "all", Targets: targets(6) },
      "400 LimitExceededException: The requested resource exceeds the maximum number allowed.",
      "answered",
    ],
    ["a rule that is not there", "DeleteRule", { Name: "gone" }, "answered", "answered"],
    [
      "a rule of a bus that is not there",
      "DeleteRule",
      { Name: "all", EventBusName: "gone" },
      "400 ResourceNotFoundException: Event bus gone does not exist.",
      "answered",
    ],
    ["putting events", "PutPermission", { ...grant, Action: "events:PutEvents" }, "answered", "answered"],
    [
      "another action",
      "PutPermission",
      { ...grant, Action: "events:PutRule" },
      "answered",
      refused("Action", "Revision B grants only events:PutEvents."),
    ],
    [
      "10241 characters for the default bus",
      "PutPermission",
      { Policy: policyOf(10_241) },
      policyTooLong,
      policyTooLong,
    ],
    [
      "10241 characters for a custom bus",
      "PutPermission",
      { Policy: policyOf(10_241), EventBusName: "orders" },
      policyTooLong,
      "answered",
    ],
  ])("in %s of %s", async (_what, operation, members, inA, inB) => {
    const harness = await startHarness({ works: false });
    const rest = await openRest(harness, "svc");
    const rpc = openRpc(harness);
    await harness.client.createEventBus({ name: "orders" });
    await harness.client.putRule({ name: "all", eventPattern: pattern });
    const answers = async (call: Call): Promise<string[]> => [
      outcome(await call(operation, members, { "x-svc-revision": "A" })),
      outcome(await call(operation, members, {})),
      outcome(await call(operation, members, { "x-svc-revision": "B" })),
    ];
    const withoutName = (refusal: string): string => refusal.replace(/^400 \w+: /, "");
    // Targets that B took would count in A afterwards.
    const overRest = await answers(rest);
    await harness.client.removeTargets({ rule: "all", ids: targets(6).map(({ Id }) => text(Id)) });
    expect(overRest).toEqual([inA, inA, inB]);
    expect(await answers(rpc)).toEqual([inA, inA, inB].map(withoutName));
  });

  test("in the source by which replays are listed: an archive, in B also the bus that fed it", async () => {
    const harness = await startHarness({ works: false });
    const { client } = harness;
    const rpc = openRpc(harness);
    const bus = "arn:aws:events:us-east-1:000000000000:event-bus/default";
    const { archiveArn } = await client.createArchive({ archiveName: "kept", eventSourceArn: bus });
    await client.startReplay({
      replayName: "again",
      eventSourceArn: archiveArn,
      eventStartTime: timestampFromMs(0),
      eventEndTime: timestampFromMs(1_000),
      destination: { arn: bus },
    });
    const listed = async (EventSourceArn: string, revision: string): Promise<unknown> => {
      const answer = await rpc("ListReplays", { EventSourceArn }, { "x-svc-revision": revision });
      return ((answer as JsonObject)["replays"] as JsonObject[] | undefined)?.map(({ replayName }) => replayName);
    };
    expect(await listed(archiveArn, "A")).toEqual(["again"]);
    expect(await listed(archiveArn, "B")).toEqual(["again"]);
    expect(await listed(bus, "A")).toBeUndefined();
    expect(await listed(bus, "B")).toEqual(["again"]);
    expect(await listed(`${bus}2`, "B")).toBeUndefined();
  });

  test("in nothing that is delivered: each of a rule's six targets gets the event", async () => {
    const harness = await startHarness();
    const { till } = await openShop(harness.client);
    const { targets: present } = await harness.client.listTargetsByRule({ rule: "sales" });
    const arn = present[0]?.arn ?? "";
    const more = ["a", "b", "c", "d", "e"].map((Id) => ({ Id, Arn: arn }));
    await openRpc(harness)("PutTargets", { Rule: "sales", Targets: more }, { "x-svc-revision": "B" });
    await harness.client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: "{}" }] });
    await harness.app.jobs.idle();
    expect(till.received).toHaveLength(6);
  });
});

describe("the choice of a revision", () => {
  // dialect | its header | the header of the other dialect, which means nothing
  test.each([
    ["amz", "x-amz-revision", "x-svc-revision"],
    ["svc", "x-svc-revision", "x-amz-revision"],
  ] as const)("is made in dialect %s by %s and not by %s", async (dialect, own, other) => {
    const rest = await openRest(await startHarness({ works: false }), dialect);
    expect(await rest("ListEndpoints", {}, {})).toEqual({ endpoints: [] });
    expect(await rest("ListEndpoints", {}, { [own]: "B" })).toBe(unknown("ListEndpoints"));
    expect(await rest("ListEndpoints", {}, { [other]: "B" })).toEqual({ endpoints: [] });
  });

  test("is made by the metadata of a gRPC call", async () => {
    const rpc = openRpc(await startHarness({ works: false }), "grpc");
    expect(await rpc("ListEndpoints", {}, {})).toEqual({});
    expect(await rpc("ListEndpoints", {}, { "x-svc-revision": "B" })).toBe(
      "ListEndpoints is not an operation of revision B.",
    );
  });

  // revision
  test.each(["C", "b", "", "A, B"])("is refused as %j", async (revision) => {
    const harness = await startHarness({ works: false });
    const rest = await openRest(harness, "svc");
    const refusal = `Revision ${revision} is not known; known are A and B.`;
    const headers = { "x-svc-revision": revision };
    expect(await rest("ListRules", {}, headers)).toBe(`400 ValidationException: ${refusal}`);
    expect(await openRpc(harness)("ListRules", {}, headers)).toBe(refusal);
    expect(await rest("ListEndpoints", {}, headers)).toBe(`400 ValidationException: ${refusal}`);
  });
});
