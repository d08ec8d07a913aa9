import type {
  ApplicationRecord,
  RouteRecord,
  ServiceRecord,
} from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { RouteState } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import type { Logger } from "../../kit/log/log.ts";
import { StoreCorruptionError } from "../../kit/store/errors.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import { methodName } from "../domain/route-rules.ts";
import { limits } from "../limits.ts";
import type { ApplicationPlan, ProxiedApplications, RoutePlan } from "./proxied-applications.ts";
import { allApplications, findApplication } from "../store/application.ts";
import { allRoutesOf } from "../store/route.ts";
import { listServices } from "../store/service.ts";

/** Finds the URL of an application's private link; undefined if it has none. */
export type FindPrivateLink = (application: ApplicationRecord) => string | undefined;

/** Reads the plan of one application as of one instant; undefined if the application does not exist. */
export const readPlan = (
  store: Store,
  findPrivateLink: FindPrivateLink,
  environmentId: string,
  applicationId: string,
): Promise<ApplicationPlan | undefined> =>
  store.read(async (reader) => {
    const application = await findApplication(reader, environmentId, applicationId);
    return application && planOf(reader, application, findPrivateLink);
  });

/** How the plans of all applications are read. */
interface PlanReading {
  readonly store: Store;
  readonly findPrivateLink: FindPrivateLink;
  readonly log: Logger;
}

/**
 * Announces all applications with their plans, or as changed where a record of one is damaged: its requests fail until
 * its plan can be read, because each might be one for the route that is damaged. The damage is logged.
 */
export const announceApplications = async (
  proxied: Pick<ProxiedApplications, "put" | "refresh">,
  { store, findPrivateLink, log }: PlanReading,
): Promise<void> => {
  const applications = await store.read(async (reader) => Array.fromAsync(allApplications(reader)));
  for (const { environmentId, applicationId, application } of applications) {
    const isNotServed = (error?: unknown): void =>
      log.error(
        { err: error, environmentId, applicationId },
        "an application is not served: a record of it is damaged",
      );
    if (application === undefined) {
      isNotServed();
      continue;
    }
    try {
      proxied.put(await store.read((reader) => planOf(reader, application, findPrivateLink)));
    } catch (error) {
      if (!(error instanceof StoreCorruptionError)) throw error;
      isNotServed(error);
      proxied.refresh(application);
    }
  }
};

/** The plan of an application: its active routes, among all that it has. Unset: they are read. */
export const planOf = async (
  reader: Reader,
  application: ApplicationRecord,
  findPrivateLink: FindPrivateLink,
  routes?: readonly RouteRecord[],
): Promise<ApplicationPlan> => {
  const { environmentId, applicationId, ownerAccountId, apiGatewayId, stageName } = application;
  const { servicesPerApplicationMax } = limits;
  const all = routes ?? (await allRoutesOf(reader, environmentId, applicationId));
  const services = await listServices(reader, environmentId, applicationId, undefined, servicesPerApplicationMax);
  const byId = new Map(services.map((service) => [service.serviceId, service]));
  const plans = all.flatMap((route) => routePlan(route, byId.get(route.serviceId)));
  const privateLink = findPrivateLink(application);
  return { applicationId, accountId: ownerAccountId, apiGatewayId, stageName, privateLink, routes: plans };
};

/** The plan of a route, if it is active. */
const routePlan = (route: RouteRecord, service: ServiceRecord | undefined): RoutePlan[] => {
  if (route.state !== RouteState.ACTIVE || service === undefined) return [];
  const { routeId, serviceId, match } = route;
  const { endpoint } = service;
  return [
    {
      routeId,
      serviceId,
      endpoint:
        endpoint.case === "urlEndpoint" ? { url: endpoint.value.url } : { functionArn: endpoint.value?.arn ?? "" },
      match: match && { ...match, methods: match.methods.map((method) => methodName(method)) },
    },
  ];
};
