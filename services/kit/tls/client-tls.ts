import type { ConnectionOptions } from "node:tls";

import type { TlsSource } from "./tls-files.ts";

/** How a client connects by TLS. */
export interface ClientTls {
  /** Whom it believes, and what it shows to servers that ask. */
  readonly source: TlsSource;
  /** The name that certificates of servers must have. Unset: the host of the address. */
  readonly serverName?: string;
}

/** The material as node's options of a connection; empty: the well-known authorities and no certificate of its own. */
export const connectionOptions = (tls: ClientTls | undefined): ConnectionOptions => {
  const { authority, certificate, key } = tls?.source.current() ?? {};
  const servername = tls?.serverName;
  return { minVersion: "TLSv1.2", ca: authority, cert: certificate, key, ...(servername && { servername }) };
};
