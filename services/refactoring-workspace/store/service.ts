import type { ServiceRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import type { ApplicationIdentifiers } from "./application.ts";
import { getApplication } from "./application.ts";
import { services } from "./layout.ts";
import { orNotFound } from "./or-not-found.ts";

/** The members of a request that name a service. */
export interface ServiceIdentifiers extends ApplicationIdentifiers {
  readonly serviceIdentifier: string;
}

/** The service; undefined if the application does not hold it. */
export const findService = (
  reader: Reader,
  environmentId: string,
  applicationId: string,
  serviceId: string,
): Promise<ServiceRecord | undefined> => reader.get(services, [environmentId, applicationId, serviceId]);

/**
 * The service that a request names. Throws RESOURCE_NOT_FOUND for its environment, its application, then for itself.
 */
export const getService = async (reader: Reader, named: ServiceIdentifiers): Promise<ServiceRecord> => {
  const { environmentId, applicationId } = await getApplication(reader, named);
  const found = await findService(reader, environmentId, applicationId, named.serviceIdentifier);
  return orNotFound(found, "SERVICE", named.serviceIdentifier);
};

/** The services of an application by id, after the given one. */
export const listServices = async (
  reader: Reader,
  environmentId: string,
  applicationId: string,
  afterId: string | undefined,
  limit: number,
): Promise<ServiceRecord[]> => {
  const found = await reader.list(services, {
    prefix: [environmentId, applicationId],
    after: afterId === undefined ? undefined : [environmentId, applicationId, afterId],
    limit,
  });
  return found.map(({ value }) => value);
};

/** Stores a service. A new one is counted in its VPC by `enterVpc`. */
export const putService = (transaction: Transaction, record: ServiceRecord): void =>
  transaction.put(services, [record.environmentId, record.applicationId, record.serviceId], record);

/** Deletes a service. It is removed from its VPC by `leaveVpc`. */
export const deleteService = (transaction: Transaction, record: ServiceRecord): void =>
  transaction.delete(services, [record.environmentId, record.applicationId, record.serviceId]);
