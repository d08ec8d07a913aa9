import type { ChildProcess } from "node:child_process";
import cluster from "node:cluster";
import { availableParallelism } from "node:os";

import type { ConfigSources } from "../kit/config/config.ts";
import { flagName, formatAddress, loadConfig } from "../kit/config/config.ts";
import { freePort } from "./identity-address.ts";
import { listenAddresses } from "./private-targets.ts";
import { gatewaySettings, installation } from "./settings.ts";

/** The most gateway processes that the number of cores alone is a reason for. */
const defaultWorkersMax = 4;

/**
 * How many processes of the gateway `npm start` runs. Where it is not configured: one on a machine of two cores, on
 * which the services need the other, and one for each two cores on larger ones, up to four. Throws ConfigError.
 */
export const gatewayWorkers = (sources: ConfigSources, cores = availableParallelism()): number => {
  const { workers } = loadConfig(installation, "gateway", { workers: gatewaySettings.workers }, sources);
  return workers > 0 ? workers : Math.min(defaultWorkersMax, Math.max(1, Math.floor(cores / 2)));
};

/**
 * The flags by which all processes of the gateway listen on the same free ports, chosen here because each of them must
 * name the port that it shares.
 */
export const sharedFreePorts = async (sources: ConfigSources): Promise<readonly string[]> => {
  const { listen, rpcListen } = listenAddresses("gateway", sources);
  const flags = Object.entries({ listen, rpcListen }).map(async ([setting, address]) => {
    const host = address?.host ?? "127.0.0.1";
    return [`--${flagName(setting)}`, formatAddress({ host, port: await freePort(host) })];
  });
  return (await Promise.all(flags)).flat();
};

/**
 * Starts a process of a program that runs several times and shares the ports it listens on: this process opens a port
 * for all of them, and each accepts connections from it. So no connection is lost when one of them ends.
 */
export const forkSharing = (script: string, argv: readonly string[], env: NodeJS.ProcessEnv): ChildProcess => {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const stdio = ["ignore", "inherit", "inherit", "ipc"] as const;
  cluster.setupPrimary({ exec: script, args: [...argv], execArgv: [], stdio: [...stdio] });
  // Its environment is added to that of this process, which has secrets that it must not have.
  const hidden = Object.keys(process.env).filter((name) => env[name] === undefined);
  return cluster.fork({ ...env, ...Object.fromEntries(hidden.map((name) => [name, undefined])) }).process;
};
