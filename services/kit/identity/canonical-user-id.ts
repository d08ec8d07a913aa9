import { createHash } from "node:crypto";

/**
 * The canonical id of an account for which none is declared: 64 hexadecimal digits that always belong to the same
 * account.
 */
export const derivedCanonicalUserId = (accountId: string): string =>
  createHash("sha256").update(`canonical-id/${accountId}`).digest("hex");
