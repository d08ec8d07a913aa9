import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";

import { ErrorReasonSchema } from "../../../gen/quartet/identity/v1/error_reason_pb.ts";
import type { Conditions } from "../../../services/kit/access/call-conditions.ts";
import { entityTagConditions } from "../../../services/kit/access/call-conditions.ts";
import { accessRules, decideCall, refuseCall } from "../../../services/kit/access/decide.ts";
import type { Resource } from "../../../services/kit/access/decide.ts";
import { asksFor } from "../../../services/kit/access/identity.ts";
import type { Question } from "../../../services/kit/access/questions.ts";
import { textOf } from "../../../services/kit/access/questions.ts";
import type { EntityKind } from "../../../services/kit/accounts/entity-arn.ts";
import { entityArn, namedWithPath, pathNameOfArn, principalInArn } from "../../../services/kit/accounts/entity-arn.ts";
import { providerArn } from "../../../services/kit/accounts/provider-arn.ts";
import { inPublicPartition, parseArn } from "../../../services/kit/arn/arn.ts";
import { defaultAccountId } from "../../../services/kit/identity/access-keys.ts";
import type { Guard } from "../../../services/kit/server/guard.ts";
import type { Tags } from "../../../services/kit/tags/tags.ts";
import type { Application, Context } from "../application.ts";
import { boundaryMember } from "../domain/boundaries.ts";
import { commonAccount } from "../domain/common-policies.ts";
import { findDeclaredRole, findDeclaredUser } from "../domain/entities.ts";
import { findPolicyByArn } from "../domain/managed-policies.ts";
import { findProviderByArn } from "../domain/open-id-connect-providers.ts";
import { unsigned } from "../unsigned.ts";
import { callersOwnUser } from "./caller-user.ts";

const rules = accessRules({
  names: { public: "iam", documented: "identity" },
  refusalPrefix: "iam",
  principal: "iam.amazonaws.com",
  errors: ErrorReasonSchema,
});

/** The operations on accounts, which only the installation's first account may use. */
const ofInstallation = new Set(["CreateAccount", "ListAccounts", "DeleteAccount"]);

/**
 * Decides whether a call may reach its handler: the root of the account, and principals whose policies allow the action
 * on the entity. Refuses, in this order:
 * 1. a caller without a signature: UNAUTHENTICATED;
 * 2. a federated user, whatever its policies: ACCESS_DENIED;
 * 3. an operation on accounts by a principal of another account than the first: ACCESS_DENIED;
 * 4. what no policy allows: ACCESS_DENIED, whether the entity exists or not.
 */
export const guard: Guard<Application, undefined> = async (request, context) => {
  const { caller, method } = context;
  if (caller.isAnonymous) throw unsigned(context, "iam");
  if (caller.federatedBy !== undefined) throw refuseCall(rules, context);
  if (ofInstallation.has(method.name) && caller.accountId !== defaultAccountId) throw refuseCall(rules, context);
  await decideCall(rules, context, request, (question) => resourceOf(question, context));
  return undefined;
};

/**
 * The entity that a question names, with its path in the ARN: one that is created or moved with the path and the name
 * that it is to have; the caller's own user where none is named.
 */
const resourceOf = (question: Question, context: Context): Resource => {
  const { accountId } = context.caller;
  const { permission, resource } = question;
  const [, future, pathMember = "", nameMember = ""] = futureEntity.exec(permission.template) ?? [];
  if (future !== undefined) {
    const kind = future as EntityKind;
    const present = pathMember === "path" ? undefined : knownEntity(context, kind, textOf(question, `${kind}_name`));
    const entity = {
      name: textOf(question, nameMember) || (present?.name ?? ""),
      path: textOf(question, pathMember) || (present?.path ?? "/"),
    };
    const conditions = tagConditions(context, present?.tags);
    return { arn: entityArn(accountId, kind, entity), ownerAccountId: accountId, ...conditions };
  }
  if (permission.template === "oidc-provider/{url}")
    return { arn: providerArn(accountId, textOf(question, "url")), ownerAccountId: accountId };
  const given = parseArn(resource);
  if (given !== undefined) {
    // Each account has the common policies as its own, to read them.
    const isShared = given.account === commonAccount && context.method.idempotency === Idempotency.NO_SIDE_EFFECTS;
    const state = context.app.identities.state(accountId);
    const policy = findPolicyByArn(resource, (account) => (account === accountId ? state : undefined));
    const tagged = policy ?? findProviderByArn(accountId, state, resource) ?? findPrincipalByArn(context, resource);
    const ownerAccountId = isShared ? accountId : given.account;
    return { arn: resource, ownerAccountId, ...tagConditions(context, tagged?.tags) };
  }
  const [kind = "", name = ""] = resource.split("/", 2);
  const { arn, tags } = knownEntity(context, kind as EntityKind, name);
  const { conditions = noConditions } = tagConditions(context, tags);
  const further = permission.action === "PassRole" ? passedToMachines : boundaryConditions(context, kind, name);
  return {
    arn,
    ownerAccountId: accountId,
    conditions: further.size === 0 ? conditions : new Map([...conditions, ...further]),
  };
};

/** The operations that change what a user or role may do, whose policies ask for the boundary that it has already. */
const ofBounded = new Set(
  ["User", "Role"].flatMap((kind) => [
    `Attach${kind}Policy`,
    `Detach${kind}Policy`,
    `Put${kind}Policy`,
    `Delete${kind}Policy`,
    `Delete${kind}PermissionsBoundary`,
  ]),
);

/** The boundary of the user or role that is changed. The one that a request sets is a member of the request. */
const boundaryConditions = (context: Context, kind: string, name: string): Conditions => {
  if (!ofBounded.has(context.method.name) || !asksFor("permissionsboundary", context.caller)) return noConditions;
  const { accountId } = context.caller;
  const state = context.app.identities.state(accountId);
  const record = (kind === "user" ? state.user : state.role).get(name.toLowerCase());
  const { permissionsBoundary } = record === undefined ? {} : boundaryMember(accountId, state, record);
  return permissionsBoundary === undefined
    ? noConditions
    : new Map([["iam:permissionsboundary", [permissionsBoundary.permissionsBoundaryArn]]]);
};

/** The user, group or role of the account with this ARN. */
const findPrincipalByArn = (context: Context, arn: string): KnownEntity | undefined => {
  const named = principalInArn(arn);
  const found = named && knownEntity(context, named.kind, named.name);
  return found?.arn === inPublicPartition(arn) ? found : undefined;
};

const noConditions: Conditions = new Map();

/** What instance profiles give roles to. */
const passedToMachines: Conditions = new Map([["iam:passedtoservice", ["ec2.amazonaws.com"]]]);

/** The template of an entity by members with the path and the name that it is to have. */
const futureEntity = /^([a-z-]+)\{(path|new_path)\}\{([a-z_]+)\}$/;

/** An entity as policies ask for it. */
interface KnownEntity {
  readonly arn: string;
  readonly name: string;
  readonly path: string;
  readonly tags?: Tags | undefined;
}

const knownEntity = (context: Context, kind: EntityKind, given: string): KnownEntity => {
  const { app, caller } = context;
  const { accountId } = caller;
  const name = given === "" && kind === "user" ? (callersOwnUser(caller) ?? "") : given;
  if (kind === "user" && name === "") return { arn: `arn:aws:iam::${accountId}:root`, name, path: "/" };
  const user = kind === "user" ? findDeclaredUser(app.accounts, accountId, name) : undefined;
  if (user !== undefined) return { ...placed(accountId, kind, namedWithPath(user.name)), tags: user.tags };
  const role = kind === "role" ? findDeclaredRole(app.accounts, accountId, name) : undefined;
  if (role !== undefined)
    return { ...placed(accountId, kind, namedWithPath(pathNameOfArn(role.arn))), tags: role.tags };
  const state = app.identities.state(accountId);
  const record = state[kind === "instance-profile" ? "instanceProfile" : kind].get(name.toLowerCase());
  const tags = record !== undefined && "tags" in record ? record.tags : undefined;
  return { ...placed(accountId, kind, record ?? { name, path: "/" }), tags };
};

const placed = (accountId: string, kind: EntityKind, { name, path }: Pick<KnownEntity, "name" | "path">) => ({
  arn: entityArn(accountId, kind, { name, path }),
  name,
  path,
});

/** The tags as conditions, where a policy of the caller asks for any. */
const tagConditions = ({ caller }: Context, tags: Tags | undefined): Pick<Resource, "conditions"> =>
  asksFor("resourcetag/", caller) ? { conditions: entityTagConditions(tags) } : {};
