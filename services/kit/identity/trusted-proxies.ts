import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";

import { isHost } from "../network/request-form.ts";
import { Networks } from "../network/networks.ts";
import type { Connection, ConnectionFacts } from "./connection.ts";
import { connectionFacts, remoteAddressOf } from "./connection.ts";

/** What a reverse proxy says of the request that it passes on. */
export interface ForwardedFacts {
  /** The address of the client: the proxy's own, if it names none. */
  readonly clientAddress: string;
  /** By which protocol the client sent it to the proxy. Undefined: it does not say. */
  readonly protocol: "http" | "https" | undefined;
  /** The host that the client asked, perhaps with a port. Undefined: it does not say. */
  readonly host: string | undefined;
  /** The port that the client asked. Undefined: it does not say. */
  readonly port: number | undefined;
}

/**
 * The reverse proxies and load balancers whose word about a request's client counts: what they say in
 * `X-Forwarded-For`, `-Proto`, `-Host` and `-Port`. Everybody else may write these too, so nobody else is believed.
 */
export class TrustedProxies {
  readonly #networks: Networks;

  /** Addresses and networks, as `parseNetwork` reads them. */
  constructor(networks: readonly string[] = []) {
    this.#networks = new Networks(networks);
  }

  /** Whether an address is that of one of them. */
  includes(address: string | undefined): boolean {
    return this.#networks.includes(address);
  }

  /**
   * What the proxy at the other end of a connection says of a request. Undefined: there is none of these. Of several
   * values the last one counts, which it wrote itself; addresses count up to the first that is none of a proxy here.
   */
  readForwarded(headers: IncomingHttpHeaders, connection: Connection): ForwardedFacts | undefined {
    if (this.#networks.isEmpty) return undefined;
    const address = remoteAddressOf(connection);
    if (address === undefined || !this.includes(address)) return undefined;
    const protocol = lastOf(headers["x-forwarded-proto"])?.toLowerCase();
    const host = lastOf(headers["x-forwarded-host"]);
    const port = lastOf(headers["x-forwarded-port"]);
    return {
      clientAddress: this.#clientOf(headers["x-forwarded-for"], address),
      protocol: protocol === "http" || protocol === "https" ? protocol : undefined,
      host: host !== undefined && isHost(host) ? host : undefined,
      port: port !== undefined && /^\d{1,5}$/.test(port) && Number(port) <= 65_535 ? Number(port) : undefined,
    };
  }

  /** What policies may ask for of the client's connection; undefined as in `readForwarded`. */
  readFacts(headers: IncomingHttpHeaders, connection: Connection): ConnectionFacts | undefined {
    const forwarded = this.readForwarded(headers, connection);
    if (forwarded === undefined) return undefined;
    const { clientAddress: sourceIp, protocol } = forwarded;
    if (protocol === undefined) return { ...connectionFacts(connection), sourceIp };
    // Which version of TLS the proxy and the client speak, nobody says.
    return { sourceIp, isSecureTransport: protocol === "https" };
  }

  #clientOf(header: string | string[] | undefined, proxy: string): string {
    let client = proxy;
    for (const value of valuesOf(header).toReversed()) {
      const address = addressIn(value);
      if (address === undefined) return client;
      client = address;
      if (!this.includes(client)) return client;
    }
    return client;
  }
}

const valuesOf = (header: string | string[] | undefined): string[] =>
  header === undefined
    ? []
    : header
        .toString()
        .split(",")
        .map((value) => value.trim());

const lastOf = (header: string | string[] | undefined): string | undefined => valuesOf(header).at(-1) || undefined;

/** The address in an entry, which may have a port: `192.0.2.7:4711`, `[2001:db8::1]:4711`. */
const addressIn = (entry: string): string | undefined => {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([^:]+))(?::\d+)?$/.exec(entry) ?? [];
  const address = isIP(entry) === 6 ? entry : (bracketed ?? plain ?? "");
  return isIP(address) === 0 ? undefined : address;
};
