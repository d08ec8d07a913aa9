import { LRUCache } from "lru-cache";

import type { Policy } from "./document.ts";

/** Characters of all texts that a cache of policies keeps. */
const cachedCharactersMax = 4 * 1024 * 1024;

/**
 * Keeps the policies that were used last by their texts, so that a policy is parsed and compiled once however many
 * calls it speaks about. What `parse` throws is thrown, and not kept.
 */
export const policyCache = (parse: (text: string) => Policy): ((text: string) => Policy) => {
  const known = new LRUCache<string, Policy>({
    maxSize: cachedCharactersMax,
    sizeCalculation: (_policy, text) => text.length + 1,
  });
  return (text) => {
    let policy = known.get(text);
    if (policy === undefined) {
      policy = parse(text);
      known.set(text, policy);
    }
    return policy;
  };
};
