import type { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { Clock } from "../kit/clock/clock.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { Jobs } from "../kit/jobs/jobs.ts";
import { createJobs } from "../kit/jobs/jobs.ts";
import type { KeyNames } from "../kit/keyring/key-names.ts";
import { anyKeyNames } from "../kit/keyring/key-names.ts";
import type { Keyring } from "../kit/keyring/keyring.ts";
import { openKeyring } from "../kit/keyring/keyring.ts";
import { masterKeysFile } from "../kit/keyring/master-keys.ts";
import { startRewrapping } from "../kit/keyring/rewrapping.ts";
import type { Logger } from "../kit/log/log.ts";
import type { PageTokens } from "../kit/page-tokens/page-tokens.ts";
import { createPageTokens, pageTokenKey } from "../kit/page-tokens/page-tokens.ts";
import type { UnaryHandler } from "../kit/server/handlers.ts";
import type { Store } from "../kit/store/store.ts";
import { purgeHandler, purgeKind, purgePolicy } from "./work/archive-purge.ts";
import { accountOpener } from "./access/guard.ts";
import { findWrappedKey, wrappedSecretKeys } from "./work/connection-rewrap.ts";
import { createAddressGuard } from "./delivery/address-guard.ts";
import { apiDestinationConnector } from "./delivery/api-destination-connector.ts";
import { authorizationHandler, authorizationKind, authorizationPolicy } from "./delivery/authorization-job.ts";
import type { ConnectorRow } from "./delivery/connectors.ts";
import { connectorFor } from "./delivery/connectors.ts";
import { deliveryHandler, deliveryPolicy } from "./delivery/delivery-job.ts";
import { eventBusConnector } from "./delivery/event-bus-connector.ts";
import { createHttpSender } from "./delivery/http-sender.ts";
import { OAuthTokens } from "./delivery/oauth-tokens.ts";
import { RateLimiter } from "./delivery/rate-limiter.ts";
import type { Place } from "./domain/arns.ts";
import { deliveryKind } from "./ingestion/ingest.ts";
import type { Limits } from "./limits.ts";
import { defaultLimits } from "./limits.ts";
import { replayHandler, replayKind, replayPolicy } from "./work/replay-job.ts";
import { scheduleHandler, scheduleKind, schedulePolicy } from "./work/schedule-job.ts";
import { CompiledRules } from "./store/compiled-rules.ts";
import * as layout from "./store/layout.ts";
import { startSweep } from "./work/log-sweep.ts";

/** What the operations and jobs of this service work with. */
export interface Application {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** From 0 up to 1, for jitter. */
  readonly random: () => number;
  readonly place: Place;
  readonly limits: Limits;
  /** Processes that may put events in the name of services. */
  readonly services: ReadonlySet<string>;
  readonly pageTokens: PageTokens;
  readonly keyring: Keyring;
  readonly rules: CompiledRules;
  readonly jobs: Jobs;
  /** Makes what an account has from the beginning. */
  openAccount(account: string): Promise<void>;
  /** Begins to deliver, to run schedules and to sweep the log, and to wrap keys anew. */
  start(): void;
  /** Ends that; what was not finished goes on after the next start. */
  stop(): Promise<void>;
}

/** The handler of one operation. */
export type Operation<Name extends keyof (typeof EventBusService)["method"]> = UnaryHandler<
  (typeof EventBusService)["method"][Name],
  Application
>;

/** What an application is built from. */
export interface ApplicationOptions {
  readonly store: Store;
  /** The service's own directory; the master keys lie there. */
  readonly directory: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Unset: any name is that of a key. */
  readonly keyNames?: KeyNames;
  readonly region: string;
  /** The dialect of resource names that the service writes. */
  readonly dialect: "amz" | "svc";
  /** Whether targets may be private addresses or plain http. */
  readonly allowsPrivateTargets: boolean;
  /** Unset: the documented ones. */
  readonly limits?: Partial<Limits>;
  /** Unset: Math.random. */
  readonly random?: () => number;
}

const serviceNames = ["event-bus", "object-storage", "customer-profile", "refactoring-workspace"];

/** Deliveries under way at the same time, altogether and to one target. */
const concurrency = 128;
const concurrencyPerTarget = 32;

/** Builds the application over an open store. */
export const createApplication = async (options: ApplicationOptions): Promise<Application> => {
  const { store, clock, ids, log, dialect, region } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const sender = createHttpSender(createAddressGuard(options.allowsPrivateTargets), limits.requestMsMax);
  const tokens = new OAuthTokens(sender, clock);
  const rates = new RateLimiter(clock);
  const keyring = await openKeyring({
    path: masterKeysFile(options.directory),
    names: options.keyNames ?? anyKeyNames,
    clock,
    log,
    sample: await store.read(findWrappedKey),
  });
  let stopSweep: (() => Promise<void>) | undefined;
  let stopRewrapping: (() => Promise<void>) | undefined;

  const app: Omit<Application, "jobs"> = {
    store,
    clock,
    ids,
    log,
    random: options.random ?? Math.random,
    place:
      dialect === "amz"
        ? { partition: "aws", service: "events", region }
        : { partition: "svc", service: "event-bus", region },
    limits,
    services: new Set(serviceNames),
    pageTokens: createPageTokens({
      key: await pageTokenKey(store, layout.pageTokenKeys),
      clock,
      lifetimeMs: limits.pageTokenLifetimeMs,
    }),
    keyring,
    rules: new CompiledRules(),
    openAccount: accountOpener({ store, clock }),
    start: () => {
      whole.jobs.start();
      stopSweep = startSweep({ store, clock, log, limits });
      stopRewrapping = startRewrapping({ keyring, keys: wrappedSecretKeys(store, keyring), clock, log });
    },
    stop: async () => {
      await stopRewrapping?.();
      await stopSweep?.();
      await whole.jobs.stop();
      await sender.close();
    },
  };

  // Jobs run with the application that they are part of; none runs before `start`.
  const whole: Application = Object.assign(app, { jobs: undefined as unknown as Jobs });
  const connectors: ConnectorRow[] = [
    {
      services: ["events", "event-bus"],
      resourcePrefix: "api-destination/",
      connector: apiDestinationConnector(whole, { sender, tokens, rates }),
    },
    { services: ["events", "event-bus"], resourcePrefix: "event-bus/", connector: eventBusConnector(whole) },
  ];
  const jobs = createJobs({
    store,
    tables: layout.jobs,
    clock,
    ids,
    log,
    concurrency,
    concurrencyPerOwner: concurrencyPerTarget,
    random: app.random,
    handlers: {
      [deliveryKind]: deliveryHandler(whole, connectorFor(connectors)),
      [scheduleKind]: scheduleHandler(whole),
      [authorizationKind]: authorizationHandler(whole, tokens),
      [replayKind]: replayHandler(whole),
      [purgeKind]: purgeHandler(whole),
    },
    policy: {
      [deliveryKind]: deliveryPolicy,
      [scheduleKind]: schedulePolicy,
      [authorizationKind]: authorizationPolicy,
      [replayKind]: replayPolicy,
      [purgeKind]: purgePolicy,
    },
  });
  return Object.assign(whole, { jobs });
};
