import type { JobSchedule } from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import { limits } from "../../limits.ts";

const minuteMs = 60 * 1000;
const dayMs = 24 * 60 * minuteMs;
const weekMs = 7 * dayMs;

const daysOfTheWeek = ["SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"];
const saturday = 6;

/** 1970 began on a Thursday. */
const firstSundayMs = 3 * dayMs;

/**
 * When the next job of a domain begins, after an instant, in milliseconds since 1970: at the time of its schedule, UTC,
 * but not as long as the last week has had as many as it may have. `begunMs` are the beginnings of earlier jobs.
 */
export const nextJobMs = (schedule: JobSchedule | undefined, afterMs: number, begunMs: readonly number[]): number => {
  const limiting = begunMs.toSorted((a, b) => b - a)[limits.resolutionsPerWeekMax - 1];
  const fromMs = Math.max(afterMs, limiting === undefined ? 0 : limiting + weekMs - 1);
  const firstMs = firstSundayMs + offsetMsOf(schedule);
  return firstMs + (Math.floor((fromMs - firstMs) / weekMs) + 1) * weekMs;
};

/** The time of a schedule since the beginning of Sunday. */
const offsetMsOf = (schedule: JobSchedule | undefined): number => {
  if (schedule === undefined) return saturday * dayMs;
  const [hours = 0, minutes = 0] = schedule.time.split(":").map(Number);
  return daysOfTheWeek.indexOf(schedule.dayOfTheWeek) * dayMs + (hours * 60 + minutes) * minuteMs;
};
