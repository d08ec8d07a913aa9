/** Calls per second when so many callers each call again as soon as they were answered, for that many milliseconds. */
export const rate = async (
  callers: number,
  ms: number,
  call: (number: number) => Promise<unknown>,
): Promise<number> => {
  let calls = 0;
  const beginMs = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() - beginMs < ms) await call(calls++);
    }),
  );
  return (calls / (performance.now() - beginMs)) * 1_000;
};

/** The same for what needs no waiting. */
export const rateSync = (ms: number, call: (number: number) => void): number => {
  let calls = 0;
  const beginMs = performance.now();
  while (performance.now() - beginMs < ms) for (let each = 0; each < 10; each += 1) call(calls++);
  return (calls / (performance.now() - beginMs)) * 1_000;
};

/**
 * Measures several things in turns, round after round, so that whatever else the machine does meets all of them. The
 * best round of each, for what disturbs a round only makes it worse; a round before the others warms up.
 */
export const bestInTurns = async <Name extends string>(
  rounds: number,
  measures: Readonly<Record<Name, () => Promise<number> | number>>,
): Promise<Record<Name, number>> => {
  const best = new Map<string, number>();
  for (let round = 0; round <= rounds; round += 1)
    for (const [name, measure] of Object.entries<() => Promise<number> | number>(measures)) {
      const measured = await measure();
      if (round > 0) best.set(name, Math.max(measured, best.get(name) ?? 0));
    }
  return Object.fromEntries(best) as Record<Name, number>;
};
