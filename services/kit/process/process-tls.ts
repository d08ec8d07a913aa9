import type { Clock } from "../clock/clock.ts";
import type { Address } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { isLoopback } from "../config/loopback.ts";
import type { Logger } from "../log/log.ts";
import type { ClientTls } from "../tls/client-tls.ts";
import type { ClientCertificates, ServerTls } from "../tls/server-tls.ts";
import { openTlsFiles } from "../tls/tls-files.ts";

/** The settings by which the processes of an installation speak TLS with each other. */
export interface TlsConfig {
  readonly tlsCertificate: string;
  readonly tlsKey: string;
  readonly tlsAuthority: string;
  readonly tlsServerName: string;
  readonly tlsClientCertificates: ClientCertificates;
}

/** How a process connects to others, and how it listens. */
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

/** Says so when everybody in the network can reach an address and read along. */
export const warnIfExposed = ({ host, port }: Address, tls: ServerTls | undefined, log: Logger): void => {
  if (tls === undefined && !isLoopback(host))
    log.warn({ host, port }, "listens without TLS on an address that other machines reach");
};
