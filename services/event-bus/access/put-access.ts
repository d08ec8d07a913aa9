import type { EventBusRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { principalConditions } from "../../kit/accounts/principal-conditions.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import { rootCaller } from "../../kit/identity/caller.ts";
import { evaluate } from "../../kit/policy/evaluate.ts";
import type { Application } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { busArn } from "../domain/arns.ts";
import { policiesOf } from "./bus-policy.ts";
import { rules } from "./rules.ts";

/** Services of the installation, by the issuer of their tokens: they may put events whose source is reserved. */
const serviceIssuers: ReadonlySet<string> = new Set([
  "event-bus",
  "object-storage",
  "customer-profile",
  "refactoring-workspace",
]);

/** Whether the caller may put events whose source is reserved for services (`aws.` or `svc.`). */
export const mayUseReservedSource = ({ issuer }: Pick<Caller, "issuer">): boolean => serviceIssuers.has(issuer);

/** An event that a rule of one bus delivers to another bus. */
export interface ForwardedEvent {
  readonly source: string;
  readonly detailType: string;
  /** The account of the rule. */
  readonly account: string;
  readonly ruleArn: string;
  /** Whether the target names a role: only then is the account recognized as a member of its organization. */
  readonly hasRole: boolean;
}

/**
 * True if a rule may put an event on a bus, in the name of its account: on a bus of that account unless the policy of
 * the bus denies it, on a bus of another account only if that bus's policy allows it. A bus of another account without
 * a record allows nobody.
 */
export const mayForward = (
  app: Pick<Application, "arnScope" | "accounts">,
  bus: BusReference,
  record: Pick<EventBusRecord, "policy"> | undefined,
  event: ForwardedEvent,
): boolean => {
  const { partition } = app.arnScope;
  const sender = rootCaller(event.account, partition);
  const request = {
    requester: sender,
    action: "events:PutEvents",
    resource: busArn(app.arnScope, bus),
    ownerAccountId: bus.account,
    context: new Map([
      ...principalConditions((event.hasRole ? app.accounts : undefined) ?? noOrganizations, sender),
      ["aws:sourceaccount", [event.account]],
      ["aws:sourcearn", [event.ruleArn]],
      ["events:source", [event.source]],
      ["events:detail-type", [event.detailType]],
      ["events:eventbusinvocation", ["true"]],
    ] as const),
  };
  return evaluate(request, { identity: [], resource: policiesOf(record) }, rules.spelling).isAllowed;
};

const noOrganizations = { findOrganizationId: () => undefined };
