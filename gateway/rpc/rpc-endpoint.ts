import type { IncomingMessage, ServerResponse } from "node:http";

import type { Clock } from "../../services/kit/clock/clock.ts";
import type { Address } from "../../services/kit/config/config.ts";
import { bearerAuthenticate } from "../../services/kit/identity/authenticate.ts";
import type { PublicKeys } from "../../services/kit/identity/key-files.ts";
import { createVerifier } from "../../services/kit/identity/tokens.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import { startServer } from "../../services/kit/server/server.ts";
import type { ServerTls } from "../../services/kit/tls/server-tls.ts";
import type { ServiceConnection } from "../api-binding.ts";
import type { OriginRule } from "../cross-origin/origin-rule.ts";
import { findOriginRule, originHeaders } from "../cross-origin/origin-rule.ts";
import { passedThrough } from "./pass-through.ts";

export interface RpcEndpointOptions {
  readonly listen: Address;
  readonly tls?: ServerTls | undefined;
  /** The services whose calls are passed through. */
  readonly connections: readonly Pick<ServiceConnection, "service" | "transport">[];
  /** Whom tokens must name: any of these processes. */
  readonly audience: readonly string[];
  /** The keys that sign tokens: those of the directory, or these. */
  readonly publicKeys: string | PublicKeys;
  /** Origins whose scripts may call; a `*` matches any text. Empty: none may. */
  readonly allowedOrigins: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
}

/** One place for the RPCs of all services. */
export interface RpcEndpoint {
  readonly url: string;
  /** Whether a path is that of a method of one of the services. */
  takes(path: string | undefined): boolean;
  /** Answers a request with such a path that another server received, by HTTP/1.1. */
  answer(request: IncomingMessage, response: ServerResponse): void;
  stop(graceMs: number): Promise<void>;
}

/**
 * Serves the RPCs of all services on a port of their own, by HTTP/1.1 and HTTP/2, with reflection and health; HTTP/1.1
 * requests may come from another port too. A caller shows a token, which is verified here and again by the service.
 */
export const startRpcEndpoint = async (options: RpcEndpointOptions): Promise<RpcEndpoint> => {
  const { connections, clock, log, allowedOrigins } = options;
  const services = connections.map(({ service }) => service);
  const { publicKeys, audience } = options;
  const verifier = createVerifier({ publicKeys, clock, audience });
  const server = await startServer({
    name: "gateway",
    listen: { ...options.listen, isShared: true },
    tls: options.tls,
    services: connections.map(({ service, transport }) => passedThrough(service, transport)),
    authenticate: bearerAuthenticate(verifier, { gateway: { anyCaller: true } }),
    log,
    clock,
  });
  const prefixes = new Set(services.map(({ typeName }) => `/${typeName}`));
  const rules = allowedOrigins.length === 0 ? [] : [{ ...scriptRule, allowedOrigins }];
  return {
    url: server.url,
    takes: (path) => path !== undefined && prefixes.has(path.slice(0, Math.max(0, path.indexOf("/", 1)))),
    answer: (request, response) => {
      const isPreflight = request.method === "OPTIONS";
      const headers = allowedBy(rules, request, isPreflight);
      if (isPreflight) {
        response.writeHead(headers === undefined ? 403 : 204, headers).end();
        return;
      }
      for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value);
      server.answer(request, response);
    },
    stop: (graceMs) => server.stop(graceMs),
  };
};

/** What scripts may send and read: everything of the protocols. Calls carry a token and no cookies. */
const scriptRule: Omit<OriginRule, "allowedOrigins"> = {
  allowedMethods: ["GET", "POST"],
  allowedHeaders: ["*"],
  exposeHeaders: ["grpc-status", "grpc-message", "grpc-status-details-bin", "x-request-id"],
  maxAgeSeconds: 7_200,
};

/** The headers that let a script of another origin read the answer; undefined: it may not. */
const allowedBy = (
  rules: readonly OriginRule[],
  { headers, method = "" }: IncomingMessage,
  isPreflight: boolean,
): Record<string, string> | undefined => {
  const { origin } = headers;
  if (origin === undefined) return undefined;
  const asked = {
    origin,
    method: isPreflight ? (headers["access-control-request-method"] ?? "") : method,
    headers: headers["access-control-request-headers"],
  };
  const rule = findOriginRule(rules, asked, isPreflight);
  return rule === undefined ? undefined : originHeaders(rule, asked);
};
