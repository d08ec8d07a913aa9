import type { Socket } from "node:net";
import type { Http2Session } from "node:http2";
import type { TLSSocket } from "node:tls";

import type { Caller } from "./caller.ts";

/** The connection of a call. Undefined: it is closed already. */
export type Connection = Socket | Http2Session | undefined;

/** What conditions of policies ask for of a connection: the address at its other end, and whether it is encrypted. */
export const connectionFacts = (connection: Connection): Pick<Caller, "sourceIp" | "isSecureTransport"> => {
  const sourceIp = remoteAddressOf(connection);
  const isSecureTransport = (connection as Pick<TLSSocket, "encrypted"> | undefined)?.encrypted === true;
  return { ...(sourceIp === undefined ? {} : { sourceIp }), isSecureTransport };
};

/** A unix socket has none. A session without its socket throws instead of answering. */
const remoteAddressOf = (connection: Connection): string | undefined => {
  if (connection === undefined) return undefined;
  try {
    return "socket" in connection ? connection.socket.remoteAddress : connection.remoteAddress;
  } catch {
    return undefined;
  }
};
