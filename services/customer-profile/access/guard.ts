import type { CustomerProfileService } from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { CallContext, Handlers } from "../../kit/server/handlers.ts";
import type { Application } from "../application.ts";
import { fault } from "../faults.ts";

type Service = Handlers<typeof CustomerProfileService, Application>;
type AnyHandler = (request: unknown, context: CallContext<Application>) => Promise<unknown>;

/**
 * Puts the authorization in front of every handler, so that none can forget it. Each operation works on the data of the
 * caller's own account; so whoever acts for an account is allowed, and nobody else is.
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
    const { caller, method } = context;
    if (!isOwner(caller, caller.accountId))
      throw fault(ErrorReason.ACCESS_DENIED, { action: `customer-profile:${method.name}`, resource: "*" });
    return handler(request, context);
  };
