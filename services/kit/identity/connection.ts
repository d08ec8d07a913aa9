import { IncomingMessage } from "node:http";
import type { Http2ServerRequest, Http2Session } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

import type { Caller } from "./caller.ts";

/** The connection of a call. Undefined: it is closed already. */
export type Connection = Socket | Http2Session | undefined;

/** The connection on which a request came. */
export const connectionOf = (request: IncomingMessage | Http2ServerRequest): Connection =>
  request instanceof IncomingMessage ? request.socket : request.stream.session;

/** What conditions of policies ask for of a connection: the address at its other end, and how it is encrypted. */
export interface ConnectionFacts extends Pick<Caller, "sourceIp" | "tlsVersion"> {
  readonly isSecureTransport: boolean;
}

/** The facts of a connection. */
export const connectionFacts = (connection: Connection): ConnectionFacts => {
  const sourceIp = remoteAddressOf(connection);
  const isSecureTransport = (connection as Pick<TLSSocket, "encrypted"> | undefined)?.encrypted === true;
  const tlsVersion = isSecureTransport ? tlsVersionOf(connection) : undefined;
  return {
    ...(sourceIp === undefined ? {} : { sourceIp }),
    isSecureTransport,
    ...(tlsVersion === undefined ? {} : { tlsVersion }),
  };
};

/** The version of TLS of a connection, as policies compare it: `1.3`. Undefined: it is not encrypted, or closed. */
const tlsVersionOf = (connection: Connection): string | undefined => {
  if (connection === undefined) return undefined;
  try {
    const socket = ("socket" in connection ? connection.socket : connection) as Partial<TLSSocket>;
    return /^TLSv(\d\.\d)$/.exec(socket.getProtocol?.() ?? "")?.[1];
  } catch {
    return undefined;
  }
};

/** The address at its other end. A unix socket has none. A session without its socket throws instead of answering. */
export const remoteAddressOf = (connection: Connection): string | undefined => {
  if (connection === undefined) return undefined;
  try {
    return "socket" in connection ? connection.socket.remoteAddress : connection.remoteAddress;
  } catch {
    return undefined;
  }
};
