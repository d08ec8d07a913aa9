import type { ApplicationRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { getEnvironment } from "./environment.ts";
import { applications } from "./layout.ts";
import { orNotFound } from "./or-not-found.ts";

/** The members of a request that name an application. */
export interface ApplicationIdentifiers {
  readonly environmentIdentifier: string;
  readonly applicationIdentifier: string;
}

/** The application; undefined if the environment does not hold it. */
export const findApplication = (
  reader: Reader,
  environmentId: string,
  applicationId: string,
): Promise<ApplicationRecord | undefined> => reader.get(applications, [environmentId, applicationId]);

/** The application that a request names. Throws RESOURCE_NOT_FOUND for its environment, then for itself. */
export const getApplication = async (reader: Reader, named: ApplicationIdentifiers): Promise<ApplicationRecord> => {
  const { environmentId } = await getEnvironment(reader, named.environmentIdentifier);
  const found = await findApplication(reader, environmentId, named.applicationIdentifier);
  return orNotFound(found, "APPLICATION", named.applicationIdentifier);
};

/** The applications of an environment by id, after the given one. */
export const listApplications = async (
  reader: Reader,
  environmentId: string,
  afterId: string | undefined,
  limit: number,
): Promise<ApplicationRecord[]> => {
  const found = await reader.list(applications, {
    prefix: [environmentId],
    after: afterId === undefined ? undefined : [environmentId, afterId],
    limit,
  });
  return found.map(({ value }) => value);
};

/** Every application of the installation; undefined: its record is damaged. */
export const allApplications = async function* (reader: Reader): AsyncIterable<StoredApplication> {
  for await (const { key, value } of walkTable(reader, applications))
    yield { environmentId: key[0], applicationId: key[1], application: value };
};

interface StoredApplication {
  readonly environmentId: string;
  readonly applicationId: string;
  readonly application: ApplicationRecord | undefined;
}

/** Stores an application. */
export const putApplication = (transaction: Transaction, record: ApplicationRecord): void =>
  transaction.put(applications, [record.environmentId, record.applicationId], record);

/** Deletes an application, which must not hold anything. */
export const deleteApplication = (transaction: Transaction, record: ApplicationRecord): void =>
  transaction.delete(applications, [record.environmentId, record.applicationId]);
