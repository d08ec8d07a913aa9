import type { DescMethod, DescService, JsonValue, Message } from "@bufbuild/protobuf";
import { toJson } from "@bufbuild/protobuf";
import { generateKeyPairSync } from "node:crypto";

import { ErrorReasonSchema } from "../../../gen/quartet/test/gateway/v1/error_reason_pb.ts";
import { NoticeService } from "../../../gen/quartet/test/gateway/v1/notice_service_pb.ts";
import { ReaderService } from "../../../gen/quartet/test/gateway/v1/reader_service_pb.ts";
import { ShelfService } from "../../../gen/quartet/test/gateway/v1/shelf_service_pb.ts";
import type { OriginSource } from "../../../gateway/cross-origin/origin-source.ts";
import { amzDialect } from "../../../gateway/dialects/amz.ts";
import type { Dialect, DialectName } from "../../../gateway/dialects/dialect.ts";
import { svcDialect } from "../../../gateway/dialects/svc.ts";
import { createGateway } from "../../../gateway/gateway.ts";
import type { GatewayLimits } from "../../../gateway/http/limits.ts";
import type { TlsSource } from "../../../services/kit/tls/tls-files.ts";
import type { RpcEndpoint } from "../../../gateway/rpc/rpc-endpoint.ts";
import { startRpcEndpoint } from "../../../gateway/rpc/rpc-endpoint.ts";
import { startGateway } from "../../../gateway/server.ts";
import type { VersionTwoRule } from "../../../gateway/signature/version-two.ts";
import type { ServiceHealth } from "../../../services/kit/client/service-health.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { bearerAuthenticate } from "../../../services/kit/identity/authenticate.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { serviceApi } from "../../../services/kit/contract/contract.ts";
import { createMinter, createVerifier } from "../../../services/kit/identity/tokens.ts";
import type { TrustedProxies } from "../../../services/kit/identity/trusted-proxies.ts";
import type { Ids } from "../../../services/kit/ids/ids.ts";
import type { Logger } from "../../../services/kit/log/log.ts";
import type { Metrics } from "../../../services/kit/metrics/metrics.ts";
import type { CallContext } from "../../../services/kit/server/handlers.ts";
import { startServer } from "../../../services/kit/server/server.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { fixedIds } from "../../support/fixed-ids.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import type { TestRequest, TestResponse } from "./signing-client.ts";
import { send, signHeaders, testKey, testKeys } from "./signing-client.ts";

export const dialects: Readonly<Record<DialectName, Dialect>> = { amz: amzDialect, svc: svcDialect("svc") };

/** What a service behind the gateway got. */
export interface Received {
  readonly method: string;
  /** The request (of a stream, its first message without its bytes) as proto JSON. */
  readonly message: JsonValue;
  /** Of a streamed request: all bytes, how many of them came in its first message, and its last one if it has more. */
  readonly body?: string;
  readonly firstBytes?: number;
  readonly last?: JsonValue;
  readonly caller: Caller;
}

/** How a test service answers: messages (one, unless the method streams), or whatever it throws. */
export type Script = (context: CallContext<unknown>, requests: AsyncIterable<Message>) => unknown;

export type ApiName = "object-storage" | "customer-profile" | "event-bus";

/** The test services behind a gateway. */
export interface Fixture {
  readonly url: string;
  readonly adminUrl: string;
  /** Where the services answer RPCs, and a token of the test key's account for them. */
  readonly servicesUrl: string;
  token(): Promise<string>;
  readonly clock: FakeClock;
  readonly received: Received[];
  /** Sets how a method answers, by its name; a method without a script answers an empty message. */
  answer(method: string, script: Script): void;
  /** Signs a request as a client of the API in the dialect would, and sends it. */
  call(api: ApiName, dialect: DialectName, request: TestRequest): Promise<TestResponse>;
  /** The headers with which `call` would send it. */
  sign(api: ApiName, dialect: DialectName, request: TestRequest): Record<string, string>;
  stopServices(): Promise<void>;
  /** Stops the gateway, letting running requests end within the grace time, and then the services. */
  stop(graceMs?: number): Promise<void>;
}

const services: readonly DescService[] = [ShelfService, ReaderService, NoticeService];
const audience = services.map((service) => serviceApi(service).name);

/** Further parts of a gateway and its services; unset: none. */
export interface FixtureParts {
  readonly log?: Logger;
  readonly serviceLog?: Logger;
  readonly metrics?: Metrics;
  /** Where the services are called instead of where they answer. */
  readonly servicesAddress?: string;
  readonly health?: ServiceHealth;
  readonly originSources?: ReadonlyMap<string, OriginSource>;
  readonly versionTwo?: VersionTwoRule;
  readonly trustedProxies?: TrustedProxies;
  readonly serverHeader?: "version" | "name" | "none";
  /** Unset: fixed ones. */
  readonly ids?: Ids;
  readonly rpc?: Pick<RpcEndpoint, "takes" | "answer" | "peers">;
  /** Unset: plain HTTP. */
  readonly certificate?: TlsSource;
  /** Whether the gateway's port has the RPCs of the services, which may be signed. Unset: it has not. */
  readonly offersRpcs?: boolean;
}

/** Starts a gateway and the three test services on ports of their own. */
export const startFixture = async (limits: Partial<GatewayLimits> = {}, parts: FixtureParts = {}): Promise<Fixture> => {
  const clock = new FakeClock();
  const keys = generateKeyPairSync("ed25519");
  const received: Received[] = [];
  const scripts = new Map<string, Script>();
  const server = await startServer({
    name: "test",
    listen: { host: "127.0.0.1", port: 0 },
    services: services.map((service) => ({
      service,
      handlers: Object.fromEntries(
        service.methods.map((method) => [method.localName, handlerOf(method, received, scripts)]),
      ),
      errors: ErrorReasonSchema,
      app: undefined,
    })),
    authenticate: bearerAuthenticate(
      createVerifier({ publicKeys: new Map([["gateway", keys.publicKey]]), clock, audience }),
      { gateway: { anyCaller: true } },
    ),
    log: parts.serviceLog ?? silentLogger,
    clock,
  });
  const transport = createTransport({ address: parts.servicesAddress ?? server.url, engine: "connect" });
  const minter = createMinter({ keyPair: { name: "gateway", ...keys }, clock });
  const gateway = createGateway({
    connections: services.map((service) => ({
      service,
      errors: ErrorReasonSchema,
      transport,
      ...(parts.health === undefined ? {} : { health: parts.health }),
    })),
    accessKeys: testKeys,
    minter,
    clock,
    ids: parts.ids ?? fixedIds(),
    log: parts.log ?? silentLogger,
    ...(parts.metrics === undefined ? {} : { metrics: parts.metrics }),
    ...(parts.originSources === undefined ? {} : { originSources: parts.originSources }),
    versionTwo: parts.versionTwo,
    ...(parts.trustedProxies && { trustedProxies: parts.trustedProxies }),
    hosts: ["localhost"],
    region: "us-east-1",
    brandWord: "svc",
    limits,
    noteCaller: (connection) => rpc?.peers.noteCaller(connection),
  });
  const anyPort = { host: "127.0.0.1", port: 0 };
  const endpoint =
    parts.offersRpcs === true
      ? await startRpcEndpoint({
          listen: anyPort,
          connections: services.map((service) => ({
            service,
            errors: ErrorReasonSchema,
            transport,
            audience: serviceApi(service).name,
          })),
          minter,
          publicKeys: new Map([["gateway", keys.publicKey]]),
          allowedOrigins: [],
          ...(parts.trustedProxies && { trustedProxies: parts.trustedProxies }),
          signing: gateway,
          clock,
          log: silentLogger,
        })
      : undefined;
  const { serverHeader = "none", rpc = endpoint } = parts;
  const { certificate } = parts;
  const running = await startGateway(gateway, {
    listen: anyPort,
    adminListen: anyPort,
    serverHeader,
    ...(certificate && { certificate }),
    ...(rpc && { rpc }),
  });
  const sign = (api: ApiName, name: DialectName, request: TestRequest): Record<string, string> =>
    signHeaders(request, new URL(running.url).host, {
      brand: dialects[name].signature,
      service: dialects[name].signingNames[api]?.[0] ?? "",
      nowMs: clock.now(),
      tellsHash: api === "object-storage",
    });
  return {
    url: running.url,
    adminUrl: running.adminUrl,
    servicesUrl: server.url,
    token: () => minter.mint(rootCaller(testKey.accountId), audience),
    clock,
    received,
    answer: (method, script) => scripts.set(method, script),
    sign,
    call: (api, name, request) => send(running.url, request, sign(api, name, request)),
    stopServices: () => server.stop(0),
    stop: async (graceMs = 0) => {
      await running.stop(graceMs);
      await endpoint?.stop(0);
      await transport.close();
      await server.stop(0);
    },
  };
};

const handlerOf = (method: DescMethod, received: Received[], scripts: Map<string, Script>) => {
  const run = (context: CallContext<unknown>, requests: AsyncIterable<Message>): unknown =>
    scripts.get(method.name)?.(context, requests) ?? {};
  const record = (message: Message, context: CallContext<unknown>, more: object = {}): void => {
    received.push({ method: method.name, message: toJson(method.input, message), caller: context.caller, ...more });
  };
  switch (method.methodKind) {
    case "unary":
      return async (request: Message, context: CallContext<unknown>) => {
        record(request, context);
        return run(context, one(request));
      };
    case "server_streaming":
      return async function* (request: Message, context: CallContext<unknown>) {
        record(request, context);
        yield* (await run(context, one(request))) as AsyncIterable<object>;
      };
    default:
      return async (requests: AsyncIterable<Message>, context: CallContext<unknown>) => {
        const scripted = scripts.get(method.name)?.(context, requests);
        if (scripted instanceof Promise) return scripted;
        const upload = await collect(method, requests);
        received.push({ method: method.name, ...upload, caller: context.caller });
        return scripted ?? {};
      };
  }
};

async function* one(message: Message): AsyncGenerator<Message> {
  yield message;
}

const collect = async (
  method: DescMethod,
  requests: AsyncIterable<Message>,
): Promise<Pick<Received, "message" | "body" | "firstBytes" | "last">> => {
  const messages: (Message & { body?: Uint8Array })[] = [];
  for await (const message of requests) messages.push(message);
  const [head, ...more] = messages;
  const body = Buffer.concat(messages.map((message) => message.body ?? new Uint8Array())).toString("utf8");
  const firstBytes = head?.body?.length ?? 0;
  if (firstBytes > 0) head!.body = new Uint8Array();
  const final = more.at(-1);
  const last = final === undefined || (final.body?.length ?? 0) > 0 ? {} : { last: toJson(method.input, final) };
  return { message: toJson(method.input, head!), body, firstBytes, ...last };
};
