import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import type { Application } from "../application.ts";
import type { ApiDestinationTools } from "./api-destination-connector.ts";
import { apiDestinationConnector } from "./api-destination-connector.ts";
import type { BrokerTools } from "./brokers/broker-connector.ts";
import { brokerConnector } from "./brokers/broker-connector.ts";
import { brokerPrefix } from "../domain/broker.ts";
import type { Connector } from "./connector.ts";
import type { DeliveryStreams } from "./delivery-streams.ts";
import { deliveryStreamConnector } from "./delivery-streams.ts";
import { eventBusConnector } from "./event-bus-connector.ts";
import type { LogGroupFiles } from "./log-group-files.ts";
import { logGroupConnector } from "./log-group-files.ts";
import { inRole } from "./role-session.ts";
import type { ServiceClient, ServiceEndpoint } from "../../kit/outgoing/service-client.ts";
import { serviceConnector } from "./service-connector.ts";
import type { ServiceEndpointName, ServiceKind } from "./service-kinds.ts";
import { serviceKinds } from "./service-kinds.ts";

/** The endpoints of services that an installation configures, by their names. */
export type ServiceEndpoints = { readonly [Name in ServiceEndpointName]?: ServiceEndpoint | undefined };

/** The tools with which the connectors reach their targets. */
export interface ConnectorTools extends ApiDestinationTools {
  readonly client: ServiceClient;
  readonly endpoints: ServiceEndpoints;
  readonly streams: DeliveryStreams;
  /** The log groups of an installation without an endpoint for them. */
  readonly logGroups: LogGroupFiles;
  readonly brokers: BrokerTools;
}

/** One kind of target and the connector that delivers to it. */
interface ConnectorRow {
  /** The service parts of the targets' ARNs, in either dialect. */
  readonly services: readonly string[];
  /** The text with which the resource part of the ARNs begins. */
  readonly resourcePrefix: string;
  /** The action that the target's role must be allowed on it. */
  readonly action: string;
  readonly connector: Connector;
}

/** The kinds of targets to which this installation delivers; a kind without an endpoint has no row. */
const connectorRows = (app: Application, tools: ConnectorTools): readonly ConnectorRow[] => [
  {
    services: ["events", "event-bus"],
    resourcePrefix: "api-destination/",
    action: "InvokeApiDestination",
    connector: apiDestinationConnector(app, tools),
  },
  {
    services: ["events", "event-bus"],
    resourcePrefix: "event-bus/",
    action: "PutEvents",
    connector: eventBusConnector(app),
  },
  {
    services: ["events", "event-bus"],
    resourcePrefix: brokerPrefix,
    action: "PublishToBroker",
    connector: brokerConnector(tools.brokers),
  },
  ...serviceKinds.flatMap((kind) => {
    const connector = connectorOfKind(kind, tools);
    return connector === undefined ? [] : [{ ...kind, connector }];
  }),
  {
    services: ["logs"],
    resourcePrefix: "log-group:",
    action: "logs:PutLogEvents",
    connector: logGroupConnector(tools.logGroups),
  },
];

/** The connector of a kind: to its endpoint, or to delivery streams that are declared. Undefined: it has neither. */
const connectorOfKind = (kind: ServiceKind, { endpoints, client, streams }: ConnectorTools): Connector | undefined => {
  const endpoint = endpoints[kind.endpoint];
  const remote = endpoint && serviceConnector(kind, endpoint, client);
  return kind.endpoint === "firehose" && !streams.isEmpty
    ? deliveryStreamConnector(streams, remote ?? noConnector)
    : remote;
};

/**
 * Returns the function that finds the connector of a target, by its ARN. A delivery to a target of another kind fails
 * permanently, so it leaves a dead letter.
 */
export const connectorFinder = (app: Application, tools: ConnectorTools): ((target: Target) => Connector) => {
  const rows = connectorRows(app, tools).map((row) => ({ ...row, connector: inRole(app, row.action, row.connector) }));
  const find = (targetArn: string): Connector => {
    const parsed = parseArn(targetArn);
    const row = rows.find(
      ({ services, resourcePrefix }) =>
        parsed !== undefined && services.includes(parsed.service) && parsed.resource.startsWith(resourcePrefix),
    );
    return row?.connector ?? noConnector;
  };
  // The deliveries of a rule share its target.
  const found = new WeakMap<Target, Connector>();
  return (target) => {
    let connector = found.get(target);
    if (connector === undefined) {
      connector = find(target.arn);
      found.set(target, connector);
    }
    return connector;
  };
};

const noConnector: Connector = ({ target }) =>
  Promise.resolve({
    kind: "failed",
    code: "NO_RESOURCE",
    message: `This installation has no endpoint for ${target.arn}.`,
  });
