import { timestampMs } from "@bufbuild/protobuf/wkt";

import type { ScheduledTriggerProperties } from "../../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import { nextRun, parseSchedule } from "../../../kit/schedule/schedule.ts";
import { findTimeZone, nextRunIn } from "../../../kit/schedule/zone.ts";

/** `rate(5minutes)` and `rate(1 hours)` as well, which data flows are written with. */
const looseRate = /^rate\(([0-9]+) ?(minute|hour|day)s?\)$/;

const readExpression = (text: string) =>
  parseSchedule(
    text.replace(
      looseRate,
      (_whole, count: string, unit: string) => `rate(${count} ${unit}${count === "1" ? "" : "s"})`,
    ),
  );

const zoneOf = ({ timezone = "" }: ScheduledTriggerProperties) => findTimeZone(timezone === "" ? "UTC" : timezone);

/** Why a flow cannot run so, as a message for its author. */
export const findScheduleProblem = (scheduled: ScheduledTriggerProperties): string | undefined => {
  if (readExpression(scheduled.scheduleExpression) === undefined)
    return "the ScheduleExpression of its flow is neither rate(<count> minutes, hours or days) nor cron(<six fields>)";
  return zoneOf(scheduled) === undefined ? "the Timezone of its flow is not the name of a time zone" : undefined;
};

/**
 * The first run of a flow after an instant, in milliseconds since 1970; undefined: none. The periods of a rate begin
 * with the schedule, or, if that says no time, when the flow was put.
 */
export const nextFlowRun = (
  scheduled: ScheduledTriggerProperties,
  putMs: number,
  afterMs: number,
): number | undefined => {
  const { scheduleStartTime: start, scheduleEndTime: end } = scheduled;
  const schedule = readExpression(scheduled.scheduleExpression);
  const zone = zoneOf(scheduled);
  if (schedule === undefined || zone === undefined) return undefined;
  const sinceMs = start === undefined ? putMs : timestampMs(start);
  const offsetMs = Number(scheduled.scheduleOffset ?? 0n) * 1000;
  const fromMs = afterMs - offsetMs;
  let runMs: number | undefined;
  if (schedule.kind === "rate") runMs = fromMs < sinceMs ? sinceMs : nextRun(schedule, sinceMs, fromMs);
  else runMs = nextRunIn(zone, schedule, sinceMs, Math.max(fromMs, sinceMs - 1));
  if (runMs === undefined || (end !== undefined && runMs + offsetMs > timestampMs(end))) return undefined;
  return runMs + offsetMs;
};
