import type { RouteRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { limits } from "../limits.ts";
import type { ApplicationIdentifiers } from "./application.ts";
import { getApplication } from "./application.ts";
import { routes } from "./layout.ts";
import { orNotFound } from "./or-not-found.ts";

/** The members of a request that name a route. */
export interface RouteIdentifiers extends ApplicationIdentifiers {
  readonly routeIdentifier: string;
}

/** The route; undefined if the application does not hold it. */
export const findRoute = (
  reader: Reader,
  environmentId: string,
  applicationId: string,
  routeId: string,
): Promise<RouteRecord | undefined> => reader.get(routes, [environmentId, applicationId, routeId]);

/** The route that a request names. Throws RESOURCE_NOT_FOUND for its environment, its application, then for itself. */
export const getRoute = async (reader: Reader, named: RouteIdentifiers): Promise<RouteRecord> => {
  const { environmentId, applicationId } = await getApplication(reader, named);
  const found = await findRoute(reader, environmentId, applicationId, named.routeIdentifier);
  return orNotFound(found, "ROUTE", named.routeIdentifier);
};

/** The routes of an application by id, after the given one. */
export const listRoutes = async (
  reader: Reader,
  environmentId: string,
  applicationId: string,
  afterId: string | undefined,
  limit: number,
): Promise<RouteRecord[]> => {
  const found = await reader.list(routes, {
    prefix: [environmentId, applicationId],
    after: afterId === undefined ? undefined : [environmentId, applicationId, afterId],
    limit,
  });
  return found.map(({ value }) => value);
};

/** All routes of an application; their quota limits the number. */
export const allRoutesOf = (reader: Reader, environmentId: string, applicationId: string): Promise<RouteRecord[]> =>
  listRoutes(reader, environmentId, applicationId, undefined, limits.routesPerApplicationMax);

/** Stores a route. */
export const putRoute = (transaction: Transaction, record: RouteRecord): void =>
  transaction.put(routes, [record.environmentId, record.applicationId, record.routeId], record);

/** Deletes a route. */
export const deleteRoute = (transaction: Transaction, record: RouteRecord): void =>
  transaction.delete(routes, [record.environmentId, record.applicationId, record.routeId]);
