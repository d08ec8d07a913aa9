const dayMs = 24 * 60 * 60 * 1000;

/** When data that is stored now expires, in milliseconds. Later changes of the domain's setting do not affect it. */
export const expiryOf = (nowMs: number, expirationDays: number): number => nowMs + expirationDays * dayMs;

/** Whether data with this expiry has expired; it may still be stored. */
export const isExpired = (expireMs: number, nowMs: number): boolean => expireMs <= nowMs;
