import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import type { Tags } from "../../kit/tags/tags.ts";
import type { TaggedResource } from "../domain/resource-name.ts";
import { findDomain } from "./domain.ts";
import { findIntegration } from "./integration.ts";
import { domains, integrations, objectTypes } from "./layout.ts";
import { findObjectType } from "./object-type.ts";

/** The tags of an account's resource; undefined if it does not exist. */
export const findTags = async (
  reader: Reader,
  accountId: string,
  resource: TaggedResource,
): Promise<Tags | undefined> => (await findTagged(reader, accountId, resource))?.tags;

/** Replaces the tags of a resource if it exists; nothing else about it changes. */
export const replaceTags = async (
  transaction: Transaction,
  accountId: string,
  resource: TaggedResource,
  tags: Tags,
): Promise<void> => (await findTagged(transaction, accountId, resource))?.replace(transaction, tags);

interface Tagged {
  readonly tags: Tags;
  replace(transaction: Transaction, tags: Tags): void;
}

const findTagged = async (reader: Reader, accountId: string, resource: TaggedResource): Promise<Tagged | undefined> => {
  const domain = await findDomain(reader, accountId, resource.domainName);
  if (domain === undefined) return undefined;
  const { domainId } = domain;
  switch (resource.kind) {
    case "domain":
      return tagged(domain, (transaction, record) =>
        transaction.put(domains, [accountId, resource.domainName], record),
      );
    case "objectType":
      return tagged(await findObjectType(reader, domainId, resource.objectTypeName), (transaction, record) =>
        transaction.put(objectTypes, [domainId, resource.objectTypeName], record),
      );
    case "integration":
      return tagged(await findIntegration(reader, domainId, resource.uri), (transaction, record) =>
        transaction.put(integrations, [domainId, resource.uri], record),
      );
  }
};

const tagged = <R extends { readonly tags: Tags }>(
  record: R | undefined,
  put: (transaction: Transaction, record: R) => void,
): Tagged | undefined =>
  record && { tags: record.tags, replace: (transaction, tags) => put(transaction, { ...record, tags }) };
