import { setTimeout as delay } from "node:timers/promises";

/**
 * Waits until the probe returns something other than undefined or false; fails after the limit with what it last saw.
 */
export const eventually = async <T>(
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  what: string,
  limitMs = 60_000,
): Promise<T> => {
  const endMs = Date.now() + limitMs;
  let lastError: unknown;
  for (;;) {
    try {
      const seen = await probe();
      if (seen !== undefined && seen !== false) return seen;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() > endMs) throw new Error(`gave up after ${limitMs} ms waiting until ${what}`, { cause: lastError });
    await delay(10);
  }
};

/**
 * Waits until nothing is left, for as long as it takes: fails once as much has been left for `stillMs`. For work whose
 * duration depends on the machine.
 */
export const untilNoneLeft = async (left: () => number, what: string, stillMs = 60_000): Promise<void> => {
  for (let before = Number.POSITIVE_INFINITY; before > 0;)
    before = await eventually(
      () => {
        const now = left();
        return now === 0 || now < before ? { now } : undefined;
      },
      `${what}, and ${before} are left`,
      stillMs,
    ).then(({ now }) => now);
};

/** Waits until a change has acted: what is declared or kept of identities acts on all requests within a second. */
export const aSecondAfter = (ms: number): Promise<boolean> =>
  eventually(() => Date.now() - ms >= 1_000, "a second has passed since the change");
