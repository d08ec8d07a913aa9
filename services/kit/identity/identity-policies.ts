import { createHash } from "node:crypto";

import type { DocumentRules, Policy } from "../policy/document.ts";
import { parsePolicy, PolicyError } from "../policy/document.ts";

/** The most that identity policies may have together to travel in a token, in bytes of UTF-8; more travels as a digest. */
export const carriedPoliciesBytesMax = 8 * 1024;

/** The same for the policies as a token spells them, where each quote has a backslash: a token has a limit of its own. */
const spelledPoliciesBytesMax = 10 * 1024;

/** The most that one identity policy may have, in bytes of UTF-8. */
export const identityPolicyBytesMax = 64 * 1024;

const rules: DocumentRules = { principals: "forbidden", bytesMax: identityPolicyBytesMax };

/**
 * Reads an identity policy: no statement names a principal, because it is whoever carries the policy, and each says on
 * which resources. Throws PolicyError.
 */
export const parseIdentityPolicy = (text: string): Policy => {
  const policy = parsePolicy(text, rules);
  const at = policy.statements.findIndex(({ resource }) => resource === undefined);
  if (at >= 0) throw new PolicyError(`Statement[${at}] needs Resource or NotResource`);
  return policy;
};

/** Whether the policies are too large together to travel in a token. */
export const areTooLargeToCarry = (policies: readonly string[]): boolean => factsOf(policies).isLarge;

/** Names a list of policies by its content, so that the name can never stand for fewer or others. */
export const policiesDigest = (policies: readonly string[]): string => factsOf(policies).digest;

interface Facts {
  readonly isLarge: boolean;
  readonly digest: string;
}

/** A principal's policies are one list for many calls, and hashing it costs more than all else that a token needs. */
const known = new WeakMap<readonly string[], Facts>();

const factsOf = (policies: readonly string[]): Facts => {
  let facts = known.get(policies);
  if (facts === undefined) {
    const bytes = policies.reduce((sum, policy) => sum + Buffer.byteLength(policy), 0);
    const spelled = JSON.stringify(policies);
    facts = {
      isLarge: bytes > carriedPoliciesBytesMax || Buffer.byteLength(spelled) > spelledPoliciesBytesMax,
      digest: createHash("sha256").update(spelled).digest("base64url"),
    };
    known.set(policies, facts);
  }
  return facts;
};
