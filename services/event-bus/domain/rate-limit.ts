/** How the requests to one destination stand. */
export interface RateState {
  /** The instant up to which its requests are spoken for, in milliseconds since 1970. */
  readonly spokenForMs: number;
}

/** Share of a second's requests that may be made at once after a pause. */
const burstShare = 0.1;

/**
 * Gives a request its instant: requests are spaced evenly, after a pause a tenth of a second's requests may be made at
 * once, and none is ever refused. `perSecond` is at least 1.
 */
export const reserveSlot = (
  state: RateState | undefined,
  perSecond: number,
  nowMs: number,
): { readonly slotMs: number; readonly state: RateState } => {
  const spacingMs = 1_000 / perSecond;
  const burstMs = Math.max(0, Math.floor(perSecond * burstShare) - 1) * spacingMs;
  const spokenForMs = Math.max(state?.spokenForMs ?? 0, nowMs - burstMs);
  // A thousandth of a millisecond is rounding, not waiting.
  return { slotMs: Math.max(nowMs, Math.ceil(spokenForMs - 0.001)), state: { spokenForMs: spokenForMs + spacingMs } };
};
