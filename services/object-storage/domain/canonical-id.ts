import { createHash } from "node:crypto";

/** The canonical id of an account: 64 hexadecimal digits that always belong to the same account. */
export const canonicalId = (accountId: string): string =>
  createHash("sha256").update(`canonical-id/${accountId}`).digest("hex");
