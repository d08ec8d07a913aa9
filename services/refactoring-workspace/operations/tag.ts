/**
 * Tags of environments, applications, services and routes. Each operation refuses an ARN that is none of theirs, then
 * reserved tag keys, then a resource that is not there or of another account (callers cannot tell which), then more
 * tags than a resource may have.
 */
import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Reader } from "../../kit/store/transaction.ts";
import type { Application, Operation } from "../application.ts";
import type { NamedResource } from "../domain/resource-name.ts";
import { tagsWith, tagsWithout } from "../domain/tags.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import type { Tagged } from "../store/tag.ts";
import { findTagged } from "../store/tag.ts";
import { resourceOf } from "./arns.ts";
import { existing, refuseReservedTagKeys } from "./checks.ts";

/** Adds tags; the value of a tag that exists is replaced. */
export const tagResource: Operation<"tagResource"> = async (request, context) => {
  const { resource } = resourceOf(request.resourceArn);
  refuseReservedTagKeys(request.tags);

  await context.app.store.transact(async (transaction) => {
    const found = await ownTagged(transaction, context, resource, request.resourceArn);
    const tags = tagsWith(found.tags, request.tags);
    const count = Object.keys(tags).length;
    if (count > limits.tagsPerResourceMax)
      throw fault(ErrorReason.TOO_MANY_TAGS, { count: String(count), limit: String(limits.tagsPerResourceMax) });
    found.write(transaction, tags);
  });

  return {};
};

/** Removes tags; keys that are not there are no matter. */
export const untagResource: Operation<"untagResource"> = async (request, context) => {
  const { resource } = resourceOf(request.resourceArn);

  await context.app.store.transact(async (transaction) => {
    const found = await ownTagged(transaction, context, resource, request.resourceArn);
    found.write(transaction, tagsWithout(found.tags, request.tagKeys));
  });

  return {};
};

/** Lists the tags of a resource. */
export const listTagsForResource: Operation<"listTagsForResource"> = async (request, context) => {
  const { resource } = resourceOf(request.resourceArn);
  const found = await context.app.store.read((reader) => ownTagged(reader, context, resource, request.resourceArn));
  return { tags: { tags: { ...found.tags } } };
};

/** The tags of a resource of the caller's account. Throws RESOURCE_NOT_FOUND. */
const ownTagged = async (
  reader: Reader,
  context: CallContext<Application>,
  resource: NamedResource,
  resourceArn: string,
): Promise<Tagged> => {
  const found = await findTagged(reader, resource);
  const { account, resourceType } = resourceOf(resourceArn);
  const isVisible = found !== undefined && isOwner(context.caller, found.ownerAccountId);
  return existing(isVisible && found.ownerAccountId === account ? found : undefined, resourceType, resourceArn);
};
