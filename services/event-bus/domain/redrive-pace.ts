import { afterRequest, requestsNow } from "./rate-limit.ts";

/** The pace of a redrive of many dead letters. */
export interface RedrivePace {
  /** Unset: as many as possible. */
  readonly maxLettersPerSecond?: number | undefined;
  /** When the next letter is due, in milliseconds since 1970. */
  readonly nextMs: number;
}

/** Letters of one step. */
const stepSize = 50;
/** Steps in a second of a redrive with a rate, so that letters of a short time are redriven together. */
const stepsPerSecond = 20;

/** How many letters the next step may visit now; 0: none before an instant. */
export const lettersNow = (
  { maxLettersPerSecond: perSecond, nextMs }: RedrivePace,
  nowMs: number,
): { readonly count: number; readonly againMs: number } => {
  if (perSecond === undefined) return { count: stepSize, againMs: Number.POSITIVE_INFINITY };
  const { count, againMs } = requestsNow({ nextMs }, perSecond, nowMs);
  const wanted = Math.min(stepSize, Math.ceil(perSecond / stepsPerSecond));
  if (count >= wanted) return { count: Math.min(stepSize, count), againMs };
  return { count: 0, againMs: Math.ceil(againMs + ((wanted - count - 1) * 1_000) / perSecond) };
};

/** When the next letter is due after some. */
export const afterLetters = (pace: RedrivePace, count: number, nowMs: number): number => {
  const { maxLettersPerSecond: perSecond } = pace;
  if (perSecond === undefined) return 0;
  let state = { nextMs: pace.nextMs };
  for (let n = 0; n < count; n += 1) state = afterRequest(state, perSecond, nowMs);
  return state.nextMs;
};
