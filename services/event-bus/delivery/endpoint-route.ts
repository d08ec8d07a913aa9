import { create } from "@bufbuild/protobuf";

import type { GlobalEndpointRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ReplicationState } from "../../../gen/quartet/eventbus/v1/global_endpoint_pb.ts";
import { TargetSchema } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import type { Application } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { endpointArn, parseBusReference } from "../domain/arns.ts";
import { busIn } from "../domain/global-endpoint.ts";
import type { OpenBus } from "../ingestion/ingest.ts";

/** Where the events of a global endpoint are put at an instant. */
export interface EndpointRoute {
  readonly endpointArn: string;
  /** Whether they are put in this region. */
  readonly isHere: boolean;
  /** The other region, and the endpoint's bus there. */
  readonly region: string;
  readonly busArn: string;
  /** The endpoint's bus in this region. */
  readonly bus: BusReference;
  /** What copies the events that are put here to the other region; empty if replication is disabled. */
  readonly replicating: Pick<OpenBus, "replication">;
}

/** The route of an endpoint: its first region while that is healthy, and otherwise the second. */
export const endpointRoute = (
  { arnScope, health }: Pick<Application, "arnScope" | "health">,
  account: string,
  endpoint: GlobalEndpointRecord,
): EndpointRoute => {
  const here = arnScope.region;
  const busArn = busIn(endpoint, here, false);
  const isSecond = endpoint.route === here;
  const { roleArn } = endpoint;
  const target = create(TargetSchema, { id: "replica", arn: busArn, ...(roleArn && { roleArn }) });
  return {
    endpointArn: endpointArn(arnScope, account, endpoint.name),
    isHere: health.isHealthy(endpoint.healthCheck) !== isSecond,
    region: parseArn(busArn)?.region ?? "",
    busArn,
    bus: parseBusReference(busIn(endpoint, here, true), account, arnScope),
    replicating:
      endpoint.replication === ReplicationState.DISABLED
        ? {}
        : { replication: { name: `GlobalEndpoint-${endpoint.name}`, roleArn, targets: [target] } },
  };
};
