import { malformed } from "./protocol-error.ts";

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000001 };

/** Milliseconds of a `grpc-timeout` header. Refuses a malformed one. */
export const parseGrpcTimeout = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  const unit = unitMs[text.at(-1) ?? ""];
  if (unit === undefined || !/^[0-9]{1,8}.$/.test(text)) throw malformed("The grpc-timeout header is malformed.");
  return Number(text.slice(0, -1)) * unit;
};

/** Milliseconds of a `connect-timeout-ms` header. Refuses a malformed one. */
export const parseConnectTimeout = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  if (!/^[0-9]{1,10}$/.test(text)) throw malformed("The connect-timeout-ms header is malformed.");
  return Number(text);
};
