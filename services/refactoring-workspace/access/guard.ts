import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import type { EnvironmentRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import type { RefactoringWorkspaceService } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { CallContext, Handlers } from "../../kit/server/handlers.ts";
import type { Reader } from "../../kit/store/transaction.ts";
import type { Application } from "../application.ts";
import { fault } from "../faults.ts";
import { findEnvironment } from "../store/environment.ts";

/** What decides whether a call may do what it asks for. */
export type CallFacts = Pick<CallContext<unknown>, "caller" | "method">;

type Service = Handlers<typeof RefactoringWorkspaceService, Application>;
type AnyHandler = (request: unknown, context: CallContext<Application>) => Promise<unknown>;

/**
 * Puts the first half of the authorization in front of every handler, so that none can forget it: a caller who signed
 * nothing is refused. The second half is `ownEnvironment`, the only way by which a handler reaches what is stored.
 */
export const authorized = (handlers: Service): Service =>
  Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => [
      name,
      typeof handler === "function" ? guarded(handler as AnyHandler) : handler,
    ]),
  ) as unknown as Service;

const guarded =
  (handler: AnyHandler): AnyHandler =>
  async (request, context) => {
    if (!isOwner(context.caller, context.caller.accountId)) throw denied(context, "*");
    return handler(request, context);
  };

/**
 * The environment, when the caller's account owns it. Every read of what an environment holds begins here. Throws
 * RESOURCE_NOT_FOUND, and ACCESS_DENIED for another account's.
 */
export const ownEnvironment = async (
  reader: Reader,
  call: CallFacts,
  environmentId: string,
): Promise<EnvironmentRecord> => {
  const environment = await findEnvironment(reader, environmentId);
  if (environment === undefined)
    throw fault(ErrorReason.RESOURCE_NOT_FOUND, { resource_type: "ENVIRONMENT", resource_id: environmentId });
  if (!isOwner(call.caller, environment.ownerAccountId)) throw denied(call, environmentId);
  return environment;
};

const denied = (call: CallFacts, resource: string): Error =>
  fault(ErrorReason.ACCESS_DENIED, { action: `refactoring-workspace:${call.method.name}`, resource });
