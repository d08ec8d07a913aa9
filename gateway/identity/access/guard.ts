import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";

import { ErrorReasonSchema } from "../../../gen/quartet/identity/v1/error_reason_pb.ts";
import { accessRules, decideCall, refuseCall } from "../../../services/kit/access/decide.ts";
import type { Resource } from "../../../services/kit/access/decide.ts";
import type { Question } from "../../../services/kit/access/questions.ts";
import { textOf } from "../../../services/kit/access/questions.ts";
import { entityArn, namedWithPath } from "../../../services/kit/accounts/entity-arn.ts";
import { parseArn } from "../../../services/kit/arn/arn.ts";
import { defaultAccountId } from "../../../services/kit/identity/access-keys.ts";
import type { Guard } from "../../../services/kit/server/guard.ts";
import type { Application, Context } from "../application.ts";
import type { HolderKind } from "../domain/entities.ts";
import { commonAccount } from "../domain/common-policies.ts";
import { findDeclaredRole, findDeclaredUser } from "../domain/entities.ts";
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
 * 2. an operation on accounts by a principal of another account than the first: ACCESS_DENIED;
 * 3. what no policy allows: ACCESS_DENIED, whether the entity exists or not.
 */
export const guard: Guard<Application, undefined> = async (request, context) => {
  const { caller, method } = context;
  if (caller.isAnonymous) throw unsigned(context, "iam");
  if (ofInstallation.has(method.name) && caller.accountId !== defaultAccountId) throw refuseCall(rules, context);
  await decideCall(rules, context, request, (question) => resourceOf(question, context));
  return undefined;
};

/**
 * The entity that a question names, with its path in the ARN: one that is created with the path that it is to have; the
 * caller's own user where none is named.
 */
const resourceOf = (question: Question, context: Context): Resource => {
  const { accountId } = context.caller;
  const { permission, resource } = question;
  const [created, ...rest] = permission.template.split("{path}");
  if (rest.length > 0) {
    const path = textOf(question, "path");
    const entity = { name: resource.slice(`${created}${path}`.length), path: path === "" ? "/" : path };
    return { arn: entityArn(accountId, created as EntityKind, entity), ownerAccountId: accountId };
  }
  const given = parseArn(resource);
  if (given !== undefined) {
    // Each account has the common policies as its own, to read them.
    const isShared = given.account === commonAccount && context.method.idempotency === Idempotency.NO_SIDE_EFFECTS;
    return { arn: resource, ownerAccountId: isShared ? accountId : given.account };
  }
  const [kind = "", name = ""] = resource.split("/", 2);
  return { arn: arnOf(context, kind as EntityKind, name), ownerAccountId: accountId };
};

type EntityKind = HolderKind | "policy";

const arnOf = ({ app, caller }: Context, kind: EntityKind, given: string): string => {
  const { accountId } = caller;
  const name = given === "" && kind === "user" ? (callersOwnUser(caller) ?? "") : given;
  if (kind === "user" && name === "") return `arn:aws:iam::${accountId}:root`;
  if (kind === "user") {
    const declared = findDeclaredUser(app.accounts, accountId, name);
    if (declared !== undefined) return entityArn(accountId, "user", namedWithPath(declared.name));
  }
  if (kind === "role") {
    const declared = findDeclaredRole(app.accounts, accountId, name);
    if (declared !== undefined) return declared.arn;
  }
  return entityArn(accountId, kind, app.identities.state(accountId)[kind].get(name.toLowerCase()) ?? { name });
};
