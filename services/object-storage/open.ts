import { join } from "node:path";

import { createClient } from "@connectrpc/connect";

import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { ErrorReasonSchema } from "../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { createTransport } from "../kit/client/transport.ts";
import type { Clock } from "../kit/clock/clock.ts";
import { derivedCanonicalUserId } from "../kit/identity/canonical-user-id.ts";
import type { Minter } from "../kit/identity/tokens.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { Jobs } from "../kit/jobs/jobs.ts";
import { createJobs } from "../kit/jobs/jobs.ts";
import type { KeyNames } from "../kit/keyring/key-names.ts";
import { anyKeyNames } from "../kit/keyring/key-names.ts";
import { openKeyring } from "../kit/keyring/keyring.ts";
import { masterKeysFile } from "../kit/keyring/master-keys.ts";
import { startRewrapping } from "../kit/keyring/rewrapping.ts";
import type { Logger } from "../kit/log/log.ts";
import { callMetrics } from "../kit/metrics/call-metrics.ts";
import { measuredTransport } from "../kit/metrics/measured-transport.ts";
import type { Metrics } from "../kit/metrics/metrics.ts";
import { createAddressGuard } from "../kit/network/address-guard.ts";
import { createHttpSender, defaultSenderLimits } from "../kit/outgoing/http-sender.ts";
import type { ServiceEndpoint } from "../kit/outgoing/service-client.ts";
import { ServiceClient } from "../kit/outgoing/service-client.ts";
import { createPageTokens, pageTokenKey } from "../kit/page-tokens/page-tokens.ts";
import { createPages } from "../kit/page-tokens/pages.ts";
import { runPeriodically } from "../kit/periodic/periodic.ts";
import { reportService } from "../kit/report/report-service.ts";
import type { OperatorPages } from "../kit/server/operator-pages.ts";
import type { OfferedService } from "../kit/server/route.ts";
import type { Store } from "../kit/store/store.ts";
import type { ClientTls } from "../kit/tls/client-tls.ts";
import type { Application } from "./application.ts";
import { openFileBlobStore } from "./blobs/file-blob-store.ts";
import { BlobPins } from "./blobs/pins.ts";
import { ContentStore } from "./content/content-store.ts";
import type { EmitDialect } from "./domain/object-event.ts";
import { partitionOf } from "./domain/object-event.ts";
import type { ObjectOwnership } from "./domain/ownership.ts";
import { WrappingKeys } from "./encryption/wrapping-keys.ts";
import { deliverEvent, eventDeliveryPolicy } from "./events/event-delivery.ts";
import type { EventOutbox } from "./events/event-outbox.ts";
import { createEventOutbox, objectEventJob } from "./events/event-outbox.ts";
import { AccessLogs, accessLogMetrics } from "./logging/access-logs.ts";
import type { NotifiedEndpoints } from "./events/notifications.ts";
import { notificationJob, notificationMetrics, notificationPolicy, Notifications } from "./events/notifications.ts";
import { functionClient } from "./functions/function-client.ts";
import { PendingAnswers } from "./functions/pending-answers.ts";
import { otherRegions } from "./regions/other-regions.ts";
import type { Limits } from "./limits.ts";
import {
  defaultAccessLogMs,
  defaultLifecycle,
  defaultLimits,
  defaultObjectFunctionMs,
  defaultScans,
  defaultScrub,
  limits,
} from "./limits.ts";
import type { ScanPoolOptions } from "./select/worker/scan-pool.ts";
import { ScanPool } from "./select/worker/scan-pool.ts";
import { openAccountBlocks } from "./store/account-blocks.ts";
import { jobs as jobTables, pageTokenKeys } from "./store/layout.ts";
import { openLockClock } from "./store/lock-clock.ts";
import { openSequences, placeOfRegion } from "./store/sequence.ts";
import { amountMetrics, openAmounts } from "./store/stored-amounts.ts";
import type { BlobSweepOptions } from "./work/blob-sweep.ts";
import { removeUnreferencedBlobs, sweepBlobs } from "./work/blob-sweep.ts";
import { expireFinishedUploads } from "./work/finished-upload-expiry.ts";
import type { InventoryOptions } from "./work/inventory.ts";
import { writeInventories } from "./work/inventory.ts";
import { jobPools, placeOfOwner } from "./work/job-pools.ts";
import type { LogDelivery } from "./work/log-delivery.ts";
import { createLogDelivery } from "./work/log-delivery.ts";
import type { Lifecycle } from "./work/lifecycle.ts";
import { createLifecycle, lifecycleMetrics } from "./work/lifecycle.ts";
import { createRestores, doRestoreStep, restoreStepJob } from "./work/restore-steps.ts";
import { createForks, forkBuckets, forkJob, forkPolicy } from "./work/forks.ts";
import { createReplications, replicationJob } from "./work/replication-plan.ts";
import { replicate, replicationPolicy } from "./work/replication.ts";
import {
  createExistingReplications,
  doExistingReplicationStep,
  existingReplicationJob,
} from "./work/existing-replication.ts";
import { createSearchIndexes, doSearchIndexStep, searchIndexJob } from "./work/search-index.ts";
import { quarantinePage } from "./work/quarantine-page.ts";
import type { ScrubOptions } from "./work/scrub.ts";
import { openScrub, scrubMetrics } from "./work/scrub.ts";
import { findWrappedKey, storedWrappingKeys } from "./work/wrapping-key-rewrap.ts";

/** What the service is opened from. */
export interface ObjectStorageOptions {
  readonly store: Store;
  /** The service's own directory: it holds the master keys, and below it, in `blobs`, the blob files. */
  readonly directory: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly minter: Minter;
  readonly region: string;
  readonly emit: EmitDialect;
  /** Where events of buckets are sent. */
  readonly eventBusAddress: string;
  /** Where queues, topics and functions are reached that buckets notify. Unset: nowhere. */
  readonly notified?: NotifiedEndpoints;
  /** How the event bus is reached at an `https` address. */
  readonly tls?: ClientTls;
  readonly limits?: Partial<Limits>;
  /** The declared accounts. Unset: none. */
  readonly accounts?: Application["accounts"];
  /** The access points. Unset: none. */
  readonly accessPoints?: Application["accessPoints"];
  /** Whether ACLs may name accounts by e-mail address. Unset: they may. */
  readonly emailGrants?: "accept" | "refuse";
  /** Whether buckets may be public at all. Unset: they may. */
  readonly publicBuckets?: "allow" | "block";
  /** The ownership of new buckets. Unset: BucketOwnerEnforced. */
  readonly objectOwnership?: ObjectOwnership;
  /** The managed keys that objects may be encrypted under. Unset: any name. */
  readonly keyNames?: KeyNames;
  /** Counts the calls to the event bus. Unset: they are not counted. */
  readonly metrics?: Metrics;
  /** How the service puts objects of its own. Unset: no inventories are written. */
  readonly putsOwnObjects?: (app: Application, log: Logger) => InventoryOptions["put"];
  /** How long lines of access logs are gathered for an object, in milliseconds. Unset: five minutes. */
  readonly accessLogMs?: number;
  /** The gateways of other regions, by region. Unset: there are none. */
  readonly regions?: Readonly<Record<string, ServiceEndpoint | undefined>>;
  /** The address of the Invoke API for functions of access points. Unset: none can be called. */
  readonly functionsUrl?: string;
  /** How long a function may take until it begins its answer, in milliseconds. Unset: 55 seconds. */
  readonly objectFunctionMs?: number;
  /** How long a day of lifecycle rules and restores lasts, in milliseconds. Unset: 24 hours. */
  readonly lifecycleDayMs?: number;
  /** How long restoring an archived version takes, in milliseconds. Unset: a minute. */
  readonly restoreDelayMs?: number;
  /** Milliseconds by a counter that nobody can set. Unset: the clock. */
  readonly elapsedMs?: () => number;
  /** How many queries of objects run at the same time, and for how long. Unset: two, for 15 minutes. */
  readonly scans?: ScanPoolOptions;
  /** How often all stored data is checked, and how fast. Unset: every 14 days, 16 MiB a second. */
  readonly scrub?: Pick<ScrubOptions, "intervalMs" | "bytesPerSecond">;
}

/** The service without its server. */
export interface OpenObjectStorage {
  readonly app: Application;
  /** Its deliveries. */
  readonly jobs: Jobs;
  /** Its pages for operators. */
  readonly pages: OperatorPages;
  /** The options of its blob sweep, for sweeping out of turn. */
  readonly sweep: BlobSweepOptions;
  /** The options of its inventories, for writing them out of turn. Undefined: none are written. */
  readonly inventories: InventoryOptions | undefined;
  /** The delivery of access logs, for delivering out of turn. Undefined: none are delivered. */
  readonly logDelivery: LogDelivery | undefined;
  /** Its further RPC services. */
  readonly services: readonly OfferedService[];
  /** The work of the lifecycle rules, for applying them out of turn. */
  readonly lifecycle: Lifecycle;
  /** The options of its check of all stored data, for checking out of turn. */
  readonly scrub: ScrubOptions;
  /** Keeps all blob files until the returned function is called. */
  holdContent(): () => void;
  /** Ends deliveries and periodic work. The store stays open. */
  stop(): Promise<void>;
}

/**
 * Opens the keys and the blobs, and starts deliveries and periodic work. Throws MasterKeysError if the master keys are
 * missing or are not the ones that stored content is encrypted with.
 */
export const openObjectStorage = async (options: ObjectStorageOptions): Promise<OpenObjectStorage> => {
  const { store, clock, ids, log, minter, metrics, keyNames = anyKeyNames } = options;
  const keyring = await openKeyring({
    path: masterKeysFile(options.directory),
    names: keyNames,
    clock,
    log,
    sample: await store.read(findWrappedKey),
  });
  const blobs = await openFileBlobStore({ directory: join(options.directory, "blobs") });
  const pins = new BlobPins();
  const transport = createTransport({ address: options.eventBusAddress, engine: "connect", tls: options.tls });
  const eventBus = createClient(
    EventBusService,
    metrics === undefined ? transport : measuredTransport(transport, callMetrics(metrics, "grpc_client")),
  );
  // The installation names the endpoints, so they may have any address.
  const sender = createHttpSender(createAddressGuard(true), defaultSenderLimits);
  const notifications = new Notifications({
    jobs: () => jobs,
    client: new ServiceClient(sender, clock),
    endpoints: options.notified ?? {},
    dialect: options.emit,
    clock,
    log,
  });
  const jobs: Jobs = createJobs({
    store,
    tables: jobTables,
    clock,
    ids,
    log,
    handlers: {
      [objectEventJob]: deliverEvent({ eventBus, minter, dialect: options.emit }),
      [notificationJob]: notifications.deliver,
      [restoreStepJob]: doRestoreStep({ clock, events: () => events }),
      [replicationJob]: replicate(() => app),
      [existingReplicationJob]: doExistingReplicationStep({ store, jobs: () => jobs, log }),
      [searchIndexJob]: doSearchIndexStep({ store, jobs: () => jobs }),
      [forkJob]: forkBuckets({ store, pins, clock }),
    },
    policy: {
      [objectEventJob]: eventDeliveryPolicy,
      [notificationJob]: notificationPolicy,
      [restoreStepJob]: eventDeliveryPolicy,
      [replicationJob]: replicationPolicy,
      [existingReplicationJob]: eventDeliveryPolicy,
      [searchIndexJob]: eventDeliveryPolicy,
      [forkJob]: forkPolicy,
    },
    pools: jobPools,
    placeOf: placeOfOwner,
  });
  const outbox = createEventOutbox(jobs, notifications);
  const replications = createReplications(jobs);
  const events: EventOutbox = {
    async announce(transaction, origin, bucket, change) {
      await outbox.announce(transaction, origin, bucket, change);
      await replications.plan(transaction, origin, bucket, change);
    },
  };
  const tokens = createPageTokens({
    key: await pageTokenKey(store, pageTokenKeys, log),
    clock,
    lifetimeMs: limits.pageTokenLifetimeMs,
  });
  const sequences = await openSequences(store, clock, { log, region: options.region });
  const lockClock = await openLockClock({ store, clock, log, elapsedMs: options.elapsedMs ?? (() => clock.now()) });
  const lifecycleDayMs = options.lifecycleDayMs ?? defaultLifecycle.dayMs;
  const intervalMs = Math.max(limits.lifecycleIntervalMsMin, lifecycleDayMs / limits.lifecycleRoundsPerDay);
  const lifecycle = createLifecycle({
    store,
    clock,
    log,
    app: { clock, ids, sequences, events, lockClock },
    dayMs: lifecycleDayMs,
    entriesPerSecond: limits.lifecycleEntriesPerSecond,
    roundMs: intervalMs,
  });
  const sweep = { store, blobs, pins, clock, log };
  const scrub = { ...sweep, ...(options.scrub ?? defaultScrub) };
  const scrubbing = await openScrub(scrub);
  await openAmounts(store);
  if (metrics !== undefined) amountMetrics(metrics, store);
  if (metrics !== undefined) scrubMetrics(metrics, scrubbing);
  if (metrics !== undefined) notificationMetrics(metrics, notifications);
  if (metrics !== undefined) lifecycleMetrics(metrics, lifecycle);
  const accessLogs = new AccessLogs({ store, clock, ids, log });
  if (metrics !== undefined) accessLogMetrics(metrics, accessLogs);
  const functions = functionClient(options.functionsUrl ?? "");
  const regions = otherRegions({ endpoints: options.regions ?? {}, clock, log });
  for (const region of Object.keys(options.regions ?? {}))
    if (placeOfRegion(region) === placeOfRegion(options.region))
      log.warn({ region }, "versions of the region may have the places of those here; let one of them copy only");
  // A round takes long, and must not keep the sweep waiting.
  const stopScrubbing = runPeriodically({
    clock,
    log,
    intervalMs: limits.scrubPollMs,
    tasks: { scrub: (signal) => scrubbing.run(signal) },
  });
  const scans = new ScanPool(options.scans ?? defaultScans);
  const stopRewrapping = startRewrapping({ keyring, keys: storedWrappingKeys(store, keyring), clock, log });
  jobs.start();
  const stopPeriodicWork = runPeriodically({
    clock,
    log,
    intervalMs: limits.periodicWorkIntervalMs,
    tasks: {
      saveLockClock: () => lockClock.save(),
      expireFinishedUploads: () => expireFinishedUploads(store, clock.now() - limits.finishedUploadLifetimeMs),
      removeUnreferencedBlobs: (signal) => removeUnreferencedBlobs(sweep, signal),
    },
  });
  const stopSweeping = runPeriodically({
    clock,
    log,
    intervalMs: limits.sweepIntervalMs,
    // It reads all 256 directories, which a start need not wait for.
    firstAfterMs: limits.firstSweepDelayMs,
    tasks: { sweepBlobs: (signal) => sweepBlobs(sweep, signal) },
  });

  const app: Application = {
    store,
    clock,
    lockClock,
    ids,
    content: new ContentStore({ blobs, pins, ids, clock, inlineBytesMax: limits.inlineBytesMax }),
    wrappingKeys: new WrappingKeys({ store, keyring, names: keyNames, log }),
    keyNames,
    events,
    notifications,
    sequences,
    pages: createPages({
      tokens,
      errors: ErrorReasonSchema,
      itemsDefault: limits.bucketsPerPageMax,
      bytesMax: Number.POSITIVE_INFINITY,
    }),
    accounts: options.accounts ?? noAccounts,
    accessPoints: options.accessPoints ?? { find: () => undefined },
    canonicalUserId: (options.accounts ?? noAccounts).canonicalUserId,
    acceptsEmailGrants: options.emailGrants !== "refuse",
    accountBlocks: await openAccountBlocks(store, log),
    allowsPublicBuckets: options.publicBuckets !== "block",
    newBucketOwnership: options.objectOwnership ?? "BucketOwnerEnforced",
    region: options.region,
    partition: partitionOf(options.emit),
    lifecycleDayMs,
    restoreDelayMs: options.restoreDelayMs ?? defaultLifecycle.restoreDelayMs,
    restores: createRestores(jobs),
    searchIndexes: createSearchIndexes(jobs),
    existingReplications: createExistingReplications(jobs),
    forks: createForks(jobs),
    scans,
    accessLogs,
    functions,
    answers: new PendingAnswers(ids),
    objectFunctionMs: options.objectFunctionMs ?? defaultObjectFunctionMs,
    regions,
    limits: { ...defaultLimits, ...options.limits },
  };
  const inventories = options.putsOwnObjects && { app, log, put: options.putsOwnObjects(app, log) };
  const logDelivery = options.putsOwnObjects && createLogDelivery({ app, log, put: options.putsOwnObjects(app, log) });
  const stopLogDelivery = runPeriodically({
    clock,
    log,
    intervalMs: options.accessLogMs ?? defaultAccessLogMs,
    tasks: { deliverAccessLogs: async (signal) => logDelivery?.run(signal) },
  });
  const applyLifecycleRules = (signal: AbortSignal) => lifecycle.run(signal);
  const stopLifecycle = runPeriodically({ clock, log, intervalMs, tasks: { applyLifecycleRules } });
  // On their own, because a report of many objects takes long and must not hold up the rules.
  const stopInventories = runPeriodically({
    clock,
    log,
    intervalMs,
    tasks: { writeInventories: async (signal) => inventories && writeInventories(inventories, signal) },
  });

  return {
    app,
    lifecycle,
    inventories,
    logDelivery,
    services: [reportService(accessLogs)],
    jobs,
    pages: { "/quarantine": quarantinePage(store) },
    sweep,
    scrub,
    holdContent: () => pins.holdAll(),
    async stop() {
      await stopScrubbing();
      await stopLifecycle();
      await stopInventories();
      await stopLogDelivery();
      await accessLogs.flush();
      await regions.close();
      await functions.close();
      await stopPeriodicWork();
      await stopSweeping();
      await stopRewrapping();
      await jobs.stop();
      await sender.close();
      await scans.close();
      await transport.close();
      await blobs.close();
    },
  };
};

const noAccounts: Application["accounts"] = {
  canonicalUserId: derivedCanonicalUserId,
  findRole: () => undefined,
  findMfaDevice: () => undefined,
  findOrganizationId: () => undefined,
  list: () => [],
};
