import type { EventBusService } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { CallContext, Handlers } from "../../kit/server/handlers.ts";
import type { Application } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { busArn, defaultBusName, parseBusReference } from "../domain/arns.ts";
import { ErrorReason, fault } from "../faults.ts";
import { refuseOutsideRevision } from "./revision.ts";
import { findBus, putBus } from "../store/bus.ts";

type Service = Handlers<typeof EventBusService, Application>;
type Context = CallContext<Application>;
type AnyHandler = (request: unknown, context: Context) => Promise<unknown>;

/**
 * Puts the authorization in front of every handler, so that none can forget it: whoever acts for an account may do
 * everything with what the account owns, and nobody else may do anything. Then a call is refused that the revision it is
 * made in does not know. An account that calls for the first time gets its default bus.
 */
export const authorized = (handlers: Service): Service =>
  Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => [
      name,
      guarded(typeof handler === "function" ? (handler as AnyHandler) : notOffered),
    ]),
  ) as unknown as Service;

const guarded =
  (handler: AnyHandler): AnyHandler =>
  async (request, context) => {
    if (!isOwner(context.caller, context.caller.accountId)) throw denied(context, "*");
    refuseOutsideRevision(context);
    await context.app.openAccount(context.caller.accountId);
    return handler(request, context);
  };

const notOffered: AnyHandler = async (_request, { method }) => {
  throw fault(ErrorReason.NOT_IMPLEMENTED, { operation: method.name });
};

const denied = (context: Context, resource: string): Error =>
  fault(ErrorReason.ACCESS_DENIED, { action: `events:${context.method.name}`, resource });

/** The bus that a request names by name or ARN. Throws ACCESS_DENIED for a bus of another account. */
export const ownBus = (context: Context, nameOrArn: string | undefined): BusReference => {
  const bus = parseBusReference(nameOrArn, context.caller.accountId);
  if (bus.account !== context.caller.accountId) throw denied(context, busArn(context.app.place, bus.account, bus.name));
  return bus;
};

/** Makes the default buses of accounts, each once. */
export const accountOpener = (app: Pick<Application, "store" | "clock">): ((account: string) => Promise<void>) => {
  const opened = new Set<string>();
  return async (account) => {
    if (opened.has(account)) return;
    const reference = { account, name: defaultBusName };
    await app.store.transact(async (transaction) => {
      if ((await findBus(transaction, reference)) !== undefined) return;
      const nowMs = BigInt(app.clock.now());
      putBus(transaction, account, { name: defaultBusName, createdMs: nowMs, modifiedMs: nowMs });
    });
    opened.add(account);
  };
};
