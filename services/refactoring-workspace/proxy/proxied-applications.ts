import type { RouteRule } from "./route-tree.ts";
import { RouteTree } from "./route-tree.ts";
import type { TargetUrl } from "./request-path.ts";
import { parseTargetUrl } from "./request-path.ts";

/** The target of a route. */
export type RouteTarget = {
  readonly routeId: string;
  readonly serviceId: string;
  /** Whether the source path is forwarded as well. The default route always forwards the whole path. */
  readonly appendSourcePath: boolean;
  /** The source path, or undefined for the default route. */
  readonly sourcePath: string | undefined;
  /** The share of clients whose requests it takes, in percent; undefined: those of all. */
  readonly trafficPercentage: number | undefined;
} & (
  | {
      readonly kind: "url";
      readonly url: TargetUrl;
      /** URL of the application's private link, if it has one. */
      readonly privateLink: string | undefined;
    }
  | { readonly kind: "function"; readonly functionArn: string }
);

/** The endpoint of a service: a URL or a function's ARN. */
export type EndpointPlan = { readonly url: string } | { readonly functionArn: string };

/** One active route, as the control plane stores it. */
export interface RoutePlan {
  readonly routeId: string;
  readonly serviceId: string;
  readonly endpoint: EndpointPlan;
  /** Undefined for the default route. */
  readonly match:
    | {
        readonly sourcePath: string;
        readonly methods: readonly string[];
        readonly includeChildPaths: boolean;
        readonly appendSourcePath: boolean;
        /** Unset: it takes the requests of all clients. */
        readonly trafficPercentage?: number | undefined;
      }
    | undefined;
}

/** One application with its active routes, as the control plane stores it. */
export interface ApplicationPlan {
  readonly applicationId: string;
  readonly accountId: string;
  /** Identifies the application in its address. */
  readonly apiGatewayId: string;
  readonly stageName: string;
  /** URL of its private link. Unset: it has none. */
  readonly privateLink?: string | undefined;
  readonly routes: readonly RoutePlan[];
}

/** One application, compiled for routing. Immutable: a change results in a new one. */
export interface ProxiedApplication {
  readonly applicationId: string;
  readonly accountId: string;
  readonly apiGatewayId: string;
  readonly stageName: string;
  readonly tree: RouteTree<RouteTarget>;
  /** Whether a route takes the requests of a share of clients. */
  readonly hasShares: boolean;
}

/** Compiles an application for routing. */
export const compileApplication = (plan: ApplicationPlan): ProxiedApplication => {
  const rules: RouteRule<RouteTarget>[] = [];
  let fallback: RouteTarget | undefined;
  for (const route of plan.routes) {
    const target = compileTarget(route, plan.privateLink);
    if (route.match === undefined) fallback = target;
    else rules.push({ ...route.match, target });
  }
  const { applicationId, accountId, apiGatewayId, stageName } = plan;
  const hasShares = rules.some(({ target }) => target.trafficPercentage !== undefined);
  return { applicationId, accountId, apiGatewayId, stageName, tree: new RouteTree(rules, fallback), hasShares };
};

const compileTarget = (
  { routeId, serviceId, endpoint, match }: RoutePlan,
  privateLink: string | undefined,
): RouteTarget => {
  const facts = {
    routeId,
    serviceId,
    appendSourcePath: match?.appendSourcePath ?? true,
    sourcePath: match?.sourcePath,
    trafficPercentage: match?.trafficPercentage,
  };
  return "url" in endpoint
    ? { ...facts, kind: "url", url: parseTargetUrl(endpoint.url), privateLink }
    : { ...facts, kind: "function", functionArn: endpoint.functionArn };
};

/** The identifiers of an application: in the store, and in its address. */
export interface ApplicationName {
  readonly environmentId: string;
  readonly applicationId: string;
  readonly apiGatewayId: string;
}

/** Reads one application's plan; undefined if it was deleted. */
export type ReadPlan = (environmentId: string, applicationId: string) => Promise<ApplicationPlan | undefined>;

/** A change that was announced and has not been read. */
interface Change {
  readonly name: ApplicationName;
  reading: Promise<ApplicationPlan | undefined> | undefined;
}

/**
 * The applications that the proxy serves, by the id in their address. A change is announced with `refresh`; the next
 * request for the application waits until it is read, so that no request is routed by a state before an answered
 * change.
 */
export class ProxiedApplications {
  readonly #readPlan: ReadPlan;
  readonly #applications = new Map<string, ProxiedApplication>();
  readonly #changes = new Map<string, Change>();

  constructor(readPlan: ReadPlan) {
    this.#readPlan = readPlan;
  }

  /** Sets an application that was just read. */
  put(plan: ApplicationPlan): void {
    this.#applications.set(plan.apiGatewayId, compileApplication(plan));
  }

  /** Announces that an application was created or changed. Must be called after the commit and before the answer. */
  refresh(name: ApplicationName): void {
    this.#changes.set(name.apiGatewayId, { name, reading: undefined });
  }

  /** Removes a deleted application. */
  remove(apiGatewayId: string): void {
    this.#changes.delete(apiGatewayId);
    this.#applications.delete(apiGatewayId);
  }

  /**
   * The application at an address: at once, or after the announced changes are read. Rejects if they cannot be read.
   */
  find(apiGatewayId: string): ProxiedApplication | undefined | Promise<ProxiedApplication | undefined> {
    return this.#changes.has(apiGatewayId) ? this.#readChanges(apiGatewayId) : this.#applications.get(apiGatewayId);
  }

  async #readChanges(apiGatewayId: string): Promise<ProxiedApplication | undefined> {
    for (;;) {
      const change = this.#changes.get(apiGatewayId);
      if (change === undefined) return this.#applications.get(apiGatewayId);
      const { environmentId, applicationId } = change.name;
      change.reading ??= this.#readPlan(environmentId, applicationId);
      let plan: ApplicationPlan | undefined;
      try {
        plan = await change.reading;
      } catch (error) {
        change.reading = undefined;
        throw error;
      }
      // This plan may lack a change that was announced meanwhile, so it is read again.
      if (this.#changes.get(apiGatewayId) !== change) continue;
      this.#changes.delete(apiGatewayId);
      if (plan === undefined) this.#applications.delete(apiGatewayId);
      else this.put(plan);
    }
  }
}
