/** Steps of the sequence in one millisecond, so that it still grows when the clock stands or a key is written often. */
const stepsPerMs = 1000;

/**
 * The sequence of the next version of a key. It is greater than that of the newest one, and that of a key that was
 * deleted and made again is greater too as long as the clock does not go back.
 */
export const nextSequence = (nowMs: number, newest: number | undefined): number =>
  Math.max(nowMs * stepsPerMs, (newest ?? -1) + 1);

/** A sequence as consumers compare it: 16 hexadecimal digits. */
export const sequencer = (sequence: number): string => sequence.toString(16).toUpperCase().padStart(16, "0");
