import type { RouteRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import type { CreateRouteRequest } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { RouteState, RouteType } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { fault } from "../faults.ts";
import {
  findDefaultRoute,
  findOverlap,
  isChanging,
  isOrBecomesActive,
  methodName,
  routeStateName,
  wantsTraffic,
} from "./route-rules.ts";

/**
 * Refuses a new route that contradicts the application's other routes. Throws, in this order, for a default route:
 * (1) ROUTE_EXISTS; for any other: (1) FIRST_ROUTE_NOT_DEFAULT, (2) ROUTE_EXISTS, (3) DEFAULT_ROUTE_NOT_ACTIVE.
 */
export const refuseMismatch = (request: CreateRouteRequest, others: readonly RouteRecord[]): void => {
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

/** Refuses to change a route whose health check runs. Throws ROUTE_CHANGING. */
export const refuseUpdateWhileChanging = (route: RouteRecord): void => {
  if (isChanging(route))
    throw fault(ErrorReason.ROUTE_CHANGING, { route_id: route.routeId, state: routeStateName(route.state) });
};

/** Refuses to activate a route by path while the default route is not active. Throws DEFAULT_ROUTE_NOT_ACTIVE. */
export const refuseWithoutDefault = (route: RouteRecord, all: readonly RouteRecord[]): void => {
  if (route.match !== undefined && findDefaultRoute(all)?.state !== RouteState.ACTIVE)
    throw fault(ErrorReason.DEFAULT_ROUTE_NOT_ACTIVE, { application_id: route.applicationId });
};

/** Refuses to deactivate the default route while another route is active. Throws OTHER_ROUTES_ACTIVE. */
export const refuseUnlessLastActive = (route: RouteRecord, all: readonly RouteRecord[]): void => {
  const active = findOtherActive(route, all);
  if (active !== undefined) throw fault(ErrorReason.OTHER_ROUTES_ACTIVE, { route_id: active.routeId });
};

/** Refuses to delete a route whose health check runs. Throws RESOURCE_BUSY. */
export const refuseDeletionWhileChanging = (route: RouteRecord): void => {
  if (isChanging(route))
    throw fault(ErrorReason.RESOURCE_BUSY, {
      resource_type: "ROUTE",
      resource_id: route.routeId,
      state: routeStateName(route.state),
    });
};

/** Refuses to delete the default route while another route is active. Throws RESOURCE_IN_USE. */
export const refuseUsedDefault = (route: RouteRecord, all: readonly RouteRecord[]): void => {
  const active = findOtherActive(route, all);
  if (active !== undefined)
    throw fault(ErrorReason.RESOURCE_IN_USE, {
      resource_type: "ROUTE",
      resource_id: route.routeId,
      used_by: `the active route ${active.routeId}`,
    });
};

/**
 * For the default route: another route that is active or becoming active. Routes by path do not depend on each other.
 */
const findOtherActive = (route: RouteRecord, all: readonly RouteRecord[]): RouteRecord | undefined =>
  route.match === undefined ? all.find((each) => each.routeId !== route.routeId && isOrBecomesActive(each)) : undefined;

const routeExists = (route: RouteRecord, requests: string): Error =>
  fault(ErrorReason.ROUTE_EXISTS, { resource_type: "ROUTE", resource_id: route.routeId, requests });
