import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";

/** When a delivery is given up. */
export interface RetryLimits {
  /** Tries after the first. */
  readonly attemptsMax: number;
  /** Milliseconds since the event was taken. */
  readonly ageMsMax: number;
}

/** The documented names of the two limits. */
export type ExhaustedCondition = "MaximumRetryAttempts" | "MaximumEventAgeInSeconds";

/** What becomes of a delivery that failed and may be tried again. */
export type RetryDecision =
  | { readonly kind: "retry"; readonly atMs: number }
  | { readonly kind: "exhausted"; readonly condition: ExhaustedCondition };

/** How a delivery stands when it is decided. */
export interface RetryState {
  readonly nowMs: number;
  /** When the event was taken. */
  readonly ingestedMs: number;
  /** Tries after the first that have been made. */
  readonly retriesMade: number;
  /** Asked for by the target; undefined: it did not ask. */
  readonly notBeforeMs: number | undefined;
}

const attemptsDefault = 185;
const ageSecondsDefault = 86_400;
const firstDelayMs = 1_000;
const delayMsMax = 600_000;

/** The limits of a target; the documented ones where it names none. */
export const retryLimitsOf = ({ retryPolicy }: Target): RetryLimits => ({
  attemptsMax: retryPolicy?.maximumRetryAttempts ?? attemptsDefault,
  ageMsMax: (retryPolicy?.maximumEventAgeInSeconds ?? ageSecondsDefault) * 1_000,
});

/**
 * Whether and when a failed delivery is tried again: the delay doubles from one second to ten minutes, a random half of
 * it is left out, and the last try is made when the event reaches its age. `random` is from 0 to 1.
 */
export const decideRetry = (limits: RetryLimits, state: RetryState, random: number): RetryDecision => {
  const lastMs = state.ingestedMs + limits.ageMsMax;
  if (state.retriesMade >= limits.attemptsMax) return { kind: "exhausted", condition: "MaximumRetryAttempts" };
  const notBeforeMs = state.notBeforeMs ?? 0;
  if (state.nowMs >= lastMs || notBeforeMs > lastMs)
    return { kind: "exhausted", condition: "MaximumEventAgeInSeconds" };
  const fullMs = Math.min(delayMsMax, firstDelayMs * 2 ** Math.min(state.retriesMade, 30));
  const delayMs = Math.round(fullMs * (0.5 + random / 2));
  return { kind: "retry", atMs: Math.max(notBeforeMs, Math.min(state.nowMs + delayMs, lastMs)) };
};
