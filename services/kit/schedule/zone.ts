import type { Schedule } from "./schedule.ts";
import { nextRun } from "./schedule.ts";

/** The clocks of a place on earth. */
export interface TimeZone {
  /** How far its clocks are ahead of UTC at an instant, both in milliseconds. */
  offsetMs(atMs: number): number;
}

/** The zone of a name such as `Europe/Paris`; undefined if there is none. */
export const findTimeZone = (name: string): TimeZone | undefined => {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", { ...fields, timeZone: name });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  return {
    offsetMs: (atMs) => {
      const wholeMs = Math.floor(atMs / 1000) * 1000;
      const shown = Object.fromEntries(format.formatToParts(wholeMs).map(({ type, value }) => [type, Number(value)]));
      const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown;
      return Date.UTC(year, month - 1, day, hour, minute, second) - wholeMs;
    },
  };
};

const fields = {
  calendar: "gregory",
  numberingSystem: "latn",
  hourCycle: "h23",
  year: "numeric",
  month: "numeric",
  day: "numeric",
  hour: "numeric",
  minute: "numeric",
  second: "numeric",
} as const;

/** Clocks that are set back show so long again, at most. */
const repeatedMsMax = 3 * 3_600_000;

/**
 * The first run after an instant where the fields of `cron` are read in a zone; a rate is the same everywhere. A time
 * that clocks skip is run as much later; of a time that they show twice, the first counts.
 */
export const nextRunIn = (zone: TimeZone, schedule: Schedule, sinceMs: number, afterMs: number): number | undefined => {
  if (schedule.kind === "rate") return nextRun(schedule, sinceMs, afterMs);
  let shownMs: number | undefined = afterMs + zone.offsetMs(afterMs) - repeatedMsMax;
  for (;;) {
    shownMs = nextRun(schedule, sinceMs, shownMs);
    if (shownMs === undefined) return undefined;
    const atMs = firstInstantOf(zone, shownMs);
    if (atMs > afterMs) return atMs;
  }
};

/** The first instant at which the clocks show a time. */
const firstInstantOf = (zone: TimeZone, shownMs: number): number => {
  const dayMs = 86_400_000;
  const before = shownMs - zone.offsetMs(shownMs - dayMs);
  const after = shownMs - zone.offsetMs(shownMs + dayMs);
  const shows = (atMs: number): boolean => atMs + zone.offsetMs(atMs) === shownMs;
  // Clocks that skip the time show it, as they were before, as much later.
  return shows(before) || !shows(after) ? before : after;
};
