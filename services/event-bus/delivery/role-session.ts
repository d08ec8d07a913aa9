import { requesterOf, callerPoliciesOf } from "../../kit/access/identity.ts";
import { assumeRole } from "../../kit/accounts/assume-role.ts";
import { evaluate } from "../../kit/policy/evaluate.ts";
import { rules } from "../access/rules.ts";
import type { Application } from "../application.ts";
import type { AttemptFailure, Connector, DeliveryAttempt } from "./connector.ts";

/** The names by which trust policies may allow this service. */
const serviceNames = [rules.principal];

/**
 * Delivers in the name of the target's role: the role must trust this service for the rule, belong to the rule's
 * account, and be allowed the action on the target. Otherwise the delivery fails permanently, with
 * FAILED_TO_ASSUME_ROLE or NO_PERMISSIONS. A role that is not declared has no policies that could be asked: its
 * delivery is decided as one without a role.
 */
export const inRole =
  (app: Pick<Application, "roles">, action: string, connector: Connector): Connector =>
  async (attempt) => {
    const failure = refusalOf(app, action, attempt);
    return failure === undefined ? connector(attempt) : { kind: "failed", ...failure };
  };

const refusalOf = (
  { roles }: Pick<Application, "roles">,
  action: string,
  { account, target, ruleArn }: DeliveryAttempt,
): AttemptFailure | undefined => {
  const { roleArn } = target;
  if (roles === undefined || roleArn === undefined || roles.findRole(roleArn) === undefined) return undefined;
  const context = new Map([
    ["aws:sourceaccount", [account]],
    ["aws:sourcearn", [ruleArn]],
  ]);
  const assumed = assumeRole(roles, { serviceNames }, { roleArn, sessionName: "delivery", context });
  if ("refusal" in assumed || assumed.role.accountId !== account)
    return { code: "FAILED_TO_ASSUME_ROLE", message: `${roleArn} does not trust ${rules.principal} for ${ruleArn}.` };
  const { caller } = assumed;
  const policies = callerPoliciesOf(caller);
  const request = {
    requester: requesterOf(caller),
    action: `${rules.names.public}:${action}`,
    resource: target.arn,
    ownerAccountId: account,
    context,
  };
  if (policies !== undefined && evaluate(request, { ...policies, resource: [] }, rules.spelling).isAllowed)
    return undefined;
  return { code: "NO_PERMISSIONS", message: `${roleArn} may not ${request.action} on ${target.arn}.` };
};
