import type { ApplicationRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { applications } from "./layout.ts";

/** The application, or undefined when the environment does not hold it. */
export const findApplication = (
  reader: Reader,
  environmentId: string,
  applicationId: string,
): Promise<ApplicationRecord | undefined> => reader.get(applications, [environmentId, applicationId]);

/** The applications of an environment by id, behind the given one. */
export const listApplications = async (
  reader: Reader,
  environmentId: string,
  afterId: string | undefined,
  limit: number,
): Promise<ApplicationRecord[]> => {
  const found = await reader.list(applications, {
    prefix: [environmentId],
    ...(afterId === undefined ? {} : { after: [environmentId, afterId] as const }),
    limit,
  });
  return found.map(({ value }) => value);
};

/** Every application of the installation. */
export const allApplications = async function* (reader: Reader): AsyncIterable<ApplicationRecord> {
  for await (const { value } of reader.range(applications, {})) yield value;
};

/** Stores an application. */
export const putApplication = (transaction: Transaction, record: ApplicationRecord): void =>
  transaction.put(applications, [record.environmentId, record.applicationId], record);

/** Deletes an application. It holds nothing any more. */
export const deleteApplication = (transaction: Transaction, record: ApplicationRecord): void =>
  transaction.delete(applications, [record.environmentId, record.applicationId]);
