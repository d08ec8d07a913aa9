import type { ConnectionOptions } from "node:tls";

import type { TlsSource } from "./tls-files.ts";

/** The TLS of a client. */
export interface ClientTls {
  /** The authorities that it trusts, and its certificate for servers that request one. */
  readonly source: TlsSource;
  /** The name that a server's certificate must have. Unset: the host of the address. */
  readonly serverName?: string;
}

/** The material as Node's options of a connection; empty: the well-known authorities and no certificate. */
export const connectionOptions = (tls: ClientTls | undefined): ConnectionOptions => {
  const { authority, certificate, key } = tls?.source.current() ?? {};
  const servername = tls?.serverName;
  return { minVersion: "TLSv1.2", ca: authority, cert: certificate, key, ...(servername && { servername }) };
};
