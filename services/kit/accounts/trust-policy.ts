import type { Policy } from "../policy/document.ts";
import { parsePolicy, PolicyError } from "../policy/document.ts";

const trustPolicyBytesMax = 64 * 1024;

/** Parses a trust policy. It names no resource: the role is the resource. Throws PolicyError. */
export const parseTrustPolicy = (text: string): Policy => {
  const policy = parsePolicy(text, { principals: "required", accountMembers: ["SVC"], bytesMax: trustPolicyBytesMax });
  const at = policy.statements.findIndex(({ resource }) => resource !== undefined);
  if (at >= 0) throw new PolicyError(`Statement[${at}] must not name a resource`);
  return policy;
};
