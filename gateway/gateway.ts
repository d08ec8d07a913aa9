import type { Clock } from "../services/kit/clock/clock.ts";
import { checkRoutes } from "../services/kit/contract/routes.ts";
import type { AccessKeys } from "../services/kit/identity/access-keys.ts";
import type { Minter } from "../services/kit/identity/tokens.ts";
import type { Ids } from "../services/kit/ids/ids.ts";
import type { Logger } from "../services/kit/log/log.ts";
import type { AnsweredRequest } from "../services/kit/metrics/http-metrics.ts";
import { httpMetrics } from "../services/kit/metrics/http-metrics.ts";
import type { Metrics } from "../services/kit/metrics/metrics.ts";
import { Protocol } from "../gen/quartet/traits/v1/api_pb.ts";
import type { OriginSource } from "./cross-origin/origin-source.ts";
import { dialectsOf } from "./dialects/dialects.ts";
import type { GatewayLimits } from "./http/limits.ts";
import { defaultGatewayLimits } from "./http/limits.ts";
import type { Identity, IdentifyOptions } from "./pipeline/identify.ts";
import type { ServiceBinding, ServiceConnection } from "./service-binding.ts";
import { bindService } from "./service-binding.ts";

/** What a gateway is made from. */
export interface GatewayOptions {
  readonly connections: readonly ServiceConnection[];
  readonly accessKeys: AccessKeys;
  readonly minter: Minter;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Host names of the gateway itself; what stands before one of them names an API or a bucket. */
  readonly hosts: readonly string[];
  /** The region that signatures must name. Unset: any. */
  readonly region?: string | undefined;
  /** The word of the documented dialect. */
  readonly brandWord: string;
  readonly limits?: Partial<GatewayLimits>;
  /** What each API says about scripts of other origins, by its name. An API without one allows none. */
  readonly originSources?: ReadonlyMap<string, OriginSource>;
  /** Gets the metrics of requests, and is shown on the admin port. Unset: nothing is counted. */
  readonly metrics?: Metrics;
}

/** A gateway, ready to answer. */
export interface Gateway extends IdentifyOptions {
  readonly bindings: ReadonlyMap<string, ServiceBinding>;
  readonly accessKeys: AccessKeys;
  readonly minter: Minter;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly region: string | undefined;
  readonly limits: GatewayLimits;
  readonly originSources: ReadonlyMap<string, OriginSource>;
  readonly metrics: Metrics | undefined;
  readonly countRequest: ((request: AnsweredRequest) => void) | undefined;
  /** Told in XML answers, so that a line of a log can be found from an answer. */
  readonly hostId: string;
  /** Whose words are used for a request that cannot even be identified. */
  readonly fallbackIdentity: Identity;
}

/** Makes a gateway. Throws ContractError when the services' routes and members cannot be served without guessing. */
export const createGateway = (options: GatewayOptions): Gateway => {
  checkRoutes(options.connections.map(({ service }) => service));
  const list = options.connections.map(bindService);
  const bindings = new Map(list.map((binding) => [binding.api.name, binding]));
  const dialects = dialectsOf(options.brandWord);
  const fallback = bindings.get("object-storage") ?? list[0];
  if (fallback === undefined) throw new Error("a gateway needs a service");
  return {
    apis: new Set(bindings.keys()),
    targetApi: list.find(({ api }) => api.protocol === Protocol.TARGET_JSON)?.api.name,
    dialects,
    hosts: options.hosts.map((host) => host.toLowerCase()).toSorted((a, b) => b.length - a.length),
    bindings,
    accessKeys: options.accessKeys,
    minter: options.minter,
    clock: options.clock,
    ids: options.ids,
    log: options.log,
    region: options.region,
    limits: { ...defaultGatewayLimits, ...options.limits },
    originSources: options.originSources ?? new Map(),
    metrics: options.metrics,
    countRequest: options.metrics && httpMetrics(options.metrics),
    hostId: Buffer.from(options.ids.hex(48), "hex").toString("base64"),
    fallbackIdentity: { api: fallback.api.name, spelling: dialects.fallback, path: "/" },
  };
};

/** The binding of an identified API; an API that no service serves is told in the words of the fallback. */
export const bindingOf = (gateway: Gateway, identity: Identity): ServiceBinding =>
  gateway.bindings.get(identity.api) ?? gateway.bindings.get(gateway.fallbackIdentity.api)!;
