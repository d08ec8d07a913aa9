import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";

import { parseJson } from "../json/parse-json.ts";
import type { DocumentRules, Policy } from "../policy/document.ts";
import { parsePolicy, PolicyError } from "../policy/document.ts";

/**
 * The size up to which a caller's identity policies are put into its token, in bytes of UTF-8; larger ones as a digest.
 */
const carriedPoliciesBytesMax = 8 * 1024;

/** The same for their escaped form in a token, where each quote has a backslash: a token has a limit of its own. */
const spelledPoliciesBytesMax = 10 * 1024;

/** The size limit of one identity policy, in bytes of UTF-8. */
const identityPolicyBytesMax = 64 * 1024;

const rules: DocumentRules = { principals: "forbidden", bytesMax: identityPolicyBytesMax };

/**
 * Parses an identity policy: no statement names a principal, which is the one that carries the policy, and each names
 * its resources. Throws PolicyError.
 */
export const parseIdentityPolicy = (text: string): Policy => {
  const policy = parsePolicy(text, rules);
  const at = policy.statements.findIndex(({ resource }) => resource === undefined);
  if (at >= 0) throw new PolicyError(`Statement[${at}] needs Resource or NotResource`);
  return policy;
};

/** What a principal may do by itself: its policies, and the document of its permissions boundary if it has one. */
export interface OwnPolicies {
  readonly policies: readonly string[];
  readonly permissionsBoundary?: string;
}

/**
 * The one list by which a principal's policies are carried or named: them, after its boundary if it has one. Which of
 * both it is the list does not say. The same list for the same policies and boundary.
 */
export const carriedPoliciesOf = ({ policies, permissionsBoundary }: OwnPolicies): readonly string[] => {
  if (permissionsBoundary === undefined) return policies;
  let bounded = boundedLists.get(policies);
  if (bounded?.[0] !== permissionsBoundary) {
    bounded = [permissionsBoundary, ...policies];
    boundedLists.set(policies, bounded);
  }
  return bounded;
};

/** The reverse of `carriedPoliciesOf` for a principal with a boundary; undefined for a list without one. */
export const boundedPoliciesOf = (carried: readonly string[]): Required<OwnPolicies> | undefined => {
  const [permissionsBoundary, ...policies] = carried;
  return permissionsBoundary === undefined ? undefined : { policies, permissionsBoundary };
};

const boundedLists = new WeakMap<readonly string[], readonly string[]>();

/** True if the policies together are too large for a token. */
export const areTooLargeToCarry = (policies: readonly string[]): boolean => factsOf(policies).isLarge;

/** The size from which policies are compressed in a token, in characters of JSON: each call sends and reads them. */
const packedPoliciesLengthMin = 512;

/** What a token may unpack to, in bytes: far above what any minter packs. */
const unpackedBytesMax = 64 * 1024;

/** A list of policies compressed, in base64url; undefined where that is of no use: for small or random ones. */
export const packPolicies = (policies: readonly string[]): string | undefined => {
  const spelled = JSON.stringify(policies);
  if (spelled.length < packedPoliciesLengthMin) return undefined;
  const packed = deflateRawSync(spelled).toString("base64url");
  return packed.length < spelled.length ? packed : undefined;
};

/** What `packPolicies` packed; undefined for any other text. */
export const unpackPolicies = (packed: string): unknown => {
  try {
    const bytes = inflateRawSync(Buffer.from(packed, "base64url"), { maxOutputLength: unpackedBytesMax });
    return parseJson(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
};

/** The digest that names a list of policies by its content, so that it never names fewer or others. */
export const policiesDigest = (policies: readonly string[]): string => factsOf(policies).digest;

/** The digest of a list of large policies if it was computed before, as it is for each token; undefined otherwise. */
export const knownLargeDigest = (policies: readonly string[]): string | undefined => {
  const facts = known.get(policies);
  return facts?.isLarge === true ? facts.digest : undefined;
};

interface Facts {
  readonly isLarge: boolean;
  readonly digest: string;
}

/** A principal's policies are one list for many calls, and hashing it costs more than the rest of a token. */
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
