import type { IncomingMessage } from "node:http";

import { peerNetwork } from "../../kit/server/flooding-peers.ts";
import { isInShare } from "../domain/traffic-share.ts";
import { RefusedError, refusals } from "./refusal.ts";
import { hostOf } from "./request-head.ts";
import type { RequestPath, TargetUrl } from "./request-path.ts";
import { forwardedTarget, parseRequestPath, parseRequestTarget } from "./request-path.ts";
import type { ProxiedApplication, ProxiedApplications, RouteTarget } from "./proxied-applications.ts";

/** A request with its application and route. */
export interface Routed {
  readonly application: ProxiedApplication;
  readonly target: RouteTarget;
  /** Segments after application and stage, as received and decoded. */
  readonly raw: readonly string[];
  readonly decoded: readonly string[];
  /** How many of them the source path matched. */
  readonly usedSegments: number;
  readonly endsWithSlash: boolean;
  /** With its `?`, or empty. */
  readonly query: string;
}

/**
 * Finds the route of a request: by the first label of its host where that names an application, else by the first
 * segment of its path. Throws, or rejects with, RefusedError and UnsafePathError.
 */
export const routeRequest = (
  routes: ProxiedApplications,
  request: IncomingMessage,
  clientAddress: string,
): Routed | Promise<Routed> => {
  const { path, query } = parseRequestTarget(request.url ?? "/");
  const asked = { method: request.method ?? "GET", path: parseRequestPath(path), query, clientAddress };
  const label = firstLabel(hostOf(request));
  const byPath = (): Routed | Promise<Routed> => {
    const found = routes.find(asked.path.raw[0] ?? "");
    return found instanceof Promise ? found.then((each) => routeWithin(each, 2, asked)) : routeWithin(found, 2, asked);
  };
  const byHost = label === undefined ? undefined : routes.find(label);
  const choose = (found: ProxiedApplication | undefined) =>
    found === undefined ? byPath() : routeWithin(found, 1, asked);
  return byHost instanceof Promise ? byHost.then(choose) : choose(byHost);
};

/** The path and query for a service: the part after the source path, or the whole path if the route says so. */
export const sentTarget = (
  routed: Pick<Routed, "target" | "usedSegments" | "raw" | "endsWithSlash" | "query">,
  url: TargetUrl,
): string => {
  const { raw, usedSegments, target, endsWithSlash, query } = routed;
  return forwardedTarget(url, target.appendSourcePath ? raw : raw.slice(usedSegments), endsWithSlash, query);
};

/** The part of a host before its first dot, when there is a dot. */
const firstLabel = (host: string): string | undefined => {
  const at = host.indexOf(".");
  return at > 0 ? host.slice(0, at).toLowerCase() : undefined;
};

/** What of a request decides on its route. */
interface Asked {
  readonly method: string;
  readonly path: RequestPath;
  readonly query: string;
  readonly clientAddress: string;
}

const routeWithin = (
  application: ProxiedApplication | undefined,
  prefixSegments: number,
  { method, path, query, clientAddress }: Asked,
): Routed => {
  if (application === undefined || path.raw[prefixSegments - 1] !== application.stageName)
    throw new RefusedError(refusals.unknownApplication);
  const decoded = path.decoded.slice(prefixSegments);
  const { applicationId, tree, hasShares } = application;
  const network = hasShares ? peerNetwork(clientAddress) : "";
  const takes = hasShares ? (target: RouteTarget): boolean => isInShare(target, applicationId, network) : undefined;
  const found = tree.match(method, decoded, takes);
  if (found === undefined) throw new RefusedError(refusals.noRoute, applicationId);
  return {
    application,
    target: found.target,
    usedSegments: found.usedSegments,
    raw: path.raw.slice(prefixSegments),
    decoded,
    endsWithSlash: path.endsWithSlash,
    query,
  };
};
