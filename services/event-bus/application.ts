import type { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { AccessAccounts } from "../kit/access/decide.ts";
import type { RoleDirectory } from "../kit/accounts/assume-role.ts";
import type { Clock } from "../kit/clock/clock.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { Jobs } from "../kit/jobs/jobs.ts";
import type { Keyring } from "../kit/keyring/keyring.ts";
import type { Logger } from "../kit/log/log.ts";
import type { Pages } from "../kit/page-tokens/pages.ts";
import type { CallContext, UnaryHandler } from "../kit/server/handlers.ts";
import type { Store } from "../kit/store/store.ts";
import type { Access } from "./access/access.ts";
import type { BusLogs } from "./delivery/bus-logs.ts";
import type { GivenUpLog } from "./delivery/given-up-log.ts";
import type { HealthChecks } from "./delivery/health-checks.ts";
import type { Regions } from "./delivery/regions.ts";
import type { ArnScope } from "./domain/arns.ts";
import type { EventSealing } from "./encryption/event-sealing.ts";
import type { SchemaDiscovery } from "./ingestion/schema-discovery.ts";
import type { Limits } from "./limits.ts";
import type { CompiledRules } from "./store/compiled-rules.ts";

/** The dependencies of this service's operations, jobs and periodic work. */
export interface Application {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Returns a number from 0 up to 1, for jitter. */
  readonly random: () => number;
  /** The organizations of accounts and the tags of roles. Unset: there are none. */
  readonly accounts?: AccessAccounts | undefined;
  /** The roles. Unset: targets' roles are not asked. */
  readonly roles?: RoleDirectory | undefined;
  /** A delivery in the name of a role that does not exist is made as if it named none. Unset: it fails. */
  readonly allowsUnknownRoles?: boolean | undefined;
  /** The parts that all ARNs of this installation share. */
  readonly arnScope: ArnScope;
  readonly limits: Limits;
  readonly pages: Pages;
  readonly keyring: Keyring;
  /** Encrypts the events of buses that name a key. */
  readonly sealing: EventSealing;
  /** The other regions, which are deployments of their own. */
  readonly regions: Regions;
  /** Whether the first regions of global endpoints are healthy. */
  readonly health: Pick<HealthChecks, "has" | "isHealthy">;
  /** The names of the accounts that are declared as partners. */
  readonly partners: ReadonlyMap<string, string>;
  /** Whether an endpoint of queues is configured, to which dead letters are sent. */
  readonly reachesQueues: boolean;
  readonly rules: CompiledRules;
  /** The logs of buses that have one. */
  readonly busLogs: BusLogs;
  /** Tells operators why deliveries became dead letters. */
  readonly givenUp: GivenUpLog;
  /** Discovers the schemas of the events of buses that want it. */
  readonly schemas: SchemaDiscovery;
  readonly jobs: Jobs;
  /** Creates the default bus of an account unless it exists. */
  ensureDefaultBus(account: string): Promise<void>;
}

/** The context of a call that the guard has let through. */
export type OperationContext = CallContext<Application, Access>;

/** The handler of one operation. */
export type Operation<Name extends keyof (typeof EventBusService)["method"]> = UnaryHandler<
  (typeof EventBusService)["method"][Name],
  Application,
  Access
>;
