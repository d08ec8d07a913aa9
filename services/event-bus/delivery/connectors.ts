import { parseArn } from "../../kit/arn/arn.ts";
import type { Connector } from "./connector.ts";

/** A kind of target and what delivers to it. */
export interface ConnectorRow {
  /** Service parts of the ARNs, in either dialect. */
  readonly services: readonly string[];
  /** What the resource part begins with; empty: anything. */
  readonly resourcePrefix: string;
  readonly connector: Connector;
}

/** Finds what delivers to a target by its ARN. A kind without a connector fails for good, never silently. */
export const connectorFor =
  (rows: readonly ConnectorRow[]): ((targetArn: string) => Connector) =>
  (targetArn) => {
    const parsed = parseArn(targetArn);
    const row = rows.find(
      ({ services, resourcePrefix }) =>
        parsed !== undefined && services.includes(parsed.service) && parsed.resource.startsWith(resourcePrefix),
    );
    return row?.connector ?? unreachable;
  };

const unreachable: Connector = ({ target }) =>
  Promise.resolve({
    kind: "failed",
    code: "NO_RESOURCE",
    message: `This installation has no endpoint for ${target.arn}.`,
  });
