import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";

import type { Address, ConfigSources } from "../kit/config/config.ts";
import { flagName, formatAddress, loadConfig } from "../kit/config/config.ts";
import type { ServiceName } from "./processes.ts";
import { gatewaySettings, installation } from "./settings.ts";

/** Where the gateway of an installation serves the RPCs of identities. */
export interface IdentityPlace {
  /** As services name it. */
  readonly address: string;
  /** What the gateway must be told to listen on. Unset: what is configured. */
  readonly listen?: Address;
}

export interface IdentityPlaceOptions {
  /** The gateway's unix socket; unset if its path is too long. */
  readonly socketPath: string | undefined;
  readonly usesFreePorts: boolean;
  readonly sources: ConfigSources;
}

/**
 * Where services will find the identities, known before the gateway starts: another gateway that keeps them, or else
 * the gateway's unix socket, or over TLS its port, which on free ports is chosen here. Throws ConfigError.
 */
export const identityPlace = async ({
  socketPath,
  usesFreePorts,
  sources,
}: IdentityPlaceOptions): Promise<IdentityPlace> => {
  const config = loadConfig(installation, "gateway", gatewaySettings, sources);
  if (config.identityAddress !== "") return { address: config.identityAddress };
  const isTls = config.tlsCertificate !== "";
  if (socketPath !== undefined && !isTls) return { address: `unix:${socketPath}` };
  const { host } = config.identityListen;
  const listen = usesFreePorts ? { host, port: await freePort(host) } : config.identityListen;
  const address = `${isTls ? "https" : "http"}://${formatAddress(calledAt(listen))}`;
  return usesFreePorts ? { address, listen } : { address };
};

/** The flags that tell a service the place; none where the service has been configured. Throws ConfigError. */
export const identityArguments = (
  name: ServiceName,
  { address }: IdentityPlace,
  sources: ConfigSources,
): readonly string[] => {
  const { identityAddress } = installation.processes[name];
  const configured = loadConfig(installation, name, { identityAddress }, sources).identityAddress;
  return configured === "" ? [`--${flagName("identityAddress")}`, address] : [];
};

/** An address on which a server of this machine that listens everywhere is reached. */
const calledAt = ({ host, port }: Address): Address => {
  if (host === "0.0.0.0") return { host: "127.0.0.1", port };
  return { host: host === "::" ? "::1" : host, port };
};

/** A port that nobody listens on now. */
export const freePort = async (host: string): Promise<number> => {
  const server = createServer();
  server.listen({ host, port: 0 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
};
