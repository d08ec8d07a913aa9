import type { EventBusRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import { isAccountId } from "../../kit/identity/caller.ts";
import { parseIdentityPolicy } from "../../kit/identity/identity-policies.ts";
import type { PolicyRequest, Requester, PolicySpelling } from "../../kit/policy/evaluate.ts";
import { evaluate, findStatement } from "../../kit/policy/evaluate.ts";
import { PolicyError } from "../../kit/policy/document.ts";
import type { Policy } from "../../kit/policy/document.ts";
import type { Application } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { busArn } from "../domain/arns.ts";
import { parseBusPolicy } from "./bus-policy.ts";

/** The sender of an event, with the facts that policies can name. */
interface Sender extends Requester {
  /** Identity policies as JSON documents. */
  readonly policies: readonly string[];
}

/** An account that acts for itself, such as the account of a rule that delivers to another bus. */
export const accountSender = (accountId: string, principalArn: string): Sender => ({
  accountId,
  principalArn,
  isRoot: true,
  isAnonymous: false,
  policies: [],
});

/** The facts of an event that policies can name. */
interface PutFacts {
  readonly source: string;
  readonly detailType: string;
}

/** Services of the installation, by the issuer of their tokens: they may put events whose source is reserved. */
const serviceIssuers: ReadonlySet<string> = new Set([
  "event-bus",
  "object-storage",
  "customer-profile",
  "refactoring-workspace",
]);

/** Whether the caller may put events whose source is reserved for services (`aws.` or `svc.`). */
export const mayUseReservedSource = ({ issuer }: Pick<Caller, "issuer">): boolean => serviceIssuers.has(issuer);

/**
 * Whether a sender may put an event on a bus: on a bus of its own account unless the bus's policy denies it, on a bus
 * of another account only if that bus's policy allows it. A bus of another account without a record allows nobody.
 */
export const mayPut = (
  app: Pick<Application, "arnScope">,
  bus: BusReference,
  record: Pick<EventBusRecord, "policy"> | undefined,
  sender: Sender,
  facts: PutFacts,
): boolean => {
  const policyText = record?.policy;
  const isOwn = bus.account === sender.accountId && isAccountId(bus.account);
  if (policyText === undefined) return isOwn;
  const policy = parseBusPolicy(policyText);
  const request: PolicyRequest = {
    requester: sender,
    action: "events:PutEvents",
    resource: busArn(app.arnScope, bus),
    ownerAccountId: bus.account,
    context: new Map([
      ["aws:principalaccount", [sender.accountId]],
      ["aws:principalarn", [sender.principalArn]],
      ["events:source", [facts.source]],
      ["events:detail-type", [facts.detailType]],
    ]),
  };
  if (isOwn) return findStatement("Deny", request, [policy], publicSpelling) === undefined;
  const identity = parseIdentityPolicies(sender.policies);
  return identity !== undefined && evaluate(request, { identity, resource: [policy] }, publicSpelling).isAllowed;
};

/** Reads the names of both dialects as those of the public one. */
const publicSpelling: PolicySpelling = {
  action: (written) => written.replace(/^event-bus:/i, "events:"),
  arn: (written) => written.replace(/^arn:svc:/, "arn:aws:").replace(/^arn:aws:event-bus:/, "arn:aws:events:"),
  key: (written) => written.replace(/^svc:/i, "aws:").replace(/^event-bus:/i, "events:"),
};

/** Undefined if one policy cannot be parsed: it may deny what the others allow, so none of them allows anything. */
const parseIdentityPolicies = (policies: readonly string[]): Policy[] | undefined => {
  try {
    return policies.map(parseIdentityPolicy);
  } catch (error) {
    if (error instanceof PolicyError) return undefined;
    throw error;
  }
};
