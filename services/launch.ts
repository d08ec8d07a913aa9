import type { ConfigSources } from "./kit/config/config.ts";
import { openAccounts } from "./kit/accounts/accounts-file.ts";
import { joinAccessKeys } from "./kit/accounts/joined-access-keys.ts";
import { ConfigError, configFileOf, loadConfig } from "./kit/config/config.ts";
import { answerAsked } from "./kit/config/usage.ts";
import { systemClock } from "./kit/clock/clock.ts";
import { openAccessKeyFile } from "./kit/identity/access-key-file.ts";
import { randomIds } from "./kit/ids/ids.ts";
import { createLogger } from "./kit/log/log.ts";
import { openProcessTls } from "./kit/process/process-tls.ts";
import { giveMemoryBackAtRest } from "./kit/process/rest.ts";
import { startFailure } from "./kit/process/start-failure.ts";
import { forgetEndpoint, noteEndpoint } from "./launcher/endpoint.ts";
import { startInstallation } from "./launcher/installation.ts";
import { checkStart } from "./launcher/preflight.ts";
import { processNames } from "./launcher/processes.ts";
import { credentialsFile, installation } from "./launcher/settings.ts";
import { rootKeyVariables } from "./launcher/shared-settings.ts";
import { welcome } from "./launcher/welcome.ts";

/**
 * Starts the four services and the gateway as separate processes, waits until each is healthy, prints how to use them,
 * restarts one that dies, and drains all of them on Ctrl-C. Accepts the shared settings as flags and passes them on;
 * with `--free-ports` the system chooses every port, because a flag wins over variables and the file. A process's own
 * settings come from its `QUARTET_<PROCESS>_<NAME>` variables or from quartet.json, which each process reads itself.
 */
const main = async (): Promise<void> => {
  // Also for what the platform stores before a process runs its first line, such as compiled code.
  process.umask(0o077);
  const argv = process.argv.slice(2);
  answerAsked(argv, {
    command: "npm start -- [flags]",
    about: [
      "Starts the four services and the gateway, restarts one that dies, and drains all of them on Ctrl-C.",
      "A setting of one process has no flag here: set its variable, or its member in the configuration file.",
    ],
    flags: [
      [
        "--free-ports",
        "Every process listens on a port that the system chooses, whatever ports variables and the file set.",
      ],
    ],
    settings: [
      { heading: "Shared settings", table: installation.shared, hasFlags: true },
      ...processNames.map((name) => ({
        heading: `Settings of ${name}`,
        process: name,
        table: installation.processes[name],
        hasFlags: false,
      })),
    ],
  });
  const usesFreePorts = argv.includes("--free-ports");
  const sharedArguments = argv.filter((argument) => argument !== "--free-ports");
  const sources = { argv: sharedArguments, env: process.env, directory: process.cwd() };
  const { config, accounts, tls } = readConfig(sources);
  await checkStart({ dataDir: config.dataDir, usesFreePorts, sources });

  const isTerminal = process.stdout.isTTY;
  const env = { ...process.env, ...(isTerminal ? { QUARTET_LOG_PRETTY: "1" } : {}) };
  const log = createLogger({ name: "launcher", level: config.logLevel });
  // Opened here first, so that a new key can be named; the gateway reads the same file.
  const accessKeys = await openAccessKeyFile({
    path: credentialsFile(config.dataDir),
    clock: systemClock,
    ids: randomIds,
    environment: rootKeyVariables(config),
  });
  joinAccessKeys({ file: accessKeys, accounts });
  const running = await startInstallation({
    dataDir: config.dataDir,
    keysDir: config.keysDir,
    usesFreePorts,
    env,
    log,
    drainMs: config.drainMs,
    tls: tls.client,
    limits: { openingMs: config.startLimitMs },
    sharedArguments,
  });

  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, "draining");
    const stopped = running.stop().then(() => forgetEndpoint(config.dataDir));
    stopped.then(
      () => process.exit(0),
      (error: unknown) => {
        log.fatal({ err: error }, "stop failed");
        process.exit(1);
      },
    );
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);

  giveMemoryBackAtRest(log);
  await noteEndpoint(config.dataDir, running.gatewayUrl);
  const accessKeyId = accessKeys.firstAccessKeyId ?? "none";
  if (isTerminal)
    welcome(process.stdout, {
      gatewayUrl: running.gatewayUrl,
      accessKeyId,
      credentialsFile: accessKeys.path,
      sharedArguments,
    });
  else
    log.info(
      { gatewayUrl: running.gatewayUrl, accessKeyId, credentialsFile: accessKeys.path, region: config.region },
      "all are ready",
    );
};

/** Reads everything that the processes will read, so that an error is printed once and before anything starts. */
const readConfig = (sources: ConfigSources) => {
  try {
    const config = loadConfig(installation, "launcher", {}, sources);
    const file = configFileOf(sources);
    const accounts = openAccounts({ installation, file, clock: systemClock, environment: sources.env });
    const tls = openProcessTls(config, systemClock, createLogger({ name: "launcher", level: config.logLevel }));
    return { config, accounts, tls };
  } catch (error) {
    return refuse(error);
  }
};

/** Ends with one line that says what to change: status 2 for a setting, 1 for the rest. */
const refuse = (error: unknown): never => {
  const message = startFailure(error) ?? (error as Error).message;
  process.stderr.write(`quartet: ${message}\n`);
  return process.exit(error instanceof ConfigError ? 2 : 1);
};

try {
  await main();
} catch (error) {
  refuse(error);
}
