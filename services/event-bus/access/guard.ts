import type { Message } from "@bufbuild/protobuf";

import { EventBusService } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { Guard } from "../../kit/server/guard.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Application } from "../application.ts";
import { busArn, parseBusReference } from "../domain/arns.ts";
import { ErrorReason, fault } from "../faults.ts";
import type { Access } from "./access.ts";
import { refuseOutsideRevision, revisionOf } from "./revision.ts";

type Context = CallContext<Application>;

/**
 * Decides whether a call may reach its handler. Whoever acts for an account may do everything with the account's own
 * resources, and nobody else may do anything. Refuses, in this order:
 * 1. a caller without an account: ACCESS_DENIED;
 * 2. an unknown revision: UNKNOWN_REVISION; an operation that the revision does not have: UNKNOWN_OPERATION;
 * 3. a bus of another account: ACCESS_DENIED.
 * An account that calls for the first time gets its default bus.
 */
export const guard: Guard<Application, Access> = async (request, context) => {
  const { app, caller, method, requestHeader } = context;
  if (!isOwner(caller, caller.accountId)) throw denied(context, "*");
  const revision = revisionOf(requestHeader);
  refuseOutsideRevision(revision, method);
  const bus = parseBusReference(busNamedBy(request, context), caller.accountId);
  if (bus.account !== caller.accountId) throw denied(context, busArn(app.arnScope, bus));
  await app.ensureDefaultBus(caller.accountId);
  return { revision, bus };
};

const denied = ({ method }: Context, resource: string): Error =>
  fault(ErrorReason.ACCESS_DENIED, { action: `events:${method.name}`, resource });

/** Members that name the bus of a request in operations that have no member `event_bus_name`. */
const busMembers: { readonly [Name in keyof (typeof EventBusService)["method"]]?: string } = {
  createArchive: "event_source_arn",
  deleteEventBus: "name",
  describeEventBus: "name",
  updateEventBus: "name",
};

/** The member that names the bus of a request, by the name of its method; none for operations that work on no bus. */
const busFields = new Map(
  EventBusService.methods.flatMap((method) => {
    const name = busMembers[method.localName as keyof typeof busMembers] ?? "event_bus_name";
    const field = method.input.fields.find((each) => each.name === name);
    return field === undefined ? [] : [[method.name, field.localName] as const];
  }),
);

/** The name or ARN of the bus that a request names. */
const busNamedBy = (request: Message, { method }: Context): string | undefined => {
  const field = busFields.get(method.name);
  return field === undefined ? undefined : (request as unknown as Readonly<Record<string, string>>)[field];
};
