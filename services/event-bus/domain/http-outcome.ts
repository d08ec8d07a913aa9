/** The outcome of a delivery to an HTTP endpoint. */
type HttpOutcome =
  | { readonly kind: "delivered" }
  | { readonly kind: "retry"; readonly code: string; readonly message: string; readonly notBeforeMs?: number }
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

const retriedStatuses = new Set([401, 407, 409, 429]);

/**
 * Classifies the status of an answer. 2xx is delivered; 401, 407, 409, 429 and 5xx are retried, not before
 * `Retry-After` if the answer has one; all others, redirects included, fail permanently. So does a negative
 * `Retry-After`.
 */
export const classifyStatus = (status: number, retryAfter: string | undefined, nowMs: number): HttpOutcome => {
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const code = status === 429 ? "THROTTLING" : "ERROR_FROM_TARGET";
  const message = `The endpoint answered with status ${status}.`;
  if (status < 500 && !retriedStatuses.has(status)) return { kind: "failed", code, message };
  const notBeforeMs = parseRetryAfter(retryAfter, nowMs);
  if (notBeforeMs === "never") return { kind: "failed", code, message };
  return { kind: "retry", code, message, ...(notBeforeMs === undefined ? {} : { notBeforeMs }) };
};

/** A number of seconds or a date, as an instant in milliseconds since 1970. Undefined if absent or malformed. */
const parseRetryAfter = (value: string | undefined, nowMs: number): number | "never" | undefined => {
  const text = value?.trim() ?? "";
  if (/^-[0-9]+$/.test(text)) return "never";
  if (/^[0-9]{1,9}$/.test(text)) return nowMs + Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : atMs;
};
