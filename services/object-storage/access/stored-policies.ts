import { LRUCache } from "lru-cache";

import type { Policy } from "../../kit/policy/document.ts";
import type { Reader } from "../../kit/store/store.ts";
import { denialsOf, isPublicPolicy, parseBucketPolicy } from "./bucket-policy.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { findDocument } from "../store/configuration.ts";

/** The policy of a bucket with what decisions need to know of it. */
export interface BucketPolicy {
  readonly policy: Policy;
  /** The same without what it allows. */
  readonly denials: Policy;
  readonly isPublic: boolean;
  /** The document in lower case, in which condition keys are looked for. */
  readonly text: string;
}

/** Parses a policy and finds out what decisions need to know of it. Throws PolicyError. */
const bucketPolicyOf = (text: string): BucketPolicy => {
  const policy = parseBucketPolicy(text);
  return { policy, denials: denialsOf(policy), isPublic: isPublicPolicy(policy), text: text.toLowerCase() };
};

/** The policies of buckets by their revisions, each parsed and compiled once. No two buckets have the same revision. */
const known = new LRUCache<string, BucketPolicy>({
  maxSize: limits.parsedPolicyCharactersMax,
  sizeCalculation: ({ text }) => text.length,
});

/** The policy of a bucket as it is in this read; undefined: it has none. */
export const findPolicy = async (
  reader: Reader,
  { bucketId, policyRevision }: Bucket,
): Promise<BucketPolicy | undefined> => {
  if (policyRevision === "") return undefined;
  const parsed = known.get(policyRevision);
  if (parsed !== undefined) return parsed;
  const text = await findDocument(reader, bucketId, "policy");
  if (text === undefined) throw new Error("a bucket names the revision of a policy that is not stored");
  const found = bucketPolicyOf(text);
  known.set(policyRevision, found);
  return found;
};
