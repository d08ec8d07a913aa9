import { parseArn } from "../../kit/arn/arn.ts";
import type { Application } from "../application.ts";
import type { ApiDestinationTools } from "./api-destination-connector.ts";
import { apiDestinationConnector } from "./api-destination-connector.ts";
import type { Connector } from "./connector.ts";
import { eventBusConnector } from "./event-bus-connector.ts";
import type { LogGroupFiles } from "./log-group-files.ts";
import { logGroupConnector } from "./log-group-files.ts";
import { inRole } from "./role-session.ts";
import type { ServiceClient, ServiceEndpoint } from "./service-client.ts";
import { serviceConnector } from "./service-connector.ts";
import type { ServiceEndpointName } from "./service-kinds.ts";
import { serviceKinds } from "./service-kinds.ts";

/** The endpoints of services that an installation configures, by their names. */
export type ServiceEndpoints = { readonly [Name in ServiceEndpointName]?: ServiceEndpoint | undefined };

/** The tools with which the connectors reach their targets. */
export interface ConnectorTools extends ApiDestinationTools {
  readonly client: ServiceClient;
  readonly endpoints: ServiceEndpoints;
  /** The log groups of an installation without an endpoint for them. */
  readonly logGroups: LogGroupFiles;
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
  ...serviceKinds.flatMap((kind) => {
    const endpoint = tools.endpoints[kind.endpoint];
    return endpoint === undefined ? [] : [{ ...kind, connector: serviceConnector(kind, endpoint, tools.client) }];
  }),
  {
    services: ["logs"],
    resourcePrefix: "log-group:",
    action: "logs:PutLogEvents",
    connector: logGroupConnector(tools.logGroups),
  },
];

/**
 * Returns the function that finds the connector of a target by its ARN. A delivery to a target of another kind fails
 * permanently, so it leaves a dead letter.
 */
export const connectorFinder = (app: Application, tools: ConnectorTools): ((targetArn: string) => Connector) => {
  const rows = connectorRows(app, tools).map((row) => ({ ...row, connector: inRole(app, row.action, row.connector) }));
  return (targetArn) => {
    const parsed = parseArn(targetArn);
    const row = rows.find(
      ({ services, resourcePrefix }) =>
        parsed !== undefined && services.includes(parsed.service) && parsed.resource.startsWith(resourcePrefix),
    );
    return row?.connector ?? noConnector;
  };
};

const noConnector: Connector = ({ target }) =>
  Promise.resolve({
    kind: "failed",
    code: "NO_RESOURCE",
    message: `This installation has no endpoint for ${target.arn}.`,
  });
