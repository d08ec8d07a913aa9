/** What an answer of an HTTP endpoint means for a delivery. */
export type HttpVerdict =
  | { readonly kind: "delivered" }
  | { readonly kind: "retry"; readonly code: string; readonly message: string; readonly notBeforeMs?: number }
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

const retriedStatuses = new Set([401, 407, 409, 429]);

/**
 * Judges a status. 2xx is delivered; 401, 407, 409, 429 and 5xx are tried again, not before `Retry-After` when the
 * answer has one; all else, redirects too, is given up. A negative `Retry-After` asks for no further try.
 */
export const judgeStatus = (status: number, retryAfter: string | undefined, nowMs: number): HttpVerdict => {
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const code = status === 429 ? "THROTTLING" : "ERROR_FROM_TARGET";
  const message = `The endpoint answered with status ${status}.`;
  if (status < 500 && !retriedStatuses.has(status)) return { kind: "failed", code, message };
  const wait = parseRetryAfter(retryAfter, nowMs);
  if (wait === "never") return { kind: "failed", code, message };
  return { kind: "retry", code, message, ...(wait === undefined ? {} : { notBeforeMs: wait }) };
};

/** Seconds from now or a date, as an instant in milliseconds since 1970; undefined: absent or unreadable. */
const parseRetryAfter = (value: string | undefined, nowMs: number): number | "never" | undefined => {
  const text = value?.trim() ?? "";
  if (/^-[0-9]+$/.test(text)) return "never";
  if (/^[0-9]{1,9}$/.test(text)) return nowMs + Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : atMs;
};
