import type { ConfigSources } from "./kit/config/config.ts";
import { openAccounts } from "./kit/accounts/accounts-file.ts";
import { joinAccessKeys } from "./kit/accounts/joined-access-keys.ts";
import { ConfigError, configFileOf, describeSettings, loadConfig } from "./kit/config/config.ts";
import { systemClock } from "./kit/clock/clock.ts";
import { openAccessKeyFile } from "./kit/identity/access-key-file.ts";
import { randomIds } from "./kit/ids/ids.ts";
import { createLogger } from "./kit/log/log.ts";
import { openProcessTls } from "./kit/process/process-tls.ts";
import { startInstallation } from "./launcher/installation.ts";
import { welcome } from "./launcher/welcome.ts";
import { credentialsFile, installation, rootKeyVariables } from "./launcher/settings.ts";

/**
 * Starts the four services and the gateway as separate processes, waits until each is healthy, prints how to use them,
 * restarts one that dies, and drains all of them on Ctrl-C. Accepts the shared settings as flags and passes them on;
 * with `--free-ports` the system chooses every port. A process's own settings come from its `QUARTET_<PROCESS>_<NAME>`
 * variables or from quartet.json, which each process reads itself.
 */
const main = async (): Promise<void> => {
  // Also for what the platform stores before a process runs its first line, such as compiled code.
  process.umask(0o077);
  const argv = process.argv.slice(2);
  if (argv.includes("--help")) {
    process.stdout.write(`${describeSettings([[undefined, installation.shared]])}\n`);
    return;
  }
  const usesFreePorts = argv.includes("--free-ports");
  const sharedArguments = argv.filter((argument) => argument !== "--free-ports");
  const { config, accounts, tls } = readConfig({ argv: sharedArguments, env: process.env, directory: process.cwd() });

  const isTerminal = process.stdout.isTTY;
  const env = { ...process.env, ...(isTerminal ? { QUARTET_LOG_PRETTY: "1" } : {}) };
  const log = createLogger({ name: "launcher", level: config.logLevel });
  // Opened here first, so that the secret of a new key can be shown; the gateway reads the same file.
  const accessKeys = await openAccessKeyFile({
    path: credentialsFile(config.dataDir),
    clock: systemClock,
    ids: randomIds,
    environment: rootKeyVariables(config),
  });
  joinAccessKeys({ file: accessKeys, accounts });
  const running = await startInstallation({
    dataDir: config.dataDir,
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
    running.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.fatal({ err: error }, "stop failed");
        process.exit(1);
      },
    );
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);

  const accessKeyId = accessKeys.firstAccessKeyId ?? "none";
  if (isTerminal)
    welcome(process.stdout, {
      gatewayUrl: running.gatewayUrl,
      accessKeyId,
      secretAccessKey: accessKeys.created?.secretAccessKey,
      credentialsFile: accessKeys.path,
      region: config.region,
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
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`quartet: ${error.message}\n`);
    return process.exit(2);
  }
};

try {
  await main();
} catch (error) {
  process.stderr.write(`quartet: ${(error as Error).message}\n`);
  process.exit(1);
}
