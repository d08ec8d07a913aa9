import type { RouteRule } from "./route-tree.ts";
import { RouteTree } from "./route-tree.ts";
import type { TargetUrl } from "./request-path.ts";
import { parseTargetUrl } from "./request-path.ts";

/** Where a route sends its requests. */
export type RouteTarget = {
  readonly routeId: string;
  readonly serviceId: string;
  /** Whether the source path is sent on as well. The default route sends everything on in any case. */
  readonly appendSourcePath: boolean;
  /** The source path, or undefined for the default route. */
  readonly sourcePath: string | undefined;
} & ({ readonly kind: "url"; readonly url: TargetUrl } | { readonly kind: "function"; readonly functionArn: string });

/** Where a service is: a URL or a function's ARN. */
export type EndpointPlan = { readonly url: string } | { readonly functionArn: string };

/** One active route, as the control plane knows it. */
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
      }
    | undefined;
}

/** One application with its active routes, as the control plane knows it. */
export interface ApplicationPlan {
  readonly applicationId: string;
  readonly accountId: string;
  /** Names the application in its address. */
  readonly apiGatewayId: string;
  readonly stageName: string;
  readonly routes: readonly RoutePlan[];
}

/** One application, ready to route. Never changed: a change makes another. */
export interface ProxiedApplication {
  readonly applicationId: string;
  readonly accountId: string;
  readonly apiGatewayId: string;
  readonly stageName: string;
  readonly tree: RouteTree<RouteTarget>;
}

/** Makes an application ready to route. */
export const compileApplication = (plan: ApplicationPlan): ProxiedApplication => {
  const rules: RouteRule<RouteTarget>[] = [];
  let fallback: RouteTarget | undefined;
  for (const route of plan.routes) {
    const target = compileTarget(route);
    if (route.match === undefined) fallback = target;
    else rules.push({ ...route.match, target });
  }
  const { applicationId, accountId, apiGatewayId, stageName } = plan;
  return { applicationId, accountId, apiGatewayId, stageName, tree: new RouteTree(rules, fallback) };
};

const compileTarget = ({ routeId, serviceId, endpoint, match }: RoutePlan): RouteTarget => {
  const facts = {
    routeId,
    serviceId,
    appendSourcePath: match?.appendSourcePath ?? true,
    sourcePath: match?.sourcePath,
  };
  return "url" in endpoint
    ? { ...facts, kind: "url", url: parseTargetUrl(endpoint.url) }
    : { ...facts, kind: "function", functionArn: endpoint.functionArn };
};

/** The names by which an application is found: in the store, and in its address. */
export interface ApplicationName {
  readonly environmentId: string;
  readonly applicationId: string;
  readonly apiGatewayId: string;
}

/** Reads one application's plan; undefined when it is gone. */
export type ReadPlan = (environmentId: string, applicationId: string) => Promise<ApplicationPlan | undefined>;

/** A change that was announced and not yet read. */
interface Change {
  readonly name: ApplicationName;
  reading: Promise<ApplicationPlan | undefined> | undefined;
}

/**
 * The applications that the proxy serves, by the id in their address. A change is announced with `refresh`; the next
 * request for the application waits until it is read, so none is routed by what was before an answered change.
 */
export class RouteTable {
  readonly #readPlan: ReadPlan;
  readonly #applications = new Map<string, ProxiedApplication>();
  readonly #changes = new Map<string, Change>();

  constructor(readPlan: ReadPlan) {
    this.#readPlan = readPlan;
  }

  /** Takes over an application that was just read. */
  put(plan: ApplicationPlan): void {
    this.#applications.set(plan.apiGatewayId, compileApplication(plan));
  }

  /** Says that an application was created or changed. To be called after the commit and before its answer. */
  refresh(name: ApplicationName): void {
    this.#changes.set(name.apiGatewayId, { name, reading: undefined });
  }

  /** Says that an application was deleted. */
  remove(apiGatewayId: string): void {
    this.#changes.delete(apiGatewayId);
    this.#applications.delete(apiGatewayId);
  }

  /** The application at an address: at once, or when the changes announced before are read. Rejects when they cannot be. */
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
      // A change announced meanwhile is not in this plan, so it is read as well.
      if (this.#changes.get(apiGatewayId) !== change) continue;
      this.#changes.delete(apiGatewayId);
      if (plan === undefined) this.#applications.delete(apiGatewayId);
      else this.put(plan);
    }
  }
}
