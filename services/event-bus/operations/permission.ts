/**
 * Permissions on a bus. Putting refuses a call that gives neither a policy nor all of action, principal and statement
 * id, in revision B another action than putting events, a condition for a single account, a policy that is none or too long, then a bus that is not there. Removing refuses
 * a bus that is not there, a bus without a policy, then a statement that is not there.
 */
import type { PutPermissionRequest } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Application, Operation } from "../application.ts";
import { ownBus } from "../access/guard.ts";
import { busArn, defaultBusName } from "../domain/arns.ts";
import type { Grant } from "../access/bus-policy.ts";
import {
  givenPolicy,
  policyCharactersMax,
  unlimitedPolicyCharactersMax,
  withGrant,
  withoutStatement,
} from "../access/bus-policy.ts";
import { ErrorReason, fault } from "../faults.ts";
import type { Revision } from "../access/revision.ts";
import { revisionOf } from "../access/revision.ts";
import { getBus, putBus } from "../store/bus.ts";

/** Lets other accounts put events on a bus. */
export const putPermission: Operation<"putPermission"> = async (request, context) => {
  const revision = revisionOf(context);
  const isLimited = revision.limitsEveryPolicy || ownBus(context, request.eventBusName).name === defaultBusName;
  const charactersMax = isLimited ? policyCharactersMax : unlimitedPolicyCharactersMax;
  const given = request.policy === undefined ? undefined : givenPolicy(request.policy, charactersMax);
  const grant = given === undefined ? grantOf(request, revision) : undefined;
  await changePolicy(context, request.eventBusName, (policy, arn) =>
    grant === undefined ? given : withGrant(policy, grant, arn, charactersMax),
  );
  return {};
};

/** Takes back one permission, or all of them. */
export const removePermission: Operation<"removePermission"> = async (request, context) => {
  const { removeAllPermissions, statementId } = request;
  if (removeAllPermissions !== true && statementId === undefined)
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "StatementId",
      reason: "StatementId or RemoveAllPermissions must be provided.",
    });
  await changePolicy(context, request.eventBusName, (policy) =>
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
  context: CallContext<Application>,
  busName: string | undefined,
  change: (policy: string | undefined, arn: string) => string | undefined,
): Promise<void> => {
  const { app } = context;
  const reference = ownBus(context, busName);
  return app.store.transact(async (transaction) => {
    const bus = await getBus(transaction, reference);
    const policy = change(bus.policy, busArn(app.place, reference.account, reference.name));
    putBus(transaction, reference.account, { ...bus, policy, modifiedMs: BigInt(app.clock.now()) });
  });
};
