import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { systemClock } from "../../services/kit/clock/clock.ts";
import { openAccessKeyFile } from "../../services/kit/identity/access-key-file.ts";
import { randomIds } from "../../services/kit/ids/ids.ts";
import { createLogger } from "../../services/kit/log/log.ts";
import type { ClientTls } from "../../services/kit/tls/client-tls.ts";
import type { RunningInstallation } from "../../services/launcher/installation.ts";
import { credentialsFile } from "../../services/launcher/settings.ts";
import { startInstallation } from "../../services/launcher/installation.ts";
import type { SupervisionLimits } from "../../services/launcher/supervisor.ts";
import type { SdkClients } from "./sdk-clients.ts";
import { destroyClients, sdkClients } from "./sdk-clients.ts";

/** An installation of five processes on free ports, with the official SDK clients pointed at it. */
export interface System {
  readonly installation: RunningInstallation;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  /** Clients that sign with that key. */
  readonly clients: SdkClients;
  /** Clients that sign with another key. They are closed with the system. */
  clientsFor(accessKeyId: string, secretAccessKey: string): SdkClients;
  stop(): Promise<void>;
}

export interface SystemOptions {
  /** What quartet.json holds; written to the data directory. Unset: there is none. */
  readonly configuration?: object;
  /** Environment variables beside those of the test. */
  readonly env?: Readonly<Record<string, string>>;
  /** How services that listen by TLS are reached. */
  readonly tls?: ClientTls;
  /** When its processes count as hanging, and are started again. What is left out has its default. */
  readonly limits?: Partial<SupervisionLimits>;
  /** PEM text of the authority of the gateway's certificate, where it has one. */
  readonly authority?: string;
}

/** The quartet.json of a system with a configuration. */
export const configurationFile = (dataDir: string): string => join(dataDir, "quartet.json");

/** Starts everything on the directory; the logs of the processes show only what is worse than `logLevel`. */
export const startSystem = async (
  dataDir: string,
  logLevel = "error",
  { configuration, env, tls, limits, authority }: SystemOptions = {},
): Promise<System> => {
  const configFile = configurationFile(dataDir);
  if (configuration !== undefined) await writeFile(configFile, JSON.stringify(configuration));
  const keys = await openAccessKeyFile({ path: credentialsFile(dataDir), clock: systemClock, ids: randomIds });
  const key = keys.find(keys.firstAccessKeyId ?? "");
  if (key === undefined) throw new Error("the credentials file holds no key");
  const installation = await startInstallation({
    dataDir,
    usesFreePorts: true,
    env: { ...process.env, ...env, QUARTET_LOG_LEVEL: logLevel },
    log: createLogger({ name: "launcher", level: logLevel }),
    drainMs: 5_000,
    tls,
    ...(limits && { limits }),
    ...(configuration === undefined ? {} : { sharedArguments: ["--config", configFile] }),
  });
  const { accessKeyId, secretAccessKey } = key;
  const made: SdkClients[] = [];
  const clientsFor = (id: string, secret: string): SdkClients => {
    const clients = sdkClients({
      endpoint: installation.gatewayUrl,
      credentials: { accessKeyId: id, secretAccessKey: secret },
      ...(authority !== undefined && { requestHandler: { httpsAgent: { ca: authority } } }),
    });
    made.push(clients);
    return clients;
  };
  return {
    installation,
    accessKeyId,
    secretAccessKey,
    region: "us-east-1",
    clients: clientsFor(accessKeyId, secretAccessKey),
    clientsFor,
    stop: async () => {
      made.forEach(destroyClients);
      await installation.stop();
    },
  };
};
