/**
 * Which route takes a request. ExplainRoute refuses (1) a request that the proxy refuses before it looks at routes, (2)
 * an environment, (3) an application that does not exist. It reads the routes as of one instant, compiles those that
 * are active as the proxy does, and changes and sends nothing.
 */
import { isIP } from "node:net";

import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { RouteType } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { peerNetwork } from "../../kit/server/flooding-peers.ts";
import type { Operation } from "../application.ts";
import { explainPassedRoutes } from "../domain/route-explanation.ts";
import { pathParameters } from "../domain/source-path.ts";
import type { SharedRoute } from "../domain/traffic-share.ts";
import { isInShare } from "../domain/traffic-share.ts";
import { fault } from "../faults.ts";
import { planOf } from "../proxy/plans.ts";
import { compileApplication } from "../proxy/proxied-applications.ts";
import type { RouteTarget } from "../proxy/proxied-applications.ts";
import { servesMethod } from "../proxy/request-head.ts";
import type { RequestPath } from "../proxy/request-path.ts";
import { parseRequestPath, parseRequestTarget, UnsafePathError } from "../proxy/request-path.ts";
import { sentTarget } from "../proxy/routing.ts";
import { getApplication } from "../store/application.ts";
import { allRoutesOf } from "../store/route.ts";

/** Routes in an answer that do not take the request. */
const passedMax = 100;

/** Explains which route takes a request. */
export const explainRoute: Operation<"explainRoute"> = async (request, { app }) => {
  const { method = "GET", clientAddress } = request;
  const { path, query } = readRequest(method, request.path);
  if (clientAddress !== undefined && isIP(clientAddress) === 0) throw notForwarded("the client's address is none");
  const { plan, routes } = await app.store.read(async (reader) => {
    const application = await getApplication(reader, request);
    const { environmentId, applicationId } = application;
    const all = await allRoutesOf(reader, environmentId, applicationId);
    return { plan: await planOf(reader, application, () => undefined, all), routes: all };
  });
  const segments = path.decoded;
  const isTaken = (route: SharedRoute): boolean =>
    clientAddress === undefined
      ? route.trafficPercentage !== 0
      : isInShare(route, request.applicationIdentifier, peerNetwork(clientAddress));
  const found = compileApplication(plan).tree.match(method, segments, isTaken);
  const passed = explainPassedRoutes(routes, found?.target.routeId, { method, segments, isTaken });
  return {
    ...(found && { route: takingRoute(found.target, found.usedSegments, path, query) }),
    otherRoutes: passed.slice(0, passedMax),
  };
};

/** Reads a request as the proxy does. Throws REQUEST_NOT_FORWARDED. */
const readRequest = (method: string, target: string): { readonly path: RequestPath; readonly query: string } => {
  if (!servesMethod(method)) throw notForwarded(`the method ${method} is not served`);
  try {
    const { path, query } = parseRequestTarget(target);
    return { path: parseRequestPath(path), query };
  } catch (error) {
    if (error instanceof UnsafePathError) throw notForwarded(error.message);
    throw error;
  }
};

const notForwarded = (problem: string): Error => fault(ErrorReason.REQUEST_NOT_FORWARDED, { problem });

const takingRoute = (target: RouteTarget, usedSegments: number, path: RequestPath, query: string) => {
  const { routeId, serviceId, sourcePath, trafficPercentage } = target;
  const facts = {
    routeId,
    serviceId,
    routeType: sourcePath === undefined ? RouteType.DEFAULT : RouteType.URI_PATH,
    ...(trafficPercentage !== undefined && { trafficPercentage }),
    ...(sourcePath !== undefined && { sourcePath, pathParameters: pathParameters(sourcePath, path.decoded) }),
  };
  if (target.kind === "function") return { ...facts, functionArn: target.functionArn };
  const { raw, endsWithSlash } = path;
  const url = target.url.origin + sentTarget({ target, usedSegments, raw, endsWithSlash, query }, target.url);
  return { ...facts, url };
};
