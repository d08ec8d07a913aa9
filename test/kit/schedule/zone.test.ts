import { describe, expect, test } from "vitest";

import { parseSchedule } from "../../../services/kit/schedule/schedule.ts";
import { findTimeZone, nextRunIn } from "../../../services/kit/schedule/zone.ts";

const runsIn = (zoneName: string, expression: string, from: string, count: number): (string | undefined)[] => {
  const zone = findTimeZone(zoneName);
  const schedule = parseSchedule(expression);
  if (zone === undefined || schedule === undefined) throw new Error("the case is not valid");
  const found: (string | undefined)[] = [];
  for (let atMs: number | undefined = Date.parse(from); atMs !== undefined && found.length < count;) {
    atMs = nextRunIn(zone, schedule, Date.parse(from), atMs);
    found.push(atMs === undefined ? undefined : new Date(atMs).toISOString());
  }
  return found;
};

describe("a schedule in a time zone", () => {
  // zone | expression | from | next runs
  test.each([
    ["UTC", "cron(0 12 * * ? *)", "2026-01-02T12:00:00Z", ["2026-01-03T12:00:00.000Z"]],
    ["Asia/Kolkata", "cron(0 12 * * ? *)", "2026-01-02T00:00:00Z", ["2026-01-02T06:30:00.000Z"]],
    ["America/New_York", "cron(30 20 ? * FRI *)", "2026-01-02T00:00:00Z", ["2026-01-03T01:30:00.000Z"]],
    ["Pacific/Kiritimati", "cron(0 0 1 * ? *)", "2026-01-01T00:00:00Z", ["2026-01-31T10:00:00.000Z"]],
    // Clocks go from 02:00 to 03:00 on the 29th.
    [
      "Europe/Paris",
      "cron(30 2 * * ? *)",
      "2026-03-28T00:00:00Z",
      ["2026-03-28T01:30:00.000Z", "2026-03-29T01:30:00.000Z", "2026-03-30T00:30:00.000Z"],
    ],
    // Clocks go from 03:00 back to 02:00 on the 25th.
    [
      "Europe/Paris",
      "cron(30 2 * * ? *)",
      "2026-10-24T12:00:00Z",
      ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"],
    ],
    // From within the hour that the clocks show twice.
    ["Europe/Paris", "cron(30 2 * * ? *)", "2026-10-25T00:45:00Z", ["2026-10-26T01:30:00.000Z"]],
    ["Europe/Paris", "rate(1 hour)", "2026-10-25T00:30:00Z", ["2026-10-25T01:30:00.000Z"]],
    ["Europe/Paris", "cron(0 0 30 2 ? *)", "2026-10-25T00:30:00Z", [undefined]],
  ])("%s %s after %s", (zone, expression, from, next) => {
    expect(runsIn(zone, expression, from, next.length)).toEqual(next);
  });

  test.each(["", "Europe/Nowhere", "12"])("there is no zone %j", (name) => {
    expect(findTimeZone(name)).toBeUndefined();
  });
});
