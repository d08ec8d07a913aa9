import { createHash } from "node:crypto";

import type { GlobalEndpointRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ReplicationState } from "../../../gen/quartet/eventbus/v1/global_endpoint_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import { parseBusArn } from "./arns.ts";

/** The parts of a global endpoint that a request names. */
interface EndpointParts {
  readonly busArns: string[];
  /** The second region. */
  readonly route: string;
  readonly healthCheck: string;
  readonly replication: ReplicationState;
  readonly roleArn: string | undefined;
}

/** Where an endpoint is used. */
interface EndpointScope {
  readonly account: string;
  /** The region of this deployment. */
  readonly region: string;
  readonly hasRegion: (region: string) => boolean;
  readonly hasHealthCheck: (healthCheck: string) => boolean;
}

/** Why an endpoint is refused: a parameter and a reason. */
interface EndpointRefusal {
  readonly parameter: string;
  readonly reason: string;
}

/**
 * Why an endpoint is refused; undefined: it is accepted. It checks, in order:
 * 1. the two buses are buses of the account with one name, in two regions;
 * 2. the second region is that of one of them, and this region that of either;
 * 3. the other region is reached from this one;
 * 4. the health check is known;
 * 5. a role is named, unless replication is disabled.
 */
export const refuseEndpoint = (parts: EndpointParts, scope: EndpointScope): EndpointRefusal | undefined => {
  const buses = parts.busArns.map(parseBusArn);
  const regions = parts.busArns.map((text) => parseArn(text)?.region ?? "");
  const [first, second] = buses;
  if (first === undefined || second === undefined || buses.some((bus) => bus?.account !== scope.account))
    return { parameter: "EventBuses", reason: "Must contain the ARNs of two event buses of the account." };
  if (first.name !== second.name) return { parameter: "EventBuses", reason: "Event buses must have the same name." };
  if (regions[0] === regions[1])
    return { parameter: "EventBuses", reason: "Event buses must be in different regions." };
  if (!regions.includes(parts.route) || !regions.includes(scope.region))
    return {
      parameter: "RoutingConfig",
      reason: `The regions must be those of the event buses, and ${scope.region} one of them.`,
    };
  const other = regions.find((region) => region !== scope.region) ?? "";
  if (!scope.hasRegion(other)) return { parameter: "EventBuses", reason: `Region ${other} is not reached from here.` };
  if (!scope.hasHealthCheck(parts.healthCheck))
    return { parameter: "HealthCheck", reason: `Health check ${parts.healthCheck} does not exist.` };
  if (parts.replication !== ReplicationState.DISABLED && parts.roleArn === undefined)
    return { parameter: "RoleArn", reason: "RoleArn is required when replication is enabled." };
  return undefined;
};

/** The id of an endpoint: the same wherever an account creates it under the name with the buses. */
export const endpointId = (account: string, name: string, busArns: readonly string[]): string => {
  const text = createHash("sha256")
    .update([account, name, ...busArns.toSorted()].join("\n"))
    .digest("hex");
  return `${text.slice(0, 10)}.${text.slice(10, 13)}`;
};

/** The ARN of an endpoint's bus that is in a region, or that is not. */
export const busIn = ({ busArns }: Pick<GlobalEndpointRecord, "busArns">, region: string, isIn: boolean): string =>
  busArns.find((text) => (parseArn(text)?.region === region) === isIn) ?? "";

/** The URL of a health check: the check itself, or the one that its id names; undefined: there is none. */
export const healthCheckUrl = (healthCheck: string, urls: ReadonlyMap<string, string>): string | undefined =>
  /^https?:\/\//.test(healthCheck) ? healthCheck : urls.get(healthCheck.slice(healthCheck.lastIndexOf("/") + 1));
