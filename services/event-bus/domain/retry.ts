import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";

/** The limits of a target's retry policy. */
interface RetryLimits {
  /** Attempts after the first. */
  readonly attemptsMax: number;
  /** Milliseconds since the bus accepted the event. */
  readonly ageMsMax: number;
}

/** The documented names of the two limits. */
export type ExhaustedCondition = "MaximumRetryAttempts" | "MaximumEventAgeInSeconds";

/** The decision on a delivery that failed and may be retried. */
type RetryDecision =
  | { readonly kind: "retry"; readonly atMs: number }
  | { readonly kind: "exhausted"; readonly condition: ExhaustedCondition };

/** The state of a delivery on which the decision depends. */
export interface RetryState {
  readonly nowMs: number;
  /** When the bus accepted the event. */
  readonly ingestedMs: number;
  /** Attempts after the first so far. */
  readonly retriesMade: number;
  /** The earliest instant that the target's answer allows; undefined: any. */
  readonly notBeforeMs: number | undefined;
}

const attemptsDefault = 185;
const ageSecondsDefault = 86_400;
const firstDelayMs = 1_000;
const delayMsMax = 600_000;

/** The limits of a target; the documented defaults where it names none. */
export const retryLimitsOf = ({ retryPolicy }: Target): RetryLimits => ({
  attemptsMax: retryPolicy?.maximumRetryAttempts ?? attemptsDefault,
  ageMsMax: (retryPolicy?.maximumEventAgeInSeconds ?? ageSecondsDefault) * 1_000,
});

/**
 * Decides whether and when a failed delivery is retried. The full delay doubles from one second to ten minutes; the
 * delay is a random part of it between a half and all. The last attempt is made when the event reaches its maximum age.
 * `random` is from 0 to 1.
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
