import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ErrorReasonSchema } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ErrorReasonSchema as ReaderErrors } from "../../../gen/quartet/test/gateway/v1/error_reason_pb.ts";
import { ReaderService } from "../../../gen/quartet/test/gateway/v1/reader_service_pb.ts";
import { amzDialect } from "../../../gateway/dialects/amz.ts";
import type { GatewayLimits } from "../../../gateway/http/limits.ts";
import { originSources } from "../../../gateway/cross-origin/origin-sources.ts";
import { createGateway } from "../../../gateway/gateway.ts";
import { RequestReports } from "../../../gateway/reports/request-reports.ts";
import { websites } from "../../../gateway/website/site-source.ts";
import { startGateway } from "../../../gateway/server.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { fixedAccessKeys } from "../../../services/kit/identity/access-keys.ts";
import { bearerAuthenticate } from "../../../services/kit/identity/authenticate.ts";
import { createMinter, createVerifier } from "../../../services/kit/identity/tokens.ts";
import { reportMethod } from "../../../services/kit/report/report-service.ts";
import { randomIds } from "../../../services/kit/ids/ids.ts";
import type { Handlers } from "../../../services/kit/server/handlers.ts";
import { startServer } from "../../../services/kit/server/server.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import type { AccessPoints } from "../../../services/object-storage/access/access-points.ts";
import type { Application } from "../../../services/object-storage/application.ts";
import type { ObjectStorageOptions } from "../../../services/object-storage/open.ts";
import { openObjectStorage } from "../../../services/object-storage/open.ts";
import { handlers, putsOwnObjects } from "../../../services/object-storage/service.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import type { TestRequest, TestResponse } from "./signing-client.ts";
import { send, signHeaders, testKey } from "./signing-client.ts";

/** The real object storage service behind a gateway, with a JSON API of no service beside it. */
export interface StorageFixture {
  readonly url: string;
  readonly clock: FakeClock;
  /** The RPCs that the service was sent, by name. */
  readonly called: string[];
  /** Sends a request that nobody signed. */
  send(request: TestRequest): Promise<TestResponse>;
  /** Sends a request of object storage as the owner of the test key. */
  call(request: TestRequest): Promise<TestResponse>;
  /** Sends the reports that wait, and delivers all lines of access logs. */
  deliverLogs(): Promise<void>;
  stopService(): Promise<void>;
  stop(): Promise<void>;
}

const anyPort = { host: "127.0.0.1", port: 0 };

/** Parts of the fixture that a test replaces. */
export interface StorageFixtureParts {
  /** Scripts of these origins may call the JSON API. Unset: none. */
  readonly allowedOrigins?: readonly string[];
  readonly limits?: Partial<GatewayLimits>;
  readonly accessPoints?: AccessPoints;
  /** Unset: us-east-1. */
  readonly region?: string;
  /** The gateways of other regions. Unset: none. */
  readonly regions?: ObjectStorageOptions["regions"];
  /** Where functions of access points are called. Unset: nowhere. */
  readonly functionsUrl?: string;
  /** Operations of the service instead of its own. */
  readonly operations?: Partial<Handlers<typeof ObjectStorageService, Application>>;
}

/** Starts both on ports of their own. */
export const startStorageFixture = async (parts: StorageFixtureParts = {}): Promise<StorageFixture> => {
  const { allowedOrigins = [], limits, accessPoints, operations, region = "us-east-1", regions, functionsUrl } = parts;
  const clock = new FakeClock();
  const keys = generateKeyPairSync("ed25519");
  const directory = await mkdtemp(join(tmpdir(), "quartet-test-"));
  const store = await openStore({ directory: join(directory, "leveldb"), sync: false });
  const minter = createMinter({ keyPair: { name: "gateway", ...keys }, clock });
  const opened = await openObjectStorage({
    store,
    directory,
    clock,
    ids: randomIds,
    log: silentLogger,
    minter,
    region,
    emit: "amz",
    eventBusAddress: "http://127.0.0.1:1",
    putsOwnObjects,
    ...(regions && { regions }),
    ...(functionsUrl !== undefined && { functionsUrl }),
    ...(accessPoints && { accessPoints }),
  });
  const authenticate = bearerAuthenticate(
    createVerifier({
      publicKeys: new Map([["gateway", keys.publicKey]]),
      clock,
      audience: ["object-storage", "customer-profile"],
    }),
    { gateway: { anyCaller: true, preauthorizedFor: ["GetBucketCors", "GetBucketWebsite", reportMethod] } },
  );
  const called: string[] = [];
  const server = await startServer({
    name: "object-storage",
    listen: anyPort,
    services: [
      {
        service: ObjectStorageService,
        handlers: { ...handlers, ...operations },
        errors: ErrorReasonSchema,
        app: opened.app,
        isGuarded: true,
      },
      ...opened.services,
    ],
    authenticate: (authorization, method) => {
      called.push(method?.name ?? "a page");
      return authenticate(authorization, method);
    },
    log: silentLogger,
  });
  const transport = createTransport({ address: server.url, engine: "connect" });
  const reports = new RequestReports({ transport, audience: "object-storage", minter, clock, log: silentLogger });
  const connections = [
    { service: ObjectStorageService, errors: ErrorReasonSchema, transport, reports },
    { service: ReaderService, errors: ReaderErrors, transport },
  ];
  let publicUrl = "";
  const gateway = createGateway({
    connections,
    accessKeys: fixedAccessKeys([testKey]),
    minter,
    clock,
    ids: randomIds,
    log: silentLogger,
    hosts: ["localhost"],
    publicUrl: () => publicUrl,
    websites: websites({ hosts: ["site.localhost"], transport, minter, clock }),
    region,
    brandWord: "svc",
    ...(limits && { limits }),
    originSources: originSources(connections, { minter, clock, allowedOrigins }),
  });
  const running = await startGateway(gateway, { listen: anyPort, adminListen: anyPort });
  publicUrl = running.url;
  const { host } = new URL(running.url);
  const brand = amzDialect.signature;
  let stopService = async (): Promise<void> => {
    stopService = () => Promise.resolve();
    await server.stop(0);
    await opened.stop();
    await store.close();
  };
  return {
    url: running.url,
    clock,
    called,
    send: (request) => send(running.url, request, request.headers ?? {}),
    call: (request) => {
      const headers = signHeaders(request, host, { brand, service: "s3", nowMs: clock.now(), tellsHash: true, region });
      return send(running.url, request, headers);
    },
    deliverLogs: async () => {
      await reports.flush();
      await opened.logDelivery?.run(new AbortController().signal);
    },
    stopService: () => stopService(),
    stop: async () => {
      await running.stop(0);
      await transport.close();
      await stopService();
      await rm(directory, { recursive: true, force: true });
    },
  };
};
