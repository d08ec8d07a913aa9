/** The outcome of a call of a service. */
export type ServiceOutcome = { readonly kind: "delivered" } | FailedOutcome;

/** A call that a later attempt may repeat with success (`retry`), or may not (`failed`). */
export interface FailedOutcome {
  readonly kind: "retry" | "failed";
  /** The kind of failure, such as `NO_PERMISSIONS`. */
  readonly code: string;
  readonly message: string;
}

/** The name of an error in the answer of a service, in JSON or XML; undefined: the answer names none. */
export const errorNameOf = (body: string): string | undefined =>
  /"__type"\s*:\s*"(?:[^"#]*#)?([^"]+)"/.exec(body)?.[1] ??
  /"[cC]ode"\s*:\s*"([^"]+)"/.exec(body)?.[1] ??
  /<Code>([^<]+)<\/Code>/.exec(body)?.[1];

/** Errors by a part of their names, each with its code, and whether a later attempt may succeed. */
const knownErrors: readonly (readonly [part: RegExp, code: string, isTransient: boolean])[] = [
  [/Throttl|TooManyRequests|SlowDown|ThroughputExceeded|RequestLimitExceeded/, "THROTTLING", true],
  [/LimitExceeded|QuotaExceeded/, "RESOURCE_LIMIT_EXCEEDED", true],
  [/Conflict|ConcurrentModification|InUse/, "RESOURCE_MODIFICATION_COLLISION", true],
  [/AlreadyExists/, "RESOURCE_ALREADY_EXISTS", false],
  [/AccessDenied|NotAuthorized|Unauthorized|UnrecognizedClient|Signature|InvalidClientToken/, "NO_PERMISSIONS", false],
  [/NotFound|NonExistent|DoesNotExist|NoSuch/, "NO_RESOURCE", false],
  [/Invalid|Validation|Malformed|Missing|Serialization/, "INVALID_PARAMETER", false],
];

/**
 * Classifies the answer of a service by the error that it names, then by its status: 429 and 5xx are retried, 403 and
 * 404 fail as a missing permission and a missing resource, and all others fail as an error of the target.
 */
export const classifyServiceAnswer = (status: number, body: string): ServiceOutcome => {
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const name = errorNameOf(body);
  const message = name === undefined ? `The service answered with status ${status}.` : `The service answered ${name}.`;
  const known = name === undefined ? undefined : knownErrors.find(([part]) => part.test(name));
  if (known !== undefined) return { kind: known[2] || status >= 500 ? "retry" : "failed", code: known[1], message };
  if (status === 429) return { kind: "retry", code: "THROTTLING", message };
  if (status >= 500) return { kind: "retry", code: "ERROR_FROM_TARGET", message };
  const code = status === 403 ? "NO_PERMISSIONS" : status === 404 ? "NO_RESOURCE" : "ERROR_FROM_TARGET";
  return { kind: "failed", code, message };
};
