import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import type { TaggedResource } from "../domain/resource-name.ts";
import type { Tags } from "../domain/tags.ts";
import { findDomain } from "./domain.ts";
import { domains } from "./layout.ts";

/** The tags of an account's resource, or undefined when there is no such resource. */
export const findTags = async (
  reader: Reader,
  accountId: string,
  resource: TaggedResource,
): Promise<Tags | undefined> =>
  resource.kind === "domain" ? (await findDomain(reader, accountId, resource.domainName))?.tags : undefined;

/** Gives a resource other tags; nothing else about it changes. */
export const replaceTags = async (
  transaction: Transaction,
  accountId: string,
  resource: TaggedResource,
  tags: Tags,
): Promise<void> => {
  const record = await findDomain(transaction, accountId, resource.domainName);
  if (record !== undefined) transaction.put(domains, [accountId, resource.domainName], { ...record, tags });
};
