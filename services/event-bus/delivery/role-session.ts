import { requesterOf, callerPoliciesOf } from "../../kit/access/identity.ts";
import { assumeRole } from "../../kit/accounts/assume-role.ts";
import { evaluate } from "../../kit/policy/evaluate.ts";
import { rules } from "../access/rules.ts";
import type { Application } from "../application.ts";
import type { AttemptOutcome, Connector, DeliveryAttempt } from "./connector.ts";

/** The names by which trust policies may allow this service. */
const serviceNames = [rules.principal];

/**
 * Delivers in the name of the target's role: the role must exist, trust this service for the rule, belong to the rule's
 * account, and be allowed the action on the target. Otherwise the delivery fails permanently, with
 * FAILED_TO_ASSUME_ROLE or NO_PERMISSIONS. While it is unknown whether the role exists, it is tried again later.
 */
export const inRole =
  (app: Roles, action: string, connector: Connector): Connector =>
  (attempt) => {
    const refusal = refusalOf(app, action, attempt);
    return refusal === undefined ? connector(attempt) : Promise.resolve(refusal);
  };

type Roles = Pick<Application, "roles" | "allowsUnknownRoles">;
type Refused = Extract<AttemptOutcome, { readonly kind: "retry" | "failed" }>;

const refusalOf = (
  { roles, allowsUnknownRoles }: Roles,
  action: string,
  { account, target, ruleArn }: DeliveryAttempt,
): Refused | undefined => {
  const { roleArn } = target;
  if (roles === undefined || roleArn === undefined) return undefined;
  const isKnown = roles.findRole(roleArn) !== undefined;
  if (!isKnown && allowsUnknownRoles === true) return undefined;
  if (!isKnown && roles.knowsAllRoles?.() === false)
    return { kind: "retry", code: "TRANSIENT_ASSUME_ROLE", message: `${roleArn} cannot be found now.` };
  const context = new Map([
    ["aws:sourceaccount", [account]],
    ["aws:sourcearn", [ruleArn]],
  ]);
  const assumed = assumeRole(roles, { serviceNames }, { roleArn, sessionName: "delivery", context });
  if ("refusal" in assumed || assumed.role.accountId !== account)
    return failed(
      "FAILED_TO_ASSUME_ROLE",
      `${roleArn} ${isKnown ? `does not trust ${rules.principal} for ${ruleArn}` : "does not exist"}.`,
    );
  const { caller } = assumed;
  const policies = callerPoliciesOf(caller);
  const request = {
    requester: requesterOf(caller),
    action: action.includes(":") ? action : `${rules.names.public}:${action}`,
    resource: target.arn,
    ownerAccountId: account,
    context,
  };
  if (policies !== undefined && evaluate(request, { ...policies, resource: [] }, rules.spelling).isAllowed)
    return undefined;
  return failed("NO_PERMISSIONS", `${roleArn} may not ${request.action} on ${target.arn}.`);
};

const failed = (code: string, message: string): Refused => ({ kind: "failed", code, message });
