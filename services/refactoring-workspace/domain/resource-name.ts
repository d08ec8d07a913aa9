/** What a resource name of this service names. */
export type NamedResource = { readonly environmentId: string } & (
  | { readonly kind: "environment" }
  | { readonly kind: "application"; readonly applicationId: string }
  | { readonly kind: "service"; readonly applicationId: string; readonly serviceId: string }
  | { readonly kind: "route"; readonly applicationId: string; readonly routeId: string }
);

/** The words that differ between installations in the resource names that answers show. */
export interface NameWords {
  /** For example `aws`. */
  readonly partition: string;
  /** For example `refactor-spaces`. */
  readonly service: string;
  readonly region: string;
}

/** The service words that requests may name this service by. */
export const serviceWords: readonly string[] = ["refactor-spaces", "refactoring-workspace"];

const environment = "env-[0-9A-Za-z]{10}";
const shape = new RegExp(
  `^environment/(?<environmentId>${environment})(?:/application/(?<applicationId>app-[0-9A-Za-z]{10})` +
    `(?:/service/(?<serviceId>svc-[0-9A-Za-z]{10})|/route/(?<routeId>rte-[0-9A-Za-z]{10}))?)?$`,
);

/** Reads the part of an ARN behind the account; undefined for anything that is not of this service. */
export const parseResourceName = (text: string): NamedResource | undefined => {
  const groups = shape.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { environmentId = "", applicationId, serviceId, routeId } = groups;
  if (applicationId === undefined) return { kind: "environment", environmentId };
  if (serviceId !== undefined) return { kind: "service", environmentId, applicationId, serviceId };
  if (routeId !== undefined) return { kind: "route", environmentId, applicationId, routeId };
  return { kind: "application", environmentId, applicationId };
};

/** The part of an ARN behind the account. */
export const formatResourceName = (resource: NamedResource): string => {
  const environmentName = `environment/${resource.environmentId}`;
  if (resource.kind === "environment") return environmentName;
  const applicationName = `${environmentName}/application/${resource.applicationId}`;
  if (resource.kind === "service") return `${applicationName}/service/${resource.serviceId}`;
  return resource.kind === "route" ? `${applicationName}/route/${resource.routeId}` : applicationName;
};
