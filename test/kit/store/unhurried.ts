/**
 * How long a transaction that lost may run again inside its group, in milliseconds: longer than any stall of a busy
 * machine. A run that exceeds it is repeated outside of the group, so with less than this the number of runs would
 * depend on the machine.
 */
export const unhurriedMs = 60_000;
