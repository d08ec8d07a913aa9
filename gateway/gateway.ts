import type { Socket } from "node:net";

import type { Clock } from "../services/kit/clock/clock.ts";
import type { AccessKeys } from "../services/kit/identity/access-keys.ts";
import type { Minter } from "../services/kit/identity/tokens.ts";
import { TrustedProxies } from "../services/kit/identity/trusted-proxies.ts";
import type { Ids } from "../services/kit/ids/ids.ts";
import { accessLines } from "../services/kit/log/access-lines.ts";
import type { AccessLineMembers } from "../services/kit/log/access-lines.ts";
import type { Logger } from "../services/kit/log/log.ts";
import type { AnsweredRequest } from "../services/kit/metrics/http-metrics.ts";
import { httpMetrics } from "../services/kit/metrics/http-metrics.ts";
import type { Metrics } from "../services/kit/metrics/metrics.ts";
import { Protocol } from "../gen/quartet/traits/v1/api_pb.ts";
import type { ApiBinding, ServiceConnection } from "./api-binding.ts";
import { bindApi } from "./api-binding.ts";
import type { OriginSource } from "./cross-origin/origin-source.ts";
import type { Dialects } from "./dialects/dialects.ts";
import type { KeyUse } from "./identity/key-uses.ts";
import { dialectsOf } from "./dialects/dialects.ts";
import { ByteBudget } from "./http/byte-budget.ts";
import { ReadingTurns } from "./http/reading-turns.ts";
import type { GatewayLimits } from "./http/limits.ts";
import { defaultGatewayLimits } from "./http/limits.ts";
import type { Websites } from "./website/site-source.ts";
import type { VersionTwoRule } from "./signature/version-two.ts";

/** The parts and settings of a gateway. */
export interface GatewayOptions {
  readonly connections: readonly ServiceConnection[];
  readonly accessKeys: AccessKeys;
  readonly minter: Minter;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Host names of the gateway itself; the label before one of them names an API or a bucket. */
  readonly hosts: readonly string[];
  /** The websites of buckets. Unset: there are none. */
  readonly websites?: Websites;
  /** The URL by which functions reach the gateway, without a slash at its end. Unset: none, and they cannot. */
  readonly publicUrl?: () => string;
  /** The region that signatures must name. Unset: any. */
  readonly region?: string | undefined;
  /** Which signatures of version 2 object storage accepts. Unset: all. */
  readonly versionTwo?: VersionTwoRule | undefined;
  /** The word of the documented dialect. */
  readonly brandWord: string;
  readonly limits?: Partial<GatewayLimits>;
  /** The rules of each API for scripts of other origins, by the API's name. An API without a source allows none. */
  readonly originSources?: ReadonlyMap<string, OriginSource>;
  /** Told of each use of an access key whose signature was valid. Unset: nobody is. */
  readonly noteKeyUse?: (use: KeyUse) => void;
  /** Told of each connection on which a request had a valid signature in its header. Unset: nobody is. */
  readonly noteCaller?: (connection: Socket) => void;
  /** The proxies that say where clients call from. Unset: none. */
  readonly trustedProxies?: TrustedProxies;
  /** Receives the metrics of requests; the admin port serves it. Unset: nothing is counted. */
  readonly metrics?: Metrics;
}

/** A gateway, ready to answer. */
export interface Gateway {
  /** The APIs by name, for example `object-storage`. */
  readonly bindings: ReadonlyMap<string, ApiBinding>;
  /** The API of requests with a target header; undefined: no service has one. */
  readonly targetBinding: ApiBinding | undefined;
  /** The API of requests that name none: the one that declares it, else the first. */
  readonly fallbackBinding: ApiBinding;
  readonly dialects: Dialects;
  /** Lower case, the longest first. */
  readonly hosts: readonly string[];
  readonly accessKeys: AccessKeys;
  readonly minter: Minter;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Writes the line of a request that was answered to the access log. */
  readonly logRequest: (members: AccessLineMembers) => void;
  readonly websites: Websites | undefined;
  readonly publicUrl: () => string;
  readonly region: string | undefined;
  readonly versionTwo: VersionTwoRule | undefined;
  readonly limits: GatewayLimits;
  /** Of the bodies that are not streamed. */
  readonly bodiesBudget: ByteBudget;
  readonly readingTurns: ReadingTurns;
  readonly originSources: ReadonlyMap<string, OriginSource>;
  readonly noteKeyUse: ((use: KeyUse) => void) | undefined;
  readonly noteCaller: ((connection: Socket) => void) | undefined;
  readonly trustedProxies: TrustedProxies;
  readonly metrics: Metrics | undefined;
  readonly countRequest: ((request: AnsweredRequest) => void) | undefined;
  /** Sent in XML answers, so that an answer leads to the log of the gateway that sent it. */
  readonly hostId: string;
}

/** Creates a gateway. Throws an Error if there is no service. */
export const createGateway = (options: GatewayOptions): Gateway => {
  const list = options.connections.map(bindApi);
  const bindings = new Map(list.map((binding) => [binding.api.name, binding]));
  const fallbackBinding = list.find(({ api }) => api.isFallback) ?? list[0];
  if (fallbackBinding === undefined) throw new Error("a gateway needs a service");
  const limits = { ...defaultGatewayLimits, ...options.limits };
  return {
    bindings,
    targetBinding: list.find(({ api }) => api.protocol === Protocol.TARGET_JSON),
    fallbackBinding,
    dialects: dialectsOf(options.brandWord),
    hosts: options.hosts.map((host) => host.toLowerCase()).toSorted((a, b) => b.length - a.length),
    accessKeys: options.accessKeys,
    minter: options.minter,
    clock: options.clock,
    ids: options.ids,
    log: options.log,
    logRequest: accessLines(options.log, "request"),
    websites: options.websites,
    publicUrl: options.publicUrl ?? (() => ""),
    region: options.region,
    versionTwo: options.versionTwo,
    limits,
    bodiesBudget: new ByteBudget(limits.bodiesBytesMax),
    readingTurns: new ReadingTurns(),
    originSources: options.originSources ?? new Map(),
    noteKeyUse: options.noteKeyUse,
    noteCaller: options.noteCaller,
    trustedProxies: options.trustedProxies ?? new TrustedProxies(),
    metrics: options.metrics,
    countRequest: options.metrics && httpMetrics(options.metrics),
    hostId: Buffer.from(options.ids.hex(48), "hex").toString("base64"),
  };
};
