import { hash } from "node:crypto";

import { LRUCache } from "lru-cache";

const derived = new LRUCache<string, string>({ max: 1_000 });

/**
 * The canonical id of an account for which none is declared: 64 hexadecimal digits that always belong to the same
 * account.
 */
export const derivedCanonicalUserId = (accountId: string): string => {
  const known = derived.get(accountId);
  if (known !== undefined) return known;
  const id = hash("sha256", `canonical-id/${accountId}`, "hex");
  derived.set(accountId, id);
  return id;
};
