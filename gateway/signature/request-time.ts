import { ErrorReason, refusal } from "../refusal.ts";

/** The largest difference between a request's time and the clock. */
export const skewMsMax = 15 * 60_000;

/** Throws CLOCK_SKEW for a request whose time is too far from the clock's. */
export const checkSkew = (requestMs: number, nowMs: number): void => {
  if (Math.abs(nowMs - requestMs) <= skewMsMax) return;
  const times = { request_time: new Date(requestMs).toISOString(), server_time: new Date(nowMs).toISOString() };
  throw refusal(ErrorReason.CLOCK_SKEW, { ...times, max_allowed_skew_milliseconds: String(skewMsMax) });
};

let lastInstant = { text: "", ms: Number.NaN };

/** The milliseconds of `yyyymmddThhmmssZ`; NaN for any other text. Many requests carry the same second. */
export const parseBasicInstant = (text: string): number => {
  if (text !== lastInstant.text) lastInstant = { text, ms: readBasicInstant(text) };
  return lastInstant.ms;
};

const readBasicInstant = (text: string): number => {
  const parts = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/.exec(text);
  return parts === null ? Number.NaN : Date.parse(`${parts.slice(1, 4).join("-")}T${parts.slice(4).join(":")}Z`);
};

/** A client that sends no date with the prefix signs with the time of its Date header. */
export const basicDate = (value: string | undefined): string | undefined => {
  if (value === undefined || /^\d{8}T\d{6}Z$/.test(value)) return value;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? undefined : `${new Date(ms).toISOString().slice(0, 19).replace(/[-:]/g, "")}Z`;
};
