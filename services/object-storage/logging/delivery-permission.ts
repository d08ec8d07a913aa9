import { evaluate } from "../../kit/policy/evaluate.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { hasAcls } from "../domain/ownership.ts";
import type { Bucket } from "../store/bucket.ts";
import { rules } from "../access/rules.ts";
import { findPolicy } from "../access/stored-policies.ts";
import { resourceArn } from "../domain/resource-arn.ts";

/** The service in whose name logs are delivered, as policies name it. */
const logService = "logging.s3.amazonaws.com";

/**
 * Whether the service that delivers logs may write an object of a bucket's log into its target: the target's policy
 * allows it, or its ACL grants the group for logs WRITE and READ_ACP; and the policy does not deny it. Policies can ask
 * for `aws:SourceArn` and `aws:SourceAccount` of the logged bucket.
 */
export const isLogWriteGranted = async (
  reader: Reader,
  { partition, clock }: Pick<Application, "partition" | "clock">,
  source: Bucket,
  target: Bucket,
  key: string,
): Promise<boolean> => {
  const policy = await findPolicy(reader, target);
  const nowMs = clock.now();
  const conditions = new Map<string, readonly string[]>([
    ["aws:sourcearn", [resourceArn({ partition }, source.name)]],
    ["aws:sourceaccount", [source.accountId]],
    ["aws:resourceaccount", [target.accountId]],
    ["s3:resourceaccount", [target.accountId]],
    ["aws:securetransport", ["true"]],
    ["aws:principalisawsservice", ["true"]],
    ["aws:principalservicename", [logService]],
    ["aws:currenttime", [new Date(nowMs).toISOString()]],
    ["aws:epochtime", [String(Math.floor(nowMs / 1000))]],
  ]);
  const request = {
    requester: { accountId: "", principalArn: "", isRoot: false, isAnonymous: false, serviceName: logService },
    action: "s3:PutObject",
    resource: resourceArn({ partition }, `${target.name}/${key}`),
    ownerAccountId: target.accountId,
    context: { get: (name: string) => conditions.get(name) },
  };
  const policies = {
    identity: [],
    resource: policy === undefined ? [] : [policy.policy],
    isGrantedByOwner: hasAcls(target) && isGrantedToLogs(target),
  };
  return evaluate(request, policies, rules.spelling).isAllowed;
};

const isGrantedToLogs = ({ acl }: Bucket): boolean =>
  ["WRITE", "READ_ACP"].every((wanted) =>
    acl?.grants.some(
      ({ group, permission }) => group === "LogDelivery" && (permission === wanted || permission === "FULL_CONTROL"),
    ),
  );
