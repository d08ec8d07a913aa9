import type { ClientTls } from "../tls/client-tls.ts";
import { tracedTransport } from "../trace/traced-transport.ts";
import type { ClientLimits, ClosableTransport, EngineOptions } from "./engine.ts";
import { createConnectEngine } from "./engine-connect.ts";
import { createLazyGrpcEngine } from "./engine-grpc-lazy.ts";
import { createSharedEngine } from "./engine-shared.ts";
import { createRepeatingTransport } from "./repeating-transport.ts";
import type { RetryPolicy } from "./retry.ts";
import { defaultRetryPolicy } from "./retry.ts";

export type { ClientLimits, ClosableTransport } from "./engine.ts";

/** How calls reach one service. */
export interface TransportOptions {
  /** `http://127.0.0.1:50054`, `https://localhost:50054` or `unix:/path`; several separated by commas. */
  readonly address?: string;
  /** Further addresses of the same service. Calls use them in turn and leave out those that fail. */
  readonly addresses?: readonly string[];
  /** For `https` addresses. Unset: the well-known authorities are trusted, and no certificate is shown. */
  readonly tls?: ClientTls;
  /**
   * `connect`: the Connect protocol over HTTP/1.1, the cheapest and fastest between processes of one installation. Over
   * a unix socket, small calls share one connection.
   * `grpc`: gRPC over HTTP/2. Calls whose two directions run at the same time need HTTP/2 and use it with either.
   */
  readonly engine: "connect" | "grpc";
  /** Returns the bearer token of calls without `authorization`. Called for every call, so it should cache. */
  readonly token?: () => Promise<string>;
  /** The deadline of calls that name none. Unset: none. */
  readonly timeoutMs?: number;
  /** When calls are repeated. Unset members have their defaults; `{ attemptsMax: 1 }`: never. */
  readonly retry?: Partial<RetryPolicy>;
  /** Unset members have their defaults. */
  readonly limits?: Partial<ClientLimits>;
}

const defaultClientLimits: ClientLimits = {
  messageBytesMax: 16 * 1024 * 1024,
  connectionsMax: 1024,
  connectTimeoutMs: 5000,
};

/**
 * A transport for connect's `createClient`. Failures are ConnectErrors with the server's details; an unreachable server
 * is `unavailable`. To stop reading a streamed answer before its end, abort the call's signal: connect's client does
 * not report that a loop over it was left.
 */
export const createTransport = (options: TransportOptions): ClosableTransport => {
  const { address, addresses = [], engine, tls, token } = options;
  const all = [...(address?.split(",") ?? []), ...addresses].map((each) => each.trim());
  if (all.length === 0) throw new Error("a transport needs an address");
  const limits = { ...defaultClientLimits, ...options.limits };
  const create = engine === "grpc" ? createLazyGrpcEngine : createEitherEngine;
  const engines = all.map((each) => create({ address: each, tls, token, limits }));
  const policy = { ...defaultRetryPolicy, ...options.retry };
  const transport = createRepeatingTransport(engines, { policy, timeoutMs: options.timeoutMs });
  return { ...tracedTransport(transport), close: () => transport.close() };
};

/** The Connect engine, over a unix socket with a shared connection, and the gRPC engine for calls that need it. */
const createEitherEngine = (options: EngineOptions): ClosableTransport => {
  const own = createConnectEngine(options);
  const connect = options.address.startsWith("unix:") ? createSharedEngine(options, own) : own;
  const grpc = createLazyGrpcEngine(options);
  return {
    unary: (...call) => connect.unary(...call),
    stream: (method, ...rest) =>
      method.methodKind === "bidi_streaming" ? grpc.stream(method, ...rest) : connect.stream(method, ...rest),
    close: async () => {
      await Promise.all([connect.close(), grpc.close()]);
    },
  };
};
