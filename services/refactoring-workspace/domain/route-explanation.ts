import type { MessageInitShape } from "@bufbuild/protobuf";

import type { RouteMatch, RouteRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import type { PassedRouteSchema } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { PassedRouteReason, RouteState } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { methodName, routeStateName } from "./route-rules.ts";
import type { SourceSegment } from "./source-path.ts";
import { parseSourcePath, segmentText } from "./source-path.ts";
import type { SharedRoute } from "./traffic-share.ts";

/** A request as it is compared with routes. */
export interface ComparedRequest {
  /** In upper case. */
  readonly method: string;
  /** As the proxy decodes them. */
  readonly segments: readonly string[];
  /** Whether a route takes the client's requests. */
  readonly isTaken: (route: SharedRoute) => boolean;
}

/** The most characters of a request's segment that a message repeats. */
const segmentCharactersMax = 100;

/** What is shown first. */
const order: readonly PassedRouteReason[] = [
  PassedRouteReason.NOT_ACTIVE,
  PassedRouteReason.TRAFFIC,
  PassedRouteReason.METHOD,
  PassedRouteReason.LESS_SPECIFIC,
  PassedRouteReason.PATH,
];

/**
 * Why each route does not take a request, except the one that does: by reason as in ExplainRoute's answer, then by the
 * number of segments that the paths have in common, then as given.
 */
export const explainPassedRoutes = (
  routes: readonly RouteRecord[],
  takingId: string | undefined,
  request: ComparedRequest,
): MessageInitShape<typeof PassedRouteSchema>[] =>
  routes
    .filter(({ routeId }) => routeId !== takingId)
    .map((route) => ({ route, why: explain(route, takingId, request) }))
    .toSorted((a, b) => order.indexOf(a.why.reason) - order.indexOf(b.why.reason) || b.why.common - a.why.common)
    .map(({ route: { routeId, match, state }, why: { reason, message } }) => ({
      routeId,
      state,
      reason,
      message,
      ...(match !== undefined && { sourcePath: match.sourcePath, methods: match.methods }),
    }));

interface Explanation {
  readonly reason: PassedRouteReason;
  readonly message: string;
  /** How many segments from the beginning the paths have in common. */
  readonly common: number;
}

const explain = (
  { match, state }: RouteRecord,
  takingId: string | undefined,
  { method, segments, isTaken }: ComparedRequest,
): Explanation => {
  const { common, problem } = match === undefined ? { common: 0 } : comparePath(match, segments);
  if (problem !== undefined) return { reason: PassedRouteReason.PATH, message: problem, common };
  const methods = match?.methods.map((each) => methodName(each)) ?? [];
  if (methods.length > 0 && !methods.includes(method)) {
    const message = `Its path matches, and it is for ${methods.join(", ")} only.`;
    return { reason: PassedRouteReason.METHOD, message, common };
  }
  if (state !== RouteState.ACTIVE) {
    const message = `It matches, and gets no requests in the state ${routeStateName(state)}.`;
    return { reason: PassedRouteReason.NOT_ACTIVE, message, common };
  }
  if (match !== undefined && !isTaken(match)) {
    const message = `It matches, and takes ${match.trafficPercentage} % of clients, of which this one is none.`;
    return { reason: PassedRouteReason.TRAFFIC, message, common };
  }
  const message = `It matches, and the route ${takingId} is more specific.`;
  return { reason: PassedRouteReason.LESS_SPECIFIC, message, common };
};

/** How far a route's path matches, and where it does not; without a problem it matches. */
const comparePath = (
  { sourcePath, includeChildPaths }: RouteMatch,
  segments: readonly string[],
): { readonly common: number; readonly problem?: string } => {
  const source = parseSourcePath(sourcePath);
  for (const [index, wanted] of source.entries()) {
    const problem = compareSegment(wanted, segments[index], index + 1);
    if (problem !== undefined) return { common: index, problem };
  }
  const goesOn = segments.length > source.length && !includeChildPaths;
  return {
    common: source.length,
    ...(goesOn && { problem: "The request's path goes on, and the route does not include child paths." }),
  };
};

const compareSegment = (wanted: SourceSegment, given: string | undefined, position: number): string | undefined => {
  const name = wanted.kind === "literal" ? `"${wanted.text}"` : `{${wanted.name}}`;
  if (given === undefined) return `The request's path ends before segment ${position}, ${name}.`;
  if (wanted.kind === "literal" && wanted.text !== given)
    return `Segment ${position} of the request's path is ${shown(given)}, and not ${name}.`;
  if (wanted.kind === "parameter" && given === "")
    return `Segment ${position} of the request's path is empty, which ${name} does not match.`;
  return undefined;
};

const shown = (segment: string): string => {
  const text = segmentText(segment);
  return JSON.stringify(text.length > segmentCharactersMax ? `${text.slice(0, segmentCharactersMax)}…` : text);
};
