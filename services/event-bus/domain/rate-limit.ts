/** The requests to one destination so far. */
export interface RateState {
  /** The instant at which the next request is due, in milliseconds since 1970; one in the past: after a pause. */
  readonly nextMs: number;
}

/** Share of a second's requests that may be sent at once after a pause. */
const burstShare = 0.1;

/** A difference of a thousandth of a millisecond is a rounding error. */
const roundingMs = 0.001;

/**
 * How many requests may be sent now, and the instant from which one more may. Requests are spaced evenly; after a
 * pause, a tenth of a second's requests may be sent at once. `perSecond` is at least 1.
 */
export const requestsNow = (
  state: RateState | undefined,
  perSecond: number,
  nowMs: number,
): { readonly count: number; readonly againMs: number } => {
  const spacingMs = 1_000 / perSecond;
  const nextMs = nextOf(state, perSecond, nowMs);
  const count = Math.max(0, Math.floor((nowMs - nextMs + roundingMs) / spacingMs) + 1);
  return { count, againMs: Math.ceil(nextMs + count * spacingMs - roundingMs) };
};

/** The state after one more request. */
export const afterRequest = (state: RateState | undefined, perSecond: number, nowMs: number): RateState => ({
  nextMs: nextOf(state, perSecond, nowMs) + 1_000 / perSecond,
});

/** The state after the limit changed: the next request is due within the spacing of the new one. */
export const atRate = (state: RateState | undefined, perSecond: number, nowMs: number): RateState => ({
  nextMs: Math.min(state?.nextMs ?? 0, nowMs + 1_000 / perSecond),
});

const nextOf = (state: RateState | undefined, perSecond: number, nowMs: number): number => {
  const spacingMs = 1_000 / perSecond;
  const burstMs = Math.max(0, Math.floor(perSecond * burstShare) - 1) * spacingMs;
  const nextMs = Math.max(state?.nextMs ?? 0, nowMs - burstMs);
  // It is never further ahead than the spacing, unless the clock was set back.
  return nextMs - nowMs > spacingMs + roundingMs ? nowMs : nextMs;
};
