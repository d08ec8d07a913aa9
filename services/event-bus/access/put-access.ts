import type { EventBusRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { isAccountId } from "../../kit/identity/caller.ts";
import { parseIdentityPolicy } from "../../kit/identity/identity-policies.ts";
import type { PolicyRequest, Requester, Spelling } from "../../kit/policy/evaluate.ts";
import { evaluate, findStatement } from "../../kit/policy/evaluate.ts";
import { PolicyError } from "../../kit/policy/document.ts";
import type { Policy } from "../../kit/policy/document.ts";
import type { Application } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { busArn } from "../domain/arns.ts";
import { readBusPolicy } from "./bus-policy.ts";

/** Who puts an event, as far as policies can name it. */
export interface Sender extends Requester {
  /** Identity policies as JSON documents. */
  readonly policies: readonly string[];
}

/** An account that acts for itself, as a rule does which delivers to another bus. */
export const accountSender = (accountId: string, principalArn: string): Sender => ({
  accountId,
  principalArn,
  isRoot: true,
  isAnonymous: false,
  policies: [],
});

/** What is put, as far as policies can name it. */
export interface PutFacts {
  readonly source: string;
  readonly detailType: string;
}

/**
 * Whether somebody may put an event on a bus: on one of the own account unless the bus's policy denies it, on another's
 * only if the policy allows it. A bus of another account that is not there, so has no record, allows nobody.
 */
export const mayPut = (
  app: Pick<Application, "place">,
  bus: BusReference,
  record: Pick<EventBusRecord, "policy"> | undefined,
  sender: Sender,
  facts: PutFacts,
): boolean => {
  const text = record?.policy;
  const isOwn = bus.account === sender.accountId && isAccountId(bus.account);
  if (text === undefined) return isOwn;
  const policy = readBusPolicy(text);
  const request: PolicyRequest = {
    requester: sender,
    action: "events:PutEvents",
    resource: busArn(app.place, bus.account, bus.name),
    ownerAccountId: bus.account,
    context: new Map([
      ["aws:principalaccount", [sender.accountId]],
      ["aws:principalarn", [sender.principalArn]],
      ["events:source", [facts.source]],
      ["events:detail-type", [facts.detailType]],
    ]),
  };
  if (isOwn) return findStatement("Deny", request, [policy], publicSpelling) === undefined;
  const identity = readIdentityPolicies(sender.policies);
  return identity !== undefined && evaluate(request, { identity, resource: [policy] }, publicSpelling).isAllowed;
};

/** Both dialects read as the public one. */
const publicSpelling: Spelling = {
  action: (written) => written.replace(/^event-bus:/i, "events:"),
  arn: (written) => written.replace(/^arn:svc:/, "arn:aws:").replace(/^arn:aws:event-bus:/, "arn:aws:events:"),
  key: (written) => written.replace(/^svc:/i, "aws:").replace(/^event-bus:/i, "events:"),
};

/** Undefined when one of them cannot be read: it may deny what the others allow, so all of them allow nothing. */
const readIdentityPolicies = (policies: readonly string[]): Policy[] | undefined => {
  try {
    return policies.map(parseIdentityPolicy);
  } catch (error) {
    if (error instanceof PolicyError) return undefined;
    throw error;
  }
};
