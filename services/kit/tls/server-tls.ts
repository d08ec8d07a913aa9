import type { SecureContextOptions, TLSSocket } from "node:tls";

import type { TlsMaterial, TlsSource } from "./tls-files.ts";

/** Whether a server asks its callers for certificates: never, believing those that are shown, or of all of them. */
export type ClientCertificates = "none" | "optional" | "required";

/** How a server listens by TLS. */
export interface ServerTls {
  /** Its certificate, and whose certificates of callers it believes. */
  readonly source: TlsSource;
  /** Unset: none. */
  readonly clientCertificates?: ClientCertificates;
}

/** The material as node's options of a server. */
export const contextOptions = ({ certificate, key, authority }: TlsMaterial): SecureContextOptions => ({
  minVersion: "TLSv1.2",
  cert: certificate,
  key,
  ca: authority,
});

/** True for a caller that shows no certificate, or one that is believed. */
export const isBelieved = (socket: TLSSocket): boolean =>
  socket.authorized || Object.keys(socket.getPeerCertificate()).length === 0;
