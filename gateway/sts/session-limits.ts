import { parseIdentityPolicy } from "../../services/kit/identity/identity-policies.ts";
import { packedBytes, packedBytesMax } from "../../services/kit/identity/session-tokens.ts";
import { parseJson } from "../../services/kit/json/parse-json.ts";
import { PolicyError } from "../../services/kit/policy/document.ts";
import { identityGrammarProblem } from "../../services/kit/policy/identity-grammar.ts";
import type { Application } from "./application.ts";
import { ErrorReason, fault } from "../identity/faults.ts";

/** The policies and tags that a request gives to a session. */
export interface RequestedLimits {
  readonly policy?: string | undefined;
  readonly policyArns: readonly { readonly arn?: string | undefined }[];
  readonly tags?: readonly { readonly key: string; readonly value: string }[];
}

/** The policies and tags of a session, as far as it has any. */
export interface SessionLimits {
  readonly policies?: readonly string[];
  readonly tags?: Readonly<Record<string, string>>;
  /** Percent of the room that they take up. */
  readonly packedPolicySize?: number;
}

/**
 * Reads the policies and tags of a session; `inherited` tags come from the session that asks. Throws, in this order,
 * INVALID_VALUE for a tag that is given twice or that the inherited ones have, for an unknown policy; MALFORMED_POLICY
 * and PACKED_POLICY_TOO_LARGE.
 */
export const readSessionLimits = (
  { directory }: Pick<Application, "directory">,
  { policy, policyArns, tags = [] }: RequestedLimits,
  inherited: Readonly<Record<string, string>> = {},
): SessionLimits => {
  const allTags = { ...inherited };
  const keys = new Set(Object.keys(inherited).map((key) => key.toLowerCase()));
  for (const { key, value } of tags) {
    if (keys.has(key.toLowerCase()))
      throw fault(ErrorReason.INVALID_VALUE, { problem: `The tag ${key} is given twice or is inherited.` });
    keys.add(key.toLowerCase());
    allTags[key] = value;
  }
  const policies = [
    ...(policy === undefined ? [] : [policy]),
    ...policyArns.map(({ arn = "" }) => {
      const found = directory.findPolicy(arn);
      if (found === undefined) throw fault(ErrorReason.INVALID_VALUE, { problem: `There is no policy ${arn}.` });
      return found;
    }),
  ].map(compact);
  const hasTags = Object.keys(allTags).length > 0;
  if (policies.length === 0 && !hasTags) return {};
  const limits = { ...(policies.length === 0 ? {} : { policies }), ...(hasTags ? { tags: allTags } : {}) };
  const percent = Math.ceil((packedBytes(limits) / packedBytesMax) * 100);
  if (percent > 100) throw fault(ErrorReason.PACKED_POLICY_TOO_LARGE, { percent: String(percent) });
  return { ...limits, packedPolicySize: percent };
};

/** The policy without white space, which would take up room. Throws MALFORMED_POLICY. */
const compact = (text: string): string => {
  try {
    const problem = identityGrammarProblem(parseIdentityPolicy(text));
    if (problem !== undefined) throw fault(ErrorReason.MALFORMED_POLICY, { problem });
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    throw fault(ErrorReason.MALFORMED_POLICY, { problem: `The session policy is not valid: ${error.message}.` });
  }
  return JSON.stringify(parseJson(text));
};
