import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

import { Code } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";

import type { ServiceHealth } from "../../services/kit/client/service-health.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import type { Address } from "../../services/kit/config/config.ts";
import { findServiceApi } from "../../services/kit/contract/contract.ts";
import { ServiceError } from "../../services/kit/faults/service-error.ts";
import type { Authenticate } from "../../services/kit/identity/authenticate.ts";
import { authenticateByService, bearerAuthenticate } from "../../services/kit/identity/authenticate.ts";
import { clientTokenRights, gatewayAudience } from "../../services/kit/identity/client-tokens.ts";
import type { PublicKeys } from "../../services/kit/identity/key-files.ts";
import type { FindPolicies } from "../../services/kit/identity/token-claims.ts";
import type { Minter } from "../../services/kit/identity/tokens.ts";
import { createVerifier } from "../../services/kit/identity/tokens.ts";
import type { TrustedProxies } from "../../services/kit/identity/trusted-proxies.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import { refusalOf } from "../../services/kit/server/errors.ts";
import type { ServerLimits } from "../../services/kit/server/limits.ts";
import { defaultServerLimits } from "../../services/kit/server/limits.ts";
import { lingerOver } from "../../services/kit/server/linger.ts";
import type { RunningServer } from "../../services/kit/server/server.ts";
import { startServer } from "../../services/kit/server/server.ts";
import type { ServerTls } from "../../services/kit/tls/server-tls.ts";
import type { ServiceConnection } from "../api-binding.ts";
import type { OriginRule } from "../cross-origin/origin-rule.ts";
import { findOriginRule, originHeaders } from "../cross-origin/origin-rule.ts";
import { cutValues } from "../faults/echoed-values.ts";
import { passedThrough } from "./pass-through.ts";
import type { SigningGateway } from "./signed-calls.ts";
import { SignedCalls } from "./signed-calls.ts";

export interface RpcEndpointOptions {
  readonly listen: Address;
  readonly tls?: ServerTls | undefined;
  /** The services whose calls are passed through. */
  readonly connections: readonly PassedConnection[];
  /** Issues tokens for calls with a token that a client showed. */
  readonly minter: Minter;
  /** The keys that sign tokens: those of the directory, or these. */
  readonly publicKeys: string | PublicKeys;
  /** The identity policies with this digest. Unset: tokens that refer to them are refused. */
  readonly findPolicies?: FindPolicies;
  /** Origins whose scripts may call; a `*` matches any text. Empty: none may. */
  readonly allowedOrigins: readonly string[];
  /** Verifies signed calls that another server received. Unset: only tokens are taken. */
  readonly signing?: SigningGateway;
  /** The proxies that say where clients call from. Unset: none. */
  readonly trustedProxies?: TrustedProxies;
  /** Limits of the port that differ from the defaults. Unset: none. */
  readonly limits?: Partial<ServerLimits>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A service and whom tokens for it name. */
type PassedConnection = Pick<ServiceConnection, "service" | "errors" | "transport"> & {
  readonly audience: string;
  /** Says what health checks about the service are told. Unset: that it serves. */
  readonly health?: Pick<ServiceHealth, "onAnswering"> | undefined;
};

/** One place for the RPCs of all services. */
export interface RpcEndpoint {
  readonly url: string;
  /** The addresses that flood it. */
  readonly peers: RunningServer["peers"];
  /** Whether a path is that of a method of one of the services. */
  takes(path: string | undefined): boolean;
  /** Answers a request with such a path that another server received, by HTTP/1.1. */
  answer(request: IncomingMessage, response: ServerResponse): void;
  stop(graceMs: number): Promise<void>;
}

/**
 * Serves the RPCs of all services on a port of their own, by HTTP/1.1 and HTTP/2, with reflection and health; HTTP/1.1
 * requests may come from another port too. A caller shows a token, which is verified here and again by the service; on
 * the other port a signature is taken as well, and exchanged for a token.
 */
export const startRpcEndpoint = async (options: RpcEndpointOptions): Promise<RpcEndpoint> => {
  const { connections, clock, log, allowedOrigins } = options;
  const services = connections.map(({ service }) => service);
  const server = await startServer({
    name: "gateway",
    listen: { ...options.listen, isShared: true },
    tls: options.tls,
    services: connections.map((connection) => passedThrough({ ...connection, minter: options.minter })),
    authenticate: authenticateFor(options),
    log,
    clock,
    limits: options.limits ?? {},
    trustedProxies: options.trustedProxies,
  });
  for (const { service, health } of connections)
    health?.onAnswering((isAnswering) => server.setServing(isAnswering, service.typeName));
  const apis = new Map(services.map((service) => [`/${service.typeName}`, findServiceApi(service)?.name]));
  const signed = options.signing && new SignedCalls(options.signing);
  const rules = allowedOrigins.length === 0 ? [] : [{ ...scriptRule, allowedOrigins }];
  return {
    url: server.url,
    peers: server.peers,
    takes: (path) => path !== undefined && apis.has(serviceOf(path)),
    answer: (request, response) => {
      const isPreflight = request.method === "OPTIONS";
      const headers = allowedBy(rules, request, isPreflight);
      if (isPreflight) {
        response.writeHead(headers === undefined ? 403 : 204, headers).end();
        return;
      }
      for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value);
      const api = apis.get(serviceOf(request.url ?? ""));
      if (api === undefined || signed?.isSigned(request) !== true) server.answer(request, response);
      else
        signed.admit(request, response, api).then(
          (admitted) => server.answer(admitted, response),
          (thrown: unknown) => refuseSigned(thrown, request, response, log),
        );
    },
    stop: (graceMs) => server.stop(graceMs),
  };
};

/** Accepts tokens for the service of the method that is called, and clients' tokens for all that the gateway offers. */
const authenticateFor = ({
  connections,
  publicKeys,
  clock,
  findPolicies,
  trustedProxies,
}: RpcEndpointOptions): Authenticate =>
  authenticateByService(
    new Map(
      connections.map(({ service, audience }) => {
        const accepted = [audience, gatewayAudience];
        const verifier = createVerifier({
          publicKeys,
          clock,
          audience: accepted,
          ...(findPolicies && { findPolicies }),
        });
        const rights = { gateway: { anyCaller: true }, ...clientTokenRights };
        return [service.typeName, bearerAuthenticate(verifier, rights, trustedProxies)];
      }),
    ),
  );

/** The part of a path that names a service. */
const serviceOf = (path: string): string => path.slice(0, Math.max(0, path.indexOf("/", 1)));

/** Answers with the refusal in the form of the Connect protocol; others take it by its status. */
const refuseSigned = (thrown: unknown, request: IncomingMessage, response: ServerResponse, log: Logger): void => {
  const requestId = randomUUID();
  const { error, isDefect } = refusalOf(cut(thrown), undefined, requestId);
  if (isDefect) log.error({ err: thrown, path: serviceOf(request.url ?? ""), requestId }, "a signed call failed");
  const body = errorToJsonBytes(error, {});
  const again = error.code === Code.Unavailable || error.code === Code.ResourceExhausted;
  response.once("finish", () => lingerOver(request, defaultServerLimits));
  response.writeHead(codeToHttpStatus(error.code), {
    "content-type": "application/json",
    "content-length": body.length,
    "x-request-id": requestId,
    ...(again ? { "retry-after": "1" } : {}),
  });
  response.end(body);
};

/** A refusal that repeats no long values of the request. */
const cut = (thrown: unknown): unknown =>
  thrown instanceof ServiceError ? new ServiceError(thrown.facts, cutValues(thrown.metadata)) : thrown;

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
