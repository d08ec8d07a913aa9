import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";

import type { TrustedProxies } from "../../kit/identity/trusted-proxies.ts";
import { portOf } from "../../kit/network/request-form.ts";
import { hostOf } from "./request-head.ts";

/** Who sent a request, and where to. */
export interface ProxiedClient {
  readonly address: string;
  /** The other end of the connection: the client itself, or a proxy before this one. */
  readonly peerAddress: string;
  /** The host that it asked, as a Host header has it. */
  readonly host: string;
  readonly port: number;
  readonly protocol: "http" | "https";
}

const defaultPorts = { http: 80, https: 443 };

/** The client of a request: as a trusted proxy says it, else as the connection shows it. */
export const clientOf = (request: IncomingMessage, proxies: Pick<TrustedProxies, "readForwarded">): ProxiedClient => {
  const { socket, headers } = request;
  const { remoteAddress: peerAddress = "", localPort = 0 } = socket;
  const isSecure = (socket as Partial<TLSSocket>).encrypted === true;
  const own = {
    address: peerAddress,
    host: hostOf(request),
    port: localPort,
    protocol: isSecure ? "https" : "http",
  } as const;
  const forwarded = proxies.readForwarded(headers, socket);
  if (forwarded === undefined) return { ...own, peerAddress };
  const { clientAddress: address, host = own.host, protocol = own.protocol } = forwarded;
  return { address, peerAddress, host, protocol, port: forwarded.port ?? portOf(host) ?? defaultPorts[protocol] };
};
