import { randomInt } from "node:crypto";
import { once } from "node:events";
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

/**
 * A port that nobody listens on now. It is below those that systems give to connections and to servers that name none,
 * so that none of them is given it before it is used.
 */
export const freePort = async (host: string): Promise<number> => {
  for (let tries = 0; tries < freePortTriesMax; tries += 1) {
    const port = randomInt(freePortMin, freePortMax + 1);
    if (await isFree(host, port)) return port;
  }
  throw new Error(`no free port was found at ${host} from ${freePortMin} to ${freePortMax}`);
};

const freePortMin = 20_000;
const freePortMax = 32_767;
const freePortTriesMax = 100;

const isFree = async (host: string, port: number): Promise<boolean> => {
  const server = createServer();
  try {
    server.listen({ host, port });
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    throw error;
  }
  server.close();
  await once(server, "close");
  return true;
};
