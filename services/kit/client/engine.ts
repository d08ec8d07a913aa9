import type { Transport } from "@connectrpc/connect";

import type { ClientTls } from "../tls/client-tls.ts";

/** A transport that holds connections until it is closed. */
export type ClosableTransport = Transport & { close(): Promise<void> };

/** What one client accepts, and how long it waits for a connection. */
export interface ClientLimits {
  /** The largest message of an answer. */
  readonly messageBytesMax: number;
  /** Connections of the Connect engine to its server; further calls wait for one. */
  readonly connectionsMax: number;
  /** How long making a connection may take. */
  readonly connectTimeoutMs: number;
}

/** How an engine reaches its one address. */
export interface EngineOptions {
  readonly address: string;
  readonly tls: ClientTls | undefined;
  readonly token: (() => Promise<string>) | undefined;
  readonly limits: ClientLimits;
}
