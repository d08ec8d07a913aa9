import type { EnvironmentRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { ErrorReason, ErrorReasonSchema } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { resourceTagConditions } from "../../kit/access/call-conditions.ts";
import { RefactoringWorkspaceService } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import type { Resource } from "../../kit/access/decide.ts";
import { accessRules, decideCall, isAllowed, refuseCall } from "../../kit/access/decide.ts";
import type { Question } from "../../kit/access/questions.ts";
import { textOf } from "../../kit/access/questions.ts";
import type { AskedResource, KnownResource } from "../../kit/access/policy-service.ts";
import { arn, parseArn } from "../../kit/arn/arn.ts";
import { methodPermissions } from "../../kit/contract/permissions.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import { parsePolicy } from "../../kit/policy/document.ts";
import { policyCache } from "../../kit/policy/policy-cache.ts";
import type { Guard } from "../../kit/server/guard.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Application } from "../application.ts";
import { arnOf, parseResourceArn, parseResourceName, resourceTypeOf } from "../domain/resource-name.ts";
import { fault } from "../faults.ts";
import { findEnvironment } from "../store/environment.ts";
import { findTagged } from "../store/tag.ts";
import { findPolicy } from "../store/resource-policy.ts";
import type { Access } from "./access.ts";
import { resourceConditions } from "./conditions.ts";

export const rules = accessRules({
  names: { public: "refactor-spaces", documented: "refactoring-workspace" },
  refusalPrefix: "refactoring-workspace",
  principal: "refactor-spaces.amazonaws.com",
  errors: ErrorReasonSchema,
});

/**
 * Decides whether a call may reach its handler. The owner's root may do everything with an environment and what it
 * holds; users and role sessions of the owner what their policies or the environment's allow; principals of other
 * accounts what the environment's policy and their own allow. Tags and policies are for the owner's account alone.
 *
 * Refuses, in this order: (1) a caller without an account, (2) an ARN that is not one of this service's resources, (3)
 * a permission that the request needs and the caller does not have. An environment that does not exist counts as the
 * caller's, so that the handler answers whoever could use it that it does not exist.
 */
export const guard: Guard<Application, Access> = async (request, context) => {
  const { caller } = context;
  if (!isOwner(caller, caller.accountId)) throw refuseCall(rules, context);
  await decideCall(rules, context, request, (question) => resourceOf(question, context));
  return {
    accountId: caller.accountId,
    mayList: (environment, policy) =>
      environment.ownerAccountId === caller.accountId || isShared(environment, policy, context),
  };
};

type Context = CallContext<Application>;

/** The most that a stored policy can have: 300,000 characters of up to four bytes each. */
const policyBytesMax = 4 * 300_000;
const parsed = policyCache((text) => parsePolicy(text, { principals: "required", bytesMax: policyBytesMax }));

/** Operations to which a resource of another account looks as if it did not exist. */
const concealing: ReadonlySet<string> = new Set(["TagResource", "UntagResource", "ListTagsForResource"]);

const resourceOf = async (question: Question, context: Context): Promise<Resource> => {
  const { template } = question.permission;
  return namesResource(template) ? ofArn(question, context) : inEnvironment(question, context);
};

/** What an ARN names. Environments' policies do not decide who may tag, or change the policies themselves. */
const ofArn = async (question: Question, context: Context): Promise<Resource> => {
  const { resource } = parseResourceArn(question.resource);
  const { environmentId } = resource;
  const ownerAccountId = await findOwner(environmentId, context);
  const missing = { resource_type: resourceTypeOf(resource), resource_id: question.resource };
  const isConcealed = concealing.has(context.method.name) && ownerAccountId !== context.caller.accountId;
  return {
    arn: question.resource,
    ownerAccountId,
    conditions: await resourceConditions(resource, question, context, undefined),
    shownAs: environmentId,
    ...(isConcealed && { refusal: () => fault(ErrorReason.RESOURCE_NOT_FOUND, missing) }),
  };
};

/** What an environment holds, or is to hold, and the environment itself. */
const inEnvironment = async (question: Question, context: Context): Promise<Resource> => {
  const environmentId = textOf(question, "environment_identifier");
  const { ownerAccountId, policy } = await findOwnership(environmentId, context);
  const text = arn({ ...context.app.arnPrefix, account: ownerAccountId, resource: question.resource });
  return {
    arn: text,
    ownerAccountId,
    policies: policy === undefined ? [] : [parsed(policy)],
    conditions: await resourceConditions(undefined, question, context, policy),
    shownAs: environmentId,
  };
};

/**
 * A resource by its ARN, with the policy of its environment unless that does not decide on the action. Creators and
 * paths are not among its conditions.
 */
export const findByArn = async (
  app: Application,
  { arn: text, action }: AskedResource,
): Promise<KnownResource | undefined> => {
  const named = parseResourceName(parseArn(text)?.resource ?? "");
  if (named === undefined) return undefined;
  return app.store.read(async (reader) => {
    const environment = await findEnvironment(reader, named.environmentId);
    if (environment === undefined) return undefined;
    const policy = ownersActions.has(action) ? undefined : await findPolicy(reader, named.environmentId);
    const { ownerAccountId } = environment;
    const conditions = resourceTagConditions((await findTagged(reader, named))?.tags);
    return { ownerAccountId, policies: policy === undefined ? [] : [parsed(policy)], conditions };
  });
};

const namesResource = (template: string): boolean => template === "{resource_arn}" || template === "{identifier}";

/** The actions on what an ARN names, on which environments' policies do not decide. */
const ownersActions: ReadonlySet<string> = new Set(
  RefactoringWorkspaceService.methods
    .flatMap((method) => methodPermissions(method).permissions)
    .flatMap(({ template, action }) => (namesResource(template) ? [action] : [])),
);

/** Whether the policy of another account's environment, and the caller's own, allow the caller to get it. */
const isShared = (
  { environmentId, ownerAccountId, tags }: EnvironmentRecord,
  policy: string | undefined,
  context: Context,
): boolean =>
  policy !== undefined &&
  isAllowed(rules, context, {
    action: "GetEnvironment",
    resource: {
      arn: arnOf(context.app.arnPrefix, ownerAccountId, { kind: "environment", environmentId }),
      ownerAccountId,
      policies: [parsed(policy)],
      conditions: resourceTagConditions(tags),
    },
  });

/** The owner of an environment, and its policy. */
const findOwnership = (
  environmentId: string,
  { app, caller }: Context,
): Promise<{ readonly ownerAccountId: string; readonly policy: string | undefined }> =>
  app.store.read(async (reader) => {
    const environment = await findEnvironment(reader, environmentId);
    if (environment === undefined) return { ownerAccountId: caller.accountId, policy: undefined };
    return { ownerAccountId: environment.ownerAccountId, policy: await findPolicy(reader, environmentId) };
  });

/** The owner of an environment, whose policy does not matter and may be damaged. */
const findOwner = async (environmentId: string, { app, caller }: Context): Promise<string> => {
  const environment = await app.store.read((reader) => findEnvironment(reader, environmentId));
  return environment?.ownerAccountId ?? caller.accountId;
};
