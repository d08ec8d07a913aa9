import type { PolicyRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { parseIdentityPolicy } from "../../../services/kit/identity/identity-policies.ts";
import { parseTrustPolicy } from "../../../services/kit/accounts/trust-policy.ts";
import { parseJson } from "../../../services/kit/json/parse-json.ts";
import type { Policy } from "../../../services/kit/policy/document.ts";
import { PolicyError } from "../../../services/kit/policy/document.ts";
import { identityGrammarProblem } from "../../../services/kit/policy/identity-grammar.ts";
import { ErrorReason, fault } from "../faults.ts";

/**
 * How many times as long as without white space a document may be to be stored verbatim. White space does not count for
 * the limits of policies, and all of them are in memory.
 */
const verbatimTimesMax = 4;

/** The document that counts for one that is lost: whoever it speaks about may do nothing. */
export const denyingAll = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Deny", Action: "*", Resource: "*" }],
});

/** Returns an identity policy as it may be stored. Throws MALFORMED_POLICY. */
export const identityDocument = (text: string): string => {
  const problem = identityGrammarProblem(checked(text, parseIdentityPolicy));
  if (problem !== undefined) throw fault(ErrorReason.MALFORMED_POLICY, { problem });
  return bounded(text);
};

/** Returns a trust policy as it may be stored. Throws MALFORMED_POLICY. */
export const trustDocument = (text: string): string => {
  checked(text, parseTrustPolicy);
  return bounded(text);
};

const bounded = (text: string): string => {
  const compact = withoutSpace(text);
  return text.length <= verbatimTimesMax * compact.length ? text : compact;
};

/** The document of a managed policy that counts: that of its default version. */
export const documentOf = ({ versions, defaultVersion }: PolicyRecord): string =>
  versions.find(({ number }) => number === defaultVersion)?.document ?? "";

/** The characters of a document that count: all but the white space between its parts. */
export const charactersOf = (text: string): number => withoutSpace(text).length;

/** A document without the white space between its parts. */
export const withoutSpace = (document: string): string => JSON.stringify(parseJson(document));

const checked = (text: string, parse: (text: string) => Policy): Policy => {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    throw fault(ErrorReason.MALFORMED_POLICY, { problem: `The policy is not valid: ${error.message}.` });
  }
};
