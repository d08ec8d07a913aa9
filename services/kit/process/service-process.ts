import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { DescEnum, DescService } from "@bufbuild/protobuf";

import { FaultRole } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import type { Accounts } from "../accounts/accounts.ts";
import { openAccounts } from "../accounts/accounts-file.ts";
import type { FollowedAccounts } from "../accounts/followed-accounts.ts";
import { followAccounts, joinAccounts } from "../accounts/followed-accounts.ts";
import type { AccessRules } from "../access/decide.ts";
import type { AskedResource, KnownResource } from "../access/policy-service.ts";
import { policyService } from "../access/policy-service.ts";
import { backupRights, backupService } from "../backup/backup-service.ts";
import type { TaskSubject } from "../backup/run-task.ts";
import { runTask, takeTask } from "../backup/run-task.ts";
import type { StoredData } from "../backup/stored-data.ts";
import { createTransport } from "../client/transport.ts";
import type { Clock } from "../clock/clock.ts";
import { systemClock } from "../clock/clock.ts";
import type { Address, Installation, SettingsOf, SettingsTable } from "../config/config.ts";
import { ConfigError, configFileOf, loadConfig, printConfig } from "../config/config.ts";
import { answerAsked } from "../config/usage.ts";
import { faultTable, roleFault } from "../faults/service-error.ts";
import type { Authenticate } from "../identity/authenticate.ts";
import type { IssuerRights } from "../identity/authenticate.ts";
import { bearerAuthenticate } from "../identity/authenticate.ts";
import type { FindPolicies } from "../identity/token-claims.ts";
import { clientTokenRights } from "../identity/client-tokens.ts";
import { ensureKeyPair } from "../identity/key-files.ts";
import type { Minter } from "../identity/tokens.ts";
import { createMinter, createVerifier } from "../identity/tokens.ts";
import { TrustedProxies } from "../identity/trusted-proxies.ts";
import type { KeyNames } from "../keyring/key-names.ts";
import { openKeyNames } from "../keyring/keys-file.ts";
import type { Ids } from "../ids/ids.ts";
import { randomIds } from "../ids/ids.ts";
import type { Logger } from "../log/log.ts";
import { createLogger } from "../log/log.ts";
import type { Jobs } from "../jobs/jobs.ts";
import { diskMetrics } from "../metrics/disk-metrics.ts";
import { jobsMetrics } from "../metrics/jobs-metrics.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { createMetrics } from "../metrics/metrics.ts";
import { storeMetrics } from "../metrics/store-metrics.ts";
import type { Handlers } from "../server/handlers.ts";
import type { OfferedService } from "../server/route.ts";
import type { OperatorPages } from "../server/operator-pages.ts";
import type { RunningServer } from "../server/server.ts";
import { startServer } from "../server/server.ts";
import type { ClientTls } from "../tls/client-tls.ts";
import type { Store, StoreLimits } from "../store/store.ts";
import { keysDirectory } from "./keys-directory.ts";
import type { AuditConfig } from "./process-audit.ts";
import { closeAudit, openAudit } from "./process-audit.ts";
import type { StorageConfig } from "./process-store.ts";
import { openProcessStore } from "./process-store.ts";
import { runProcess } from "./process.ts";
import type { ProcessTls, TlsConfig } from "./process-tls.ts";
import { openProcessTls, warnIfExposed } from "./process-tls.ts";
import { guardSpace } from "./space-guard.ts";

/** The settings that every process of an installation shares, as far as the kit uses them. */
interface SharedConfig extends TlsConfig, AuditConfig {
  readonly dataDir: string;
  readonly keysDir: string;
  readonly logLevel: string;
  readonly drainMs: number;
  readonly floodsPerMinuteMax: number;
  readonly trustedProxies: readonly string[];
}

/** What a service's own dependencies are built from. */
interface Foundation<Config> {
  readonly config: Config;
  /** The service's own directory under the data directory; no other process reads or writes it. */
  readonly directory: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Issues the tokens with which this service calls others. */
  readonly minter: Minter;
  /** Its TLS as a client of others. */
  readonly tls: ClientTls;
  /** The accounts of the installation, declared and created at run time, as of now. */
  readonly accounts: Accounts;
  /** The encryption keys of the installation, as of now. */
  readonly keyNames: KeyNames;
  /** The proxies that say where clients call from. */
  readonly trustedProxies: TrustedProxies;
  /** The metrics that the process shows at `/metrics`. */
  readonly metrics: Metrics;
  /** Whether the disk is low, so that background work must not store anything either. */
  readonly isDiskLow: () => boolean;
}

/** A service's own part of its process. */
export interface Opened<App> {
  readonly app: App;
  /** The service's queue of jobs, for the metrics. */
  readonly jobs?: Jobs;
  /** Its pages for operators, by their paths. */
  readonly pages?: OperatorPages;
  /** Its further RPC services. Unset: it has none. */
  readonly services?: readonly OfferedService[];
  /** Its further URLs, by purpose. */
  readonly urls?: Readonly<Record<string, string>>;
  /** Keeps content that records refer to from being deleted until the returned function is called. Unset: none is. */
  holdContent?(): () => void;
  /** Has its other servers close connections from addresses that flood the RPC port. Unset: it has none. */
  refuseFlooders?(peers: RunningServer["peers"]): void;
  /** Runs after the last call has ended and before the store closes. */
  stop?(): Promise<void>;
}

/** One service as a process. */
export interface ServiceProcess<S extends DescService, App, Shared extends SettingsTable, Own extends SettingsTable> {
  /** The service's name in the installation, in kebab case. */
  readonly name: string;
  readonly installation: Installation & {
    readonly shared: Shared;
    /** The processes that log the calls of their own clients. Unset: none. */
    readonly loggingFrontEnds?: readonly string[];
  };
  readonly settings: Own;
  readonly service: S;
  readonly handlers: Handlers<S, App>;
  readonly errors: DescEnum;
  /** The processes that call this one, and whom each may name. */
  readonly issuers: IssuerRights;
  /** What it stores, for backups and their verification. Unset: it offers none. */
  readonly stored?: StoredData;
  /** Bounds of its store that differ from the defaults. */
  readonly storeLimits?: Partial<StoreLimits>;
  /** Finds resources for the service's explanations of decisions. Unset: it offers none. */
  readonly explains?: {
    readonly rules: AccessRules;
    readonly findResource: (app: App, asked: AskedResource) => Promise<KnownResource | undefined>;
  };
  open(foundation: Foundation<SettingsOf<Shared> & SettingsOf<Own>>): Promise<Opened<App>>;
}

/**
 * Reads a process's settings from its arguments and environment; handles `--help`, `--version` and `--print-config`
 * itself.
 */
export const processConfig = <Shared extends SettingsTable, Own extends SettingsTable>(
  installation: Installation & { readonly shared: Shared },
  name: string,
  own: Own,
): SettingsOf<Shared> & SettingsOf<Own> => {
  const argv = process.argv.slice(2);
  answerAsked(argv, {
    command: `npm run start:${name} -- [flags]`,
    about: [`Runs the process ${name} alone; npm start runs all of them.`],
    flags: [["--print-config", "Prints the settings as they would be used, without secrets, and ends."]],
    settings: [
      { heading: "Its own settings", process: name, table: own, hasFlags: true },
      { heading: "Settings that all processes share", table: installation.shared, hasFlags: true },
    ],
  });
  try {
    const config = loadConfig(installation, name, own, {
      argv: argv.filter((argument) => argument !== "--print-config"),
      env: process.env,
      directory: process.cwd(),
    });
    if (!argv.includes("--print-config")) return config;
    process.stdout.write(`${printConfig([installation.shared, own], config)}\n`);
    return process.exit(0);
  } catch (error) {
    return refuseStart(name, error);
  }
};

/**
 * Opens the accounts of a process's configuration file, read again when it changes. `environment` is for the process
 * that needs the secrets of access keys. Ends the process if the file is invalid.
 */
export const processAccounts = (
  installation: Installation,
  name: string,
  log: Logger,
  environment?: NodeJS.ProcessEnv,
): Accounts => {
  try {
    const file = configFileOf({ argv: process.argv.slice(2), directory: process.cwd() });
    return openAccounts({ installation, file, clock: systemClock, log, ...(environment && { environment }) });
  } catch (error) {
    return refuseStart(name, error);
  }
};

/**
 * Opens the keys that a process's configuration file declares, read again when it changes. Ends the process if the file
 * is invalid.
 */
const processKeyNames = (installation: Installation, name: string, log: Logger): KeyNames => {
  try {
    const file = configFileOf({ argv: process.argv.slice(2), directory: process.cwd() });
    return openKeyNames({ installation, file, clock: systemClock, log });
  } catch (error) {
    return refuseStart(name, error);
  }
};

/** Opens a process's TLS files. Ends the process if they are invalid. */
export const processTls = (config: TlsConfig, name: string, log: Logger): ProcessTls => {
  try {
    return openProcessTls(config, systemClock, log);
  } catch (error) {
    return refuseStart(name, error);
  }
};

/** Ends the process with the message of a configuration error. */
const refuseStart = (name: string, error: unknown): never => {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${name}: ${error.message}\n`);
  process.exit(2);
};

/** Runs one service as a process: settings, store, keys, server; stops in the reverse order. */
export const runService = async <S extends DescService, App, Shared extends SettingsTable, Own extends SettingsTable>(
  declared: ServiceProcess<S, App, Shared, Own>,
): Promise<void> => {
  const task = takeTask(process.argv);
  const config = processConfig(declared.installation, declared.name, declared.settings);
  const shared = config as unknown as SharedConfig &
    StorageConfig & { readonly listen: Address; readonly socket: string; readonly identityAddress?: string };
  if (task !== undefined && declared.stored !== undefined)
    return runTask(task, subjectOf(declared.name, declared.stored, declared.name, shared), shared);
  const log = createLogger({ name: declared.name, level: shared.logLevel });
  const declaredAccounts = processAccounts(declared.installation, declared.name, log);
  const keyNames = processKeyNames(declared.installation, declared.name, log);
  const tls = processTls(shared, declared.name, log);
  warnIfExposed(shared.listen, tls.server, log);
  await runProcess(log, async (control) => {
    const keys = keysDirectory(shared);
    const keyPair = await ensureKeyPair(keys, declared.name);
    const { directory, store, space } = await openProcessStore(
      shared,
      declared.name,
      log,
      control,
      declared.storeLimits,
    );
    const audit = openAudit(directory, shared, log);
    const metrics = createMetrics({ withProcess: true });
    storeMetrics(metrics, store);
    diskMetrics(metrics, space, join(directory, "leveldb"));
    const minter = createMinter({ keyPair, clock: systemClock });
    const followed = followGateway(shared.identityAddress, tls.client, minter, log);
    const accounts = followed === undefined ? declaredAccounts : joinAccounts(declaredAccounts, followed);
    const trustedProxies = new TrustedProxies(shared.trustedProxies);
    const foundation = {
      config,
      directory,
      store,
      clock: systemClock,
      ids: randomIds,
      log,
      minter,
      tls: tls.client,
      accounts,
      keyNames,
      trustedProxies,
      metrics,
      isDiskLow: () => space.isLow,
    };
    const opened = await declared.open(foundation);
    if (opened.jobs !== undefined) jobsMetrics(metrics, opened.jobs);
    const socketPath = tls.server === undefined && shared.socket !== "" ? shared.socket : undefined;
    if (socketPath !== undefined) await makeRoomForSocket(socketPath);
    const handlers = guardSpace(declared.service, declared.handlers, {
      isLow: () => space.isLow,
      refusal: () => roleFault(faultTable(declared.errors), FaultRole.STORAGE_FULL),
    });
    const server = await startServer({
      name: declared.name,
      listen: shared.listen,
      socketPath,
      tls: tls.server,
      audit,
      services: [
        { service: declared.service, handlers, errors: declared.errors, app: opened.app, isGuarded: true },
        ...(opened.services ?? []),
        ...explanations(declared, opened.app, accounts),
        ...(declared.stored === undefined
          ? []
          : [backupService({ store, clock: systemClock, holdContent: opened.holdContent })]),
      ],
      authenticate: authenticateFor(declared, keys, { accounts: declaredAccounts, followed, trustedProxies }),
      trustedProxies,
      log,
      limits: { floodsPerMinuteMax: shared.floodsPerMinuteMax },
      metrics,
      pages: opened.pages,
      loggingFrontEnds: declared.installation.loggingFrontEnds ?? [],
    });
    opened.refuseFlooders?.(server.peers);
    return {
      urls: {
        rpc: server.url,
        ...(socketPath === undefined ? {} : { socket: `unix:${socketPath}` }),
        ...opened.urls,
      },
      // On a disk that is nearly full, room is left for what callers write.
      flush: async () => {
        if (!space.isLow) await store.flush();
      },
      stop: async () => {
        await server.stop(shared.drainMs);
        await closeAudit(audit);
        await opened.stop?.();
        await followed?.stop();
        await store.close();
        await space.close();
      },
    };
  });
};

/** What a task is about. `audience` is whom tokens for the process name. */
export const subjectOf = (
  name: string,
  stored: StoredData,
  audience: string,
  config: Pick<SharedConfig, "dataDir" | "keysDir">,
): TaskSubject => ({ name, stored, audience, keysDirectory: keysDirectory(config) });

const explanations = <S extends DescService, App, Shared extends SettingsTable, Own extends SettingsTable>(
  { explains }: ServiceProcess<S, App, Shared, Own>,
  app: App,
  accounts: Accounts,
): readonly OfferedService[] => {
  const findResource = async (asked: AskedResource) => explains?.findResource(app, asked);
  return explains === undefined ? [] : [policyService({ ...explains, clock: systemClock, accounts, findResource })];
};

/** Removes the socket of a process that was killed; only the owner of the directory may connect. */
export const makeRoomForSocket = async (path: string): Promise<void> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rm(path, { force: true });
};

const authenticateFor = (
  declared: Pick<ServiceProcess<DescService, never, never, never>, "name" | "issuers">,
  publicKeys: string,
  {
    accounts,
    followed,
    trustedProxies,
  }: {
    readonly accounts: Accounts;
    readonly followed: FollowedAccounts | undefined;
    readonly trustedProxies: TrustedProxies;
  },
): Authenticate => {
  const findPolicies: FindPolicies = (digest, principalArn) =>
    accounts.findPolicies(digest) ?? followed?.findPolicies(digest, principalArn);
  const verifier = createVerifier({ publicKeys, clock: systemClock, audience: declared.name, findPolicies });
  const rights = { ...declared.issuers, ...clientTokenRights, ...backupRights };
  return bearerAuthenticate(verifier, rights, trustedProxies);
};

/**
 * Follows what is created at run time, over connections that end with the process; undefined without the address of the
 * gateway that keeps it.
 */
const followGateway = (
  address: string | undefined,
  tls: ClientTls,
  minter: Minter,
  log: Logger,
): FollowedAccounts | undefined => {
  if (address === undefined || address === "") return undefined;
  const transport = createTransport({ address, engine: "connect", tls });
  return followAccounts({ transport, minter, clock: systemClock, log });
};
