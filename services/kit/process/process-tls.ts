import type { Clock } from "../clock/clock.ts";
import type { Address } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { isLoopback } from "../config/loopback.ts";
import type { Logger } from "../log/log.ts";
import type { ClientTls } from "../tls/client-tls.ts";
import type { ClientCertificates, ServerTls } from "../tls/server-tls.ts";
import { openTlsFiles } from "../tls/tls-files.ts";

/** The settings for TLS between the processes of an installation. */
export interface TlsConfig {
  readonly tlsCertificate: string;
  readonly tlsKey: string;
  readonly tlsAuthority: string;
  readonly tlsServerName: string;
  readonly tlsClientCertificates: ClientCertificates;
}

/** The TLS of a process as a client and as a server. */
export interface ProcessTls {
  readonly client: ClientTls;
  /** Undefined: without TLS. */
  readonly server: ServerTls | undefined;
}

/** Opens the files of the settings. Throws ConfigError. */
export const openProcessTls = (config: TlsConfig, clock: Clock, log: Logger): ProcessTls => {
  const { tlsCertificate: certificate, tlsKey: key, tlsAuthority: authority } = config;
  const { tlsClientCertificates: clientCertificates, tlsServerName: serverName } = config;
  if (clientCertificates !== "none" && (certificate === "" || authority === ""))
    throw new ConfigError("tlsClientCertificates needs tlsCertificate, tlsKey and tlsAuthority");
  const source = openTlsFiles({ certificate, key, authority }, clock, log);
  return {
    client: { source, ...(serverName !== "" && { serverName }) },
    server: certificate === "" ? undefined : { source, clientCertificates },
  };
};

/** Logs a warning if an address can be reached and read from the network. */
export const warnIfExposed = ({ host, port }: Address, tls: ServerTls | undefined, log: Logger): void => {
  if (tls === undefined && !isLoopback(host))
    log.warn({ host, port }, "listens without TLS on an address that other machines reach");
};
