/**
 * Tags of domains, object types and integrations. The guard has checked the ARN and its account. Each operation
 * refuses, in this order: (1) reserved tag keys, (2) a resource that does not exist, (3) more tags than a resource may
 * have.
 */
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Tags } from "../../kit/tags/tags.ts";
import { tagsWith, tagsWithout } from "../../kit/tags/tags.ts";
import type { Operation } from "../application.ts";
import { parseTaggedArn } from "../domain/resource-name.ts";
import { refuseReservedTagKeys, refuseTooManyTags } from "../domain/tag-rules.ts";
import { fault } from "../faults.ts";
import { findTags, replaceTags } from "../store/tag.ts";

/** Adds tags; a tag that exists gets the new value. */
export const tagResource: Operation<"tagResource"> = async (request, { app, access }) => {
  const { resource } = parseTaggedArn(request.resourceArn);
  refuseReservedTagKeys(request.tags);

  await app.store.transact(async (transaction) => {
    const before = await findTags(transaction, access.accountId, resource);
    const tags = tagsWith(orNotFound(before, request.resourceArn), request.tags);
    refuseTooManyTags(tags);
    await replaceTags(transaction, access.accountId, resource, tags);
  });

  return {};
};

/** Removes tags; keys without a tag are ignored. */
export const untagResource: Operation<"untagResource"> = async (request, { app, access }) => {
  const { resource } = parseTaggedArn(request.resourceArn);

  await app.store.transact(async (transaction) => {
    const before = await findTags(transaction, access.accountId, resource);
    const tags = tagsWithout(orNotFound(before, request.resourceArn), request.tagKeys);
    await replaceTags(transaction, access.accountId, resource, tags);
  });

  return {};
};

/** Lists the tags of a resource. */
export const listTagsForResource: Operation<"listTagsForResource"> = async (request, { app, access }) => {
  const { resource } = parseTaggedArn(request.resourceArn);
  const found = await app.store.read((reader) => findTags(reader, access.accountId, resource));
  return { tags: orNotFound(found, request.resourceArn) };
};

const orNotFound = (tags: Tags | undefined, resourceArn: string): Tags => {
  if (tags === undefined) throw fault(ErrorReason.RESOURCE_NOT_FOUND, { resource_arn: resourceArn });
  return tags;
};
