/** Steps of the sequence in one millisecond, so that it still grows when the clock stands or writes are many. */
const stepsPerMs = 1000;

/** The least sequence of an instant: sequences follow the clock, and lead it where they must not repeat. */
export const sequenceAt = (ms: number): number => ms * stepsPerMs;

/** A sequence as consumers compare it: 16 hexadecimal digits. */
export const sequencer = (sequence: number): string => sequence.toString(16).toUpperCase().padStart(16, "0");
