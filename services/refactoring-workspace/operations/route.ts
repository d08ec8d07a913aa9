/**
 * Routes. The guard has checked that the environment is not another account's. CreateRoute refuses, in this order: (1)
 * settings that contradict each other, (2) reserved tag keys, (3) a client token of another request, (4) an
 * environment, (5) an application, (6) a service that does not exist, (7) one route more than an application may hold,
 * (8) a first route that is not the default route, (9) a route that another one already covers, (10) an active route
 * while the default route is not active. UpdateRoute and DeleteRoute refuse (1) an environment, (2) an application, (3)
 * a route that does not exist, (4) a route whose health check runs, (5) a change that leaves an active route without an
 * active default route. SetRouteTraffic refuses (1) to (3), then the default route.
 *
 * A route that is to become active is stored as CREATING or UPDATING together with the job that checks its service; the
 * job settles it as ACTIVE or FAILED, also after a crash. The call waits for that and returns the settled state.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { RouteRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import {
  RouteMatchSchema,
  RouteRecordSchema,
} from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import type { CreateRouteRequest } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { CreateRouteResponseSchema } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import type { RouteSummarySchema } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { RouteActivationState, RouteState, RouteType } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import type { Application, Operation, OperationContext } from "../application.ts";
import { pathResourceIds } from "../domain/path-resources.ts";
import type { Quota } from "../domain/quota.ts";
import { refuseOverQuota } from "../domain/quota.ts";
import { arnOf } from "../domain/resource-name.ts";
import {
  refuseDeletionWhileChanging,
  refuseMismatch,
  refuseUnlessLastActive,
  refuseUpdateWhileChanging,
  refuseUsedDefault,
  refuseWithoutDefault,
} from "../domain/route-conflicts.ts";
import { findRouteProblem, wantsTraffic } from "../domain/route-rules.ts";
import { timesOf } from "../domain/resource-times.ts";
import { refuseReservedTagKeys } from "../domain/tag-rules.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import type { ApplicationIdentifiers } from "../store/application.ts";
import { getApplication } from "../store/application.ts";
import { idempotently } from "../store/client-token.ts";
import * as stored from "../store/route.ts";
import { findService, getService } from "../store/service.ts";

/**
 * Creates a route; its service receives requests once the answer says ACTIVE. Repeating the call with its client token
 * changes nothing.
 */
export const createRoute: Operation<"createRoute"> = async (request, context) => {
  const { app, access, method } = context;
  const { accountId } = access;
  const problem = findRouteProblem(request);
  if (problem !== undefined) throw fault(ErrorReason.ROUTE_INVALID, { problem });
  refuseReservedTagKeys(request.tags);
  const routeId = `rte-${app.ids.token(10)}`;
  const checkJobId = app.ids.uuid();
  const nowMs = app.clock.now();

  const answer = await app.store.transact((transaction) =>
    idempotently(transaction, { accountId, method, nowMs }, request, created, async () => {
      const service = await getService(transaction, request);
      const { environmentId, applicationId, serviceId, ownerAccountId } = service;
      const others = await stored.allRoutesOf(transaction, environmentId, applicationId);
      refuseOverQuota(others.length, quota, applicationId);
      refuseMismatch(request, others);
      const isWanted = wantsTraffic(request);
      const record = create(RouteRecordSchema, {
        routeId,
        applicationId,
        environmentId,
        serviceId,
        ownerAccountId,
        createdByAccountId: accountId,
        match: matchOf(request),
        state: isWanted ? RouteState.CREATING : RouteState.INACTIVE,
        checkJobId: isWanted ? checkJobId : undefined,
        tags: request.tags,
        createdMs: BigInt(nowMs),
        lastUpdatedMs: BigInt(nowMs),
      });
      stored.putRoute(transaction, record);
      if (isWanted) app.routeChecks.enqueue(transaction, record);
      return { resourceId: routeId, answer: createdAnswer(app, record, request) };
    }),
  );

  const settled = await settledRoute(context, request, answer.routeId ?? "");
  return settled === undefined
    ? answer
    : { ...answer, state: settled.state, lastUpdatedTime: timesOf(settled).lastUpdatedTime };
};

/** Returns a route. */
export const getRoute: Operation<"getRoute"> = async (request, { app }) => {
  const record = await app.store.read((reader) => stored.getRoute(reader, request));
  return routeAnswer(app, record);
};

/**
 * Activates a route after a health check, or deactivates it at once. A route in the wanted state is not checked again.
 */
export const updateRoute: Operation<"updateRoute"> = async (request, context) => {
  const { app } = context;
  const toActive = request.activationState === RouteActivationState.ACTIVE;
  const checkJobId = app.ids.uuid();
  const nowMs = app.clock.now();

  const updated = await app.store.transact(async (transaction) => {
    const route = await stored.getRoute(transaction, request);
    refuseUpdateWhileChanging(route);
    if (route.state === (toActive ? RouteState.ACTIVE : RouteState.INACTIVE)) return route;
    const all = await stored.allRoutesOf(transaction, route.environmentId, route.applicationId);
    if (toActive) refuseWithoutDefault(route, all);
    else refuseUnlessLastActive(route, all);
    const state = toActive ? RouteState.UPDATING : RouteState.INACTIVE;
    const changes = { state, error: undefined, checkJobId: toActive ? checkJobId : undefined };
    const record = create(RouteRecordSchema, { ...route, ...changes, lastUpdatedMs: BigInt(nowMs) });
    stored.putRoute(transaction, record);
    if (toActive) app.routeChecks.enqueue(transaction, record);
    await refreshAfterCommit(app, transaction, request);
    return record;
  });

  const record = (await settledRoute(context, request, updated.routeId)) ?? updated;
  const { routeId, applicationId, serviceId, arn, state, lastUpdatedTime } = routeAnswer(app, record);
  return { routeId, applicationId, serviceId, arn, state, lastUpdatedTime };
};

/** Sets the share of clients whose requests a route takes, which acts on the next request. */
export const setRouteTraffic: Operation<"setRouteTraffic"> = async (request, { app }) => {
  const { trafficPercentage = 100 } = request;
  const nowMs = app.clock.now();

  const record = await app.store.transact(async (transaction) => {
    const route = await stored.getRoute(transaction, request);
    const { match } = route;
    if (match === undefined)
      throw fault(ErrorReason.ROUTE_INVALID, { problem: "the default route takes all that others leave" });
    const { trafficPercentage: _before, ...rest } = match;
    const shared = trafficPercentage === 100 ? rest : { ...rest, trafficPercentage };
    const after = { ...route, match: shared, lastUpdatedMs: BigInt(nowMs) };
    stored.putRoute(transaction, after);
    await refreshAfterCommit(app, transaction, request);
    return after;
  });

  const { routeId, state, lastUpdatedTime } = routeAnswer(app, record);
  return { routeId, trafficPercentage, state, lastUpdatedTime };
};

/** Deletes a route; its requests go to the next best route. Repeating the call fails with RESOURCE_NOT_FOUND. */
export const deleteRoute: Operation<"deleteRoute"> = async (request, { app }) => {
  const now = timestampFromMs(app.clock.now());

  const record = await app.store.transact(async (transaction) => {
    const route = await stored.getRoute(transaction, request);
    refuseDeletionWhileChanging(route);
    refuseUsedDefault(route, await stored.allRoutesOf(transaction, route.environmentId, route.applicationId));
    const service = await findService(transaction, route.environmentId, route.applicationId, route.serviceId);
    stored.deleteRoute(transaction, route);
    if (service !== undefined) app.functionPermissions.release(transaction, route, service);
    await refreshAfterCommit(app, transaction, request);
    return route;
  });

  const { routeId, applicationId, serviceId, arn } = routeAnswer(app, record);
  return { routeId, applicationId, serviceId, arn, state: RouteState.DELETING, lastUpdatedTime: now };
};

/** Lists an application's routes by id. */
export const listRoutes: Operation<"listRoutes"> = async (request, context) => {
  const { app } = context;
  const { environmentIdentifier: environmentId, applicationIdentifier: applicationId } = request;
  const page = app.pages.open(context, request, [environmentId, applicationId]);
  const found = await app.store.read(async (reader) => {
    await getApplication(reader, request);
    return stored.listRoutes(reader, environmentId, applicationId, page.after, page.lookFor);
  });

  const bytesOf = (record: RouteRecord) => toBinary(RouteRecordSchema, record).byteLength;
  const { items, ...next } = page.cut(found, ({ routeId }) => routeId, bytesOf);
  return { routeSummaryList: items.map((record) => routeAnswer(app, record)), ...next };
};

const matchOf = ({ uriPathRoute }: CreateRouteRequest): MessageInitShape<typeof RouteMatchSchema> | undefined =>
  uriPathRoute && {
    sourcePath: uriPathRoute.sourcePath,
    methods: uriPathRoute.methods,
    includeChildPaths: uriPathRoute.includeChildPaths ?? false,
    appendSourcePath: uriPathRoute.appendSourcePath ?? false,
  };

const created = { resourceType: "ROUTE", response: CreateRouteResponseSchema } as const;

const quota: Quota = {
  code: "routes-per-application",
  resourceType: "APPLICATION",
  max: limits.routesPerApplicationMax,
};

/** Waits for a route's health check as long as the call may, and reads the route; undefined if it was deleted. */
const settledRoute = async (
  context: OperationContext,
  { environmentIdentifier: environmentId, applicationIdentifier: applicationId }: ApplicationIdentifiers,
  routeId: string,
): Promise<RouteRecord | undefined> => {
  const { app } = context;
  await app.routeChecks.settled({ environmentId, applicationId, routeId }, context);
  return app.store.read((reader) => stored.findRoute(reader, environmentId, applicationId, routeId));
};

const refreshAfterCommit = async (
  app: Application,
  transaction: Transaction,
  named: ApplicationIdentifiers,
): Promise<void> => {
  const application = await getApplication(transaction, named);
  transaction.afterCommit(() => app.proxiedApplications.refresh(application));
};

const createdAnswer = (app: Application, record: RouteRecord, { uriPathRoute }: CreateRouteRequest) => {
  const answer = routeAnswer(app, record);
  return {
    routeId: answer.routeId,
    applicationId: answer.applicationId,
    serviceId: answer.serviceId,
    arn: answer.arn,
    routeType: answer.routeType,
    uriPathRoute,
    state: answer.state,
    ownerAccountId: answer.ownerAccountId,
    createdByAccountId: answer.createdByAccountId,
    tags: answer.tags,
    createdTime: answer.createdTime,
    lastUpdatedTime: answer.lastUpdatedTime,
  } satisfies MessageInitShape<typeof CreateRouteResponseSchema>;
};

const routeAnswer = (app: Application, record: RouteRecord) => {
  const { routeId, applicationId, environmentId, ownerAccountId, match } = record;
  return {
    routeId,
    applicationId,
    environmentId,
    serviceId: record.serviceId,
    arn: arnOf(app.arnPrefix, ownerAccountId, { kind: "route", environmentId, applicationId, routeId }),
    routeType: match === undefined ? RouteType.DEFAULT : RouteType.URI_PATH,
    sourcePath: match?.sourcePath,
    methods: match?.methods ?? [],
    includeChildPaths: match?.includeChildPaths,
    appendSourcePath: match?.appendSourcePath,
    trafficPercentage: match?.trafficPercentage,
    pathResourceToId: match === undefined ? {} : pathResourceIds(applicationId, match),
    ownerAccountId,
    createdByAccountId: record.createdByAccountId,
    state: record.state,
    error: record.error,
    tags: record.tags,
    ...timesOf(record),
  } satisfies MessageInitShape<typeof RouteSummarySchema>;
};
