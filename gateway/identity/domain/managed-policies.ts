import type { PolicyRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { entityArn, pathName } from "../../../services/kit/accounts/entity-arn.ts";
import { parseArn } from "../../../services/kit/arn/arn.ts";
import type { AccountState } from "./account-state.ts";
import { commonAccount, commonPolicies } from "./common-policies.ts";

type Named = Pick<PolicyRecord, "name" | "path">;

const isCommon = (policy: Named): boolean => commonPolicies.get(policy.name.toLowerCase()) === policy;

/** The ARN of a policy of the account, or of a common one. */
export const policyArnOf = (accountId: string, policy: Named): string =>
  entityArn(isCommon(policy) ? commonAccount : accountId, "policy", policy);

/** How what has a policy attached refers to it: by its name, to a common one by its ARN. */
export const referenceTo = (policy: Named): string =>
  isCommon(policy) ? policyArnOf(commonAccount, policy) : policy.name;

/** The policy of the account, or the common one, that a reference means. */
export const findReferred = (state: AccountState, reference: string): PolicyRecord | undefined =>
  reference.startsWith("arn:")
    ? findPolicyByArn(reference, () => undefined)
    : state.policy.get(reference.toLowerCase());

/** The policy with an ARN, of the accounts whose state is known, or a common one. */
export const findPolicyByArn = (
  policyArn: string,
  stateOf: (accountId: string) => AccountState | undefined,
): PolicyRecord | undefined => {
  const arn = parseArn(policyArn);
  const name = /^policy\/(?:.*\/)?([^/]+)$/.exec(arn?.resource ?? "")?.[1]?.toLowerCase();
  if (arn === undefined || name === undefined) return undefined;
  const found = arn.account === commonAccount ? commonPolicies.get(name) : stateOf(arn.account)?.policy.get(name);
  return found !== undefined && arn.resource === `policy/${pathName(found)}` ? found : undefined;
};
