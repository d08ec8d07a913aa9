import type { SecureContextOptions, TLSSocket } from "node:tls";

import type { TlsMaterial, TlsSource } from "./tls-files.ts";

/** Whether callers show certificates: none are requested, those shown are verified, or each caller must show one. */
export type ClientCertificates = "none" | "optional" | "required";

/** The TLS of a server. */
export interface ServerTls {
  /** Its certificate, and the authorities that it trusts for certificates of callers. */
  readonly source: TlsSource;
  /** Unset: none. */
  readonly clientCertificates?: ClientCertificates;
}

/** The material as Node's options of a server. */
export const contextOptions = ({ certificate, key, authority }: TlsMaterial): SecureContextOptions => ({
  minVersion: "TLSv1.2",
  cert: certificate,
  key,
  ca: authority,
});

/** True for a caller without a certificate, or with a trusted one. */
export const isTrusted = (socket: TLSSocket): boolean =>
  socket.authorized || Object.keys(socket.getPeerCertificate()).length === 0;
