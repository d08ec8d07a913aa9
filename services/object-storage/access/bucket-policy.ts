import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { ServiceError } from "../../kit/faults/service-error.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import { methodPermissions } from "../../kit/contract/permissions.ts";
import type { Policy, Principal, Statement } from "../../kit/policy/document.ts";
import { parsePolicy, PolicyError, PrincipalError } from "../../kit/policy/document.ts";
import { textTest } from "../../kit/policy/wildcard.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { canHaveKey, hasKnownKeys } from "./condition-keys.ts";

/** What an action is done to. */
type ResourceKind = "bucket" | "object" | "none";

/** The actions that policies of buckets may name, in lower case and without their prefix. */
const actionKinds = (): ReadonlyMap<string, ResourceKind> =>
  (knownKinds ??= new Map([
    ...ObjectStorageService.methods.flatMap((method) =>
      methodPermissions(method).permissions.map(
        ({ action, template }) => [action.toLowerCase(), kindOf(template)] as const,
      ),
    ),
    // Actions of replication and of object lambdas have no operation of their own.
    ...(
      [
        "GetObjectVersionForReplication",
        "GetObjectVersionTorrent",
        "InitiateReplication",
        "ObjectOwnerOverrideToBucketOwner",
        "ReplicateDelete",
        "ReplicateObject",
        "ReplicateTags",
      ] as const
    ).map((action) => [action.toLowerCase(), "object"] as const),
  ]));
let knownKinds: ReadonlyMap<string, ResourceKind> | undefined;

function kindOf(template: string): ResourceKind {
  if (template === "*") return "none";
  return template === "{bucket}" ? "bucket" : "object";
}

/** Parses the policy of a bucket as far as every policy must be right. Throws PolicyError. */
export const parseBucketPolicy = (text: string): Policy =>
  parsePolicy(text, { principals: "required", accountMembers: ["SVC"], bytesMax: limits.policyBytesMax });

/**
 * Parses a policy that is to be stored. Throws MALFORMED_POLICY, in this order, for
 *  1. more than 20 KiB, text that does not begin with `{`, a document that breaks the rules of all policies;
 *  2. a principal that cannot be one;
 *  3. an action that is not one of object storage;
 *  4. a missing resource, or one that is not of this bucket;
 *  5. an action that none of its statement's resources can have;
 *  6. a condition key that no request has, or none of the statement's actions, so that a mistyped denial is noticed.
 */
export const readBucketPolicy = (text: string, bucket: string): Policy => {
  const policy = parsed(text);
  for (const statement of policy.statements) {
    for (const principal of statement.principal?.entries ?? []) checkPrincipal(principal);
    for (const action of statement.action.entries)
      if (actionsOf(action).length === 0) throw malformedPolicy("Policy has invalid action");
    const { resource } = statement;
    if (resource === undefined) throw malformedPolicy("Missing required field Resource");
    const kinds = new Set(resource.entries.flatMap((each) => resourceKinds(each, bucket)));
    if (!resource.isNegated && !statement.action.isNegated) checkFit(statement, kinds);
  }
  checkConditionKeys(policy);
  return policy;
};

const parsed = (text: string): Policy => {
  if (Buffer.byteLength(text) > limits.policyBytesMax)
    throw malformedPolicy("Policy exceeds the maximum allowed document size.");
  if (!text.startsWith("{")) throw malformedPolicy("Policies must be valid JSON and the first byte must be '{'");
  try {
    return parseBucketPolicy(text);
  } catch (error) {
    if (error instanceof PrincipalError) throw malformedPolicy(invalidPrincipal);
    if (!(error instanceof PolicyError)) throw error;
    throw malformedPolicy(`${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`);
  }
};

/** The text of the public service, by which clients wait for a principal that was just created. */
const invalidPrincipal = "Invalid principal in policy";

const checkPrincipal = ({ kind, value }: Principal): void => {
  if (kind === "canonical-user" && !/^[0-9a-f]{64}$/.test(value)) throw malformedPolicy(invalidPrincipal);
  if (kind === "arn" && !/:(?:user|role|assumed-role|federated-user)\/.+$/.test(value))
    throw malformedPolicy(invalidPrincipal);
};

/** The actions that an action or a pattern of actions means, in lower case and less their prefix. */
const actionsOf = (pattern: string): string[] => {
  const [, prefix, name = ""] = /^(?:(s3|object-storage):)?(.+)$/i.exec(pattern) ?? [];
  if (prefix === undefined && pattern !== "*") return [];
  const fits = textTest(name.toLowerCase());
  return [...actionKinds().keys()].filter((action) => fits(action));
};

const checkFit = ({ action }: Statement, kinds: ReadonlySet<ResourceKind>): void => {
  for (const pattern of action.entries)
    if (!actionsOf(pattern).some((each) => kinds.has(actionKinds().get(each) ?? "none")))
      throw malformedPolicy("Action does not apply to any resource(s) in statement");
};

const checkConditionKeys = (policy: Policy): void => {
  if (!hasKnownKeys(policy)) throw malformedPolicy("Policy has an invalid condition key");
  for (const { action, conditions } of policy.statements) {
    if (action.isNegated || conditions.length === 0) continue;
    const actions = action.entries.flatMap(actionsOf);
    if (!conditions.every(({ key }) => canHaveKey(actions, key)))
      throw malformedPolicy("Conditions do not apply to combination of actions and resources in statement");
  }
};

/** The kinds of the bucket's resources that a pattern can match. Throws MALFORMED_POLICY for another bucket's. */
const resourceKinds = (pattern: string, bucket: string): ResourceKind[] => {
  const arn = parseArn(pattern);
  const isOurs =
    arn !== undefined &&
    /^(?:aws|svc)$/.test(arn.partition) &&
    /^(?:s3|object-storage)$/.test(arn.service) &&
    arn.region === "" &&
    arn.account === "";
  const rest = isOurs && arn.resource.startsWith(bucket) ? arn.resource.slice(bucket.length) : undefined;
  if (rest === "") return ["bucket"];
  if (rest?.startsWith("/") === true) return ["object"];
  if (rest?.startsWith("*") === true) return ["bucket", "object"];
  throw malformedPolicy("Policy has invalid resource");
};

/** The refusal of a policy; the explanation is shown to the caller. */
export const malformedPolicy = (explanation: string): ServiceError =>
  fault(ErrorReason.MALFORMED_POLICY, { explanation });

/** The policy without what it allows. */
export const denialsOf = (policy: Policy): Policy => ({
  ...policy,
  statements: policy.statements.filter(({ effect }) => effect === "Deny"),
});

/** Whether a policy allows something to everybody: no condition of the statement fixes who or from where. */
export const isPublicPolicy = (policy: Policy): boolean =>
  policy.statements.some(
    ({ effect, principal, conditions }) =>
      effect === "Allow" &&
      principal !== undefined &&
      (principal.isNegated || principal.entries.some(({ kind }) => kind === "everyone")) &&
      !conditions.some(isFixing),
  );

/** The keys that fix who calls, or from where, if their values are whole. */
const fixingKeys = new Set([
  "aws:sourceip",
  "aws:sourcearn",
  "aws:sourcevpc",
  "aws:sourcevpce",
  "aws:sourceowner",
  "aws:sourceaccount",
  "aws:principalarn",
  "aws:principalaccount",
  "aws:principalorgid",
  "aws:principalorgpaths",
  "aws:userid",
  "s3:dataaccesspointarn",
  "s3:dataaccesspointaccount",
]);

const fixingOperators = new Set([
  "StringEquals",
  "StringEqualsIgnoreCase",
  "StringLike",
  "ArnEquals",
  "ArnLike",
  "IpAddress",
]);

const isFixing = ({ operator, quantifier, ifExists, key, values }: Statement["conditions"][number]): boolean => {
  const spelled = key
    .toLowerCase()
    .replace(/^svc:/, "aws:")
    .replace(/^object-storage:/, "s3:");
  return (
    fixingKeys.has(spelled) &&
    fixingOperators.has(operator.name) &&
    quantifier !== "all" &&
    !ifExists &&
    values.every((value) => (operator.name === "IpAddress" ? isNarrowRange(value) : !/[*?$]/.test(value)))
  );
};

/** Whether a range of addresses is small enough to name a network: /8 of version 4, /32 of version 6, or smaller. */
const isNarrowRange = (range: string): boolean => {
  const [address = "", bits] = range.split("/");
  return bits === undefined || Number(bits) >= (address.includes(":") ? 32 : 8);
};
