/**
 * Tags of environments, applications, services and routes. The guard has checked the ARN and that its environment is
 * not another account's. Each operation refuses, in this order: (1) reserved tag keys, (2) a resource that does not
 * exist, (3) more tags than a resource may have.
 */
import type { Reader } from "../../kit/store/transaction.ts";
import { tagsWith, tagsWithout } from "../../kit/tags/tags.ts";
import type { Operation } from "../application.ts";
import { parseResourceArn, resourceTypeOf } from "../domain/resource-name.ts";
import { refuseReservedTagKeys, refuseTooManyTags } from "../domain/tag-rules.ts";
import { orNotFound } from "../store/or-not-found.ts";
import type { Tagged } from "../store/tag.ts";
import { findTagged } from "../store/tag.ts";

/** Adds tags; a tag that exists gets the new value. */
export const tagResource: Operation<"tagResource"> = async (request, { app }) => {
  refuseReservedTagKeys(request.tags);

  await app.store.transact(async (transaction) => {
    const found = await getTagged(transaction, request.resourceArn);
    const tags = tagsWith(found.tags, request.tags);
    refuseTooManyTags(tags);
    found.write(transaction, tags);
  });

  return {};
};

/** Removes tags; keys without a tag are ignored. */
export const untagResource: Operation<"untagResource"> = async (request, { app }) => {
  await app.store.transact(async (transaction) => {
    const found = await getTagged(transaction, request.resourceArn);
    found.write(transaction, tagsWithout(found.tags, request.tagKeys));
  });

  return {};
};

/** Lists the tags of a resource. */
export const listTagsForResource: Operation<"listTagsForResource"> = async (request, { app }) => {
  const found = await app.store.read((reader) => getTagged(reader, request.resourceArn));
  return { tags: { tags: { ...found.tags } } };
};

/**
 * The tags of the resource with an ARN. Throws RESOURCE_NOT_FOUND, also if the ARN names an account that is not its
 * owner.
 */
const getTagged = async (reader: Reader, resourceArn: string): Promise<Tagged> => {
  const { account, resource } = parseResourceArn(resourceArn);
  const found = await findTagged(reader, resource);
  const isNamed = found?.ownerAccountId === account;
  return orNotFound(isNamed ? found : undefined, resourceTypeOf(resource), resourceArn);
};
