import type { Client } from "@connectrpc/connect";

import { ErrorReasonSchema } from "../../gen/quartet/eventbus/v1/error_reason_pb.ts";
import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { Application } from "../../services/event-bus/application.ts";
import type { ServiceEndpoints } from "../../services/event-bus/delivery/connectors.ts";
import type { ServiceEndpoint } from "../../services/kit/outgoing/service-client.ts";
import type { Limits } from "../../services/event-bus/limits.ts";
import { openEventBus } from "../../services/event-bus/open.ts";
import { handlers } from "../../services/event-bus/service.ts";
import type { DeadLetter } from "../../services/event-bus/store/dead-letter.ts";
import { listDeadLetters } from "../../services/event-bus/store/dead-letter.ts";
import type { RoleDirectory } from "../../services/kit/accounts/assume-role.ts";
import type { KeyNames } from "../../services/kit/keyring/key-names.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import type { Store } from "../../services/kit/store/store.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { ownerAccount, startServiceHarness } from "../support/service-harness.ts";
import type { ServiceProcess } from "../support/service-process.ts";
import { startServiceProcess } from "../support/service-process.ts";

export { refusalOf } from "../support/refusal.ts";
export { ownerAccount } from "../support/service-harness.ts";

export type EventBusClient = Client<typeof EventBusService>;

/** The service over a real store and a real socket, with a clock that stands still. */
export interface Harness {
  readonly directory: string;
  /** Where the service answers RPCs. */
  readonly url: string;
  readonly clock: FakeClock;
  readonly app: Application;
  readonly store: Store;
  /** The owner account's calls, sent by the gateway. */
  readonly client: EventBusClient;
  /** Calls of an account that a process vouches for; an empty account: of nobody. */
  clientOf(accountId: string, issuer?: string): EventBusClient;
  /** The owner account's dead letters, the latest first. */
  deadLetters(): Promise<DeadLetter[]>;
  stop(): Promise<void>;
}

export interface HarnessOptions {
  /** Unset: a new one that is removed when the test ends. */
  readonly directory?: string;
  readonly clock?: FakeClock;
  /** False: nothing is delivered and no schedule runs. Unset: true. */
  readonly works?: boolean;
  /** Unset: any name is that of a key. */
  readonly keyNames?: KeyNames;
  readonly limits?: Partial<Limits>;
  /** Unset: true. */
  readonly allowsPrivateTargets?: boolean;
  /** Unset: no role is declared. */
  readonly accounts?: RoleDirectory;
  /** Unset: false. */
  readonly allowsUnknownRoles?: boolean;
  /** Unset: none is configured. */
  readonly endpoints?: ServiceEndpoints;
  readonly busLogs?: readonly string[];
  readonly log?: Logger;
  readonly brokers?: Parameters<typeof openEventBus>[0]["brokers"];
  readonly deliveryStreams?: Parameters<typeof openEventBus>[0]["deliveryStreams"];
  /** Unset: us-east-1. */
  readonly region?: string;
  /** Where other regions are called. Unset: none is known. */
  readonly regions?: Readonly<Record<string, ServiceEndpoint>>;
  readonly healthChecks?: ReadonlyMap<string, string>;
  /** The names of the accounts that are partners. Unset: none is. */
  readonly partners?: ReadonlyMap<string, string>;
}

/** Starts the service; it is stopped when the test ends. Retry delays are three quarters of the full ones. */
export const startHarness = async (options: HarnessOptions = {}): Promise<Harness> => {
  const { directory, clock = new FakeClock(), works = true, allowsPrivateTargets = true } = options;
  const {
    keyNames,
    limits,
    accounts,
    allowsUnknownRoles,
    endpoints,
    busLogs,
    log,
    brokers,
    deliveryStreams,
    partners,
    regions,
    healthChecks,
    region = "us-east-1",
  } = options;
  const harness = await startServiceHarness({
    service: EventBusService,
    handlers,
    errors: ErrorReasonSchema,
    clock,
    directory,
    log,
    open: (parts) =>
      openEventBus({
        ...parts,
        region,
        ...(regions && { regions }),
        ...(healthChecks && { healthChecks }),
        dialect: "amz",
        allowsPrivateTargets,
        random: () => 0.5,
        works,
        ...(keyNames && { keyNames }),
        limits: { healthCheckMs: 60_000, ...limits },
        ...(accounts && { accounts }),
        ...(allowsUnknownRoles && { allowsUnknownRoles }),
        ...(endpoints && { endpoints }),
        ...(deliveryStreams && { deliveryStreams }),
        ...(brokers && { brokers }),
        ...(busLogs && { busLogs }),
        ...(partners && { partners }),
      }),
  });
  const clientOf = (accountId: string, issuer = "gateway"): EventBusClient => harness.clientOf(accountId, issuer);
  return {
    ...harness,
    clock,
    app: harness.opened.app,
    client: clientOf(ownerAccount),
    clientOf,
    deadLetters: () =>
      harness.store.read((reader) => listDeadLetters(reader, ownerAccount, { after: undefined, limit: 1_000 })),
  };
};

/** Starts the service as a process of its own, with settings as environment variables. */
export const startProcess = (
  dataDir: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess<typeof EventBusService>> =>
  startServiceProcess({ service: EventBusService, folder: "event-bus", dataDir, settings });
