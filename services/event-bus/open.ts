import { join } from "node:path";

import { ErrorReasonSchema } from "../../gen/quartet/eventbus/v1/error_reason_pb.ts";
import type { RoleDirectory } from "../kit/accounts/assume-role.ts";
import type { Clock } from "../kit/clock/clock.ts";
import type { ObjectWriter } from "./delivery/object-writer.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { JobHandler, JobPolicy, Jobs } from "../kit/jobs/jobs.ts";
import { createJobs } from "../kit/jobs/jobs.ts";
import type { KeyNames } from "../kit/keyring/key-names.ts";
import { anyKeyNames } from "../kit/keyring/key-names.ts";
import { openKeyring } from "../kit/keyring/keyring.ts";
import { masterKeysFile } from "../kit/keyring/master-keys.ts";
import { startRewrapping } from "../kit/keyring/rewrapping.ts";
import type { Logger } from "../kit/log/log.ts";
import type { Metrics } from "../kit/metrics/metrics.ts";
import { createPageTokens, pageTokenKey } from "../kit/page-tokens/page-tokens.ts";
import { createPages } from "../kit/page-tokens/pages.ts";
import type { PeriodicTask } from "../kit/periodic/periodic.ts";
import { runPeriodically } from "../kit/periodic/periodic.ts";
import type { Store } from "../kit/store/store.ts";
import type { Application } from "./application.ts";
import { createAddressGuard } from "../kit/network/address-guard.ts";
import { authorizationHandler, authorizationKind, authorizationPolicy } from "./delivery/authorization-job.ts";
import { DeliveryStreams } from "./delivery/delivery-streams.ts";
import { busLogWriter } from "./delivery/bus-log-writer.ts";
import { BusLogs } from "./delivery/bus-logs.ts";
import { LogGroupFiles } from "./delivery/log-group-files.ts";
import { BrokerConnections } from "./delivery/brokers/broker-connections.ts";
import { Circuits } from "./delivery/circuits.ts";
import type { ConnectorTools, ServiceEndpoints } from "./delivery/connectors.ts";
import { connectorFinder } from "./delivery/connectors.ts";
import { deliveryHandler, deliveryJobPolicy } from "./delivery/delivery-job.ts";
import { deadLetterHandler, deadLetterKind, deadLetterPolicy } from "./delivery/dead-letter-job.ts";
import { createHttpSender } from "../kit/outgoing/http-sender.ts";
import { OpenedSecrets } from "./delivery/opened-secrets.ts";
import { OAuthTokens } from "./delivery/oauth-tokens.ts";
import { deliveryGate, jobPools, placeOfOwner } from "./delivery/job-pools.ts";
import { RateLimits } from "./delivery/rate-limits.ts";
import { GivenUpLog } from "./delivery/given-up-log.ts";
import { HealthChecks } from "./delivery/health-checks.ts";
import { Regions } from "./delivery/regions.ts";
import type { ServiceEndpoint } from "../kit/outgoing/service-client.ts";
import { ServiceClient } from "../kit/outgoing/service-client.ts";
import type { ArnScope } from "./domain/arns.ts";
import type { Broker } from "./domain/broker.ts";
import type { DeliveryStream } from "./domain/delivery-stream.ts";
import { EventSealing } from "./encryption/event-sealing.ts";
import { deliveryKind, fanOutHandler, fanOutKind, fanOutPolicy } from "./ingestion/fan-out.ts";
import { SchemaDiscovery } from "./ingestion/schema-discovery.ts";
import type { Limits } from "./limits.ts";
import { defaultLimits } from "./limits.ts";
import { CompiledRules } from "./store/compiled-rules.ts";
import { defaultBusCreator } from "./store/default-bus.ts";
import { jobs as jobTables, pageTokenKeys } from "./store/layout.ts";
import { trafficMetrics } from "./store/traffic-counts.ts";
import { archivePurgeHandler, archivePurgeKind, archivePurgePolicy } from "./work/archive-purge.ts";
import { findWrappedKey, wrappedSecretKeys } from "./work/connection-rewrap.ts";
import { wrappedEventKeys } from "./work/event-key-rewrap.ts";
import {
  deduplicationSweep,
  sweepArchives,
  sweepDeadLetterGroups,
  sweepDeadLetters,
  sweepEventSources,
  sweepLog,
} from "./work/log-sweep.ts";
import { redriveHandler, redriveKind, redrivePolicy } from "./work/redrive-job.ts";
import { replayHandler, replayKind, replayPolicy } from "./work/replay-job.ts";
import { scheduleHandler, scheduleKind, schedulePolicy } from "./work/schedule-job.ts";

/** The dependencies and settings with which the service is opened. */
export interface EventBusOptions {
  readonly store: Store;
  /** The service's own directory, which holds the master keys. */
  readonly directory: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** The encryption keys that connections may name. Unset: any name is that of a key. */
  readonly keyNames?: KeyNames;
  /** The organizations of accounts, and roles. Unset: there is none. */
  readonly accounts?: RoleDirectory;
  /** Whether deliveries in the name of roles that do not exist are made as if they named none. Unset: they fail. */
  readonly allowsUnknownRoles?: boolean;
  readonly region: string;
  /** The dialect of the ARNs that the service writes. */
  readonly dialect: "amz" | "svc";
  /** Whether targets may have private addresses or use plain http. */
  readonly allowsPrivateTargets: boolean;
  /** Where the other regions are called, by their names. Unset: none is known. */
  readonly regions?: Readonly<Record<string, ServiceEndpoint | undefined>>;
  /** The URLs of health checks by their ids. Unset: none. */
  readonly healthChecks?: ReadonlyMap<string, string>;
  /** The names of the accounts that are partners. Unset: none is. */
  readonly partners?: ReadonlyMap<string, string>;
  /** Where targets of other kinds are reached, whatever their addresses are. Unset: nowhere. */
  readonly endpoints?: ServiceEndpoints;
  /** The delivery streams of the installation, and where their objects are put. Unset: there is none. */
  readonly deliveryStreams?: {
    readonly declared: readonly DeliveryStream[];
    readonly put: ObjectWriter;
  };
  /** The brokers of the installation, whatever their addresses are. Unset: there is none. */
  readonly brokers?: readonly Broker[];
  /** The ARNs of the log groups and delivery streams for the logs of buses. Unset: a log group of each bus. */
  readonly busLogs?: readonly string[];
  /** Where the service's own metrics are added. Unset: nowhere. */
  readonly metrics?: Metrics;
  /** Unset: the default limits. */
  readonly limits?: Partial<Limits>;
  /** Unset: Math.random. */
  readonly random?: () => number;
  /** False: no jobs and no periodic work run. Unset: true. */
  readonly works?: boolean;
}

/** The service without its server. */
export interface OpenEventBus {
  readonly app: Application;
  /** Deliveries and other delayed work. */
  readonly jobs: Jobs;
  /** Ends background work; unfinished work continues after the next start. The store stays open. */
  stop(): Promise<void>;
}

/** Where no delivery stream is declared, nothing is put. */
const noObjects: ObjectWriter = () => Promise.reject(new Error("no delivery stream is declared"));

/** Where buses log if the installation names no other place. */
const defaultBusLog = "arn:aws:logs:{region}:{account}:log-group:/aws/vendedlogs/events/event-bus/{bus}";

/** Opens the keys, and starts to deliver, to run schedules and replays, to sweep the log and to re-wrap keys. */
export const openEventBus = async (options: EventBusOptions): Promise<OpenEventBus> => {
  const { store, directory, clock, ids, log } = options;
  const { keyNames = anyKeyNames, random = Math.random, works = true } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const keyring = await openKeyring({
    path: masterKeysFile(directory),
    names: keyNames,
    clock,
    log,
    sample: await store.read(findWrappedKey),
  });
  const tokens = createPageTokens({
    key: await pageTokenKey(store, pageTokenKeys, log),
    clock,
    lifetimeMs: limits.pageTokenLifetimeMs,
  });
  const { pageItemsDefault: itemsDefault, pageBytesMax: bytesMax } = limits;
  const endpointSender = createHttpSender(createAddressGuard(true), limits);
  const client = new ServiceClient(endpointSender, clock);
  const health = new HealthChecks(options.healthChecks ?? new Map(), endpointSender);
  const endpoints = options.endpoints ?? {};
  const logGroups = new LogGroupFiles(join(directory, "log-groups"));
  const arnScope = arnScopeOf(options);
  const streams = new DeliveryStreams({
    store,
    clock,
    ids,
    log,
    streams: options.deliveryStreams?.declared ?? [],
    put: options.deliveryStreams?.put ?? noObjects,
  });
  await streams.load();
  const busLogs = new BusLogs({
    clock,
    log,
    arnScope,
    destinations: options.busLogs ?? [defaultBusLog],
    writer: busLogWriter({ client, endpoints, logGroups, streams, store }),
  });
  await busLogs.load(store);
  const app: Application = {
    store,
    clock,
    ids,
    log,
    random,
    accounts: options.accounts,
    roles: options.accounts,
    allowsUnknownRoles: options.allowsUnknownRoles,
    arnScope,
    busLogs,
    givenUp: new GivenUpLog(log, () => clock.now()),
    schemas: new SchemaDiscovery({ store, clock, log, limits }),
    limits,
    pages: createPages({ tokens, errors: ErrorReasonSchema, itemsDefault, bytesMax }),
    keyring,
    sealing: new EventSealing(keyring, ids),
    regions: new Regions(options.regions ?? {}, client),
    health,
    partners: options.partners ?? new Map(),
    reachesQueues: endpoints.sqs !== undefined,
    rules: new CompiledRules(store, undefined, log),
    ensureDefaultBus: defaultBusCreator(store, clock),
    // The handlers of jobs use the application that the jobs belong to.
    get jobs() {
      return jobs;
    },
  };

  const sender = createHttpSender(createAddressGuard(options.allowsPrivateTargets), limits);
  const circuits = new Circuits({ clock, random, roomMax: limits.runningDeliveriesPerTargetMax });
  if (options.metrics !== undefined) circuitMetrics(options.metrics, circuits);
  if (options.metrics !== undefined) trafficMetrics(options.metrics, store);
  const connections = new BrokerConnections({
    log,
    limitMs: limits.requestMsMax,
    messagesMax: limits.brokerMessagesMax,
  });
  const jobs = createJobs({
    store,
    tables: jobTables,
    clock,
    ids,
    log,
    random,
    pools: jobPools(limits),
    placeOf: placeOfOwner(circuits),
    gate: deliveryGate(store, circuits, new RateLimits()),
    policy: jobPolicies(app),
    handlers: jobHandlers(app, circuits, {
      sender,
      secrets: new OpenedSecrets(keyring),
      tokens: new OAuthTokens(sender, clock),
      client,
      endpoints,
      streams,
      logGroups,
      brokers: { declared: options.brokers ?? [], connections, sender: endpointSender, clock },
    }),
  });
  const startWork = () => {
    jobs.start();
    return [
      startLoadingRules(app),
      startRewrapping({ keyring, keys: wrappedSecretKeys(store, keyring), clock, log }),
      startRewrapping({ keyring, keys: wrappedEventKeys(store, keyring), clock, log }),
      runPeriodically({ clock, log, intervalMs: limits.sweepIntervalMs, tasks: periodicTasks(app) }),
      runPeriodically({
        clock,
        log,
        intervalMs: limits.healthCheckMs,
        tasks: { checkHealth: (signal) => health.checkAll(store, signal) },
      }),
      ...(streams.isEmpty ? [] : [startStreams(app, streams)]),
    ];
  };
  const stopsOfWork = works ? startWork() : [];

  return {
    app,
    jobs,
    async stop() {
      app.rules.close();
      await Promise.all(stopsOfWork.map((stop) => stop()));
      await Promise.all([jobs.stop(), health.idle()]);
      await Promise.all([busLogs.flush(), app.schemas.flush()]);
      await Promise.all([sender.close(), endpointSender.close(), connections.close()]);
    },
  };
};

/** Compiles the rules of all buses beside all else. Returns the function that ends this. */
const startLoadingRules = ({ rules, log }: Application): (() => Promise<void>) => {
  const ending = new AbortController();
  const loading = rules
    .loadAll(ending.signal)
    .catch((error: unknown) => log.error({ err: error }, "the rules of some buses are compiled by their next event"));
  return () => {
    ending.abort();
    return loading;
  };
};

/** Writes delivery streams when they are due. Returns the function that ends this. */
const startStreams = ({ clock, log, limits }: Application, streams: DeliveryStreams): (() => Promise<void>) =>
  runPeriodically({
    clock,
    log,
    intervalMs: limits.streamCheckMs,
    tasks: { writeStreams: (signal) => streams.writeDue(signal) },
  });

const arnScopeOf = ({ dialect, region }: Pick<EventBusOptions, "dialect" | "region">): ArnScope =>
  dialect === "amz"
    ? { partition: "aws", service: "events", region }
    : { partition: "svc", service: "event-bus", region };

const jobHandlers = (
  app: Application,
  circuits: Circuits,
  tools: ConnectorTools,
): Readonly<Record<string, JobHandler>> => ({
  [deliveryKind]: deliveryHandler(app, connectorFinder(app, tools), circuits),
  [fanOutKind]: fanOutHandler(app),
  [scheduleKind]: scheduleHandler(app),
  [deadLetterKind]: deadLetterHandler(app, tools.endpoints.sqs, tools.client, circuits),
  [authorizationKind]: authorizationHandler(app, tools.tokens),
  [replayKind]: replayHandler(app),
  [redriveKind]: redriveHandler(app),
  [archivePurgeKind]: archivePurgeHandler(app),
});

const circuitMetrics = (metrics: Metrics, circuits: Circuits): void =>
  metrics.add({
    name: "event_bus_circuits_open",
    type: "gauge",
    help: "Destinations that failed several times in a row and get one attempt at a time.",
    read: () => [{ labels: {}, value: circuits.openCount }],
  });

const periodicTasks = (app: Application): Readonly<Record<string, PeriodicTask>> => ({
  sweepLog: (signal) => sweepLog(app, signal),
  sweepArchives: (signal) => sweepArchives(app, signal),
  sweepDeadLetters: (signal) => sweepDeadLetters(app, signal),
  sweepDeadLetterGroups: (signal) => sweepDeadLetterGroups(app, signal),
  sweepEventSources: (signal) => sweepEventSources(app, signal),
  sweepDeduplications: deduplicationSweep(app),
});

const jobPolicies = (app: Application): Readonly<Record<string, JobPolicy>> => ({
  [deliveryKind]: deliveryJobPolicy(app),
  [fanOutKind]: fanOutPolicy,
  [scheduleKind]: schedulePolicy,
  [deadLetterKind]: deadLetterPolicy,
  [authorizationKind]: authorizationPolicy,
  [replayKind]: replayPolicy,
  [redriveKind]: redrivePolicy,
  [archivePurgeKind]: archivePurgePolicy,
});
