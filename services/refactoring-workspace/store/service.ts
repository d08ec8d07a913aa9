import type { ServiceRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { services } from "./layout.ts";

/** The service, or undefined when the application does not hold it. */
export const findService = (
  reader: Reader,
  environmentId: string,
  applicationId: string,
  serviceId: string,
): Promise<ServiceRecord | undefined> => reader.get(services, [environmentId, applicationId, serviceId]);

/** The services of an application by id, behind the given one. */
export const listServices = async (
  reader: Reader,
  environmentId: string,
  applicationId: string,
  afterId: string | undefined,
  limit: number,
): Promise<ServiceRecord[]> => {
  const found = await reader.list(services, {
    prefix: [environmentId, applicationId],
    ...(afterId === undefined ? {} : { after: [environmentId, applicationId, afterId] as const }),
    limit,
  });
  return found.map(({ value }) => value);
};

/** Stores a service. A new one is counted in its VPC by `enterVpc`. */
export const putService = (transaction: Transaction, record: ServiceRecord): void =>
  transaction.put(services, [record.environmentId, record.applicationId, record.serviceId], record);

/** Deletes a service. It is taken out of its VPC by `leaveVpc`. */
export const deleteService = (transaction: Transaction, record: ServiceRecord): void =>
  transaction.delete(services, [record.environmentId, record.applicationId, record.serviceId]);
