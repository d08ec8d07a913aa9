/** An instant in messages. */
export interface Instant {
  readonly seconds: bigint;
  readonly nanos: number;
}

/** The instant of milliseconds since 1970-01-01T00:00:00Z. */
export const instant = (ms: number): Instant => {
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1_000_000 };
};

/** The milliseconds of an instant. */
export const instantMs = (at: Instant): number => Number(at.seconds) * 1000 + Math.floor(at.nanos / 1_000_000);
