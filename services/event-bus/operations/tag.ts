/**
 * Tags of buses and rules.
 *
 * All operations check, in order:
 * 1. the ARN is that of a bus or a rule;
 * 2. the caller's account owns it;
 * 3. in TagResource, no key is reserved, and none is given twice;
 * 4. the bus or rule exists;
 * 5. in TagResource, it would not have more than fifty tags.
 */
import type { Tag } from "../../../gen/quartet/eventbus/v1/tag_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { Operation, OperationContext } from "../application.ts";
import { parseTaggedArn } from "../domain/arns.ts";
import type { Tagged } from "../domain/tags.ts";
import { addTags, refuseTags, removeTags, taggedNotFound, tagsMax } from "../domain/tags.ts";
import { ErrorReason, fault } from "../faults.ts";
import { findBus, putBus } from "../store/bus.ts";
import { findRule, putRule } from "../store/rule.ts";

/** Adds tags; a tag that exists gets the new value. */
export const tagResource: Operation<"tagResource"> = async (request, context) => {
  const resource = taggedResource(request.resourceArn, context);
  refuseTags(request.tags);
  await context.app.store.transact(async (transaction) => {
    const tags = addTags(await readTags(transaction, resource), request.tags);
    if (tags.length > tagsMax) throw fault(ErrorReason.TAGS_EXCEEDED, { limit: String(tagsMax) });
    await writeTags(transaction, resource, tags);
  });
  return {};
};

/** Removes tags; keys that do not exist count as removed. */
export const untagResource: Operation<"untagResource"> = async (request, context) => {
  const resource = taggedResource(request.resourceArn, context);
  await context.app.store.transact(async (transaction) => {
    await writeTags(transaction, resource, removeTags(await readTags(transaction, resource), request.tagKeys));
  });
  return {};
};

/** Lists the tags of a bus or a rule. */
export const listTagsForResource: Operation<"listTagsForResource"> = async (request, context) => {
  const resource = taggedResource(request.resourceArn, context);
  return { tags: await context.app.store.read((reader) => readTags(reader, resource)) };
};

const taggedResource = (arn: string, { caller }: OperationContext): Tagged => {
  const parsed = parseTaggedArn(arn);
  if (parsed === undefined)
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "ResourceARN",
      reason: "Provided Arn is not in correct format.",
    });
  if (parsed.bus.account !== caller.accountId) throw taggedNotFound(parsed);
  return parsed;
};

const readTags = async (reader: Reader, tagged: Tagged): Promise<Tag[]> => {
  const { bus, rule } = tagged;
  const resource = rule === undefined ? await findBus(reader, bus) : await findRule(reader, bus, rule);
  if (resource === undefined) throw taggedNotFound(tagged);
  return resource.tags;
};

const writeTags = async (transaction: Transaction, { bus, rule }: Tagged, tags: Tag[]): Promise<void> => {
  if (rule === undefined) {
    const present = await findBus(transaction, bus);
    if (present !== undefined) putBus(transaction, bus.account, { ...present, tags });
    return;
  }
  const present = await findRule(transaction, bus, rule);
  if (present !== undefined) await putRule(transaction, bus, { ...present, tags });
};
