import { homedir } from "node:os";
import { join, resolve } from "node:path";

import type { ConfigSources } from "../kit/config/config.ts";
import { configFileOf, flagName, formatAddress } from "../kit/config/config.ts";
import { ensureKeyPair } from "../kit/identity/key-files.ts";
import type { Logger } from "../kit/log/log.ts";
import { keysDirectory } from "../kit/process/service-process.ts";
import type { ClientTls } from "../kit/tls/client-tls.ts";
import type { ProcessName, ServiceName } from "./processes.ts";
import { isServing, showsLife } from "./health-probe.ts";
import type { IdentityPlace } from "./identity-address.ts";
import { identityArguments, identityPlace } from "./identity-address.ts";
import { listenAddresses, privateTargetsArguments } from "./private-targets.ts";
import { processEnvironments } from "./process-environments.ts";
import { addressSetting, processes, processNames, startOrder } from "./processes.ts";
import type { Urls } from "./start-up.ts";
import type { Supervised, SupervisionLimits } from "./supervisor.ts";
import { supervise } from "./supervisor.ts";

export interface InstallationOptions {
  readonly dataDir: string;
  /** Unset: in the data directory. */
  readonly keysDir?: string;
  /** Every process listens on a port that the system chooses, and keeps it over restarts. */
  readonly usesFreePorts: boolean;
  /** Their environment. Secrets in it are passed only to the processes that read them. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  /** Longest time that a stopping process waits for running calls, in milliseconds. */
  readonly drainMs: number;
  /** How to connect to services that use TLS. */
  readonly tls?: ClientTls;
  /** When a process counts as hanging. What is left out has its default. */
  readonly limits?: Partial<SupervisionLimits>;
  /** Further shared settings as flags, passed to every process: `["--log-level", "warn"]`. */
  readonly sharedArguments?: readonly string[];
}

/** A running installation. */
export interface RunningInstallation {
  /** The base URL of all four APIs. */
  readonly gatewayUrl: string;
  urls(name: ProcessName): Urls;
  /** Undefined while the process is not running. */
  pid(name: ProcessName): number | undefined;
  stop(): Promise<void>;
}

const root = join(import.meta.dirname, "..", "..");

/**
 * Starts all processes, each when its callees are ready, and resolves when all are healthy. Rejects if one fails, after
 * it has stopped the others.
 */
export const startInstallation = async (options: InstallationOptions): Promise<RunningInstallation> => {
  await Promise.all(processNames.map((name) => ensureKeyPair(keysDirectory(options), name)));
  const running = new Map<ProcessName, Supervised>();
  const groups = startOrder();
  // With compiled code in the cache a process that died is ready in half the time.
  const env = { NODE_COMPILE_CACHE: compileCacheDirectory(options.env), ...options.env };
  const sources = { argv: options.sharedArguments ?? [], env, directory: process.cwd() };
  const environmentOf = processEnvironments(env, configFileOf(sources));
  const socketPath = socketPathOf(options.dataDir, "gateway");
  const identities = await identityPlace({ socketPath, usesFreePorts: options.usesFreePorts, sources });

  const stop = async (): Promise<void> => {
    for (const group of groups.toReversed())
      // One second more than the process itself waits, so that only one that hangs is killed.
      await Promise.all(group.map(async (name) => running.get(name)?.stop(options.drainMs + 1_000)));
  };

  const start = async (name: ProcessName): Promise<void> => {
    const supervised = await supervise({
      name,
      script: join(root, processes[name].script),
      argv: (urls) => [
        ...(options.sharedArguments ?? []),
        `--data-dir=${options.dataDir}`,
        ...listenArguments(name, options.usesFreePorts, urls, sources),
        ...privateTargetsArguments(name, sources),
        ...processes[name].calls.flatMap((callee) => addressArguments(callee, urlOf(running, callee))),
        ...socketArguments(options.dataDir, name),
        ...(name === "gateway" ? identityListenArguments(identities) : identityArguments(name, identities, sources)),
      ],
      env: () => environmentOf(name),
      log: options.log,
      probe: (urls, limitMs) => showsLife({ urls, tls: options.tls, limitMs }),
      limits: options.limits,
    });
    running.set(name, supervised);
  };

  try {
    for (const group of groups) {
      const outcomes = await Promise.allSettled(group.map(start));
      const failed = outcomes.find((outcome) => outcome.status === "rejected");
      if (failed !== undefined) throw failed.reason;
      await Promise.all(group.map((name) => awaitHealthy(name, urlOf(running, name), options.tls)));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    gatewayUrl: urlOf(running, "gateway")["http"] ?? "",
    urls: (name) => urlOf(running, name),
    pid: (name) => running.get(name)?.pid,
    stop,
  };
};

/**
 * The directory of compiled code: of the user, because it is executed, and outside the data directory, because no
 * backup needs it. Where it cannot be written, code is compiled at each start.
 */
const compileCacheDirectory = ({ XDG_CACHE_HOME: caches }: NodeJS.ProcessEnv): string =>
  join(caches || join(homedir(), ".cache"), "quartet", "compile-cache");

const urlOf = (running: ReadonlyMap<ProcessName, Supervised>, name: ProcessName): Urls => running.get(name)?.urls ?? {};

/** On free ports the configured hosts stay, and so do, over restarts, the ports that the system chose once. */
const listenArguments = (
  name: ProcessName,
  usesFreePorts: boolean,
  urls: Urls | undefined,
  sources: ConfigSources,
): string[] => {
  if (!usesFreePorts) return [];
  const addresses = listenAddresses(name, sources);
  return Object.entries(processes[name].listeners).flatMap(([purpose, { setting }]) => {
    const known = urls?.[purpose];
    const host = addresses[setting]?.host ?? "127.0.0.1";
    return [`--${flagName(setting)}`, known === undefined ? formatAddress({ host, port: 0 }) : new URL(known).host];
  });
};

/**
 * Processes of one machine call each other over unix sockets, which cost less than TCP; over TLS only TCP is served.
 */
const addressArguments = (callee: ServiceName, { socket, rpc }: Urls): string[] => [
  `--${flagName(addressSetting(callee))}`,
  socket ?? rpc ?? "",
];

/** The limit of systems for the path of a socket, without the byte that ends it. */
const socketPathBytesMax = 103;

/** The socket is in the data directory, where no other user can replace it; under a longer path there is none. */
const socketPathOf = (dataDir: string, name: ProcessName): string | undefined => {
  const path = resolve(dataDir, "sockets", `${name}.sock`);
  const hasRpc = processes[name].listeners["rpc"] !== undefined;
  return hasRpc && Buffer.byteLength(path) <= socketPathBytesMax ? path : undefined;
};

const socketArguments = (dataDir: string, name: ProcessName): string[] => {
  const path = socketPathOf(dataDir, name);
  return path === undefined ? [] : [`--socket=${path}`];
};

/** Where services were told to find the gateway before it started. */
const identityListenArguments = ({ listen }: IdentityPlace): string[] =>
  listen === undefined ? [] : [`--${flagName("identityListen")}`, formatAddress(listen)];

const awaitHealthy = async (name: ProcessName, urls: Urls, tls: ClientTls | undefined): Promise<void> => {
  if (!(await isServing({ urls, tls, limitMs: healthyMs }))) throw new Error(`${name} is not serving`);
};

const healthyMs = 10_000;
