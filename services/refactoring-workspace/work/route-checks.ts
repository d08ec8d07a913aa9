import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type {
  ApplicationRecord,
  RouteRecord,
  ServiceRecord,
} from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import {
  RouteCheckPayloadSchema,
  RouteRecordSchema,
} from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import {
  ErrorCode,
  ErrorResourceType,
  ResourceErrorSchema,
} from "../../../gen/quartet/refactoringworkspace/v1/resource_error_pb.ts";
import { RouteState } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { Job, JobOutcome, JobPolicy, NewJob } from "../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../kit/jobs/jobs.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import { isChanging } from "../domain/route-rules.ts";
import { limits } from "../limits.ts";
import type { ApplicationName } from "../proxy/proxied-applications.ts";
import { findApplication } from "../store/application.ts";
import { findRoute, putRoute } from "../store/route.ts";
import { findService } from "../store/service.ts";
import type { CheckedEndpoint, HealthOutcome } from "../health/health-check.ts";
import type { FunctionApi, FunctionPermission, PolicyOutcome } from "../proxy/function-api.ts";
import type { FunctionPermissions } from "./function-permissions.ts";
import { jobOwner } from "./job-pools.ts";

/** The kind of the jobs that check a route's service. */
export const routeCheckKind = "route-check";

/** The dependencies of `RouteChecks`. */
export interface RouteCheckSettings {
  readonly store: Store;
  readonly clock: Clock;
  readonly check: (endpoint: CheckedEndpoint, signal: AbortSignal) => Promise<HealthOutcome>;
  /** Finds the URL of an application's private link; undefined if it has none. */
  readonly findPrivateLink: (application: ApplicationRecord) => string | undefined;
  readonly permissions: Pick<FunctionPermissions, "permissionOf">;
  /** Adds a statement to a function's policy. */
  readonly permit: FunctionApi["permit"];
  /** Adds a job when the transaction commits. */
  readonly enqueue: (transaction: Transaction, job: NewJob) => void;
  /** Called after the commit of each change that concerns an application's proxy. */
  readonly onChange: (name: ApplicationName) => void;
}

/** How long a caller waits. */
export interface WaitLimit {
  readonly signal: AbortSignal;
  /** Instant in milliseconds since the epoch; undefined: none. */
  readonly deadlineMs: number | undefined;
}

/** A route by its identifiers. */
export interface RouteName {
  readonly environmentId: string;
  readonly applicationId: string;
  readonly routeId: string;
}

/**
 * Settles routes whose service must be checked. A route in the state CREATING or UPDATING has one job, named in its
 * record and stored in the same transaction. The job checks, and then writes ACTIVE or FAILED if the record still names
 * it. So a crash at any point leaves either a route with its job, which runs again after the start, or a settled route.
 */
export class RouteChecks {
  readonly #settings: RouteCheckSettings;
  readonly #waiters = new Map<string, Set<() => void>>();

  constructor(settings: RouteCheckSettings) {
    this.#settings = settings;
  }

  /** Adds the job that a route's record names to the transaction that stores the record. */
  enqueue(transaction: Transaction, route: RouteRecord): void {
    const { environmentId, applicationId, routeId, ownerAccountId, checkJobId } = route;
    const payload = create(RouteCheckPayloadSchema, { environmentId, applicationId, routeId });
    this.#settings.enqueue(transaction, {
      id: checkJobId,
      kind: routeCheckKind,
      owner: jobOwner("checks", ownerAccountId),
      payload: toBinary(RouteCheckPayloadSchema, payload),
    });
  }

  /** Runs one job: checks the service and settles the route. */
  readonly run = async (job: Job, { signal }: { readonly signal: AbortSignal }): Promise<JobOutcome> => {
    const { environmentId, applicationId, routeId } = fromBinary(RouteCheckPayloadSchema, job.payload);
    const { store, findPrivateLink, permissions } = this.#settings;
    const checked = await store.read(async (reader) => {
      const route = await findRoute(reader, environmentId, applicationId, routeId);
      if (route?.checkJobId !== job.id) return undefined;
      const service = await findService(reader, environmentId, applicationId, route.serviceId);
      const application = await findApplication(reader, environmentId, applicationId);
      if (service === undefined || application === undefined) return undefined;
      const endpoint = endpointOf(service, findPrivateLink(application));
      return { endpoint, permission: permissions.permissionOf(route, service, application) };
    });
    if (checked === undefined) return { done: true };
    const health = await this.#settings.check(checked.endpoint, signal);
    const outcome = health.isHealthy ? await this.#permit(checked.permission, signal) : health;
    if ("isTransient" in outcome && outcome.isTransient) return { retry: true, reason: outcome.problem };
    await store.transact((transaction) => this.#settle(transaction, job, outcome));
    return { done: true };
  };

  /** Lets the application's gateway invoke a function; there is nothing to do for a URL. */
  async #permit(permission: FunctionPermission | undefined, signal: AbortSignal): Promise<PolicyOutcome> {
    return permission === undefined ? { isSet: true } : this.#settings.permit(permission, signal);
  }

  /** A job that could not run at all settles its route as FAILED. */
  readonly policy: JobPolicy = {
    attemptsMax: 10,
    ageMsMax: 10 * 60_000,
    backoff: exponentialBackoff({ firstMs: 200, maxMs: 10_000 }),
    onExhausted: (transaction, job, reason) => this.#settle(transaction, job, { isExhausted: true, reason }),
  };

  /** Resolves once the route is settled, or when the caller's time is over. */
  async settled({ environmentId, applicationId, routeId }: RouteName, limit: WaitLimit): Promise<void> {
    const { store, clock } = this.#settings;
    const { promise: settled, resolve: done } = Promise.withResolvers<void>();
    // The waiter is added before the route is read, so that a settlement in between is not missed.
    const waiters = this.#waiters.get(routeId) ?? new Set();
    this.#waiters.set(routeId, waiters.add(done));
    const deadlineMs = Math.min(
      clock.now() + limits.settleWaitMs,
      (limit.deadlineMs ?? Number.MAX_SAFE_INTEGER) - limits.answerReserveMs,
    );
    const cancel = clock.schedule(deadlineMs, done);
    const stop = () => done();
    limit.signal.addEventListener("abort", stop);
    try {
      const route = await store.read((reader) => findRoute(reader, environmentId, applicationId, routeId));
      if (route !== undefined && isChanging(route)) await settled;
    } finally {
      cancel();
      limit.signal.removeEventListener("abort", stop);
      waiters.delete(done);
      if (waiters.size === 0) this.#waiters.delete(routeId);
    }
  }

  async #settle(transaction: Transaction, job: Job, result: Settlement): Promise<void> {
    const { environmentId, applicationId, routeId } = fromBinary(RouteCheckPayloadSchema, job.payload);
    const route = await findRoute(transaction, environmentId, applicationId, routeId);
    if (route?.checkJobId !== job.id) return;
    const application = await findApplication(transaction, environmentId, applicationId);
    const isActive = "isSet" in result && result.isSet;
    putRoute(
      transaction,
      create(RouteRecordSchema, {
        ...route,
        state: isActive ? RouteState.ACTIVE : RouteState.FAILED,
        error: isActive ? undefined : errorOf(route, result),
        checkJobId: undefined,
        lastUpdatedMs: BigInt(this.#settings.clock.now()),
      }),
    );
    transaction.afterCommit(() => {
      if (application !== undefined) this.#settings.onChange(application);
      for (const waiter of this.#waiters.get(routeId) ?? []) waiter();
    });
  }
}

/** A healthy service whose function may be invoked, or what failed. */
type Settlement =
  | PolicyOutcome
  | Extract<HealthOutcome, { readonly isHealthy: false }>
  | { readonly isExhausted: true; readonly reason: string };

const endpointOf = ({ endpoint }: ServiceRecord, privateLink: string | undefined): CheckedEndpoint =>
  endpoint.case === "urlEndpoint"
    ? { url: endpoint.value.url, healthUrl: endpoint.value.healthUrl, privateLink }
    : { functionArn: endpoint.value?.arn ?? "" };

/** Why a route failed; a failed health check is the failure of its service. */
const errorOf = (route: RouteRecord, result: Settlement) => {
  const { code, resourceType } = failureOf(result);
  return create(ResourceErrorSchema, {
    code,
    resourceType,
    resourceIdentifier: resourceType === ErrorResourceType.ROUTE ? route.routeId : route.serviceId,
    message: messageOf(result).slice(0, 255),
    accountId: route.ownerAccountId,
    additionalDetails: "isHealthy" in result ? { ...result.details } : {},
  });
};

const failureOf = (result: Settlement) => {
  if ("isHealthy" in result)
    return { code: ErrorCode.SERVICE_ENDPOINT_HEALTH_CHECK_FAILURE, resourceType: ErrorResourceType.SERVICE };
  if ("isSet" in result) return { code: ErrorCode.RESOURCE_UPDATE_FAILURE, resourceType: ErrorResourceType.FUNCTION };
  return { code: ErrorCode.STATE_TRANSITION_FAILURE, resourceType: ErrorResourceType.ROUTE };
};

const messageOf = (result: Settlement): string => {
  if ("isExhausted" in result) return "The health check could not be run.";
  if ("isHealthy" in result) return `The health check of the service failed: ${result.problem}.`;
  return result.isSet ? "" : `The policy of the function could not be changed: ${result.problem}.`;
};
