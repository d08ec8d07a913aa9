import { resolve } from "node:path";

import { backupIssuer } from "../kit/backup/backup-issuer.ts";
import type { ConfigSources } from "../kit/config/config.ts";
import { configFileOf, flagName, formatAddress, loadConfig } from "../kit/config/config.ts";
import { ensureKeyPair } from "../kit/identity/key-files.ts";
import type { Logger } from "../kit/log/log.ts";
import { keysDirectory } from "../kit/process/keys-directory.ts";
import type { ClientTls } from "../kit/tls/client-tls.ts";
import type { ProcessName } from "./processes.ts";
import { isServing, showsLife } from "./health-probe.ts";
import type { IdentityPlace } from "./identity-address.ts";
import { identityArguments, identityPlace } from "./identity-address.ts";
import { listenAddresses, privateTargetsArguments } from "./private-targets.ts";
import { processEnvironments } from "./process-environments.ts";
import {
  addressSetting,
  processes,
  processNames,
  runner,
  serviceNames,
  startOrder,
  workerSocket,
} from "./processes.ts";
import { installation } from "./settings.ts";
import type { Urls } from "./start-up.ts";
import type { Supervised, SupervisionLimits } from "./supervisor.ts";
import { supervise } from "./supervisor.ts";
import { forkSharing, gatewayWorkers, sharedFreePorts } from "./workers.ts";

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
  /** Undefined while the process is not running. Of several gateways the first. */
  pid(name: ProcessName): number | undefined;
  /** The processes of the gateway, the first of which keeps the identities. */
  gatewayPids(): readonly (number | undefined)[];
  stop(): Promise<void>;
}

/**
 * Starts all processes and resolves when all are healthy. They start at the same time where their addresses are known
 * before, and otherwise each when its callees are ready. Rejects if one fails, after it has stopped the others.
 */
export const startInstallation = async (options: InstallationOptions): Promise<RunningInstallation> => {
  // That of backups too: a key that is new is known a second later only, too late for a backup just after the start.
  await Promise.all([...processNames, backupIssuer].map((name) => ensureKeyPair(keysDirectory(options), name)));
  const running = new Map<ProcessName, Supervised>();
  const furtherGateways: Supervised[] = [];
  const { env } = options;
  const sources = { argv: options.sharedArguments ?? [], env, directory: process.cwd() };
  const environmentOf = processEnvironments(env, configFileOf(sources));
  const socketPath = socketPathOf(options.dataDir, "gateway");
  const identities = await identityPlace({ socketPath, usesFreePorts: options.usesFreePorts, sources });
  const order = startOrder();
  const usesSockets = hasSockets(options.dataDir, sources);
  const wantedWorkers = gatewayWorkers(sources);
  // They reach each other by sockets in the data directory.
  const workers = socketPath === undefined ? 1 : wantedWorkers;
  if (workers < wantedWorkers)
    options.log.warn({ dataDir: options.dataDir }, "one gateway runs: the path of the data directory is too long");
  const sharedPorts = workers > 1 && options.usesFreePorts ? await sharedFreePorts(sources) : [];

  const stop = async (): Promise<void> => {
    // One second more than the process itself waits, so that only one that hangs is killed.
    const limitMs = options.drainMs + 1_000;
    const gateways = furtherGateways.map((gateway) => gateway.stop(limitMs));
    for (const group of order.toReversed())
      await Promise.all([...group.map(async (name) => running.get(name)?.stop(limitMs)), ...gateways]);
  };

  /** What one of several gateways is told besides: where all listen, and that the first keeps the identities. */
  const workerArguments = (worker: number): readonly string[] => [
    `--${flagName("workers")}=${workers}`,
    `--${flagName("worker")}=${worker}`,
    ...sharedPorts,
    ...(worker === 1
      ? socketArguments(options.dataDir, "gateway")
      : [
          `--socket=${workerSocket(socketPath ?? "", worker)}`,
          `--${flagName("identityAddress")}=${identities.address}`,
        ]),
  ];

  const start = async (name: ProcessName, worker = 1): Promise<void> => {
    const isShared = name === "gateway" && workers > 1;
    const supervised = await supervise({
      name: worker === 1 ? name : `${name}-${worker}`,
      script: runner,
      ...(isShared && { spawn: forkSharing }),
      nodeFlags: processes[name].nodeFlags,
      argv: (urls) => [
        name,
        ...(options.sharedArguments ?? []),
        `--data-dir=${options.dataDir}`,
        ...listenArguments(name, options.usesFreePorts, urls, sources),
        ...privateTargetsArguments(name, sources),
        ...processes[name].calls.flatMap((callee) => [
          `--${flagName(addressSetting(callee))}`,
          usesSockets ? `unix:${socketPathOf(options.dataDir, callee)}` : (urlOf(running, callee)["rpc"] ?? ""),
        ]),
        // Without sockets, the setting names the address, which is not known before such a service has started.
        ...(usesSockets ? processes[name].callsLater : []).flatMap((callee) => [
          `--${flagName(addressSetting(callee))}`,
          `unix:${socketPathOf(options.dataDir, callee)}`,
        ]),
        ...(isShared ? workerArguments(worker) : socketArguments(options.dataDir, name)),
        ...(name === "gateway" ? identityListenArguments(identities) : identityArguments(name, identities, sources)),
      ],
      env: () => environmentOf(name),
      log: options.log,
      probe: (urls, limitMs) => showsLife({ urls, tls: options.tls, limitMs }),
      limits: options.limits,
    });
    if (worker === 1) running.set(name, supervised);
    else furtherGateways.push(supervised);
    await awaitHealthy(name, supervised.urls, options.tls);
  };

  try {
    // Those that take longest begin first: the gateway and object storage.
    for (const group of usesSockets ? [processNames.toReversed()] : order)
      await allStarted(group.map((name) => start(name)));
    await allStarted(Array.from({ length: workers - 1 }, (_none, index) => start("gateway", index + 2)));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    gatewayUrl: urlOf(running, "gateway")["http"] ?? "",
    urls: (name) => urlOf(running, name),
    pid: (name) => running.get(name)?.pid,
    gatewayPids: () => [running.get("gateway"), ...furtherGateways].map((gateway) => gateway?.pid),
    stop,
  };
};

/** Waits for the outcome of all, so that whoever stops them knows all of them. Rejects if one rejects. */
const allStarted = async (starts: readonly Promise<void>[]): Promise<void> => {
  const outcomes = await Promise.allSettled(starts);
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed !== undefined) throw failed.reason;
};

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

/** The limit of systems for the path of a socket, without the byte that ends it. */
const socketPathBytesMax = 103;

/** The socket is in the data directory, where no other user can replace it; under a longer path there is none. */
const socketPathOf = (dataDir: string, name: ProcessName): string | undefined => {
  const path = resolve(dataDir, "sockets", `${name}.sock`);
  const hasRpc = processes[name].listeners["rpc"] !== undefined;
  return hasRpc && Buffer.byteLength(path) <= socketPathBytesMax ? path : undefined;
};

/**
 * Whether the processes call each other over unix sockets, which cost less than TCP. Not with TLS, which is served only
 * over TCP, nor in a data directory whose path is too long for them.
 */
const hasSockets = (dataDir: string, sources: ConfigSources): boolean =>
  loadConfig(installation, "launcher", {}, sources).tlsCertificate === "" &&
  serviceNames.every((name) => socketPathOf(dataDir, name) !== undefined);

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
