/**
 * Tags of domains, object types and integrations. Each operation refuses a name that is none of theirs, then one of
 * another account, then reserved tag keys, then a resource that is not there, then more tags than a resource may have.
 */
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { Operation } from "../application.ts";
import type { TaggedResource } from "../domain/resource-name.ts";
import { parseResourceName } from "../domain/resource-name.ts";
import type { Tags } from "../domain/tags.ts";
import { findReservedTagKey, tagsWith, tagsWithout } from "../domain/tags.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { findTags, replaceTags } from "../store/tag.ts";

/** Adds tags; the value of a tag that exists is replaced. */
export const tagResource: Operation<"tagResource"> = async (request, { app, caller }) => {
  const resource = resourceOf(request.resourceArn, caller, "TagResource");
  refuseReservedTagKeys(request.tags);

  await app.store.transact(async (transaction) => {
    const before = await findTags(transaction, caller.accountId, resource);
    const tags = tagsWith(existing(before, request.resourceArn), request.tags);
    if (Object.keys(tags).length > limits.tagsPerResourceMax)
      throw fault(ErrorReason.TOO_MANY_TAGS, { limit: String(limits.tagsPerResourceMax) });
    await replaceTags(transaction, caller.accountId, resource, tags);
  });

  return {};
};

/** Removes tags; keys that are not there are no matter. */
export const untagResource: Operation<"untagResource"> = async (request, { app, caller }) => {
  const resource = resourceOf(request.resourceArn, caller, "UntagResource");

  await app.store.transact(async (transaction) => {
    const before = await findTags(transaction, caller.accountId, resource);
    const tags = tagsWithout(existing(before, request.resourceArn), request.tagKeys);
    await replaceTags(transaction, caller.accountId, resource, tags);
  });

  return {};
};

/** Lists the tags of a resource. */
export const listTagsForResource: Operation<"listTagsForResource"> = async (request, { app, caller }) => {
  const resource = resourceOf(request.resourceArn, caller, "ListTagsForResource");
  const found = await app.store.read((reader) => findTags(reader, caller.accountId, resource));
  return { tags: existing(found, request.resourceArn) };
};

/** Throws TAG_KEY_RESERVED when a tag has a key that is kept for the system. */
export const refuseReservedTagKeys = (tags: Tags): void => {
  const reserved = findReservedTagKey(tags);
  if (reserved !== undefined) throw fault(ErrorReason.TAG_KEY_RESERVED, { tag_key: reserved });
};

const resourceOf = (resourceArn: string, caller: Caller, operation: string): TaggedResource => {
  const parsed = parseArn(resourceArn);
  const resource = parsed?.service === "profile" ? parseResourceName(parsed.resource) : undefined;
  if (parsed === undefined || resource === undefined)
    throw fault(ErrorReason.RESOURCE_ARN_INVALID, { resource_arn: resourceArn });
  if (!isOwner(caller, parsed.account))
    throw fault(ErrorReason.ACCESS_DENIED, { action: `customer-profile:${operation}`, resource: resourceArn });
  return resource;
};

const existing = (tags: Tags | undefined, resourceArn: string): Tags => {
  if (tags === undefined) throw fault(ErrorReason.RESOURCE_NOT_FOUND, { resource_arn: resourceArn });
  return tags;
};
