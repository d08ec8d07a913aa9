import { ErrorReasonSchema } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { arn, parseArn } from "../../kit/arn/arn.ts";
import { resourceTagConditions } from "../../kit/access/call-conditions.ts";
import type { Resource } from "../../kit/access/decide.ts";
import { accessRules, decideCall, refuseCall } from "../../kit/access/decide.ts";
import { asksFor } from "../../kit/access/identity.ts";
import type { AskedResource, KnownResource } from "../../kit/access/policy-service.ts";
import type { Question } from "../../kit/access/questions.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { Guard } from "../../kit/server/guard.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Application } from "../application.ts";
import type { TaggedResource } from "../domain/resource-name.ts";
import { parseResourceName, parseTaggedArn } from "../domain/resource-name.ts";
import { findTags } from "../store/tag.ts";
import type { Access } from "./access.ts";

export const rules = accessRules({
  names: { public: "profile", documented: "customer-profile" },
  refusalPrefix: "customer-profile",
  principal: "profile.amazonaws.com",
  errors: ErrorReasonSchema,
});

/**
 * Decides whether a call may reach its handler: a root may do everything with the data of its own account, users and
 * role sessions what their policies allow, and nobody may use the data of another account.
 *
 * Refuses, in this order: (1) a caller without an account, (2) an ARN that is not one of this service's resources, (3)
 * a permission that the request needs and the caller does not have.
 */
export const guard: Guard<Application, Access> = async (request, context) => {
  const { caller } = context;
  if (!isOwner(caller, caller.accountId)) throw refuseCall(rules, context);
  await decideCall(rules, context, request, (question) => resourceOf(question, context));
  return { accountId: caller.accountId };
};

/** The resource of a question: of the caller's account, or as an ARN names it. */
const resourceOf = async (question: Question, context: CallContext<Application>): Promise<Resource> => {
  const { caller, app } = context;
  if (question.permission.template === "{resource_arn}") {
    const { accountId, resource } = parseTaggedArn(question.resource);
    return { arn: question.resource, ownerAccountId: accountId, ...(await tagsOf(resource, accountId, context)) };
  }
  const { accountId } = caller;
  const name = { partition: "aws", service: "profile", region: app.region, account: accountId };
  const tagged = parseResourceName(question.resource);
  return {
    arn: arn({ ...name, resource: question.resource }),
    ownerAccountId: accountId,
    ...(tagged && (await tagsOf(tagged, accountId, context))),
  };
};

/** A resource that can have tags, by its ARN. Undefined for other texts. */
export const findByArn = async (app: Application, { arn: text }: AskedResource): Promise<KnownResource | undefined> => {
  const parsed = parseArn(text);
  const tagged = parsed && parseResourceName(parsed.resource);
  if (parsed === undefined || tagged === undefined) return undefined;
  const tags = await app.store.read((reader) => findTags(reader, parsed.account, tagged));
  return { ownerAccountId: parsed.account, conditions: resourceTagConditions(tags) };
};

/** The tags of a resource as conditions, where a policy asks for them. */
const tagsOf = async (
  resource: TaggedResource,
  accountId: string,
  { app, caller }: CallContext<Application>,
): Promise<Pick<Resource, "conditions">> => {
  if (!asksFor("resourcetag", caller)) return {};
  const tags = await app.store.read((reader) => findTags(reader, accountId, resource));
  return { conditions: resourceTagConditions(tags) };
};
