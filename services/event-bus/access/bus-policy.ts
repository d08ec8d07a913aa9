import type { EventBusRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import type { Policy } from "../../kit/policy/document.ts";
import { parsePolicy, PolicyError } from "../../kit/policy/document.ts";
import { policyCache } from "../../kit/policy/policy-cache.ts";
import { ErrorReason, fault } from "../faults.ts";
import { parseJson } from "../../kit/json/parse-json.ts";

/** Characters of a bus's policy where they are limited. */
export const policyCharactersMax = 10_240;

/**
 * Characters of a policy for which no limit is documented. A bound is needed, because the policy is read for events.
 */
export const unlimitedPolicyCharactersMax = 102_400;

/** The parts of a grant that PutPermission adds to a policy. */
export interface Grant {
  readonly statementId: string;
  readonly action: string;
  /** 12 digits, or `*`. */
  readonly principal: string;
  readonly condition: { readonly type: string; readonly key: string; readonly value: string } | undefined;
}

/**
 * The policy with a grant on a bus; a statement of the same id is replaced. Throws POLICY_TOO_LONG, PARAMETER_REFUSED.
 */
export const withGrant = (policy: string | undefined, grant: Grant, busArn: string, charactersMax: number): string => {
  const { statementId, action, principal, condition } = grant;
  const partition = parseArn(busArn)?.partition ?? "aws";
  const statement = {
    Sid: statementId,
    Effect: "Allow",
    Principal: principal === "*" ? "*" : { AWS: `arn:${partition}:iam::${principal}:root` },
    Action: action,
    Resource: busArn,
    ...(condition && { Condition: { [condition.type]: { [condition.key]: condition.value } } }),
  };
  const others = statementsOf(policy).filter(({ Sid }) => Sid !== statementId);
  return checkedPolicy(JSON.stringify({ Version: "2012-10-17", Statement: [...others, statement] }), charactersMax);
};

/** The policy without a statement; undefined if it was the last one. Throws POLICY_NOT_FOUND, STATEMENT_NOT_FOUND. */
export const withoutStatement = (policy: string | undefined, statementId: string): string | undefined => {
  if (policy === undefined) throw fault(ErrorReason.POLICY_NOT_FOUND);
  const statements = statementsOf(policy);
  const kept = statements.filter(({ Sid }) => Sid !== statementId);
  if (kept.length === statements.length) throw fault(ErrorReason.STATEMENT_NOT_FOUND);
  return kept.length === 0 ? undefined : JSON.stringify({ Version: "2012-10-17", Statement: kept });
};

/** Returns a policy that may be stored, unchanged. Throws POLICY_TOO_LONG, PARAMETER_REFUSED. */
export const checkedPolicy = (text: string, charactersMax: number): string => {
  if (text.length > charactersMax) throw fault(ErrorReason.POLICY_TOO_LONG, { limit: String(charactersMax) });
  try {
    parseBusPolicy(text);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    throw fault(ErrorReason.PARAMETER_REFUSED, { parameter: "Policy", reason: `${error.message}.` });
  }
  return text;
};

/** The policies of a bus, read; empty if it has none, or if the bus does not exist. */
export const policiesOf = (bus: Pick<EventBusRecord, "policy"> | undefined): readonly Policy[] =>
  bus?.policy === undefined ? [] : [parseBusPolicy(bus.policy)];

/** Parses the policy of a bus. Throws PolicyError. A character has at most three bytes for each of its UTF-16 units. */
const parseBusPolicy = policyCache((text) =>
  parsePolicy(text, { principals: "required", accountMembers: ["SVC"], bytesMax: unlimitedPolicyCharactersMax * 3 }),
);

/** The statements of a stored policy in their stored form. */
const statementsOf = (policy: string | undefined): readonly { readonly Sid?: string }[] => {
  if (policy === undefined) return [];
  const { Statement } = parseJson(policy) as { readonly Statement: unknown };
  return (Array.isArray(Statement) ? Statement : [Statement]) as { readonly Sid?: string }[];
};
