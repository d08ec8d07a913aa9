import type { CreateRouteRequest } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import type { HttpMethod } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import {
  HttpMethodSchema,
  RouteActivationState,
  RouteState,
  RouteType,
} from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import type { RouteRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { hasDotSegment, parseSourcePath, sourcePathShape } from "./source-path.ts";

/** Why the settings of a new route are not valid; undefined if they are. */
export const findRouteProblem = (request: CreateRouteRequest): string | undefined => {
  const { uriPathRoute, defaultRoute } = request;
  if (request.routeType === RouteType.DEFAULT)
    return uriPathRoute === undefined ? undefined : "UriPathRoute is given for the type DEFAULT";
  if (defaultRoute !== undefined) return "DefaultRoute is given for the type URI_PATH";
  if (uriPathRoute === undefined) return "UriPathRoute is missing for the type URI_PATH";
  if (hasDotSegment(uriPathRoute.sourcePath)) return "SourcePath has a dot segment";
  const names = parseSourcePath(uriPathRoute.sourcePath).flatMap((each) =>
    each.kind === "parameter" ? [each.name] : [],
  );
  if (new Set(names).size !== names.length) return "SourcePath names a parameter twice";
  return undefined;
};

/** Whether a new route is to be active: a default route unless the request says otherwise, others if it says so. */
export const wantsTraffic = (request: CreateRouteRequest): boolean =>
  request.routeType === RouteType.DEFAULT
    ? request.defaultRoute?.activationState !== RouteActivationState.INACTIVE
    : request.uriPathRoute?.activationState === RouteActivationState.ACTIVE;

/** Whether a route is active or becoming active. */
export const isOrBecomesActive = (route: RouteRecord): boolean =>
  route.state === RouteState.ACTIVE || isChanging(route);

/** Whether the health check of a route's service runs. */
export const isChanging = (route: RouteRecord): boolean =>
  route.state === RouteState.CREATING || route.state === RouteState.UPDATING;

/** The default route among an application's routes. */
export const findDefaultRoute = (routes: readonly RouteRecord[]): RouteRecord | undefined =>
  routes.find((route) => route.match === undefined);

/** The first route that matches requests of this path and these methods, with the same precedence. */
export const findOverlap = (
  routes: readonly RouteRecord[],
  sourcePath: string,
  methods: readonly HttpMethod[],
): RouteRecord | undefined => {
  const shape = sourcePathShape(sourcePath);
  return routes.find(
    (route) =>
      route.match !== undefined &&
      sourcePathShape(route.match.sourcePath) === shape &&
      methodsOverlap(route.match.methods, methods),
  );
};

/** A route that names a method has precedence over one for all methods, so only two of the same kind overlap. */
const methodsOverlap = (some: readonly HttpMethod[], others: readonly HttpMethod[]): boolean =>
  some.length === 0 || others.length === 0
    ? some.length === others.length
    : some.some((method) => others.includes(method));

/** `GET` and so on. */
export const methodName = (method: HttpMethod): string =>
  HttpMethodSchema.value[method]?.name.replace(/^HTTP_METHOD_/, "") ?? "";

/** `ACTIVE` and so on, as answers and refusals spell it. */
export const routeStateName = (state: RouteState): string =>
  Object.entries(RouteState).find(([, number]) => number === state)?.[0] ?? "";
