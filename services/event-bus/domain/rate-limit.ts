/** The reservations for requests to one destination. */
export interface RateState {
  /** The instant up to which all slots are reserved, in milliseconds since 1970. */
  readonly reservedUntilMs: number;
}

/** Share of a second's requests that may be sent at once after a pause. */
const burstShare = 0.1;

/**
 * Reserves the instant of a request. Requests are spaced evenly; after a pause, a tenth of a second's requests may be
 * sent at once. No request is refused. `perSecond` is at least 1.
 */
export const reserveSlot = (
  state: RateState | undefined,
  perSecond: number,
  nowMs: number,
): { readonly slotMs: number; readonly state: RateState } => {
  const spacingMs = 1_000 / perSecond;
  const burstMs = Math.max(0, Math.floor(perSecond * burstShare) - 1) * spacingMs;
  const reservedUntilMs = Math.max(state?.reservedUntilMs ?? 0, nowMs - burstMs);
  // A difference of a thousandth of a millisecond is a rounding error.
  return {
    slotMs: Math.max(nowMs, Math.ceil(reservedUntilMs - 0.001)),
    state: { reservedUntilMs: reservedUntilMs + spacingMs },
  };
};
