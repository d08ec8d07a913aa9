import type { Transport } from "@connectrpc/connect";

import type { ClientTls } from "../tls/client-tls.ts";
import { tracedTransport } from "../trace/traced-transport.ts";
import { createConnectEngine } from "./engine-connect.ts";
import { createGrpcEngine } from "./engine-grpc.ts";
import { createRepeatingTransport } from "./repeating-transport.ts";
import type { RetryPolicy } from "./retry.ts";
import { defaultRetryPolicy } from "./retry.ts";

/** What one client takes before it refuses. */
export interface ClientLimits {
  /** The largest message of an answer. */
  readonly messageBytesMax: number;
  /** Connections of the Connect engine to its server; calls above it wait for one. */
  readonly connectionsMax: number;
  /** How long making a connection may take. */
  readonly connectTimeoutMs: number;
}

/** How calls reach one service. */
export interface TransportOptions {
  /** `http://127.0.0.1:50054`, `https://localhost:50054` or `unix:/path`; several separated by commas. */
  readonly address?: string;
  /** Further addresses of the same service. Calls take all of them in turns and leave out those that fail. */
  readonly addresses?: readonly string[];
  /** For `https` addresses. Unset: the well-known authorities are believed, and no certificate is shown. */
  readonly tls?: ClientTls;
  /**
   * `connect`: the Connect protocol over HTTP/1.1, the cheapest and fastest between processes of one installation.
   * `grpc`: gRPC over HTTP/2. Calls whose two directions run at the same time need HTTP/2 and use it with either.
   */
  readonly engine: "connect" | "grpc";
  /** Makes the bearer token of calls that bring no `authorization`. Asked for every call: it keeps what it made. */
  readonly token?: () => Promise<string>;
  /** The deadline of calls that name none. Unset: none. */
  readonly timeoutMs?: number;
  /** When calls are made again. What is left out has the default; `{ attemptsMax: 1 }`: never. */
  readonly retry?: Partial<RetryPolicy>;
  /** What is left out has the default. */
  readonly limits?: Partial<ClientLimits>;
}

export const defaultClientLimits: ClientLimits = {
  messageBytesMax: 16 * 1024 * 1024,
  connectionsMax: 1024,
  connectTimeoutMs: 5000,
};

/** A transport that holds connections until it is closed. */
export type ClosableTransport = Transport & { close(): Promise<void> };

/** What the engine of one address is made from. */
export interface EngineOptions {
  readonly address: string;
  readonly tls: ClientTls | undefined;
  readonly token: (() => Promise<string>) | undefined;
  readonly limits: ClientLimits;
}

/**
 * A transport for connect's `createClient`. Failures are ConnectErrors with the server's details; a server that cannot be
 * reached is `unavailable`. To leave a streamed answer before its end, abort the call's signal: connect's client does
 * not pass on that a loop over it was left.
 */
export const createTransport = (options: TransportOptions): ClosableTransport => {
  const { address, addresses = [], engine, tls, token } = options;
  const all = [...(address?.split(",") ?? []), ...addresses].map((each) => each.trim());
  if (all.length === 0) throw new Error("a transport needs an address");
  const limits = { ...defaultClientLimits, ...options.limits };
  const create = engine === "grpc" ? createGrpcEngine : createEitherEngine;
  const engines = all.map((each) => create({ address: each, tls, token, limits }));
  const policy = { ...defaultRetryPolicy, ...options.retry };
  const transport = createRepeatingTransport(engines, { policy, timeoutMs: options.timeoutMs });
  return { ...tracedTransport(transport), close: () => transport.close() };
};

/** The Connect engine, and the gRPC engine for the calls that only it can make. */
const createEitherEngine = (options: EngineOptions): ClosableTransport => {
  const connect = createConnectEngine(options);
  let grpc: ClosableTransport | undefined;
  return {
    unary: (...call) => connect.unary(...call),
    stream: (method, ...rest) => {
      if (method.methodKind !== "bidi_streaming") return connect.stream(method, ...rest);
      grpc ??= createGrpcEngine(options);
      return grpc.stream(method, ...rest);
    },
    close: async () => {
      await Promise.all([connect.close(), grpc?.close()]);
    },
  };
};
