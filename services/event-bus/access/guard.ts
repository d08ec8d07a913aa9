import type { Message } from "@bufbuild/protobuf";

import { EventBusService } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { PutTargetsRequest } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { assertAllowed, decideCall, refuseCall } from "../../kit/access/decide.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { Guard } from "../../kit/server/guard.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Application } from "../application.ts";
import { brokerPrefix } from "../domain/broker.ts";
import { busArn, parseBusReference } from "../domain/arns.ts";
import type { Access } from "./access.ts";
import { ResourceFinder } from "./resources.ts";
import { refuseOutsideRevision, revisionOf } from "./revision.ts";
import { rules } from "./rules.ts";

type Context = CallContext<Application>;

/**
 * Decides whether a call may reach its handler. The owner's root may do everything that the policy of the bus does not
 * deny; users and role sessions of the account what their policies or the bus's allow; principals of other accounts
 * what the bus's policy and their own allow. Entries of PutEvents are decided on one by one. Refuses, in this order:
 * 1. a caller without an account: ACCESS_DENIED;
 * 2. an unknown revision: UNKNOWN_REVISION; an operation that the revision does not have: UNKNOWN_OPERATION;
 * 3. a bus of another account in an operation that no bus policy opens to other accounts: ACCESS_DENIED;
 * 4. a permission that the request needs and the caller does not have: ACCESS_DENIED;
 * 5. a target without a role at an API destination or broker that the caller may not invoke: ACCESS_DENIED.
 * An account that calls for the first time gets its default bus.
 */
export const guard: Guard<Application, Access> = async (request, context) => {
  const { app, caller, method, requestHeader } = context;
  if (!isOwner(caller, caller.accountId)) throw refuseCall(rules, context);
  const revision = revisionOf(requestHeader);
  refuseOutsideRevision(revision, method);
  const bus = parseBusReference(busNamedBy(request, context), caller.accountId, app.arnScope);
  if (bus.account !== caller.accountId && !opened.has(method.name))
    throw refuseCall(rules, context, busArn(app.arnScope, bus));
  const finder = new ResourceFinder(context);
  const decision = await decideCall(rules, context, request, (question) => finder.find(question));
  if (method.name === EventBusService.method.putTargets.name)
    checkDestinations((request as PutTargetsRequest).targets, context);
  await app.ensureDefaultBus(caller.accountId);
  return { revision, bus, refusedEntries: decision.refusedElements };
};

/**
 * API destinations and brokers are called with a secret of the account or the installation. Without a role that may,
 * whoever puts the target must.
 */
const checkDestinations = (targets: readonly Target[], context: Context): void => {
  for (const { arn, roleArn } of targets) {
    const parsed = parseArn(arn);
    const action = actionsWithSecret.find(([prefix]) => parsed?.resource.startsWith(prefix))?.[1];
    if (roleArn !== undefined || parsed === undefined || action === undefined) continue;
    assertAllowed(rules, context, { action, resource: { arn, ownerAccountId: parsed.account } });
  }
};

/** The actions on such targets, by the beginning of the resource part of their ARNs. */
const actionsWithSecret: readonly (readonly [prefix: string, action: string])[] = [
  ["api-destination/", "InvokeApiDestination"],
  [brokerPrefix, "PublishToBroker"],
];

/** The operations on a bus and its rules that the policy of the bus can open to other accounts. */
const opened: ReadonlySet<string> = new Set([
  "DeleteRule",
  "DescribeEventBus",
  "DescribeRule",
  "DisableRule",
  "EnableRule",
  "ListRuleNamesByTarget",
  "ListRules",
  "ListTargetsByRule",
  "PutRule",
  "PutTargets",
  "RemoveTargets",
]);

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
