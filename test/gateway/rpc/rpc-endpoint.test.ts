import { generateKeyPairSync } from "node:crypto";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { ErrorReasonSchema } from "../../../gen/quartet/test/v1/error_reason_pb.ts";
import { Health } from "../../../gen/grpc/health/v1/health_pb.ts";
import {
  CountRequestSchema,
  CountResponseSchema,
  Failure,
  TestService,
} from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { passedThrough } from "../../../gateway/rpc/pass-through.ts";
import type { RpcEndpoint } from "../../../gateway/rpc/rpc-endpoint.ts";
import { startRpcEndpoint } from "../../../gateway/rpc/rpc-endpoint.ts";
import type { ClosableTransport } from "../../../services/kit/client/transport.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { systemClock } from "../../../services/kit/clock/clock.ts";
import { bearerAuthenticate } from "../../../services/kit/identity/authenticate.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { clientTokenRights } from "../../../services/kit/identity/client-tokens.ts";
import { createMinter, createVerifier, signToken } from "../../../services/kit/identity/tokens.ts";
import { TrustedProxies } from "../../../services/kit/identity/trusted-proxies.ts";
import type { RunningServer } from "../../../services/kit/server/server.ts";
import { eventually } from "../../support/eventually.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import type { TestApp } from "../../kit/server/test-service.ts";
import { startTestServer } from "../../kit/server/test-service.ts";
import type { Fixture } from "../support/fixture.ts";
import { startFixture } from "../support/fixture.ts";

const keys = generateKeyPairSync("ed25519");
const clientKeys = { name: "client-tokens", ...generateKeyPairSync("ec", { namedCurve: "P-384" }) };
const publicKeys = new Map([
  ["gateway", keys.publicKey],
  ["client-tokens", clientKeys.publicKey],
]);
const audience = "notes";
const minter = createMinter({ keyPair: { name: "gateway", ...keys }, clock: systemClock });
const tokenOf = (caller: Caller, of: string = audience): Promise<string> => minter.mint(caller, of);
const alice = rootCaller("111122223333");

/** A token that a program shows itself. */
const clientToken = (of: string, caller: Caller = alice): Promise<string> => {
  const terms = { audience: of, issuedSeconds: Math.floor(Date.now() / 1000), lifetimeSeconds: 60 };
  return signToken(clientKeys, caller, terms);
};
/** The policies of somebody who has more than a token carries. */
const large = [`{"Statement":[]}${" ".repeat(9_000)}`];

/** The callers that the service has seen. */
const seen: Caller[] = [];
let service: { server: RunningServer; app: TestApp };
let inside: ClosableTransport;
let endpoint: RpcEndpoint;
let gateway: Fixture;
let authorization: string;

beforeAll(async () => {
  const findPolicies = () => large;
  const verifier = createVerifier({ publicKeys, clock: systemClock, audience, findPolicies });
  const authenticate = bearerAuthenticate(verifier, { gateway: { anyCaller: true }, ...clientTokenRights });
  service = await startTestServer({
    authenticate: async (...call) => {
      const caller = await authenticate(...call);
      seen.push(caller);
      return caller;
    },
  });
  inside = createTransport({ address: service.server.url, engine: "connect" });
  endpoint = await startRpcEndpoint({
    listen: { host: "127.0.0.1", port: 0 },
    connections: [{ service: TestService, errors: ErrorReasonSchema, transport: inside, audience }],
    minter,
    publicKeys,
    findPolicies,
    allowedOrigins: ["https://*.example.com"],
    trustedProxies: new TrustedProxies(["127.0.0.1"]),
    clock: systemClock,
    log: silentLogger,
  });
  gateway = await startFixture({}, { rpc: endpoint });
  authorization = `Bearer ${await tokenOf(alice)}`;
});

afterAll(async () => {
  await gateway.stop();
  await endpoint.stop(0);
  await inside.close();
  await service.server.stop(0);
});

const elsewhere = "The bearer token is for other services.";

/** The protocols, each from where its clients call. */
const transports: Readonly<Record<string, () => Transport>> = {
  "Connect on the gateway's port": () => createConnectTransport({ baseUrl: gateway.url }),
  "Connect with JSON and GET on the gateway's port": () =>
    createConnectTransport({ baseUrl: gateway.url, useBinaryFormat: false, useHttpGet: true }),
  "gRPC-Web on the gateway's port": () => createGrpcWebTransport({ baseUrl: gateway.url }),
  "gRPC on its own port": () => createGrpcTransport({ baseUrl: endpoint.url }),
  "Connect on its own port": () => createConnectTransport({ baseUrl: endpoint.url }),
};

describe.each(Object.keys(transports))("%s", (name) => {
  const clientOf = () => createClient(TestService, (transports[name] as () => Transport)());

  test("passes calls and answers through", async () => {
    const answer = await clientOf().echo({ text: "größte", number: 5n }, { headers: { authorization } });
    expect(answer).toMatchObject({ text: "größte", number: 5n });
  });

  test("passes each message of an answer through", async () => {
    const numbers: number[] = [];
    for await (const { number } of clientOf().count({ last: 3 }, { headers: { authorization } })) numbers.push(number);
    expect(numbers).toEqual([1, 2, 3]);
  });

  test("passes refusals through with their details", async () => {
    const refused = clientOf().refuse({ failure: Failure.DECLARED, thing: "cup" }, { headers: { authorization } });
    const error = await refused.catch((thrown: unknown) => thrown as ConnectError);
    expect(error).toMatchObject({ code: Code.NotFound, rawMessage: "There is no cup." });
    expect((error as ConnectError).findDetails(ErrorInfoSchema)).toMatchObject([{ metadata: { thing: "cup" } }]);
  });

  // whom the token names
  test.each([audience, "gateway"])("tells the service from where a program calls with its token for %s", async (of) => {
    seen.splice(0);
    const caller = { ...alice, accessKeyId: "AKIAALICE", policies: large };
    await clientOf().echo({ text: "" }, { headers: { authorization: `Bearer ${await clientToken(of, caller)}` } });
    expect(seen).toEqual([
      { ...caller, issuer: "gateway", isTokenBorne: true, sourceIp: "127.0.0.1", isSecureTransport: false },
    ]);
  });

  test("tells the service what a trusted proxy says of a program with its token", async () => {
    seen.splice(0);
    const headers = {
      authorization: `Bearer ${await clientToken(audience, alice)}`,
      "x-forwarded-for": "192.0.2.9, 198.51.100.1",
      "x-forwarded-proto": "https",
    };
    await clientOf().echo({ text: "" }, { headers });
    expect(seen).toMatchObject([{ sourceIp: "198.51.100.1", isSecureTransport: true }]);
  });

  // who is named, the authorization, the end of the message
  test.each([
    ["nobody", () => Promise.resolve(""), "carries no authorization."],
    ["something else", () => Promise.resolve("Basic YWxpY2U6"), "is not a well-formed bearer token."],
    ["a token for another process", async () => `Bearer ${await tokenOf(alice, "accounts")}`, elsewhere],
    [
      "a call that was decided elsewhere",
      async () => `Bearer ${await tokenOf({ ...alice, isPreauthorized: true })}`,
      "was not issued by a trusted process.",
    ],
    ["a program's token for another service", async () => `Bearer ${await clientToken("letters")}`, elsewhere],
    ["a token that only another service accepts", async () => `Bearer ${await tokenOf(alice, "letters")}`, elsewhere],
  ])("refuses %s", async (_who, given, why) => {
    const headers = { authorization: await given() };
    const error = await clientOf()
      .echo({ text: "" }, { headers })
      .catch((thrown: unknown) => thrown as ConnectError);
    expect(error).toMatchObject({ code: Code.Unauthenticated, rawMessage: expect.stringContaining(why) });
    const details = (error as ConnectError).findDetails(ErrorInfoSchema);
    expect(details).toMatchObject([{ reason: "UNAUTHENTICATED", domain: "test.quartet" }]);
  });
});

test("gRPC passes streams of requests through, in one direction and in both", async () => {
  const client = createClient(TestService, createGrpcTransport({ baseUrl: endpoint.url }));
  const numbers = async function* () {
    for (const number of [1, 2, 3]) yield { number };
  };
  expect(await client.sum(numbers(), { headers: { authorization } })).toMatchObject({ sum: 6n, count: 3 });
  const texts = async function* () {
    for (const text of ["a", "b"]) yield { text };
  };
  const heard: string[] = [];
  for await (const { text } of client.converse(texts(), { headers: { authorization } })) heard.push(text);
  expect(heard).toEqual(["a", "b"]);
});

test("a call that its caller gives up ends in the service too", async () => {
  const client = createClient(TestService, createConnectTransport({ baseUrl: gateway.url }));
  const giveUp = new AbortController();
  const waiting = client.wait({}, { headers: { authorization }, signal: giveUp.signal }).catch(() => undefined);
  await eventually(() => service.app.begun.includes("wait"), "the call has reached the service");
  giveUp.abort();
  await waiting;
  await eventually(() => service.app.aborted.length > 0, "the call has ended there");
  expect(service.app.aborted).toEqual(["wait"]);
});

test("a stream of which no more is read ends in the service too", async () => {
  const { count } = passedThrough({
    service: TestService,
    errors: ErrorReasonSchema,
    transport: inside,
    audience,
    minter,
  }).handlers as {
    count: (...call: object[]) => AsyncIterable<object>;
  };
  const context = {
    method: TestService.method.count,
    caller: alice,
    signal: new AbortController().signal,
    requestHeader: new Headers({ authorization }),
    requestId: "a-request",
  };
  service.app.aborted.length = 0;
  for await (const answer of count(create(CountRequestSchema, { last: 1_000_000 }), context)) {
    expect(answer).toMatchObject({ number: 1 });
    break;
  }
  await eventually(() => service.app.aborted.includes("count"), "the stream has ended there");
});

test("a deadline is passed on", async () => {
  const client = createClient(TestService, createGrpcTransport({ baseUrl: endpoint.url }));
  const error = await client
    .wait({}, { headers: { authorization }, timeoutMs: 100 })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: Code.DeadlineExceeded });
});

test("the client of grpc-js reads a stream", async () => {
  const client = new Client(new URL(endpoint.url).host, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set("authorization", authorization);
  const stream = client.makeServerStreamRequest(
    "/quartet.test.v1.TestService/Count",
    (bytes: Buffer) => bytes,
    (bytes) => fromBinary(CountResponseSchema, bytes).number,
    Buffer.from(toBinary(CountRequestSchema, create(CountRequestSchema, { last: 4 }))),
    metadata,
  );
  const numbers: number[] = [];
  for await (const number of stream) numbers.push(number as number);
  client.close();
  expect(numbers).toEqual([1, 2, 3, 4]);
});

test("health and reflection are served on its own port, and other paths of the gateway are not RPCs", async () => {
  const health = createClient(Health, createGrpcTransport({ baseUrl: endpoint.url }));
  expect(await health.check({ service: "quartet.test.v1.TestService" })).toMatchObject({ status: 1 });
  expect(
    [
      "/quartet.test.v1.TestService/Echo",
      "/quartet.test.v1.TestService",
      "/grpc.health.v1.Health/Check",
      "/photos/a",
      "/",
      undefined,
    ].map((path) => endpoint.takes(path)),
  ).toEqual([true, false, false, false, false, false]);
  const unknown = await fetch(`${gateway.url}/quartet.test.v1.TestService/Nothing`, { method: "POST" });
  expect(unknown.status).toBe(404);
});

describe("a script of another origin", () => {
  const preflight = (origin: string) =>
    fetch(`${gateway.url}/quartet.test.v1.TestService/Echo`, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-grpc-web",
      },
    });

  test("may call from an origin that is allowed", async () => {
    const answer = await preflight("https://app.example.com");
    expect([answer.status, Object.fromEntries(answer.headers)]).toMatchObject([
      204,
      {
        "access-control-allow-origin": "https://app.example.com",
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": "authorization, content-type, x-grpc-web",
      },
    ]);
    const called = await fetch(`${gateway.url}/quartet.test.v1.TestService/Echo`, {
      method: "POST",
      headers: { origin: "https://app.example.com", authorization, "content-type": "application/json" },
      body: '{"text":"hello"}',
    });
    expect([called.status, called.headers.get("access-control-allow-origin"), await called.json()]).toEqual([
      200,
      "https://app.example.com",
      { text: "hello", accountId: "111122223333" },
    ]);
    expect(called.headers.get("access-control-expose-headers")).toContain("grpc-status");
  });

  test("may not call from another one", async () => {
    const answer = await preflight("https://elsewhere.example.org");
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  });
});
