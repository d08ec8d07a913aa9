import { ErrorReasonSchema } from "../../gen/quartet/identity/v1/error_reason_pb.ts";
import { IdentityService } from "../../gen/quartet/identity/v1/identity_service_pb.ts";
import { SecurityTokenService } from "../../gen/quartet/identity/v1/security_token_service_pb.ts";
import { DirectoryService } from "../../gen/quartet/kit/directory/v1/directory_service_pb.ts";
import { FaultRole } from "../../gen/quartet/traits/v1/fault_pb.ts";
import type { Accounts } from "../../services/kit/accounts/accounts.ts";
import { backupRights, backupService } from "../../services/kit/backup/backup-service.ts";
import { systemClock } from "../../services/kit/clock/clock.ts";
import type { ClosableTransport } from "../../services/kit/client/transport.ts";
import { createTransport } from "../../services/kit/client/transport.ts";
import type { Address } from "../../services/kit/config/config.ts";
import { faultTable, roleFault } from "../../services/kit/faults/service-error.ts";
import type { JoinedAccessKeys } from "../../services/kit/accounts/joined-access-keys.ts";
import type { Authenticate, IssuerRights } from "../../services/kit/identity/authenticate.ts";
import { authenticateByService, bearerAuthenticate } from "../../services/kit/identity/authenticate.ts";
import { clientTokenIssuer, clientTokenRights, gatewayAudience } from "../../services/kit/identity/client-tokens.ts";
import { ensureKeyPair } from "../../services/kit/identity/key-files.ts";
import { createSessionTokens } from "../../services/kit/identity/session-tokens.ts";
import type { Minter } from "../../services/kit/identity/tokens.ts";
import { createVerifier } from "../../services/kit/identity/tokens.ts";
import type { TrustedProxies } from "../../services/kit/identity/trusted-proxies.ts";
import { randomIds } from "../../services/kit/ids/ids.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import type { Metrics } from "../../services/kit/metrics/metrics.ts";
import { storeMetrics } from "../../services/kit/metrics/store-metrics.ts";
import { createAddressGuard } from "../../services/kit/network/address-guard.ts";
import type { ProcessControl } from "../../services/kit/process/process.ts";
import type { AuditConfig } from "../../services/kit/process/process-audit.ts";
import { closeAudit, openAudit } from "../../services/kit/process/process-audit.ts";
import type { ProcessTls } from "../../services/kit/process/process-tls.ts";
import { warnIfExposed } from "../../services/kit/process/process-tls.ts";
import type { StorageConfig } from "../../services/kit/process/process-store.ts";
import { keysDirectory } from "../../services/kit/process/keys-directory.ts";
import { openProcessStore } from "../../services/kit/process/process-store.ts";
import { makeRoomForSocket } from "../../services/kit/process/service-process.ts";
import { guardSpace } from "../../services/kit/process/space-guard.ts";
import type { OfferedService } from "../../services/kit/server/route.ts";
import { startServer } from "../../services/kit/server/server.ts";
import type { ServiceConnection } from "../api-binding.ts";
import { ownServices } from "../services.ts";
import type { Application as SecurityTokenApplication } from "../sts/application.ts";
import { createProviderKeys } from "../sts/provider-keys.ts";
import { securityTokenHandlers } from "../sts/service.ts";
import type { Application as IdentityApplication } from "./application.ts";
import type { Directory } from "./directory.ts";
import { createDirectory } from "./directory.ts";
import type { DirectoryApplication } from "./directory-service.ts";
import { directoryService } from "./directory-service.ts";
import { followIdentities } from "./follower.ts";
import type { KeyUse } from "./key-uses.ts";
import { openIdentityStore } from "./open.ts";
import type { PolicyLists } from "./policy-lists.ts";
import { openPolicyLists } from "./policy-lists.ts";
import type { ReplicationApplication } from "./replication.ts";
import { replicationService } from "./replication.ts";
import { identityHandlers } from "./service.ts";
import { storedDirectory } from "./stored-directory.ts";

interface OwnServicesConfig extends StorageConfig, AuditConfig {
  readonly dataDir: string;
  readonly keysDir: string;
  readonly identityListen: Address;
  readonly identityAddress: string;
  readonly socket: string;
  readonly privateTargets: "refuse" | "allow";
  readonly floodsPerMinuteMax: number;
}

export interface OwnServicesOptions {
  readonly config: OwnServicesConfig;
  readonly control: Pick<ProcessControl, "end">;
  readonly tls: ProcessTls;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly accounts: Accounts;
  /** The lasting keys of the credentials file and of the configuration file. */
  readonly declaredKeys: JoinedAccessKeys;
  /** The proxies that say where clients call from. */
  readonly trustedProxies: TrustedProxies;
  /** Issues the tokens with which this gateway follows another one. */
  readonly minter: Minter;
  /** The services that may follow accounts and roles, by the names of their key pairs. */
  readonly followers: readonly string[];
  measured(transport: ClosableTransport): ClosableTransport;
}

/** The services that the gateway itself serves, and who there is. */
export interface OwnServices {
  readonly directory: Directory;
  readonly connections: readonly ServiceConnection[];
  /** The identity policies with this digest of a principal, which a token has instead of them. */
  findPolicies(digest: string, principalArn: string): readonly string[] | undefined;
  noteKeyUse(use: KeyUse): void;
  readonly urls: Readonly<Record<string, string>>;
  stop(graceMs: number): Promise<void>;
}

/**
 * Opens the store of identities, and serves the RPCs of identities and sessions, which the gateway itself calls. With
 * an address of another gateway it follows the identities of that one, and calls it instead.
 */
export const openOwnServices = async (options: OwnServicesOptions): Promise<OwnServices> =>
  options.config.identityAddress === "" ? keepIdentities(options) : followKeeper(options);

/** Whom tokens for these services name. */
const ownServiceNames = ["security-token", "identity"];

const followKeeper = async (options: OwnServicesOptions): Promise<OwnServices> => {
  const { config, tls, log, accounts, declaredKeys, minter } = options;
  const plain = createTransport({ address: config.identityAddress, engine: "connect", tls: tls.client });
  const transport = options.measured(plain);
  const followed = followIdentities({ transport: plain, minter, clock: systemClock, log });
  // Without them it would refuse requests that the keeper accepts; if there is no keeper now, it accepts what it can.
  await followed.awaitFirst(firstFollowedMs);
  // It keeps no policies of before a change, so a token that refers to such is refused, and its holder gets another.
  const lists = openPolicyLists({ ...followed, watch: () => () => undefined }, systemClock);
  const findPolicies = policiesFinder(accounts, declaredKeys, lists);
  const directory = createDirectory({
    accounts,
    declaredKeys,
    stored: storedDirectory(followed, (accountId) => accounts.canonicalUserId(accountId)),
    sessionTokens: createSessionTokens(() => followed.sessionKeys()),
    clock: systemClock,
  });
  return {
    directory,
    connections: ownServices.map((service) => ({ service, errors: ErrorReasonSchema, transport })),
    findPolicies,
    noteKeyUse: () => undefined,
    urls: {},
    stop: async () => {
      lists.stop();
      await followed.stop();
      await transport.close();
    },
  };
};

/** How long the start of a gateway waits for the identities that another one keeps. */
const firstFollowedMs = 5_000;

const policiesFinder =
  (accounts: Accounts, declaredKeys: JoinedAccessKeys, lists: Pick<PolicyLists, "find">) =>
  (digest: string, principalArn: string): readonly string[] | undefined =>
    accounts.findPolicies(digest) ?? declaredKeys.findPolicies(digest) ?? lists.find(digest, principalArn);

const keepIdentities = async (options: OwnServicesOptions): Promise<OwnServices> => {
  const { config, control, tls, log, metrics, accounts, declaredKeys, trustedProxies, followers } = options;
  const { directory: home, store, space } = await openProcessStore(config, "gateway", log, control);
  const audit = openAudit(home, config, log);
  storeMetrics(metrics, store);
  const opened = await openIdentityStore({ store, directory: home, clock: systemClock, log });
  const { identities, keyUses, pages, sessionTokens } = opened;
  const directory = createDirectory({
    accounts,
    declaredKeys,
    stored: storedDirectory(identities, (accountId) => accounts.canonicalUserId(accountId)),
    sessionTokens,
    clock: systemClock,
  });
  const findProviderKeys = createProviderKeys(createAddressGuard(config.privateTargets === "allow"), systemClock);
  const sessions: SecurityTokenApplication = {
    directory,
    sessionTokens,
    findProviderKeys,
    clientTokenKeys: await ensureKeyPair(keysDirectory(config), clientTokenIssuer, "ES384"),
    audiences: [...followers, ...ownServiceNames, gatewayAudience],
    clock: systemClock,
    ids: randomIds,
  };

  const identity: IdentityApplication = {
    identities,
    accounts,
    keyUses,
    pages,
    allowsHttpIssuers: config.privateTargets === "allow",
    clock: systemClock,
    ids: randomIds,
  };

  const replication: ReplicationApplication = { identities, sessionKey: opened.sessionKey, clock: systemClock };
  const storedLists = openPolicyLists(identities, systemClock);
  const policyLists: Pick<PolicyLists, "find"> = {
    find: (digest, principalArn) => declaredKeys.findPolicies(digest) ?? storedLists.find(digest, principalArn),
  };
  const findPolicies = policiesFinder(accounts, declaredKeys, storedLists);
  const followed: DirectoryApplication = { identities, policyLists, clock: systemClock };

  warnIfExposed(config.identityListen, tls.server, log);
  const socketPath = tls.server === undefined && config.socket !== "" ? config.socket : undefined;
  if (socketPath !== undefined) await makeRoomForSocket(socketPath);
  const roomy = guardSpace(IdentityService, identityHandlers, {
    isLow: () => space.isLow,
    refusal: () => roleFault(faultTable(ErrorReasonSchema), FaultRole.STORAGE_FULL),
  });
  const mayFollow = {
    preauthorizedFor: [DirectoryService.method.watchDirectory.name, DirectoryService.method.getPolicies.name],
  };
  const rights: IssuerRights = {
    ...Object.fromEntries(followers.map((name) => [name, mayFollow])),
    gateway: { anyCaller: true, preauthorizedFor: ["WatchIdentities", "GetUserPolicies"] },
    ...clientTokenRights,
    ...backupRights,
  };
  const authenticateAs = (audience: string): Authenticate =>
    bearerAuthenticate(
      createVerifier({ publicKeys: keysDirectory(config), clock: systemClock, audience, findPolicies }),
      rights,
      trustedProxies,
    );
  const asIdentity = authenticateAs("identity");
  const services: readonly OfferedService[] = [
    { service: SecurityTokenService, handlers: securityTokenHandlers, errors: ErrorReasonSchema, app: sessions },
    { service: IdentityService, handlers: roomy, errors: ErrorReasonSchema, app: identity },
    backupService({ store, clock: systemClock }),
    replicationService(replication),
    directoryService(followed),
  ];
  const server = await startServer({
    name: "gateway",
    listen: config.identityListen,
    socketPath,
    tls: tls.server,
    audit,
    services,
    trustedProxies,
    authenticate: authenticateByService(
      new Map([
        ...services.map(({ service }) => [service.typeName, asIdentity] as const),
        [SecurityTokenService.typeName, authenticateAs("security-token")],
      ]),
    ),
    log,
    limits: { floodsPerMinuteMax: config.floodsPerMinuteMax },
    metrics,
    loggingFrontEnds: ["gateway"],
  });
  const socket = socketPath === undefined ? undefined : `unix:${socketPath}`;
  const transport = options.measured(
    createTransport({ address: socket ?? server.url, engine: "connect", tls: tls.client }),
  );
  return {
    directory,
    connections: ownServices.map((service) => ({ service, errors: ErrorReasonSchema, transport })),
    findPolicies,
    noteKeyUse: (use) => keyUses.note(use),
    urls: { rpc: server.url, ...(socket === undefined ? {} : { socket }) },
    stop: async (graceMs) => {
      // The server ends the transport's connections with its own.
      await server.stop(graceMs);
      await closeAudit(audit);
      await findProviderKeys.close();
      storedLists.stop();
      await opened.stop();
      await store.close();
      await space.close();
    },
  };
};
