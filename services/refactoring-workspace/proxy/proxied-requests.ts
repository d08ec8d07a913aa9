import { growingCache } from "../../kit/collections/growing-cache.ts";
import { accessLines } from "../../kit/log/access-lines.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Metrics } from "../../kit/metrics/metrics.ts";
import { clientGoneStatus, requestMetrics, RequestTally } from "../../kit/metrics/request-tally.ts";
import type { ProxiedClient } from "./proxied-client.ts";
import type { Routed } from "./routing.ts";

/** One request that has ended. */
export interface EndedRequest {
  readonly requestId: string;
  readonly method: string;
  /** The request target: path and query, or a whole URL. */
  readonly target: string;
  readonly client: ProxiedClient;
  /** Undefined: it was refused before its route was found. */
  readonly routed: Routed | undefined;
  /** The application of a request that has no route. Unset: it was not found, or the route was. */
  readonly unroutedId?: string | undefined;
  /** Undefined: its client went away before it was answered. */
  readonly status: number | undefined;
  /** The connection ended before the answer did. */
  readonly isCut: boolean;
  /** From its head to the end of its answer. */
  readonly ms: number;
  /** It became a tunnel, which lasts as long as its ends like. */
  readonly isTunnel: boolean;
}

/** The routes with counts of their own: those that were asked last. Their labels take some kilobytes of a page. */
const routesMax = 1_000;

/** Longer texts are cut in the log and in labels. */
const textLengthMax = { path: 2_048, label: 200 };

/** The counts of one route. */
type RouteTally = RequestTally<"application" | "route" | "service" | "path">;

const total = {
  name: "proxied_requests_total",
  help: "Requests for applications that have ended, by application, route, service, path and status.",
};
const seconds = {
  name: "proxied_request_duration_seconds",
  help: "How long requests for applications took, from their head to the end of the answer, in seconds.",
};

/** Counts the requests of applications by their routes, and writes a line of each into the log. */
export class ProxiedRequests {
  readonly #log: ReturnType<typeof accessLines>;
  readonly #tallies = growingCache<string, RouteTally>(routesMax);

  /** Unset metrics: nothing shows the counts. */
  constructor(log: Logger, metrics: Metrics | undefined) {
    this.#log = accessLines(log, "proxied request");
    if (metrics !== undefined) requestMetrics(metrics, total, seconds, () => this.#tallies.values());
  }

  /** Notes a request that has ended. */
  note(ended: EndedRequest): void {
    const { routed, unroutedId, status = clientGoneStatus, isCut, ms, isTunnel } = ended;
    const application = routed?.application.applicationId ?? unroutedId;
    this.#tallyOf(routed, application).note(status, isTunnel ? undefined : ms);
    this.#log({
      method: ended.method,
      path: pathOf(ended.target),
      application,
      route: routed?.target.routeId,
      service: routed?.target.serviceId,
      status,
      isCut: isCut ? true : undefined,
      ms: Math.round(ms * 100) / 100,
      client: ended.client.address,
      requestId: ended.requestId,
    });
  }

  #tallyOf(routed: Routed | undefined, application = ""): RouteTally {
    // The ids of routes and applications differ, and each is one's alone.
    const key = routed?.target.routeId ?? application;
    let tally = this.#tallies.get(key);
    if (tally === undefined) {
      tally = new RequestTally(labelsOf(routed, application));
      this.#tallies.set(key, tally);
    }
    return tally;
  }
}

/** The labels of a route; empty ones for requests without one. The path of the default route is `/`. */
const labelsOf = (routed: Routed | undefined, application: string): RouteTally["labels"] => ({
  application,
  route: routed?.target.routeId ?? "",
  service: routed?.target.serviceId ?? "",
  path: routed === undefined ? "" : (routed.target.sourcePath ?? "/").slice(0, textLengthMax.label),
});

/** The path of a request target. What follows it may hold what only the service may know. */
const pathOf = (target: string): string => {
  const at = target.search(/[?#]/);
  return (at === -1 ? target : target.slice(0, at)).slice(0, textLengthMax.path);
};
