import { ErrorReasonSchema } from "../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Accounts } from "../kit/accounts/accounts.ts";
import type { RoleDirectory } from "../kit/accounts/assume-role.ts";
import type { Clock } from "../kit/clock/clock.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { Jobs } from "../kit/jobs/jobs.ts";
import { createJobs, jobTables } from "../kit/jobs/jobs.ts";
import type { KeyNames } from "../kit/keyring/key-names.ts";
import { anyKeyNames } from "../kit/keyring/key-names.ts";
import type { Keyring } from "../kit/keyring/keyring.ts";
import { openKeyring } from "../kit/keyring/keyring.ts";
import { masterKeysFile } from "../kit/keyring/master-keys.ts";
import { startRewrapping } from "../kit/keyring/rewrapping.ts";
import type { Logger } from "../kit/log/log.ts";
import type { Metrics } from "../kit/metrics/metrics.ts";
import { createAddressGuard } from "../kit/network/address-guard.ts";
import { createHttpSender, defaultSenderLimits } from "../kit/outgoing/http-sender.ts";
import type { ServiceEndpoint } from "../kit/outgoing/service-client.ts";
import { ServiceClient } from "../kit/outgoing/service-client.ts";
import { createPageTokens, pageTokenKey } from "../kit/page-tokens/page-tokens.ts";
import { createPages } from "../kit/page-tokens/pages.ts";
import { runPeriodically } from "../kit/periodic/periodic.ts";
import type { OperatorPages } from "../kit/server/operator-pages.ts";
import type { Store } from "../kit/store/store.ts";
import type { Reader } from "../kit/store/transaction.ts";
import { walkTable } from "../kit/store/walk-table.ts";
import type { Application } from "./application.ts";
import { createDomainKeyring } from "./encryption/domain-keys.ts";
import { limits } from "./limits.ts";
import type { BucketSource } from "./sources/bucket-source.ts";
import { SourceError } from "./sources/bucket-source.ts";
import { domainKeys, jobTablesBase, objectPlaces, pageTokenKeys, searchKeys } from "./store/layout.ts";
import { createCompaction } from "./work/compaction.ts";
import { deadLetterHandler, deadLetterKind, deadLetterPolicy } from "./work/dead-letter-job.ts";
import { wrappedDomainKeys, wrappedTypeKeys } from "./work/domain-key-rewrap.ts";
import { domainPurgeKind, purgeDomain } from "./work/domain-purge.ts";
import { removeExpired } from "./work/expiry.ts";
import { jobPools, placeOfOwner } from "./work/job-pools.ts";
import { objectTypePurgeKind, purgeObjectType } from "./work/object-type-purge.ts";
import { flowKind } from "./work/flow/flow-job.ts";
import { FlowCounters, flowMetrics } from "./work/flow/flow-metrics.ts";
import { flowHandler, flowPolicy } from "./work/flow/flow-run.ts";
import type { FlowTools } from "./work/flow/flow-tools.ts";
import { flowsPage } from "./work/flow/flows-page.ts";
import { resolutionKind } from "./work/resolution/resolution-job.ts";
import { ResolutionCounters, resolutionMetrics } from "./work/resolution/resolution-metrics.ts";
import { purgeResolution, resolutionPurgeKind } from "./work/resolution/resolution-purge.ts";
import type { ResolutionTools } from "./work/resolution/resolution-run.ts";
import { resolutionHandler, resolutionPolicy } from "./work/resolution/resolution-run.ts";
import { RuleMatcher } from "./work/resolution/rule-matcher.ts";
import { removalPolicy } from "./work/removal-policy.ts";

/** The parts that the service is opened from. */
export interface CustomerProfileOptions {
  readonly store: Store;
  /** The service's own directory, which holds the master keys. */
  readonly directory: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Unset: any name is that of a key. */
  readonly keyNames?: KeyNames;
  /** The organizations of accounts. Unset: no account has one. */
  readonly accounts?: Pick<Accounts, "findOrganizationId">;
  /** The region in the ARNs that policies name. Unset: us-east-1. */
  readonly region?: string;
  /** Where the queues of dead letters are reached. Unset: nowhere. */
  readonly queueEndpoint?: ServiceEndpoint | undefined;
  /** Where flows read. Unset: they are stored and not carried out. */
  readonly buckets?: BucketSource | undefined;
  /** The roles in whose names flows read. Unset: there are none. */
  readonly roles?: RoleDirectory;
  /** Whether nothing that takes up room may be stored now. Unset: never. */
  readonly isDiskLow?: () => boolean;
  /** Where the service's own metrics are added. Unset: nowhere. */
  readonly metrics?: Metrics;
  /** False: no jobs and no periodic work run. Unset: true. */
  readonly works?: boolean;
}

/** The service without its server. */
export interface OpenCustomerProfile {
  readonly app: Application;
  readonly jobs: Jobs;
  readonly pages: OperatorPages;
  /** Ends background work; unfinished work continues after the next start. The store stays open. */
  stop(): Promise<void>;
}

/** Opens the keys, and starts jobs, expiry, compaction and the rewrapping of keys. */
export const openCustomerProfile = async (options: CustomerProfileOptions): Promise<OpenCustomerProfile> => {
  const { store, clock, ids, log, keyNames = anyKeyNames, works = true, queueEndpoint: endpoint } = options;
  const rootKeyring = await openRootKeyring(options, keyNames);
  const keyring = createDomainKeyring(rootKeyring);
  const key = await pageTokenKey(store, pageTokenKeys, log);
  const pages = createPages({
    tokens: createPageTokens({ key, clock, lifetimeMs: limits.pageTokenLifetimeMs }),
    errors: ErrorReasonSchema,
    itemsDefault: limits.pageItemsDefault,
    bytesMax: limits.pageBytesMax,
  });
  const compaction = createCompaction(store, clock, log);
  // The installation names the endpoint, so it may have any address.
  const sender = createHttpSender(createAddressGuard(true), defaultSenderLimits);
  const client = new ServiceClient(sender, clock);
  const counters = new FlowCounters();
  const resolutionCounters = new ResolutionCounters();
  if (options.metrics !== undefined) {
    flowMetrics(options.metrics, counters);
    resolutionMetrics(options.metrics, resolutionCounters);
  }
  const isDiskLow = options.isDiskLow ?? (() => false);
  const resolutionTools = (): ResolutionTools => ({ app, log, counters: resolutionCounters, isDiskLow });
  const flowTools = (): FlowTools => ({
    app,
    log,
    source: options.buckets ?? noBuckets,
    roles: options.roles,
    counters,
    isDiskLow,
  });
  const jobs = createJobs({
    store,
    tables: jobTables(jobTablesBase),
    clock,
    ids,
    log,
    handlers: {
      [domainPurgeKind]: (job, { signal }) => purgeDomain(store, job.payload, signal),
      [objectTypePurgeKind]: (job, { signal }) => purgeObjectType(store, keyring, job.payload, signal),
      [deadLetterKind]: deadLetterHandler({ store, keyring, client, endpoint }),
      [flowKind]: flowHandler(flowTools),
      [resolutionKind]: resolutionHandler(resolutionTools),
      [resolutionPurgeKind]: (job, { signal }) => purgeResolution(store, job.payload, signal),
    },
    policy: {
      [domainPurgeKind]: removalPolicy,
      [objectTypePurgeKind]: removalPolicy,
      [deadLetterKind]: deadLetterPolicy,
      [flowKind]: flowPolicy(flowTools),
      [resolutionKind]: resolutionPolicy(resolutionTools),
      [resolutionPurgeKind]: removalPolicy,
    },
    pools: jobPools,
    placeOf: placeOfOwner,
  });
  const app: Application = {
    store,
    clock,
    ids,
    keyring,
    keyNames,
    pages,
    jobs,
    compaction,
    reachesQueues: endpoint !== undefined,
    readsBuckets: options.buckets !== undefined,
    accounts: options.accounts,
    region: options.region ?? "us-east-1",
  };
  const ruleMatcher = new RuleMatcher(resolutionTools);
  const stopsOfWork = works ? startWork(app, rootKeyring, ruleMatcher, log) : [];

  return {
    app,
    jobs,
    pages: { "/flows": flowsPage(store) },
    async stop() {
      await Promise.all(stopsOfWork.map((stop) => stop()));
      await jobs.stop();
      await compaction.stop();
      await sender.close();
    },
  };
};

/** Starts the work that is done all the time; returns what ends its periodic parts. */
const startWork = (
  { store, clock, keyring, jobs, compaction }: Application,
  rootKeyring: Keyring,
  ruleMatcher: RuleMatcher,
  log: Logger,
): readonly (() => Promise<void>)[] => {
  for (const table of [searchKeys, objectPlaces])
    store
      .knowKeys(table)
      .catch((error: unknown) => log.warn({ err: error, table: table.name }, "absent keys are looked for on disk"));
  jobs.start();
  compaction.request();
  const expiry = { store, clock, compaction, keyring, log };
  return [
    startRewrapping({ keyring: rootKeyring, keys: wrappedDomainKeys(store, keyring), clock, log }),
    startRewrapping({ keyring: rootKeyring, keys: wrappedTypeKeys(store, keyring), clock, log }),
    runPeriodically({
      clock,
      log,
      intervalMs: limits.expiryIntervalMs,
      tasks: { removeExpired: (signal) => removeExpired(expiry, signal) },
    }),
    runPeriodically({
      clock,
      log,
      intervalMs: limits.rulePollMs,
      tasks: { applyRules: (signal) => ruleMatcher.run(signal) },
    }),
  ];
};

/** Where no buckets are reached, no flow begins. */
const noBuckets: BucketSource = {
  list: () => Promise.reject(new SourceError("away", "this installation reaches no buckets")),
  read: () => Promise.reject(new SourceError("away", "this installation reaches no buckets")),
};

/**
 * The keyring over the service's master keys. Throws if they are missing, or are not the ones that encrypted the stored
 * data.
 */
const openRootKeyring = async (options: CustomerProfileOptions, names: KeyNames): Promise<Keyring> => {
  const { store, directory, clock, log } = options;
  const sample = await store.read(findDomainKey);
  return openKeyring({ path: masterKeysFile(directory), names, clock, log, sample });
};

/** The first wrapped key that is not damaged. */
const findDomainKey = async (reader: Reader): Promise<Uint8Array | undefined> => {
  for await (const { value } of walkTable(reader, domainKeys)) if (value !== undefined) return value.key;
  return undefined;
};
