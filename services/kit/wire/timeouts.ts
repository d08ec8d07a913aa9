import { malformed } from "./protocol-error.ts";

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000001 };

/** Milliseconds of a `grpc-timeout` header. Refuses a malformed one. */
export const parseGrpcTimeout = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  const unit = unitMs[text.at(-1) ?? ""];
  if (unit === undefined || !/^[0-9]{1,8}.$/.test(text)) throw malformed("The grpc-timeout header is malformed.");
  return Number(text.slice(0, -1)) * unit;
};

/**
 * Metadata with the instant, in milliseconds since 1970, after which the caller has given the call up. The headers of
 * the protocols carry durations, which begin only when they are read: a process that was stopped meanwhile would take
 * a call up that was answered as failed long ago.
 */
export const deadlineHeader = "x-call-deadline";

/** The instant of a deadline header. Refuses a malformed one. */
export const parseDeadline = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  if (!/^[0-9]{1,15}$/.test(text)) throw malformed(`The ${deadlineHeader} header is malformed.`);
  return Number(text);
};

/** Milliseconds of a `connect-timeout-ms` header. Refuses a malformed one. */
export const parseConnectTimeout = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  if (!/^[0-9]{1,10}$/.test(text)) throw malformed("The connect-timeout-ms header is malformed.");
  return Number(text);
};
