import type { CronSchedule } from "./cron.ts";
import { nextCronRun, parseCron } from "./cron.ts";

/** When something runs. */
export type Schedule =
  | { readonly kind: "rate"; readonly periodMs: number }
  | { readonly kind: "cron"; readonly cron: CronSchedule };

const unitMs: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
const rateShape = /^rate\(([1-9][0-9]{0,8}) (minute|hour|day)(s?)\)$/;
const cronShape = /^cron\((\S.*\S)\)$/;

/** Parses `rate(5 minutes)` or `cron(0 12 * * ? *)`. Undefined if it is neither. */
export const parseSchedule = (expression: string): Schedule | undefined => {
  const [, count, unit, plural] = rateShape.exec(expression) ?? [];
  if (unit !== undefined) {
    const isPlural = plural === "s";
    if (isPlural === (count === "1")) return undefined;
    return { kind: "rate", periodMs: Number(count) * (unitMs[unit] ?? 0) };
  }
  const fields = cronShape.exec(expression)?.[1];
  const cron = fields === undefined ? undefined : parseCron(fields.split(/ +/));
  return cron === undefined ? undefined : { kind: "cron", cron };
};

/**
 * The first run after `afterMs`, in milliseconds since 1970. The periods of a rate begin at `sinceMs`. Undefined if no
 * run follows.
 */
export const nextRun = (schedule: Schedule, sinceMs: number, afterMs: number): number | undefined => {
  if (schedule.kind === "cron") return nextCronRun(schedule.cron, afterMs);
  const periods = Math.max(1, Math.floor((afterMs - sinceMs) / schedule.periodMs) + 1);
  return sinceMs + periods * schedule.periodMs;
};
