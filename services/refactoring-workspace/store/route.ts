import type { RouteRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { routes } from "./layout.ts";

/** The route, or undefined when the application does not hold it. */
export const findRoute = (
  reader: Reader,
  environmentId: string,
  applicationId: string,
  routeId: string,
): Promise<RouteRecord | undefined> => reader.get(routes, [environmentId, applicationId, routeId]);

/** The routes of an application by id, behind the given one. */
export const listRoutes = async (
  reader: Reader,
  environmentId: string,
  applicationId: string,
  afterId: string | undefined,
  limit: number,
): Promise<RouteRecord[]> => {
  const found = await reader.list(routes, {
    prefix: [environmentId, applicationId],
    ...(afterId === undefined ? {} : { after: [environmentId, applicationId, afterId] as const }),
    limit,
  });
  return found.map(({ value }) => value);
};

/** Stores a route. */
export const putRoute = (transaction: Transaction, record: RouteRecord): void =>
  transaction.put(routes, [record.environmentId, record.applicationId, record.routeId], record);

/** Deletes a route. */
export const deleteRoute = (transaction: Transaction, record: RouteRecord): void =>
  transaction.delete(routes, [record.environmentId, record.applicationId, record.routeId]);
