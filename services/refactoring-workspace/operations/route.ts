/**
 * Routes. Creating refuses settings that contradict each other, reserved tag keys, a client token of another request,
 * an application or service that is not there or of another account, one route too many, a first route that is not the
 * default one, a route that another already covers, and an active route while the default one is not active. Updating
 * and deleting refuse a route that is not there, then one whose health check goes on, then what would leave an active
 * route without an active default route.
 *
 * A route that is to be active is stored as CREATING or UPDATING together with the job that checks its service; the
 * job settles it as ACTIVE or FAILED, also after a crash. The call waits for that and answers what it has become.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
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
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import type { Application, Operation } from "../application.ts";
import { arnOf } from "../application.ts";
import {
  findDefaultRoute,
  findOverlap,
  findRouteProblem,
  isChanging,
  isOrBecomesActive,
  methodName,
  routeStateName,
  wantsTraffic,
} from "../domain/route-rules.ts";
import { pathResourceIds } from "../domain/path-resources.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import * as stored from "../store/route.ts";
import { ownApplication } from "./application.ts";
import { existing, refuseOverQuota, refuseReservedTagKeys } from "./checks.ts";
import { onceByToken } from "./client-token.ts";
import { cutPage, pageOf } from "./page.ts";
import { ownService } from "./service.ts";

/** Makes a route; traffic reaches its service when the answer says ACTIVE. */
export const createRoute: Operation<"createRoute"> = async (request, context) => {
  const { app } = context;
  const problem = findRouteProblem(request);
  if (problem !== undefined) throw fault(ErrorReason.ROUTE_INVALID, { problem });
  refuseReservedTagKeys(request.tags);
  const routeId = `rte-${app.ids.token(10)}`;
  const checkJobId = app.ids.uuid();
  const now = timestampFromMs(app.clock.now());

  const answer = await app.store.transact((transaction) =>
    onceByToken(transaction, context, request, created, async () => {
      const service = await ownService(transaction, context, request);
      const { environmentId, applicationId, serviceId, ownerAccountId } = service;
      const others = await routesOf(transaction, environmentId, applicationId);
      refuseOverQuota(others.length, { ...quota, resourceId: applicationId });
      refuseMisfit(request, others);
      const isWanted = wantsTraffic(request);
      const record = create(RouteRecordSchema, {
        routeId,
        applicationId,
        environmentId,
        serviceId,
        ownerAccountId,
        createdByAccountId: context.caller.accountId,
        match: matchOf(request),
        state: isWanted ? RouteState.CREATING : RouteState.INACTIVE,
        checkJobId: isWanted ? checkJobId : undefined,
        tags: request.tags,
        createdTime: now,
        lastUpdatedTime: now,
      });
      stored.putRoute(transaction, record);
      if (isWanted) app.routeChecks.enqueue(transaction, record);
      return { resourceId: routeId, answer: createdAnswer(app, record, request) };
    }),
  );

  const settled = await settledRoute(context, request, answer.routeId ?? "");
  return settled === undefined ? answer : { ...answer, state: settled.state, lastUpdatedTime: settled.lastUpdatedTime };
};

/** Tells a route. */
export const getRoute: Operation<"getRoute"> = async (request, context) => {
  const record = await context.app.store.read((reader) => ownRoute(reader, context, request));
  return routeAnswer(context.app, record);
};

/** Makes a route active, after a health check, or inactive, at once. What it is already it stays, without a check. */
export const updateRoute: Operation<"updateRoute"> = async (request, context) => {
  const { app } = context;
  const toActive = request.activationState === RouteActivationState.ACTIVE;
  const checkJobId = app.ids.uuid();
  const now = timestampFromMs(app.clock.now());

  const updated = await app.store.transact(async (transaction) => {
    const route = await ownRoute(transaction, context, request);
    if (isChanging(route))
      throw fault(ErrorReason.ROUTE_CHANGING, { route_id: route.routeId, state: routeStateName(route.state) });
    if (route.state === (toActive ? RouteState.ACTIVE : RouteState.INACTIVE)) return route;
    const all = await routesOf(transaction, route.environmentId, route.applicationId);
    if (toActive) refuseWithoutDefault(route, all);
    else refuseUnlessLastActive(route, all);
    const state = toActive ? RouteState.UPDATING : RouteState.INACTIVE;
    const changes = { state, error: undefined, checkJobId: toActive ? checkJobId : undefined, lastUpdatedTime: now };
    const record = create(RouteRecordSchema, { ...route, ...changes });
    stored.putRoute(transaction, record);
    if (toActive) app.routeChecks.enqueue(transaction, record);
    await refreshAfterCommit(app, transaction, context, request);
    return record;
  });

  const record = (await settledRoute(context, request, updated.routeId)) ?? updated;
  const { routeId, applicationId, serviceId, arn, state, lastUpdatedTime } = routeAnswer(app, record);
  return { routeId, applicationId, serviceId, arn, state, lastUpdatedTime };
};

/** Deletes a route; from then on its requests go to the next best. A second call is refused. */
export const deleteRoute: Operation<"deleteRoute"> = async (request, context) => {
  const { app } = context;
  const now = timestampFromMs(app.clock.now());

  const record = await app.store.transact(async (transaction) => {
    const route = await ownRoute(transaction, context, request);
    if (isChanging(route)) throw busy(route);
    refuseUsedDefault(route, await routesOf(transaction, route.environmentId, route.applicationId));
    stored.deleteRoute(transaction, route);
    await refreshAfterCommit(app, transaction, context, request);
    return route;
  });

  const { routeId, applicationId, serviceId, arn } = routeAnswer(app, record);
  return { routeId, applicationId, serviceId, arn, state: RouteState.DELETING, lastUpdatedTime: now };
};

/** Lists an application's routes by id. */
export const listRoutes: Operation<"listRoutes"> = async (request, context) => {
  const { app } = context;
  const { environmentIdentifier: environmentId, applicationIdentifier: applicationId } = request;
  const page = pageOf(context, [environmentId, applicationId], request);
  const found = await app.store.read(async (reader) => {
    await ownApplication(reader, context, request);
    return stored.listRoutes(reader, environmentId, applicationId, page.after, page.itemsMax + 1);
  });

  const { shown, ...next } = cutPage(page, found, RouteRecordSchema, (record) => record.routeId);
  return { routeSummaryList: shown.map((record) => routeAnswer(app, record)), ...next };
};

const matchOf = ({ uriPathRoute }: CreateRouteRequest): MessageInitShape<typeof RouteMatchSchema> | undefined =>
  uriPathRoute && {
    sourcePath: uriPathRoute.sourcePath,
    methods: uriPathRoute.methods,
    includeChildPaths: uriPathRoute.includeChildPaths ?? false,
    appendSourcePath: uriPathRoute.appendSourcePath ?? false,
  };

interface RouteParents {
  readonly environmentIdentifier: string;
  readonly applicationIdentifier: string;
}

/** The route that a request names, when the caller's account owns it. Throws RESOURCE_NOT_FOUND, ACCESS_DENIED. */
export const ownRoute = async (
  reader: Reader,
  context: CallContext<Application>,
  request: RouteParents & { readonly routeIdentifier: string },
): Promise<RouteRecord> => {
  const { environmentId, applicationId } = await ownApplication(reader, context, request);
  const found = await stored.findRoute(reader, environmentId, applicationId, request.routeIdentifier);
  return existing(found, "ROUTE", request.routeIdentifier);
};

const created = { resourceType: "ROUTE", response: CreateRouteResponseSchema } as const;

const quota = {
  code: "routes-per-application",
  resourceType: "APPLICATION",
  max: limits.routesPerApplicationMax,
} as const;

/** All routes of an application; the quota bounds them. */
const routesOf = (reader: Reader, environmentId: string, applicationId: string): Promise<RouteRecord[]> =>
  stored.listRoutes(reader, environmentId, applicationId, undefined, limits.routesPerApplicationMax);

/** Waits for a route's health check, as long as the call can, and reads what it has become; undefined: it is gone. */
const settledRoute = async (
  context: CallContext<Application>,
  request: RouteParents,
  routeId: string,
): Promise<RouteRecord | undefined> => {
  const { app } = context;
  const { environmentIdentifier: environmentId, applicationIdentifier: applicationId } = request;
  await app.routeChecks.settled(routeId, { environmentId, applicationId }, context);
  return app.store.read((reader) => stored.findRoute(reader, environmentId, applicationId, routeId));
};

const refreshAfterCommit = async (
  app: Application,
  transaction: Transaction,
  context: CallContext<Application>,
  request: RouteParents,
): Promise<void> => {
  const application = await ownApplication(transaction, context, request);
  transaction.afterCommit(() => app.routeTable.refresh(application));
};

/** Refuses a new route that does not fit among the others. */
const refuseMisfit = (request: CreateRouteRequest, others: readonly RouteRecord[]): void => {
  const { applicationIdentifier, uriPathRoute } = request;
  const defaultRoute = findDefaultRoute(others);
  if (request.routeType === RouteType.DEFAULT) {
    if (defaultRoute !== undefined) throw routeExists(defaultRoute, "all requests that no other route takes");
    return;
  }
  if (others.length === 0) throw fault(ErrorReason.FIRST_ROUTE_NOT_DEFAULT, { application_id: applicationIdentifier });
  const overlap = findOverlap(others, uriPathRoute?.sourcePath ?? "", uriPathRoute?.methods ?? []);
  if (overlap !== undefined) {
    const methods = overlap.match?.methods.map((method) => methodName(method)).join(", ") || "all methods";
    throw routeExists(overlap, `${methods} of ${overlap.match?.sourcePath}`);
  }
  if (wantsTraffic(request) && defaultRoute?.state !== RouteState.ACTIVE)
    throw fault(ErrorReason.DEFAULT_ROUTE_NOT_ACTIVE, { application_id: applicationIdentifier });
};

const routeExists = (route: RouteRecord, requests: string): Error =>
  fault(ErrorReason.ROUTE_EXISTS, { resource_type: "ROUTE", resource_id: route.routeId, requests });

const busy = (route: RouteRecord): Error =>
  fault(ErrorReason.RESOURCE_BUSY, {
    resource_type: "ROUTE",
    resource_id: route.routeId,
    state: routeStateName(route.state),
  });

const refuseWithoutDefault = (route: RouteRecord, all: readonly RouteRecord[]): void => {
  if (route.match !== undefined && findDefaultRoute(all)?.state !== RouteState.ACTIVE)
    throw fault(ErrorReason.DEFAULT_ROUTE_NOT_ACTIVE, { application_id: route.applicationId });
};

const refuseUnlessLastActive = (route: RouteRecord, all: readonly RouteRecord[]): void => {
  const active = findOtherActive(route, all);
  if (active !== undefined) throw fault(ErrorReason.OTHER_ROUTES_ACTIVE, { route_id: active.routeId });
};

const refuseUsedDefault = (route: RouteRecord, all: readonly RouteRecord[]): void => {
  const active = findOtherActive(route, all);
  if (active !== undefined)
    throw fault(ErrorReason.RESOURCE_IN_USE, {
      resource_type: "ROUTE",
      resource_id: route.routeId,
      used_by: `the active route ${active.routeId}`,
    });
};

/** For the default route: another one that is active or about to be. Routes by path need no other. */
const findOtherActive = (route: RouteRecord, all: readonly RouteRecord[]): RouteRecord | undefined =>
  route.match === undefined ? all.find((each) => each.routeId !== route.routeId && isOrBecomesActive(each)) : undefined;

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
    arn: arnOf(app, ownerAccountId, { kind: "route", environmentId, applicationId, routeId }),
    routeType: match === undefined ? RouteType.DEFAULT : RouteType.URI_PATH,
    sourcePath: match?.sourcePath,
    methods: match?.methods ?? [],
    includeChildPaths: match?.includeChildPaths,
    appendSourcePath: match?.appendSourcePath,
    pathResourceToId: match === undefined ? {} : pathResourceIds(applicationId, match),
    ownerAccountId,
    createdByAccountId: record.createdByAccountId,
    state: record.state,
    error: record.error,
    tags: record.tags,
    createdTime: record.createdTime,
    lastUpdatedTime: record.lastUpdatedTime,
  } satisfies MessageInitShape<typeof RouteSummarySchema>;
};
