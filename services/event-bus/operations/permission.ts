/**
 * Permissions on a bus.
 *
 * PutPermission checks, in order:
 * 1. a policy, or all of action, principal and statement id, is given;
 * 2. in revision B, the action is events:PutEvents;
 * 3. a condition is given only with the principal `*`;
 * 4. a given policy is not too long and valid;
 * 5. the bus exists;
 * 6. the policy with an added grant is not too long and valid.
 *
 * RemovePermission checks, in order:
 * 1. a statement id is given, or that all permissions are to be removed;
 * 2. the bus exists;
 * 3. the bus has a policy, and the policy has the statement.
 */
import type { PutPermissionRequest } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { Grant } from "../access/bus-policy.ts";
import {
  checkedPolicy,
  policyCharactersMax,
  unlimitedPolicyCharactersMax,
  withGrant,
  withoutStatement,
} from "../access/bus-policy.ts";
import type { Revision } from "../access/revision.ts";
import type { Operation, OperationContext } from "../application.ts";
import { busArn, defaultBusName } from "../domain/arns.ts";
import { ErrorReason, fault } from "../faults.ts";
import { getBus, putBus } from "../store/bus.ts";

/** Allows other accounts to put events on a bus: replaces its policy, or adds a grant to it. */
export const putPermission: Operation<"putPermission"> = async (request, context) => {
  const { bus, revision } = context.access;
  const isLimited = revision.limitsEveryPolicy || bus.name === defaultBusName;
  const charactersMax = isLimited ? policyCharactersMax : unlimitedPolicyCharactersMax;
  const whole = request.policy === undefined ? undefined : checkedPolicy(request.policy, charactersMax);
  const grant = whole === undefined ? grantOf(request, revision) : undefined;
  await changePolicy(context, (policy, arn) =>
    grant === undefined ? whole : withGrant(policy, grant, arn, charactersMax),
  );
  return {};
};

/** Removes one permission, or all of them. */
export const removePermission: Operation<"removePermission"> = async (request, context) => {
  const { removeAllPermissions, statementId } = request;
  if (removeAllPermissions !== true && statementId === undefined)
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "StatementId",
      reason: "StatementId or RemoveAllPermissions must be provided.",
    });
  await changePolicy(context, (policy) =>
    removeAllPermissions === true ? undefined : withoutStatement(policy, statementId ?? ""),
  );
  return {};
};

const grantOf = (request: PutPermissionRequest, { name, grantsAnyAction }: Revision): Grant => {
  const { action, principal, statementId, condition } = request;
  if (action === undefined || principal === undefined || statementId === undefined)
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "Policy",
      reason: "Policy, or Action, Principal and StatementId must be provided.",
    });
  if (!grantsAnyAction && !/^(?:events|event-bus):PutEvents$/.test(action))
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "Action",
      reason: `Revision ${name} grants only events:PutEvents.`,
    });
  if (condition !== undefined && principal !== "*")
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "Condition",
      reason: "Condition is only allowed when Principal is '*'.",
    });
  return { action, principal, statementId, condition };
};

const changePolicy = (
  { app, access: { bus } }: OperationContext,
  change: (policy: string | undefined, arn: string) => string | undefined,
): Promise<void> =>
  app.store.transact(async (transaction) => {
    const present = await getBus(transaction, bus);
    const policy = change(present.policy, busArn(app.arnScope, bus));
    putBus(transaction, bus.account, { ...present, policy, modifiedMs: BigInt(app.clock.now()) });
  });
