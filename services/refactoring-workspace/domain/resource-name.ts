import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { arn, parseArn } from "../../kit/arn/arn.ts";
import { fault } from "../faults.ts";

/** A resource of this service by its identifiers. */
export type NamedResource = { readonly environmentId: string } & (
  | { readonly kind: "environment" }
  | { readonly kind: "application"; readonly applicationId: string }
  | { readonly kind: "service"; readonly applicationId: string; readonly serviceId: string }
  | { readonly kind: "route"; readonly applicationId: string; readonly routeId: string }
);

/** The kinds of resource as refusals name them. */
export type ResourceType = "ENVIRONMENT" | "APPLICATION" | "SERVICE" | "ROUTE" | "RESOURCE_POLICY";

const resourceTypes = {
  environment: "ENVIRONMENT",
  application: "APPLICATION",
  service: "SERVICE",
  route: "ROUTE",
} as const;

/** The kind of a resource as refusals name it. */
export const resourceTypeOf = (resource: NamedResource): ResourceType => resourceTypes[resource.kind];

/** The parts of the ARNs in answers that differ between installations. */
export interface ArnPrefix {
  /** For example `aws`. */
  readonly partition: string;
  /** For example `refactor-spaces`. */
  readonly service: string;
  readonly region: string;
}

/** The service names that ARNs in requests may have. */
const serviceNames: readonly string[] = ["refactor-spaces", "refactoring-workspace"];

/** The ARN of a resource of an account. */
export const arnOf = (prefix: ArnPrefix, account: string, resource: NamedResource): string =>
  arn({ ...prefix, account, resource: formatResourceName(resource) });

/** Reads the ARN of any resource of this service, with the service name of either dialect. Throws ARN_INVALID. */
export const parseResourceArn = (text: string): { readonly account: string; readonly resource: NamedResource } => {
  const parsed = parseArn(text);
  const isOurs = parsed !== undefined && serviceNames.includes(parsed.service) && parsed.account !== "";
  const resource = isOurs ? parseResourceName(parsed.resource) : undefined;
  if (parsed === undefined || resource === undefined)
    throw fault(ErrorReason.ARN_INVALID, { arn: text, expected: "a resource of this service" });
  return { account: parsed.account, resource };
};

/** Reads the ARN of an environment. Throws ARN_INVALID. */
export const parseEnvironmentArn = (text: string): { readonly account: string; readonly environmentId: string } => {
  const { account, resource } = parseResourceArn(text);
  if (resource.kind !== "environment") throw fault(ErrorReason.ARN_INVALID, { arn: text, expected: "an environment" });
  return { account, environmentId: resource.environmentId };
};

/** Throws NAME_RESERVED for a name that looks like an identifier of its kind. */
export const refuseReservedName = (name: string, prefix: "env-" | "app-" | "svc-"): void => {
  if (name.startsWith(prefix)) throw fault(ErrorReason.NAME_RESERVED, { name, prefix });
};

const environment = "env-[0-9A-Za-z]{10}";
const shape = new RegExp(
  `^environment/(?<environmentId>${environment})(?:/application/(?<applicationId>app-[0-9A-Za-z]{10})` +
    `(?:/service/(?<serviceId>svc-[0-9A-Za-z]{10})|/route/(?<routeId>rte-[0-9A-Za-z]{10}))?)?$`,
);

/** Reads the part of an ARN after the account; undefined if it is not one of this service. */
export const parseResourceName = (text: string): NamedResource | undefined => {
  const groups = shape.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { environmentId = "", applicationId, serviceId, routeId } = groups;
  if (applicationId === undefined) return { kind: "environment", environmentId };
  if (serviceId !== undefined) return { kind: "service", environmentId, applicationId, serviceId };
  if (routeId !== undefined) return { kind: "route", environmentId, applicationId, routeId };
  return { kind: "application", environmentId, applicationId };
};

/** The part of an ARN after the account. */
const formatResourceName = (resource: NamedResource): string => {
  const environmentName = `environment/${resource.environmentId}`;
  if (resource.kind === "environment") return environmentName;
  const applicationName = `${environmentName}/application/${resource.applicationId}`;
  if (resource.kind === "service") return `${applicationName}/service/${resource.serviceId}`;
  return resource.kind === "route" ? `${applicationName}/route/${resource.routeId}` : applicationName;
};
