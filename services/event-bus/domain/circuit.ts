import { isStillAhead } from "../../kit/clock/clock.ts";

/** What is known of a destination from the ends of its attempts. */
export interface CircuitState {
  /** Failures since the last success. */
  readonly failures: number;
  /** Attempts that may run at the same time. */
  readonly room: number;
  /** While the circuit is open: the instant before which no attempt is made, in milliseconds since 1970. */
  readonly probeMs: number;
}

/** The failures in a row that open a circuit. */
const failuresMax = 5;

/** The room of a destination of which nothing is known. */
const roomMin = 2;

const firstProbeMs = 1_000;
const probeMsMax = 30_000;
/** The longest time for which an answer's Retry-After keeps a circuit from its next probe. */
const askedMsMax = 600_000;

/** A destination of which nothing is known. */
export const newCircuit: CircuitState = { failures: 0, room: roomMin, probeMs: 0 };

/** True if attempts are made one at a time only. */
export const isOpen = ({ failures }: CircuitState): boolean => failures >= failuresMax;

/** True if no attempt is made now; a probe that is further ahead than any was set before the clock was set back. */
export const isResting = ({ probeMs }: CircuitState, nowMs: number): boolean =>
  isStillAhead(probeMs, askedMsMax, nowMs);

/** The state after a success: the circuit is closed, and one attempt more may run at the same time. */
export const afterSuccess = (state: CircuitState, roomMax: number): CircuitState =>
  state.failures === 0 && state.room >= roomMax
    ? state
    : { failures: 0, room: Math.min(roomMax, state.room + 1), probeMs: 0 };

/** An attempt that failed and may succeed later. */
interface CircuitFailure {
  readonly nowMs: number;
  /** The earliest instant that the answer allows; undefined: any. */
  readonly notBeforeMs: number | undefined;
  /** From 0 to 1. */
  readonly random: number;
}

/**
 * The state after a failure. The fifth in a row opens the circuit. Then probes follow one another, the first after a
 * second, the next after twice the time of the one before, up to 30 seconds; each time is a random part of that between
 * a half and all, and longer if the destination asks for it.
 */
export const afterFailure = (state: CircuitState, failure: CircuitFailure): CircuitState => {
  const { nowMs, notBeforeMs = 0, random } = failure;
  const room = Math.max(roomMin, Math.floor(state.room / 2));
  // An attempt that began before the circuit opened says nothing new.
  if (isOpen(state) && isResting(state, nowMs)) return state;
  const failures = state.failures + 1;
  if (failures < failuresMax) return { failures, room, probeMs: 0 };
  const fullMs = Math.min(probeMsMax, firstProbeMs * 2 ** Math.min(failures - failuresMax, 20));
  const ownMs = nowMs + Math.round(fullMs * (0.5 + random / 2));
  return { failures, room, probeMs: Math.max(ownMs, Math.min(notBeforeMs, nowMs + askedMsMax)) };
};
