import { lookup } from "node:dns/promises";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { Pool } from "undici";

import { systemClock } from "../../../services/kit/clock/clock.ts";
import { TrustedProxies } from "../../../services/kit/identity/trusted-proxies.ts";
import { randomIds } from "../../../services/kit/ids/ids.ts";
import { FunctionCaller } from "../../../services/refactoring-workspace/proxy/function-caller.ts";
import { defaultProxyLimits } from "../../../services/refactoring-workspace/proxy/proxy-limits.ts";
import { startProxy } from "../../../services/refactoring-workspace/proxy/proxy-server.ts";
import { ProxiedRequests } from "../../../services/refactoring-workspace/proxy/proxied-requests.ts";
import { ProxiedApplications } from "../../../services/refactoring-workspace/proxy/proxied-applications.ts";
import { ServiceNetwork } from "../../../services/refactoring-workspace/proxy/service-network.ts";
import { Upstreams } from "../../../services/refactoring-workspace/proxy/upstreams.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { playPeer, startPeer } from "./peer.ts";

const megabyte = Buffer.alloc(1024 * 1024, "a");
const small = Buffer.alloc(300, "a");

const listen = async (listener: RequestListener): Promise<string> => {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** A service that answers 300 bytes, or 64 MiB at `/large`, and takes any body. */
const startBackend = (): Promise<string> =>
  listen((request, response) => {
    if (request.url?.endsWith("/large") !== true) {
      request.resume().on("end", () => response.end(small));
      return;
    }
    let left = 64;
    const write = () => {
      while (left > 0) {
        left -= 1;
        if (!response.write(megabyte)) return;
      }
      response.end();
    };
    response.on("drain", write);
    write();
  });

const startOwnBackend = (): Promise<string> => startPeer("proxy-servers", "backend").ask<string>({ ask: "start" });

/** The least that passes a request on: no routes, no header rules, no limits. */
const startBare = async (): Promise<string> => {
  const pool = new Pool(await startOwnBackend(), { connections: 128, allowH2: false });
  return listen((request, response) => {
    const { method = "GET", url = "/" } = request;
    const hasBody = method !== "GET";
    pool.dispatch(
      {
        method,
        path: url,
        headers: hasBody ? { "content-length": request.headers["content-length"] } : {},
        body: hasBody ? request : null,
      },
      {
        onRequestStart: () => {},
        onResponseStart: (_controller, status, headers) => void response.writeHead(status, headers),
        onResponseData: (controller, chunk) => {
          if (response.write(chunk)) return;
          controller.pause();
          response.once("drain", () => controller.resume());
        },
        onResponseEnd: () => void response.end(),
        onResponseError: () => void response.destroy(),
      },
    );
  });
};

/** The proxy with an application of 200 routes, of which the measured one is found by two parameters. */
const startWorkspaceProxy = async (): Promise<string> => {
  const endpoint = { url: await startOwnBackend() };
  const routes = new ProxiedApplications(async () => undefined);
  const match = { methods: [], includeChildPaths: true, appendSourcePath: true };
  routes.put({
    applicationId: "app-0000000001",
    accountId: "000000000000",
    apiGatewayId: "0123456789",
    stageName: "prod",
    routes: Array.from({ length: 200 }, (_each, index) => ({
      routeId: `rte-${index}`,
      serviceId: "svc-0000000001",
      endpoint,
      match: { ...match, sourcePath: index === 0 ? "/shops/{shop}/{page}" : `/shops/shop-${index}/orders` },
    })),
  });
  const upstreams = new Upstreams(
    new ServiceNetwork({
      allowsPrivate: true,
      resolve: (hostname) => lookup(hostname, { all: true }),
      log: silentLogger,
    }),
    systemClock,
  );
  const functions = new FunctionCaller({
    endpoint: undefined,
    upstreams,
    clock: systemClock,
    bytesMax: 0,
    callsMax: 0,
    callMsMax: 0,
    stallMsMax: 0,
  });
  const proxy = await startProxy({
    listen: { host: "127.0.0.1", port: 0 },
    certificate: undefined,
    routes,
    upstreams,
    requests: new ProxiedRequests(silentLogger, undefined),
    trustedProxies: new TrustedProxies(),
    functions,
    ids: randomIds,
    log: silentLogger,
    limits: defaultProxyLimits,
  });
  return `${proxy.url}/0123456789/prod`;
};

const roles: Record<string, () => Promise<string>> = {
  backend: startBackend,
  bare: startBare,
  workspace: startWorkspaceProxy,
};

playPeer({ start: () => (roles[process.argv[2] ?? ""] ?? startBackend)() });
